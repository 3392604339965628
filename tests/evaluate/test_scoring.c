#define _XOPEN_SOURCE 700
#include "evaluate/scoring.h"

#include "test_maps.h"

static void note(void *context, const char *message) { text_add(context, message); }

static void folders_are_matched_and_scored(void **state) {
    (void)state;
    write_map(predictions, "b.nii", "11000220", 1);
    write_map(references, "b.nii.gz", "10000222", 1);
    write_map(predictions, "a.nii.gz", "00000000", 1);
    write_map(references, "a.nii.gz", "00000003", 1);
    case_pairs pairs;
    region_list regions = {0};
    scores scores;
    text told = {0};
    failure failure;
    const listener listener = {.context = &told, .notice = note};
    const scoring_options options = {.hd95 = 1, .assd = 0, .threads = 2};
    assert_int_equal(case_pairs_open(&pairs, predictions, references, 0, &told, &failure), STATUS_OK);
    assert_int_equal(pairs.count, 2);
    assert_string_equal(pairs.list[0].name, "a");
    assert_int_equal(case_pairs_check(&pairs, NULL, &failure), STATUS_OK);
    assert_int_equal(scoring_find_labels(&pairs, &options, &regions, NULL, &failure), STATUS_OK);
    assert_int_equal(regions.count, 3);
    assert_int_equal(scoring_run(&pairs, &regions, &options, &listener, &scores, &failure), STATUS_OK);
    assert_int_equal(told.size, 0);
    assert_true(isnan(scores_at(&scores, 0, 0)[METRIC_DICE]));
    assert_true(scores_at(&scores, 0, 2)[METRIC_DICE] == 0);
    assert_close(scores_at(&scores, 0, 2)[METRIC_HD95], sqrt(12), 1e-12);
    assert_close(scores_at(&scores, 1, 0)[METRIC_DICE], 2.0 / 3, 1e-12);
    assert_close(scores_at(&scores, 1, 1)[METRIC_DICE], 0.8, 1e-12);
    assert_true(scores_at(&scores, 1, 1)[METRIC_N_REF] == 3);
    assert_true(scores.measured[METRIC_HD95] && !scores.measured[METRIC_ASSD]);
    scores_close(&scores);
    regions_close(&regions);
    assert_int_equal(regions_add_named(&regions, "x=1+2", NULL), STATUS_OK);
    assert_int_equal(scoring_run(&pairs, &regions, &options, &listener, &scores, &failure), STATUS_OK);
    assert_string_equal(text_string(&told), "1 case holds labels that are not evaluated, such as 3 in a");
    assert_close(scores_at(&scores, 1, 0)[METRIC_DICE], 0.75, 1e-12);
    scores_close(&scores);
    regions_close(&regions);
    text_close(&told);
    case_pairs_close(&pairs);
}

/* nnU-Net leaves the voxels out, of the true negatives too. */
static void ignored_voxels_count_for_nothing(void **state) {
    (void)state;
    char prediction[200], reference[200];
    write_map(predictions, "i.nii", "11100211", 1);
    write_map(references, "i.nii", "10009299", 1);
    snprintf(prediction, sizeof prediction, "%s/i.nii", predictions);
    snprintf(reference, sizeof reference, "%s/i.nii", references);
    case_pairs pairs = {0};
    region_list regions = {0};
    scores scores;
    text told = {0};
    const listener listener = {.context = &told, .notice = note};
    const scoring_options options = {.ignore = 9, .threads = 1};
    assert_int_equal(case_pairs_add(&pairs, "case", prediction, reference, NULL, NULL), STATUS_OK);
    assert_int_equal(scoring_find_labels(&pairs, &options, &regions, NULL, NULL), STATUS_OK);
    assert_int_equal(regions.count, 2);
    assert_int_equal(scoring_run(&pairs, &regions, &options, &listener, &scores, NULL), STATUS_OK);
    const double *one = scores_at(&scores, 0, 0), *two = scores_at(&scores, 0, 1);
    assert_true(one[METRIC_TP] == 1 && one[METRIC_FP] == 2 && one[METRIC_FN] == 0 && one[METRIC_TN] == 2);
    assert_true(two[METRIC_TP] == 1 && two[METRIC_FP] == 0 && two[METRIC_FN] == 0 && two[METRIC_TN] == 4);
    assert_close(one[METRIC_DICE], 0.5, 1e-12);
    assert_int_equal(told.size, 0);
    scores_close(&scores);
    regions_close(&regions);
    case_pairs_close(&pairs);
}

static void what_is_missing_or_differs_is_named(void **state) {
    (void)state;
    case_pairs pairs;
    text told = {0};
    failure failure;
    write_map(predictions, "lonely.nii", "00000001", 1);
    assert_int_equal(case_pairs_open(&pairs, predictions, references, 0, &told, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "lacks lonely"));
    case_pairs_close(&pairs);
    assert_int_equal(case_pairs_open(&pairs, predictions, references, 1, &told, &failure), STATUS_OK);
    assert_non_null(strstr(text_string(&told), "lacks lonely"));
    case_pairs_close(&pairs);
    write_map(references, "lonely.nii", "00000001", 1.5);
    assert_int_equal(case_pairs_open(&pairs, predictions, references, 0, &told, &failure), STATUS_OK);
    assert_int_equal(case_pairs_check(&pairs, NULL, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "lonely: the affines differ"));
    case_pairs_close(&pairs);
    write_map(references, "lonely.nii.gz", "00000001", 1);
    assert_int_equal(case_pairs_open(&pairs, predictions, references, 0, &told, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "lonely twice"));
    case_pairs_close(&pairs);
    assert_int_equal(case_pairs_open(&pairs, root, references, 0, &told, &failure), STATUS_BAD_INPUT);
    case_pairs_close(&pairs);
    assert_int_equal(case_pairs_open(&pairs, "no such folder", references, 0, &told, &failure), STATUS_CANNOT_READ);
    case_pairs_close(&pairs);
    text_close(&told);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_are_matched_and_scored),
        cmocka_unit_test(what_is_missing_or_differs_is_named),
        cmocka_unit_test(ignored_voxels_count_for_nothing),
    };
    return cmocka_run_group_tests(tests, maps_setup, maps_teardown);
}
