#define _XOPEN_SOURCE 700
#include "dataset_folder.h"

/* Checks the folder, expects this many problems, and finds one with these words. */
static void assert_problem(int problems, const char *words, const char *id) {
    dataset set;
    dataset_report report;
    failure failure;
    assert_int_equal(dataset_open(&set, dataset_root(), &failure), STATUS_OK);
    assert_int_equal(dataset_check(&set, &(dataset_check_options){.threads = 2}, &report, &failure), STATUS_CORRUPT);
    if ((int)report.problems != problems) fail_msg("%zu problems: %s", report.problems, failure.message);
    int found = 0;
    for (size_t k = 0; k < report.count; k++) {
        const dataset_finding *one = &report.findings[k];
        if (one->id) assert_memory_equal(one->sentence, one->id, strlen(one->id));
        found |= one->fatal && strstr(one->sentence, words) && (id ? one->id && strcmp(one->id, id) == 0 : !one->id);
    }
    if (!found) fail_msg("no '%s' among the problems: %s", words, failure.message);
    dataset_report_close(&report);
    dataset_close(&set);
}

static const dataset_case *case_named(const dataset *set, const char *id) {
    size_t k = 0;
    while (k < set->train_count && strcmp(set->train[k].id, id) != 0) k++;
    assert_true(k < set->train_count);
    return &set->train[k];
}

/* dataset_load must refuse what the check calls a problem. */
static void assert_not_loaded(const char *id, const char *words) {
    dataset set;
    volume image;
    label_map labels;
    failure failure;
    assert_int_equal(dataset_open(&set, dataset_root(), NULL), STATUS_OK);
    assert_int_not_equal(dataset_load(&set, case_named(&set, id), &image, &labels, &failure), STATUS_OK);
    assert_lacks_nothing(failure.message, words);
    assert_memory_equal(failure.message, id, strlen(id));
    assert_null(image.voxels);
    assert_null(labels.labels);
    dataset_close(&set);
}

static void count_calls(void *context, const char *what, size_t done, size_t total) {
    assert_string_equal(what, "checking the dataset");
    assert_int_equal(total, 3);
    assert_int_equal(done, ++*(size_t *)context);
}

static void a_good_dataset_has_no_problems(void **state) {
    (void)state;
    start_two_cases();
    dataset set;
    dataset_report report;
    size_t calls = 0;
    assert_int_equal(dataset_open(&set, dataset_root(), NULL), STATUS_OK);
    const listener listener = {.context = &calls, .progress = count_calls};
    const dataset_check_options options = {.threads = 2, .listener = &listener};
    assert_int_equal(dataset_check(&set, &options, &report, NULL), STATUS_OK);
    assert_int_equal(calls, 3);
    assert_int_equal(report.count, 0);
    assert_int_equal(report.grids[1].size[2], 6);
    dataset_report_close(&report);
    dataset_close(&set);
}

static void a_missing_channel_is_named(void **state) {
    (void)state;
    start_two_cases();
    remove(inside("imagesTr/q_0001.nii.gz"));
    assert_problem(1, "q: channel 1 (T2) is missing: there is no", "q");
    assert_not_loaded("q", "channel 1 (T2) is missing");
    start_two_cases();
    remove(inside("imagesTr/q_0000.nii.gz"));
    remove(inside("imagesTr/q_0001.nii.gz"));
    assert_problem(2, "q: channel 0 (T1) is missing", "q");
}

