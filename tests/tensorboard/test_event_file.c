/* Event files: checksums are CRC-32C's, records are whole and can be added to. peer/tensorboard
   reads the messages in them. */
#include "core/path.h"
#include "core/whole_file.h"
#include "tensorboard/event_file.h"
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[PATH_SIZE];

static int make_folder(void **state) {
    (void)state;
    return folder_make_temporary(folder, NULL) != STATUS_OK;
}

static int remove_folder(void **state) {
    (void)state;
    folder_remove(folder);
    return 0;
}

static void checksums_are_those_of_the_standard(void **state) {
    (void)state;
    unsigned char zeros[32] = {0}; /* RFC 3720, B.4 */
    assert_int_equal(crc32c("123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(zeros, sizeof zeros), 0x8a9136aa);
    assert_int_equal(crc32c("", 0), 0);
    assert_int_equal(crc32c_masked("123456789", 9), ((0xe3069283u >> 15 | 0xe3069283u << 17) + 0xa282ead8u));
}

static uint64_t little(const unsigned char *at, int bytes) {
    uint64_t number = 0;
    for (int k = bytes; k-- > 0;) number = number << 8 | at[k];
    return number;
}

/* How many whole records the file has; all checksums must be right. */
static int count_records(const char *path) {
    char *bytes;
    size_t size, at = 0;
    int count = 0;
    assert_int_equal(whole_file_read(path, 1 << 20, &bytes, &size, NULL), STATUS_OK);
    for (; at < size; count++) {
        const unsigned char *record = (unsigned char *)bytes + at;
        assert_true(size - at >= 16);
        const size_t length = (size_t)little(record, 8);
        assert_true(length <= size - at - 16);
        assert_int_equal(little(record + 8, 4), crc32c_masked(record, 8));
        assert_int_equal(little(record + 12 + length, 4), crc32c_masked(record + 12, length));
        at += 16 + length;
    }
    free(bytes);
    return count;
}

static void records_are_added_behind_each_other(void **state) {
    (void)state;
    char path[PATH_SIZE];
    failure failure = {0};
    event event;
    const double values[] = {1, 2, 3, (double)NAN, 3}, same[] = {5, 5};
    assert_int_equal(path_join(path, folder, "events", NULL), STATUS_OK);
    event_begin(&event, 1.7e9, 10);
    assert_int_equal(event_append(&event, path, &failure), STATUS_OK); /* nothing to tell */
    assert_false(path_exists(path));
    for (int k = 0; k < 3; k++) {
        event_begin(&event, 1.7e9, 10 + k);
        event_add_scalar(&event, "loss", 0.5);
        event_add_scalar(&event, "none", (double)NAN);
        event_add_histogram(&event, "losses", values, 5, 4);
        event_add_histogram(&event, "equal", same, 2, 4);
        event_add_histogram(&event, "empty", values + 3, 1, 4);
        assert_int_equal(event_append(&event, path, &failure), STATUS_OK);
        assert_int_equal(count_records(path), k + 2); /* the version comes first */
    }
    char *bytes;
    size_t size;
    assert_int_equal(whole_file_read(path, 1 << 20, &bytes, &size, NULL), STATUS_OK);
    int empty = 0;
    for (size_t k = 0; k + 5 <= size; k++)
        empty += memcmp(bytes + k, "empty", 5) == 0 || memcmp(bytes + k, "none", 4) == 0;
    assert_int_equal(empty, 0);
    free(bytes);
    assert_int_equal(path_join(path, folder, "no/events", NULL), STATUS_OK);
    event_begin(&event, 1.7e9, 1);
    event_add_scalar(&event, "loss", 0.5);
    assert_int_equal(event_append(&event, path, &failure), STATUS_CANNOT_WRITE);
    event_close(&event);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_are_those_of_the_standard),
        cmocka_unit_test(records_are_added_behind_each_other),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
