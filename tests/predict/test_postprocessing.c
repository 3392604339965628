#define _XOPEN_SOURCE 700
#include "predict/postprocessing.h"
#include "remove_tree.h"
#include "testing.h"

enum { X = 7, Y = 6, Z = 5, VOXELS = X * Y * Z };
static const int SIZE[3] = {X, Y, Z};

static postprocessing_step step_of(int a, int b) {
    postprocessing_step step = {.count = b ? 2 : 1, .values = {(int16_t)a, (int16_t)b}};
    return step;
}

/* By a plain loop until nothing changes: every voxel takes the lowest number among its neighbours of the mask. */
static void plain_components(const int *mask, int *number) {
    for (int v = 0; v < VOXELS; v++) number[v] = mask[v] ? v : -1;
    for (int changed = 1; changed;) {
        changed = 0;
        for (int v = 0; v < VOXELS; v++)
            for (int w = 0; w < VOXELS && mask[v]; w++) {
                const int near =
                    abs(v % X - w % X) <= 1 && abs(v / X % Y - w / X % Y) <= 1 && abs(v / X / Y - w / X / Y) <= 1;
                if (!mask[w] || !near || number[w] >= number[v]) continue;
                number[v] = number[w];
                changed = 1;
            }
    }
}

static void the_largest_component_stays(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (int trial = 0; trial < 40; trial++) {
        int16_t labels[VOXELS], expected[VOXELS];
        int mask[VOXELS], number[VOXELS], counts[VOXELS] = {0}, most = 0;
        for (int v = 0; v < VOXELS; v++) {
            labels[v] = test_random(&seed) % 100 < 8 + (uint64_t)trial / 4 ? (int16_t)(1 + test_random(&seed) % 3) : 0;
            mask[v] = labels[v] == 1 || labels[v] == 3;
        }
        plain_components(mask, number);
        for (int v = 0; v < VOXELS; v++)
            if (mask[v]) counts[number[v]]++;
        for (int v = 0; v < VOXELS; v++)
            if (counts[v] > most) most = counts[v];
        for (int v = 0; v < VOXELS; v++) expected[v] = mask[v] && counts[number[v]] < most ? 0 : labels[v];
        const postprocessing_step step = step_of(1, 3);
        assert_int_equal(keep_largest_component(&step, SIZE, labels, NULL), STATUS_OK);
        assert_memory_equal(labels, expected, sizeof labels);
    }
}

static void corners_connect_and_nothing_is_left_alone(void **state) {
    (void)state;
    int16_t labels[VOXELS] = {0}, before[VOXELS];
    labels[0] = labels[1 + X + X * Y] = 2; /* a corner apart */
    labels[VOXELS - 1] = 2;
    labels[5] = 1;
    const postprocessing_step absent = step_of(4, 0), two = step_of(2, 0);
    memcpy(before, labels, sizeof labels);
    assert_int_equal(keep_largest_component(&absent, SIZE, labels, NULL), STATUS_OK);
    assert_memory_equal(labels, before, sizeof labels);
    assert_int_equal(keep_largest_component(&two, SIZE, labels, NULL), STATUS_OK);
    before[VOXELS - 1] = 0;
    assert_memory_equal(labels, before, sizeof labels);
    labels[VOXELS - 1] = labels[VOXELS - 2] = before[VOXELS - 1] = before[VOXELS - 2] =
        2; /* equally large: both stay */
    assert_int_equal(keep_largest_component(&two, SIZE, labels, NULL), STATUS_OK);
    assert_memory_equal(labels, before, sizeof labels);
}

static void steps_come_back_from_their_file_and_others_are_refused(void **state) {
    (void)state;
    static postprocessing written, read;
    char folder[] = "/tmp/hws_postprocessing_XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    assert_int_equal(postprocessing_read(&read, folder, NULL), STATUS_BAD_INPUT);
    snprintf(path, sizeof path, "%s/postprocessing.json", folder);
    written.count = 2;
    written.steps[0] = step_of(1, 4);
    written.steps[1] = step_of(2, 0);
    assert_int_equal(postprocessing_write(&written, folder, NULL), STATUS_OK);
    assert_int_equal(postprocessing_read(&read, folder, NULL), STATUS_OK);
    assert_memory_equal(&read, &written, sizeof read);
    written.count = 0;
    memset(written.steps, 0, sizeof written.steps);
    assert_int_equal(postprocessing_write(&written, folder, NULL), STATUS_OK);
    assert_int_equal(postprocessing_read(&read, path, NULL), STATUS_OK);
    assert_int_equal(read.count, 0);
    static const char *const BAD[] = {"{}",
                                      "[]",
                                      "{\"hws_postprocessing\": 2, \"keep_largest\": []}",
                                      "{\"hws_postprocessing\": 1, \"keep_largest\": [[0]]}",
                                      "{\"hws_postprocessing\": 1, \"keep_largest\": [[]]}",
                                      "{\"hws_postprocessing\": 1, \"keep_largest\": [1]}",
                                      "{\"hws_postprocessing\": 1, \"keep_largest\": [[40000]]}",
                                      "{\"hws_postprocessing\": 1, \"keep_largest\": [], \"x\": 1}"};
    for (size_t k = 0; k < sizeof BAD / sizeof *BAD; k++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(BAD[k], file);
        fclose(file);
        assert_int_equal(postprocessing_read(&read, path, NULL), STATUS_CORRUPT);
    }
    assert_int_equal(remove_tree(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_component_stays),
        cmocka_unit_test(corners_connect_and_nothing_is_left_alone),
        cmocka_unit_test(steps_come_back_from_their_file_and_others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
