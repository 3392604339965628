#define _XOPEN_SOURCE 700
#include "nifti/case_names.h"

#include "remove_tree.h"
#include "testing.h"

static char root[] = "/tmp/hws-case-names-XXXXXX";

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int drop_folder(void **state) {
    (void)state;
    return remove_tree(root);
}

static void put(const char *name) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

static void assert_name(const char *file, case_naming naming, const char *id, int channel) {
    case_name name;
    assert_true(case_name_read(file, naming, &name));
    assert_int_equal(name.id_length, strlen(id));
    assert_memory_equal(file, id, strlen(id));
    assert_int_equal(name.channel, channel);
}

static void names_tell_case_and_channel(void **state) {
    (void)state;
    assert_name("a_0000.nii.gz", CASE_CHANNELS, "a", 0);
    assert_name("a_0012.nii", CASE_CHANNELS, "a", 12);
    assert_name("a_0012.nii", CASE_ONE_CHANNEL, "a_0012", -1);
    assert_name("a_0000.nii", CASE_ONE_CHANNEL, "a", 0);
    assert_name("a_0000.nii", CASE_LABELS, "a_0000", -1);
    assert_name("a_00x0.nii", CASE_CHANNELS, "a_00x0", -1);
    assert_name("_0000.nii.gz", CASE_CHANNELS, "_0000", -1);
    assert_name("a.b.nii.gz", CASE_CHANNELS, "a.b", -1);
}

static void other_files_are_nobodys(void **state) {
    (void)state;
    case_name name;
    const char *others[] = {".a.nii", ".nii", ".nii.gz", "a.nii.bz2", "nii", "", "a.NII"};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        assert_false(case_name_read(others[k], CASE_LABELS, &name));
    assert_string_equal(case_ending("a.nii.gz"), ".nii.gz");
    assert_string_equal(case_ending("a.nii"), ".nii");
    assert_null(case_ending("a.gz"));
}

/* Sorted by whole names, a_0000_x would stand between the channels of a. */
static void channels_of_a_case_follow_one_another(void **state) {
    (void)state;
    const char *files[] = {"b_0000.nii", "a_0001.nii", "a_0000_x_0000.nii", "a_0000.nii", "notes.txt", ".c_0000.nii"};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) put(files[k]);
    case_listing listing;
    assert_int_equal(case_listing_open(&listing, root, CASE_CHANNELS, NULL), STATUS_OK);
    const char *expected[] = {"a_0000.nii", "a_0001.nii", "a_0000_x_0000.nii", "b_0000.nii"};
    assert_int_equal(listing.count, 4);
    for (size_t k = 0; k < 4; k++) assert_string_equal(listing.files[k].file, expected[k]);
    assert_string_equal(listing.files[2].id, "a_0000_x");
    case_listing_close(&listing);
}

static void a_missing_folder_is_told(void **state) {
    (void)state;
    case_listing listing;
    failure failure;
    assert_int_equal(case_listing_open(&listing, "/nowhere/at/all", CASE_LABELS, &failure), STATUS_CANNOT_READ);
    assert_non_null(strstr(failure.message, "/nowhere/at/all"));
    assert_int_equal(listing.count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_tell_case_and_channel),
        cmocka_unit_test(other_files_are_nobodys),
        cmocka_unit_test(channels_of_a_case_follow_one_another),
        cmocka_unit_test(a_missing_folder_is_told),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
