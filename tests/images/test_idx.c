/* IDX files: what is in them comes out, and nothing but them is accepted. */
#define _XOPEN_SOURCE 700 /* mkdtemp, setrlimit */
#include "images/idx.h"

#include "failing_memory.h"
#include "memory.h"
#include "testing.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* ---- helpers --------------------------------------------------------------------------------------------------- */

enum { COUNT = 12, HEIGHT = 5, WIDTH = 4, IMAGE_BYTES = 16 + COUNT * HEIGHT * WIDTH, LABEL_BYTES = 8 + COUNT };

static char folder[200];
static uint8_t images[IMAGE_BYTES + 1], labels[LABEL_BYTES + 1];

static const char *in_folder(const char *name) {
    static char paths[4][600];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, 600, "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void put_gzip(const char *name, const void *bytes, size_t size) {
    gzFile file = gzopen(in_folder(name), "wb9");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)size), (int)size);
    assert_int_equal(gzclose(file), Z_OK);
}

static int open_folder(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.150s/hws-idx-XXXXXX", base ? base : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static int close_folder(void **state) {
    (void)state;
    DIR *listing = opendir(folder);
    for (struct dirent *entry; (entry = readdir(listing));) (void)remove(in_folder(entry->d_name));
    closedir(listing);
    return rmdir(folder);
}

static void fill(void) {
    const uint8_t image_head[] = {0, 0, 8, 3, 0, 0, 0, COUNT, 0, 0, 0, HEIGHT, 0, 0, 0, WIDTH};
    const uint8_t label_head[] = {0, 0, 8, 1, 0, 0, 0, COUNT};
    memcpy(images, image_head, sizeof image_head);
    memcpy(labels, label_head, sizeof label_head);
    for (int i = 16; i <= IMAGE_BYTES; i++) images[i] = (uint8_t)(i * 37);
    for (int i = 8; i <= LABEL_BYTES; i++) labels[i] = (uint8_t)(i * 3 % 10);
}

static void check(const labelled_images *set) {
    assert_int_equal(set->count, COUNT);
    assert_int_equal(set->height, HEIGHT);
    assert_int_equal(set->width, WIDTH);
    assert_int_equal(set->channels, 1);
    assert_memory_equal(set->pixels, images + 16, IMAGE_BYTES - 16);
    if (set->labels) assert_memory_equal(set->labels, labels + 8, LABEL_BYTES - 8);
    for (int i = 0; i < COUNT; i++) assert_int_equal(set->origins[i], i);
}

/* Opening the two files must fail with this status, and the message must name `file` and say `words`. */
static void refuse_classes(status_code expected, const char *file, const char *words, int classes) {
    labelled_images set;
    failure failure = {0};
    assert_int_equal(idx_open(&set, in_folder("images"), in_folder("labels"), classes, &failure), expected);
    if (!strstr(failure.message, in_folder(file)) || !strstr(failure.message, words))
        fail_msg("'%s' does not name '%s' or lacks '%s'", failure.message, file, words);
    assert_null(set.pixels);
    assert_null(set.labels);
    assert_null(set.origins);
}

static void refuse(const char *file, const char *words) { refuse_classes(STATUS_CORRUPT, file, words, 10); }

/* Both files, right but for what the test changes afterwards. */
static void put_both(void) {
    fill();
    put("images", images, IMAGE_BYTES);
    put("labels", labels, LABEL_BYTES);
}

/* ---- good files ------------------------------------------------------------------------------------------------ */

static void plain_and_compressed_files_give_what_is_in_them(void **state) {
    (void)state;
    put_both();
    put_gzip("images.gz", images, IMAGE_BYTES);
    put_gzip("labels.gz", labels, LABEL_BYTES);
    const char *image_names[] = {"images", "images.gz"}, *label_names[] = {"labels", "labels.gz"};
    for (int k = 0; k < 4; k++) {
        labelled_images set;
        assert_int_equal(idx_open(&set, in_folder(image_names[k & 1]), in_folder(label_names[k >> 1]), 10, NULL),
                         STATUS_OK);
        assert_int_equal(set.classes, 10);
        check(&set);
        labelled_images_close(&set);
    }
}

static void without_a_number_of_classes_the_largest_label_decides(void **state) {
    (void)state;
    put_both();
    labels[8 + 5] = 41;
    put("labels", labels, LABEL_BYTES);
    labelled_images set;
    assert_int_equal(idx_open(&set, in_folder("images"), in_folder("labels"), 0, NULL), STATUS_OK);
    assert_int_equal(set.classes, 42);
    check(&set);
    labelled_images_close(&set);
}

static void images_alone_have_no_labels(void **state) {
    (void)state;
    put_both();
    labelled_images set;
    failure failure;
    assert_int_equal(idx_open(&set, in_folder("images"), NULL, 10, NULL), STATUS_OK);
    assert_null(set.labels);
    check(&set);
    (void)labelled_images_fingerprint(&set);
    assert_int_equal(labelled_images_keep(&set, 1, 0.5, 1, &failure), STATUS_BAD_INPUT);
    labelled_images_close(&set);
    assert_int_equal(idx_open(&set, in_folder("images"), NULL, 0, &failure), STATUS_BAD_INPUT);
}