/* Of the test cases everything is told, and nothing keeps from planning and training. */
static void what_is_wrong_with_test_cases_is_noted_only(void **state) {
    (void)state;
    start_two_cases();
    dataset set;
    dataset_report report;
    failure failure = {0};
    const dataset_check_options options = {.threads = 2};
    volume_grid grid = small_grid();
    remove(inside("imagesTs/t_0000.nii.gz"));
    grid.size[1] = 7;
    write_labels("labelsTs/t.nii.gz", &grid, 9);
    assert_int_equal(dataset_open(&set, dataset_root(), NULL), STATUS_OK);
    if (dataset_check(&set, &options, &report, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    assert_int_equal(report.problems, 0);
    assert_int_equal(report.count, 3);
    for (size_t k = 0; k < report.count; k++) {
        assert_string_equal(report.findings[k].id, "t");
        assert_int_equal(report.findings[k].fatal, 0);
    }
    assert_non_null(strstr(report.findings[0].sentence, "9 (1 voxels)"));
    assert_non_null(strstr(report.findings[1].sentence, "t: channel 0 (T1) is missing"));
    assert_non_null(strstr(report.findings[2].sentence, "t: image and label map do not fit"));
    dataset_report_close(&report);
    dataset_close(&set);
}

static void a_spacing_that_the_sform_contradicts_is_noted(void **state) {
    (void)state;
    start_two_cases();
    dataset set;
    dataset_report report;
    const dataset_check_options options = {.threads = 1};
    volume_grid grid = small_grid();
    for (int k = 0; k < 3; k++) grid.sform[k][1] = grid.affine[k][1] *= 2;
    write_image("imagesTr/q_0000.nii.gz", &grid, 1, 0);
    write_image("imagesTr/q_0001.nii.gz", &grid, 1, 0);
    write_labels("labelsTr/q.nii.gz", &grid, 1);
    assert_int_equal(dataset_open(&set, dataset_root(), NULL), STATUS_OK);
    assert_int_equal(dataset_check(&set, &options, &report, NULL), STATUS_OK);
    assert_int_equal(report.count, 1); /* once for both channels */
    assert_non_null(strstr(report.findings[0].sentence, "q: the sform puts voxels "));
    dataset_report_close(&report);
    dataset_close(&set);
}

static void a_missing_or_broken_label_map_is_named(void **state) {
    (void)state;
    start_two_cases();
    remove(inside("labelsTr/p.nii.gz"));
    assert_problem(1, "p: the label map is missing: there is no", "p");
    assert_not_loaded("p", "labelsTr/p.nii.gz");
    write_text("labelsTr/p.nii.gz", "hello");
    assert_problem(1, "p: the label map is broken", "p");
}

static void another_shape_or_affine_is_named(void **state) {
    (void)state;
    start_two_cases();
    volume_grid grid = small_grid();
    grid.size[1] = 7;
    write_labels("labelsTr/q.nii.gz", &grid, 1);
    assert_problem(2, "q: image and label map do not fit", "q");
    assert_not_loaded("q", "the sizes differ");
    start_two_cases();
    grid = small_grid();
    grid.sform[0][3] = grid.affine[0][3] = 10;
    write_image("imagesTr/p_0001.nii.gz", &grid, 1, 0);
    assert_problem(1, "imagesTr/p_0001.nii.gz: the affines differ", "p");
    assert_not_loaded("p", "the channels do not fit");
}

static void unknown_labels_are_named_with_their_counts(void **state) {
    (void)state;
    start_two_cases();
    const volume_grid grid = small_grid();
    write_labels("labelsTr/p.nii.gz", &grid, 7);
    assert_problem(1, "has values that dataset.json does not name: 7 (1 voxels)", "p");
    assert_not_loaded("p", "7 (1 voxels)");
    write_labels("labelsTr/p.nii.gz", &grid, -1);
    assert_problem(1, "-1 (1 voxels)", "p");
}

static void voxels_that_are_not_finite_are_named(void **state) {
    (void)state;
    start_two_cases();
    const volume_grid grid = small_grid();
    write_image("imagesTr/p_0001.nii.gz", &grid, 1, NAN);
    assert_problem(1, "p: 120 voxels of", "p");
    assert_not_loaded("p", "are NaN or infinite");
}

static void wrong_numbers_of_channels_and_cases_are_named(void **state) {
    (void)state;
    start_two_cases();
    const volume_grid grid = small_grid();
    write_image("imagesTr/p_0001.nii.gz", &grid, 3, 0);
    assert_problem(1, "holds 3 channels where 1 are expected", "p");
    assert_not_loaded("p", "holds 3 channels");
    start_two_cases();
    remove(inside("imagesTr/p_0000.nii.gz"));
    remove(inside("imagesTr/p_0001.nii.gz"));
    remove(inside("labelsTr/p.nii.gz"));
    assert_problem(1, "dataset.json says numTraining 2, but there are 1 training cases", NULL);
}

static void all_problems_are_listed_in_order(void **state) {
    (void)state;
    start_two_cases();
    const volume_grid grid = small_grid();
    write_labels("labelsTr/q.nii.gz", &grid, 9);
    write_image("imagesTr/q_0000.nii.gz", &grid, 1, INFINITY);
    remove(inside("imagesTr/p_0000.nii.gz"));
    dataset set;
    for (int threads = 1; threads <= 3; threads++) {
        dataset_report report;
        failure failure;
        assert_int_equal(dataset_open(&set, dataset_root(), NULL), STATUS_OK);
        assert_int_equal(dataset_check(&set, &(dataset_check_options){.threads = threads}, &report, &failure),
                         STATUS_CORRUPT);
        assert_lacks_nothing(failure.message, "has 3 problems; the first: p: channel 0 (T1) is missing");
        assert_int_equal(report.count, 3);
        assert_string_equal(report.findings[0].id, "p");
        assert_lacks_nothing(report.findings[1].sentence, "q: ");
        assert_lacks_nothing(report.findings[1].sentence, "does not name: 9");
        assert_lacks_nothing(report.findings[2].sentence, "NaN or infinite");
        dataset_report_close(&report);
        dataset_close(&set);
    }
}

static void an_empty_label_map_is_allowed_but_reported(void **state) {
    (void)state;
    start_two_cases();
    const volume_grid grid = small_grid();
    write_labels("labelsTr/p.nii.gz", &grid, 0);
    dataset set;
    dataset_report report;
    volume image;
    label_map labels;
    assert_int_equal(dataset_open(&set, dataset_root(), NULL), STATUS_OK);
    assert_int_equal(dataset_check(&set, &(dataset_check_options){.threads = 1}, &report, NULL), STATUS_OK);
    assert_int_equal(report.count, 1);
    assert_int_equal(report.problems, 0);
    assert_lacks_nothing(report.findings[0].sentence, "p: the label map is empty");
    assert_int_equal(dataset_load(&set, &set.train[0], &image, &labels, NULL), STATUS_OK);
    volume_close(&image);
    label_map_close(&labels);
    dataset_report_close(&report);
    dataset_close(&set);
}

static void channels_that_fit_the_label_map_but_not_each_other_are_named(void **state) {
    (void)state;
    start_two_cases();
    volume_grid left = small_grid(), right = small_grid();
    left.affine[0][3] = left.sform[0][3] = left.offset[0] = -0.04;
    right.affine[0][3] = right.sform[0][3] = right.offset[0] = 0.04;
    write_image("imagesTr/q_0000.nii.gz", &left, 1, 0);
    write_image("imagesTr/q_0001.nii.gz", &right, 1, 0);
    assert_problem(1, "q: the channels do not fit", "q");
    assert_not_loaded("q", "the channels do not fit");
}

/* ---- handing the cases on ---------------------------------------------------------------------------------------- */

typedef struct takings {
    status_code status; /* of every case */
    volume images[2];
} takings;

static status_code take(void *context, size_t index, volume *image, label_map *labels, failure *failure) {
    takings *takings = context;
    if (takings->status != STATUS_OK) return fail(failure, takings->status, "not this one");
    assert_int_equal(labels->labels[0], index + 1);
    takings->images[index] = *image;
    *image = (volume){0};
    return STATUS_OK;
}

static status_code check_and_take(takings *takings, dataset_report *report, failure *failure) {
    dataset set;
    assert_int_equal(dataset_open(&set, dataset_root(), NULL), STATUS_OK);
    const dataset_check_options options = {.threads = 2, .take = take, .context = takings};
    const status_code status = dataset_check(&set, &options, report, failure);
    dataset_close(&set);
    return status;
}

static void cases_without_problems_are_handed_on(void **state) {
    (void)state;
    start_two_cases();
    takings takings = {0};
    dataset_report report;
    failure failure;
    assert_int_equal(check_and_take(&takings, &report, &failure), STATUS_OK);
    dataset_report_close(&report);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(takings.images[k].channels, 2);
        for (int channel = 0; channel < 2; channel++)
            assert_true(volume_channel(&takings.images[k], channel)[7] == (float)((k ? 0 : 5) + 1000 * channel + 7));
        volume_close(&takings.images[k]);
    }
    remove(inside("imagesTr/q_0001.nii.gz"));
    assert_int_equal(check_and_take(&takings, &report, &failure), STATUS_CORRUPT);
    dataset_report_close(&report);
    assert_non_null(takings.images[0].voxels);
    assert_null(takings.images[1].voxels);
    volume_close(&takings.images[0]);
}

static void what_the_taker_refuses_is_a_problem_and_stopping_ends_the_check(void **state) {
    (void)state;
    start_two_cases();
    takings takings = {.status = STATUS_BAD_INPUT};
    dataset_report report;
    failure failure;
    assert_int_equal(check_and_take(&takings, &report, &failure), STATUS_CORRUPT);
    assert_int_equal(report.problems, 2);
    assert_string_equal(report.findings[1].sentence, "q: not this one");
    dataset_report_close(&report);
    takings.status = STATUS_STOPPED;
    assert_int_equal(check_and_take(&takings, &report, &failure), STATUS_STOPPED);
    dataset_report_close(&report);
    takings.status = STATUS_OUT_OF_MEMORY;
    assert_int_equal(check_and_take(&takings, &report, &failure), STATUS_OUT_OF_MEMORY);
    dataset_report_close(&report);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_dataset_has_no_problems),
        cmocka_unit_test(a_missing_channel_is_named),
        cmocka_unit_test(what_is_wrong_with_test_cases_is_noted_only),
        cmocka_unit_test(a_spacing_that_the_sform_contradicts_is_noted),
        cmocka_unit_test(a_missing_or_broken_label_map_is_named),
        cmocka_unit_test(another_shape_or_affine_is_named),
        cmocka_unit_test(unknown_labels_are_named_with_their_counts),
        cmocka_unit_test(voxels_that_are_not_finite_are_named),
        cmocka_unit_test(wrong_numbers_of_channels_and_cases_are_named),
        cmocka_unit_test(all_problems_are_listed_in_order),
        cmocka_unit_test(an_empty_label_map_is_allowed_but_reported),
        cmocka_unit_test(channels_that_fit_the_label_map_but_not_each_other_are_named),
        cmocka_unit_test(cases_without_problems_are_handed_on),
        cmocka_unit_test(what_the_taker_refuses_is_a_problem_and_stopping_ends_the_check),
    };
    return cmocka_run_group_tests(tests, NULL, remove_root_at_the_end);
}
