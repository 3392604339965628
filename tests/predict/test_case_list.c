#define _XOPEN_SOURCE 700
/* Which cases the files of a folder are, and what is refused before anything is predicted. */
#include "predict/case_list.h"

#include "nifti/nifti.h"
#include "work_folder.h"

static void put(const char *name) {
    FILE *file = fopen(work_path(name), "w");
    assert_non_null(file);
    fclose(file);
}

static void folder_of(const char *name, const char *const *files) {
    char path[256];
    assert_int_equal(folder_make(work_path(name), NULL), STATUS_OK);
    for (; *files; files++) {
        snprintf(path, sizeof path, "%s/%s", name, *files);
        put(path);
    }
}

static void listed(const char *folder, const char *file, int channels, size_t cases) {
    case_list list;
    failure failure = {0};
    if (case_list_open(&list, work_path(folder), file, channels, &failure) != STATUS_OK)
        fail_msg("%s", failure.message);
    assert_int_equal(list.count, cases);
    case_list_close(&list);
}

static void refused(const char *folder, const char *file, int channels, const char *why) {
    case_list list;
    failure failure = {0};
    assert_int_equal(case_list_open(&list, work_path(folder), file, channels, &failure), STATUS_BAD_INPUT);
    if (!strstr(failure.message, why)) fail_msg("expected '%s' in: %s", why, failure.message);
}

static void further_channels_are_no_cases(void **state) {
    (void)state;
    folder_of("two", (const char *const[]){"a_0000.nii.gz", "a_0001.nii.gz", "b_0000.nii", "c.nii", NULL});
    refused("two", NULL, 1, "case a has 2 channels in ");
    refused("two", NULL, 1, "the network needs 1");
    refused("two", "a_0000.nii.gz", 1, "case a has 2 channels");
    refused("two", "a_0001.nii.gz", 1, "case a has 2 channels");
    listed("two", "b_0000.nii", 1, 1);
    listed("two", "c.nii", 1, 1);
}

/* Digits that are no channel: no first channel stands beside them, or there are no networks with so many. */
static void digits_may_belong_to_a_name(void **state) {
    (void)state;
    folder_of("years", (const char *const[]){"scan_2019.nii.gz", "scan_2020.nii.gz", "x_0001.nii", "y_0000.nii",
                                             "y_2020.nii", NULL});
    listed("years", NULL, 1, 5);
    listed("years", "scan_2019.nii.gz", 1, 1);
}

static void missing_and_surplus_channels_are_named(void **state) {
    (void)state;
    folder_of("gap", (const char *const[]){"a_0000.nii", "a_0002.nii", NULL});
    folder_of("three", (const char *const[]){"a_0000.nii", "a_0001.nii", "a_0002.nii", NULL});
    refused("gap", NULL, 2, "channel 0001 of case a is missing");
    refused("three", NULL, 2, "case a has 3 files");
    listed("three", NULL, 3, 1);
}

static void put_image(const char *name, int width, int channels) {
    volume image;
    const volume_grid grid = volume_grid_plain((const int[3]){width, 3, 2}, (const double[3]){1, 1, 1});
    assert_int_equal(volume_open(&image, &grid, channels, NULL), STATUS_OK);
    memset(image.voxels, 0, (size_t)channels * volume_grid_voxels(&grid) * sizeof *image.voxels);
    assert_int_equal(nifti_write_volume(work_path(name), &image, NULL), STATUS_OK);
    volume_close(&image);
}

static void checked(const char *file, int channels, const char *why) {
    case_list list;
    failure failure = {0};
    assert_int_equal(case_list_open(&list, work_path("headers"), file, channels, NULL), STATUS_OK);
    assert_int_equal(list.count, 1);
    const status_code status = case_list_check(&list.cases[0], channels, NULL, &failure);
    assert_int_equal(status, why ? STATUS_BAD_INPUT : STATUS_OK);
    if (why && !strstr(failure.message, why)) fail_msg("expected '%s' in: %s", why, failure.message);
    case_list_close(&list);
}

static void headers_tell_of_wrong_channels_and_sizes(void **state) {
    (void)state;
    assert_int_equal(folder_make(work_path("headers"), NULL), STATUS_OK);
    put_image("headers/fine_0000.nii", 4, 1);
    put_image("headers/fine_0001.nii", 4, 1);
    put_image("headers/both_0000.nii", 4, 2);
    put_image("headers/half_0000.nii", 4, 1);
    put_image("headers/wide_0000.nii", 4, 1);
    put_image("headers/wide_0001.nii", 5, 1);
    put_image("headers/many_0000.nii", 4, 1);
    put_image("headers/many_0001.nii", 4, 2);
    put("headers/cut_0000.nii");
    checked("fine_0000.nii", 2, NULL);
    checked("both_0000.nii", 2, NULL);
    checked("half_0000.nii", 2, "half_0000.nii holds 1 channel, but the network needs 2");
    checked("wide_0000.nii", 2, "wide_0001.nii");
    checked("many_0000.nii", 2, "many_0001.nii holds 2 channels instead of one");
    checked("cut_0000.nii", 2, NULL); /* told when it is read */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(further_channels_are_no_cases),
        cmocka_unit_test(digits_may_belong_to_a_name),
        cmocka_unit_test(headers_tell_of_wrong_channels_and_sizes),
        cmocka_unit_test(missing_and_surplus_channels_are_named),
    };
    return cmocka_run_group_tests(tests, work_folder_open, work_folder_close);
}