static void labels_that_are_written_are_read_back(void **state) {
    (void)state;
    put_both();
    labelled_images set, again;
    assert_int_equal(idx_open(&set, in_folder("images"), in_folder("labels"), 10, NULL), STATUS_OK);
    assert_int_equal(idx_write_labels(set.labels, set.count, in_folder("written-labels"), NULL), STATUS_OK);
    assert_int_equal(idx_open(&again, in_folder("images"), in_folder("written-labels"), 10, NULL), STATUS_OK);
    check(&again);
    assert_true(labelled_images_fingerprint(&set) == labelled_images_fingerprint(&again));
    failure failure;
    assert_int_equal(idx_write_labels(set.labels, set.count, in_folder("no/such/place"), &failure),
                     STATUS_CANNOT_WRITE);
    assert_non_null(strstr(failure.message, "no/such/place"));
    labelled_images_close(&set);
    labelled_images_close(&again);
}

static void a_large_compressed_file_is_read_whole(void **state) {
    (void)state;
    enum { SIDE = 200, MANY = 150, SIZE = 16 + MANY * SIDE * SIDE };
    uint8_t *large = malloc(SIZE);
    const uint8_t head[] = {0, 0, 8, 3, 0, 0, 0, MANY, 0, 0, 0, SIDE, 0, 0, 0, SIDE};
    for (int i = 0; i < SIZE; i++) large[i] = (uint8_t)(i / 977);
    memcpy(large, head, sizeof head);
    put_gzip("images", large, SIZE);
    labelled_images set;
    assert_int_equal(idx_open(&set, in_folder("images"), NULL, 10, NULL), STATUS_OK);
    assert_memory_equal(set.pixels, large + 16, SIZE - 16);
    labelled_images_close(&set);
    free(large);
}

/* ---- bad files -------------------------------------------------------------------------------------------------- */

static void missing_files_and_folders_are_named(void **state) {
    (void)state;
    put_both();
    remove(in_folder("labels"));
    refuse_classes(STATUS_CANNOT_READ, "labels", "cannot be opened", 10);
    remove(in_folder("images"));
    refuse_classes(STATUS_CANNOT_READ, "images", "cannot be opened", 10);
    mkdir(in_folder("images"), 0777);
    refuse_classes(STATUS_CANNOT_READ, "images", "is not a file", 10);
    rmdir(in_folder("images"));
}

static void every_truncation_is_refused(void **state) {
    (void)state;
    put_both();
    for (size_t size = 1; size < IMAGE_BYTES; size++) {
        put("images", images, size);
        refuse("images", size < 4 ? "not an IDX file" : "truncated");
    }
    put("images", images, IMAGE_BYTES);
    for (size_t size = 1; size < LABEL_BYTES; size++) {
        put("labels", labels, size);
        refuse("labels", size < 4 ? "not an IDX file" : "truncated");
    }
}

static void every_truncation_of_a_compressed_file_is_refused(void **state) {
    (void)state;
    put_both();
    put_gzip("images", images, IMAGE_BYTES);
    struct stat info;
    stat(in_folder("images"), &info);
    for (off_t size = info.st_size - 1; size > 0; size--) {
        assert_int_equal(truncate(in_folder("images"), size), 0);
        refuse("images", "");
    }
}

static void every_flipped_bit_of_a_compressed_payload_is_noticed(void **state) {
    (void)state;
    put_both();
    put_gzip("images", images, IMAGE_BYTES);
    uint8_t packed[1000];
    FILE *file = fopen(in_folder("images"), "rb");
    const size_t size = fread(packed, 1, sizeof packed, file);
    fclose(file);
    for (size_t i = 10; i < size; i++) {
        packed[i] ^= 4;
        put("images", packed, size);
        refuse("images", "");
        packed[i] ^= 4;
    }
}

static void longer_files_are_refused(void **state) {
    (void)state;
    put_both();
    put("images", images, IMAGE_BYTES + 1);
    refuse("images", "too long");
    put_gzip("images", images, IMAGE_BYTES + 1);
    refuse("images", "too long");
    put("images", images, IMAGE_BYTES);
    put("labels", labels, LABEL_BYTES + 1);
    refuse("labels", "too long");
}

static void swapped_files_are_told_as_such(void **state) {
    (void)state;
    fill();
    put("images", labels, LABEL_BYTES);
    put("labels", images, IMAGE_BYTES);
    refuse("images", "swapped");
    put("images", images, IMAGE_BYTES);
    refuse("labels", "swapped");
}

static void labels_out_of_range_are_refused_with_the_example(void **state) {
    (void)state;
    put_both();
    for (int label = 10; label < 256; label += 35) {
        labels[8 + 7] = (uint8_t)label;
        put("labels", labels, LABEL_BYTES);
        refuse("labels", "example 7");
    }
}

static void unequal_counts_are_refused(void **state) {
    (void)state;
    put_both();
    labels[7] = COUNT - 1;
    put("labels", labels, LABEL_BYTES - 1);
    refuse("labels", "12 images");
}

