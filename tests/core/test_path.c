/* Paths are joined or refused, folders are made with those above them and removed with what is in them. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "core/path.h"
#include "remove_tree.h"
#include "testing.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/hws-path-XXXXXX";

static void paths_are_joined_or_refused(void **state) {
    (void)state;
    char path[PATH_SIZE], longest[PATH_SIZE];
    failure failure;
    assert_int_equal(path_join(path, "a", "b.txt", NULL), STATUS_OK);
    assert_string_equal(path, "a/b.txt");
    assert_string_equal(path_name(path), "b.txt");
    assert_int_equal(path_join(path, "a/", "b.txt", NULL), STATUS_OK);
    assert_string_equal(path, "a/b.txt");
    assert_string_equal(path_name("alone"), "alone");
    memset(longest, 'x', PATH_SIZE - 1);
    longest[PATH_SIZE - 3] = 0;
    assert_int_equal(path_join(path, longest, "b", NULL), STATUS_OK);
    assert_int_equal(strlen(path), PATH_SIZE - 1);
    assert_int_equal(path_join(path, longest, "bc", &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "too long"));
}

static void folders_are_made_with_those_above(void **state) {
    (void)state;
    char path[PATH_SIZE], below[PATH_SIZE];
    failure failure;
    assert_int_equal(path_join(path, folder, "a/b/c", NULL), STATUS_OK);
    assert_false(path_exists(path));
    assert_int_equal(folder_make(path, NULL), STATUS_OK);
    assert_int_equal(folder_make(path, NULL), STATUS_OK);
    assert_true(path_is_folder(path));
    assert_true(path_same(path, path));
    assert_false(path_same(path, folder));
    assert_int_equal(path_join(path, folder, "file", NULL), STATUS_OK);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_false(path_is_folder(path));
    assert_int_equal(folder_make(path, &failure), STATUS_CANNOT_WRITE);
    assert_int_equal(path_join(below, path, "x", NULL), STATUS_OK);
    assert_int_equal(folder_make(below, &failure), STATUS_CANNOT_WRITE);
    assert_non_null(strstr(failure.message, "file"));
    assert_int_equal(folder_make("", &failure), STATUS_BAD_INPUT);
}

static void folders_that_were_made_in_vain_go_away(void **state) {
    (void)state;
    char path[PATH_SIZE], above[PATH_SIZE];
    assert_int_equal(path_join(above, folder, "kept", NULL), STATUS_OK);
    assert_int_equal(folder_make(above, NULL), STATUS_OK);
    assert_int_equal(path_join(path, above, "new/er//est/", NULL), STATUS_OK);
    const size_t existing = folder_existing(path);
    assert_int_equal(existing, strlen(above));
    assert_int_equal(folder_existing("."), 1);
    assert_int_equal(folder_existing("not there"), 0);
    assert_int_equal(folder_make(path, NULL), STATUS_OK);
    folder_unmake(path, existing);
    assert_true(path_is_folder(above));
    assert_int_equal(path_join(path, above, "new", NULL), STATUS_OK);
    assert_false(path_exists(path));
    assert_int_equal(path_join(path, above, "full/est", NULL), STATUS_OK);
    assert_int_equal(folder_make(path, NULL), STATUS_OK);
    assert_int_equal(path_join(path, above, "full", NULL), STATUS_OK);
    folder_unmake(path, existing); /* something is in it */
    assert_true(path_is_folder(path));
}

static void a_temporary_folder_is_new_and_private_and_in_tmpdir(void **state) {
    (void)state;
    char first[PATH_SIZE], second[PATH_SIZE], missing[PATH_SIZE];
    struct stat info;
    failure failure;
    setenv("TMPDIR", folder, 1);
    assert_int_equal(folder_make_temporary(first, NULL), STATUS_OK);
    assert_int_equal(folder_make_temporary(second, NULL), STATUS_OK);
    assert_string_not_equal(first, second);
    assert_int_equal(strncmp(first, folder, strlen(folder)), 0);
    assert_int_equal(stat(first, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(path_join(missing, folder, "missing", NULL), STATUS_OK);
    setenv("TMPDIR", missing, 1);
    assert_int_equal(folder_make_temporary(first, &failure), STATUS_CANNOT_WRITE);
    assert_non_null(strstr(failure.message, "set TMPDIR"));
    unsetenv("TMPDIR");
}

static void put(const char *path) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

static void a_folder_is_removed_but_not_what_a_link_in_it_points_to(void **state) {
    (void)state;
    char kept[PATH_SIZE], gone[PATH_SIZE], path[PATH_SIZE];
    assert_int_equal(path_join(kept, folder, "kept", NULL), STATUS_OK);
    assert_int_equal(path_join(gone, folder, "gone", NULL), STATUS_OK);
    assert_int_equal(path_join(path, gone, "deep", NULL), STATUS_OK);
    assert_int_equal(folder_make(kept, NULL), STATUS_OK);
    assert_int_equal(folder_make(path, NULL), STATUS_OK);
    assert_int_equal(path_join(path, gone, "deep/file", NULL), STATUS_OK);
    put(path);
    assert_int_equal(path_join(path, gone, "link", NULL), STATUS_OK);
    assert_int_equal(symlink("../kept", path), 0);
    assert_int_equal(path_join(path, kept, "file", NULL), STATUS_OK);
    put(path);
    folder_remove(gone);
    assert_false(path_exists(gone));
    assert_true(path_exists(path));
    folder_remove(gone); /* that there is none is no error */
}

static int open_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int close_folder(void **state) {
    (void)state;
    remove_tree(folder);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(paths_are_joined_or_refused),
                                       cmocka_unit_test(folders_are_made_with_those_above),
                                       cmocka_unit_test(folders_that_were_made_in_vain_go_away),
                                       cmocka_unit_test(a_temporary_folder_is_new_and_private_and_in_tmpdir),
                                       cmocka_unit_test(a_folder_is_removed_but_not_what_a_link_in_it_points_to)};
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
