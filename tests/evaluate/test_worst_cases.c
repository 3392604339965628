#define _XOPEN_SOURCE 700
#include "evaluate/worst_cases.h"

#include "core/path.h"
#include "core/whole_file.h"
#include "nifti/nifti.h"
#include "remove_tree.h"
#include "testing.h"

#include <math.h>
#include <png.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static int setup(void **state) {
    (void)state;
    snprintf(root, sizeof root, "worst_test_%ld", (long)getpid());
    return mkdir(root, 0777);
}

static int teardown(void **state) {
    (void)state;
    return remove_tree(root);
}

static const char *in_root(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

/* Cases a, b, ... with two labels each. */
static void fill(scores *scores, const double (*dice)[2], size_t cases) {
    region_list regions = {0};
    assert_int_equal(regions_add_named(&regions, "head=1,tail=2", NULL), STATUS_OK);
    assert_int_equal(scores_open(scores, cases, &regions, NULL), STATUS_OK);
    for (size_t k = 0; k < cases; k++) {
        char name[2] = {(char)('a' + k), 0}, prediction[128], reference[128];
        snprintf(prediction, sizeof prediction, "%s/%s_said.nii", root, name);
        snprintf(reference, sizeof reference, "%s/%s_true.nii", root, name);
        assert_int_equal(scores_name(scores, k, name, prediction, reference, NULL), STATUS_OK);
        for (size_t region = 0; region < 2; region++) scores_at(scores, k, region)[METRIC_DICE] = dice[k][region];
    }
    regions_close(&regions);
}

static void the_lowest_means_come_first(void **state) {
    (void)state;
    const double nan = (double)NAN;
    const double dice[][2] = {{0.9, 0.7}, {0.5, nan}, {nan, nan}, {0.2, 0.8}, {0.1, 0.5}, {1, 1}};
    const size_t all[] = {4, 1, 3, 0, 5};
    size_t found[6];
    scores scores;
    fill(&scores, dice, 6);
    for (size_t capacity = 0; capacity <= 6; capacity++) {
        assert_int_equal(worst_cases(&scores, capacity, found), capacity < 5 ? capacity : 5);
        for (size_t k = 0; k < capacity && k < 5; k++) assert_int_equal(found[k], all[k]);
    }
    scores_close(&scores);
}

static void expect_list(const char *expected) {
    char *bytes;
    size_t size;
    assert_int_equal(whole_file_read(in_root("worst.csv"), 1 << 20, &bytes, &size, NULL), STATUS_OK);
    assert_string_equal(bytes, expected);
    free(bytes);
}

static void the_list_names_the_worst_label(void **state) {
    (void)state;
    const double dice[][2] = {{0.75, 0.25}, {(double)NAN, 0.125}};
    scores scores;
    text notes = {0};
    fill(&scores, dice, 2);
    assert_int_equal(worst_write(&scores, NULL, root, &notes, NULL), STATUS_OK);
    expect_list("rank,example,dice,label,label_dice\n1,b,0.125,tail,0.125\n2,a,0.5,tail,0.25\n");
    assert_int_equal(notes.size, 0);
    text_close(&notes);
    scores_close(&scores);
}

static const int SIZE[3] = {50, 4, 40};
static const double SPACING[3] = {1, 3, 1};

static size_t at(int x, int y, int z) { return (size_t)((z * SIZE[1] + y) * SIZE[0] + x); }

static void write_labels(const char *name, int wrong_plane) {
    const volume_grid grid = volume_grid_plain(SIZE, SPACING);
    label_map map;
    assert_int_equal(label_map_open(&map, &grid, NULL), STATUS_OK);
    memset(map.labels, 0, volume_grid_voxels(&grid) * sizeof *map.labels);
    for (int y = 0; y < SIZE[1]; y++) map.labels[at(10, y, 5)] = 1;
    if (wrong_plane >= 0) map.labels[at(20, wrong_plane, 30)] = 2;
    assert_int_equal(nifti_write_labels(in_root(name), &map, NULL), STATUS_OK);
    label_map_close(&map);
}

static void write_image(const char *name, const int size[3]) {
    const volume_grid grid = volume_grid_plain(size, SPACING);
    volume image;
    assert_int_equal(volume_open(&image, &grid, 1, NULL), STATUS_OK);
    for (size_t k = 0; k < volume_grid_voxels(&grid); k++) image.voxels[k] = (float)(k % 7);
    assert_int_equal(nifti_write_volume(in_root(name), &image, NULL), STATUS_OK);
    volume_close(&image);
}

static uint8_t *pixels;
static int width, height;

static void read_picture(const char *name) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&image, in_root(name)));
    image.format = PNG_FORMAT_RGB;
    width = (int)image.width;
    height = (int)image.height;
    pixels = malloc(PNG_IMAGE_SIZE(image));
    assert_non_null(pixels);
    assert_true(png_image_finish_read(&image, NULL, pixels, 0, NULL));
}

