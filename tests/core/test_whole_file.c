#define _POSIX_C_SOURCE 200809L
#include "testing.h"

#include "core/path.h"
#include "core/whole_file.h"

#include <unistd.h>

static void what_was_written_is_read(void **state) {
    (void)state;
    char path[64], *bytes;
    size_t size;
    failure failure;
    snprintf(path, sizeof path, "whole_file_test_%ld", (long)getpid());
    assert_int_equal(whole_file_write(path, "one\0two", 7, &failure), STATUS_OK);
    assert_int_equal(whole_file_write(path, "a\0b", 3, &failure), STATUS_OK);
    assert_true(path_exists(path));
    assert_int_equal(whole_file_read(path, 3, &bytes, &size, &failure), STATUS_OK);
    assert_int_equal(size, 3);
    assert_memory_equal(bytes, "a\0b", 4);
    free(bytes);
    assert_int_equal(whole_file_read(path, 2, &bytes, &size, &failure), STATUS_CORRUPT);
    assert_int_equal(whole_file_write(path, "", 0, &failure), STATUS_OK);
    assert_int_equal(whole_file_read(path, 0, &bytes, &size, &failure), STATUS_OK);
    assert_int_equal(size, 0);
    free(bytes);
    remove(path);
}

static void the_end_of_a_file_is_read(void **state) {
    (void)state;
    char path[64], *bytes;
    size_t size;
    snprintf(path, sizeof path, "whole_file_test_%ld", (long)getpid());
    assert_int_equal(whole_file_write(path, "one\ntwo", 7, NULL), STATUS_OK);
    for (size_t most = 0; most <= 9; most++) {
        const size_t expected = most < 7 ? most : 7;
        assert_int_equal(whole_file_read_end(path, most, &bytes, &size, NULL), STATUS_OK);
        assert_int_equal(size, expected);
        assert_string_equal(bytes, &"one\ntwo"[7 - expected]);
        free(bytes);
    }
    remove(path);
    assert_int_equal(whole_file_read_end(path, 9, &bytes, &size, NULL), STATUS_CANNOT_READ);
    assert_int_equal(whole_file_read_end(".", 9, &bytes, &size, NULL), STATUS_CORRUPT);
}

static void places_that_cannot_be_used_are_named(void **state) {
    (void)state;
    char *bytes;
    size_t size;
    failure failure;
    assert_int_equal(whole_file_write("no/such/folder", "x", 1, &failure), STATUS_CANNOT_WRITE);
    assert_non_null(strstr(failure.message, "no/such/folder"));
    assert_int_equal(whole_file_write(".", "x", 1, &failure), STATUS_CANNOT_WRITE);
    assert_int_equal(whole_file_read("no such file", 10, &bytes, &size, &failure), STATUS_CANNOT_READ);
    assert_int_equal(whole_file_read(".", 10, &bytes, &size, &failure), STATUS_CORRUPT);
    assert_false(path_exists("no such file"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(the_end_of_a_file_is_read),
        cmocka_unit_test(places_that_cannot_be_used_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