static void empty_and_foreign_files_are_refused(void **state) {
    (void)state;
    put_both();
    put("images", "", 0);
    refuse("images", "is empty");
    put_gzip("images", "", 0);
    refuse("images", "is empty");
    put("images", "\x89PNG\r\n\x1a\n and so on", 18);
    refuse("images", "not an IDX file");
    images[3] = 2;
    put("images", images, IMAGE_BYTES);
    refuse("images", "not an IDX file");
    fill();
    images[7] = 0;
    put("images", images, 16);
    refuse("images", "holds no images");
}

static void absurd_sizes_in_a_small_file_cost_no_memory(void **state) {
    (void)state;
    put_both();
    memset(images + 4, 0xff, 12);
    put("images", images, IMAGE_BYTES);
    refuse("images", "pixels");
    const uint8_t claims[] = {0xff, 0xff, 0xff, 0xff, 0, 0, 0x40, 0, 0, 0, 0x40, 0};
    memcpy(images + 4, claims, sizeof claims);
    put("images", images, IMAGE_BYTES);
    refuse("images", "truncated");
    put_gzip("images", images, IMAGE_BYTES);
    refuse("images", "truncated");
    images[8 + 2] = 0; /* no height */
    put("images", images, IMAGE_BYTES);
    refuse("images", "pixels");
}

static void running_out_of_memory_is_reported_and_leaks_nothing(void **state) {
    (void)state;
    put_both();
    for (long k = 0; k < 3; k++) {
        labelled_images set;
        failure failure;
        memory_fail_after(k);
        assert_int_equal(idx_open(&set, in_folder("images"), in_folder("labels"), 10, &failure), STATUS_OUT_OF_MEMORY);
        memory_fail_after(-1);
    }
}

/* ---- folders ---------------------------------------------------------------------------------------------------- */

static void refuse_folder(const char *where, const char *words) {
    labelled_images train, test;
    failure failure = {0};
    assert_int_not_equal(idx_open_folder(&train, &test, where, &failure), STATUS_OK);
    if (!strstr(failure.message, words)) fail_msg("'%s' lacks '%s'", failure.message, words);
    assert_null(train.pixels);
    assert_null(test.pixels);
}

static void a_folder_opens_under_all_of_mnist_s_names(void **state) {
    (void)state;
    fill();
    refuse_folder(in_folder("missing"), "hws fetch mnist --out");
    put("file", "", 0);
    refuse_folder(in_folder("file"), "not a folder");
    refuse_folder(folder, "train-images-idx3-ubyte");
    put("train-images-idx3-ubyte", images, IMAGE_BYTES);
    refuse_folder(folder, "train-labels-idx1-ubyte");
    put_gzip("train-labels-idx1-ubyte.gz", labels, LABEL_BYTES);
    refuse_folder(folder, "t10k-images-idx3-ubyte");
    put("t10k-images.idx3-ubyte", images, IMAGE_BYTES);
    refuse_folder(folder, "t10k-labels-idx1-ubyte");
    put_gzip("t10k-labels.idx1-ubyte.gz", labels, LABEL_BYTES);
    labelled_images train, test;
    assert_int_equal(idx_open_folder(&train, &test, folder, NULL), STATUS_OK);
    check(&train);
    check(&test);
    assert_int_equal(train.classes, 10);
    labelled_images_close(&train);
    labelled_images_close(&test);
    labels[9] = 10;
    put_gzip("t10k-labels.idx1-ubyte.gz", labels, LABEL_BYTES);
    refuse_folder(folder, "label 10");
    fill();
    put_gzip("t10k-labels.idx1-ubyte.gz", labels, LABEL_BYTES);
    images[11] = WIDTH;
    images[15] = HEIGHT;
    put("t10k-images.idx3-ubyte", images, IMAGE_BYTES);
    refuse_folder(folder, "5 x 4");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_and_compressed_files_give_what_is_in_them),
        cmocka_unit_test(without_a_number_of_classes_the_largest_label_decides),
        cmocka_unit_test(images_alone_have_no_labels),
        cmocka_unit_test(labels_that_are_written_are_read_back),
        cmocka_unit_test(a_large_compressed_file_is_read_whole),
        cmocka_unit_test(missing_files_and_folders_are_named),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_truncation_of_a_compressed_file_is_refused),
        cmocka_unit_test(every_flipped_bit_of_a_compressed_payload_is_noticed),
        cmocka_unit_test(longer_files_are_refused),
        cmocka_unit_test(swapped_files_are_told_as_such),
        cmocka_unit_test(labels_out_of_range_are_refused_with_the_example),
        cmocka_unit_test(unequal_counts_are_refused),
        cmocka_unit_test(empty_and_foreign_files_are_refused),
        cmocka_unit_test(absurd_sizes_in_a_small_file_cost_no_memory),
        cmocka_unit_test(running_out_of_memory_is_reported_and_leaks_nothing),
        cmocka_unit_test(a_folder_opens_under_all_of_mnist_s_names),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