/* What is laid over a grey pixel, whatever the grey: red and green beyond blue. */
typedef struct tint {
    int red, green;
} tint;
static const tint FIRST = {135, 94}, SECOND = {-86, -31}, MADE_UP = {179, 9}, MISSED = {220, 183};

static int has_tint(int row, int column, tint tint) {
    const uint8_t *pixel = pixels + 3 * (row * width + column);
    return abs(pixel[0] - pixel[2] - tint.red) <= 2 && abs(pixel[1] - pixel[2] - tint.green) <= 2;
}

static int count_tint(int view, tint tint) {
    const int step = (width - 6) / 4;
    int count = 0;
    for (int row = 0; row < height; row++)
        for (int column = 0; column < step; column++) count += has_tint(row, view * step + column, tint);
    return count;
}

/* Four views side by side; the prediction has a voxel of the second label that the reference has not. */
static void expect_sheet(const char *name) {
    enum { IMAGE, REFERENCE, PREDICTION, ERRORS };
    read_picture(name);
    const int step = (width - 6) / 4;
    assert_true(count_tint(REFERENCE, FIRST) > 0 && count_tint(REFERENCE, FIRST) == count_tint(PREDICTION, FIRST));
    assert_true(count_tint(PREDICTION, SECOND) > 0 && count_tint(REFERENCE, SECOND) == 0);
    assert_int_equal(count_tint(PREDICTION, SECOND), count_tint(ERRORS, MADE_UP));
    assert_int_equal(count_tint(ERRORS, MISSED), 0);
    for (int view = IMAGE; view < ERRORS; view++) assert_int_equal(count_tint(view, MADE_UP), 0);
    assert_int_equal(count_tint(IMAGE, FIRST) + count_tint(IMAGE, SECOND), 0);
    for (int row = 0; row < height; row++)
        for (int column = 0; column < step; column++)
            assert_int_equal(has_tint(row, 2 * step + column, SECOND), has_tint(row, 3 * step + column, MADE_UP));
    free(pixels);
}

static void pictures_are_of_the_slices_and_missing_ones_are_told(void **state) {
    (void)state;
    const double dice[][2] = {{0.1, 0.1}, {0.2, 0.2}, {0.3, 0.3}};
    const int other[3] = {50, 4, 41};
    scores scores;
    text notes = {0};
    fill(&scores, dice, 3);
    for (const char *name = "abc"; *name; name++) {
        char file[32];
        snprintf(file, sizeof file, "%c_true.nii", *name);
        write_labels(file, -1);
        snprintf(file, sizeof file, "%c_said.nii", *name);
        write_labels(file, 3);
    }
    write_image("a_0000.nii", SIZE);
    write_image("b.nii", other);
    assert_int_equal(mkdir(in_root("worst"), 0777), 0);
    assert_int_equal(whole_file_write(in_root("worst/b.png"), "x", 1, NULL), STATUS_OK);
    assert_int_equal(whole_file_write(in_root("worst/own.png"), "x", 1, NULL), STATUS_OK);
    assert_int_equal(worst_write(&scores, root, root, &notes, NULL), STATUS_OK);
    expect_sheet("worst/a.png");
    assert_non_null(strstr(text_string(&notes), "b_true.nii is not of the size of its image"));
    assert_non_null(strstr(text_string(&notes), "no image of c in"));
    assert_false(path_exists(in_root("worst/b.png"))); /* of an earlier evaluation */
    assert_true(path_exists(in_root("worst/own.png")));
    text_close(&notes);
    scores_close(&scores);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lowest_means_come_first),
        cmocka_unit_test(the_list_names_the_worst_label),
        cmocka_unit_test(pictures_are_of_the_slices_and_missing_ones_are_told),
    };
    return cmocka_run_group_tests_name("worst cases", tests, setup, teardown);
}
