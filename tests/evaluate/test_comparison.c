#include "evaluate/comparison.h"

#include "example_scores.h"

enum { METHODS = 3 };

static const char *const NAMES[METHODS] = {"ERM", "DRO", "CVaR"};

static status_code align_two(scores pair[2], int common, failure *failure) {
    text dropped = {0};
    const status_code status = scores_align(&(compared_methods){2, pair, NAMES}, common, &dropped, failure);
    text_close(&dropped);
    return status;
}

static void cases_and_regions_are_brought_into_one_order(void **state) {
    (void)state;
    const double dice[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
    scores pair[2], *a = &pair[0], *b = &pair[1];
    failure failure;
    open_scores(a, 3, dice);
    open_scores(b, 3, dice);
    /* b in another order: cases turned round, regions exchanged */
    for (size_t k = 0; k < 3; k++) {
        snprintf(b->list[k].name, strlen(b->list[k].name) + 1, "case_%zu", 2 - k);
        scores_at(b, k, 0)[METRIC_DICE] = (double)k;
        scores_at(b, k, 1)[METRIC_DICE] = (double)k + 0.5;
    }
    const region kept = b->regions.regions[0];
    b->regions.regions[0] = b->regions.regions[1];
    b->regions.regions[1] = kept;
    assert_int_equal(align_two(pair, 0, &failure), STATUS_OK);
    for (size_t k = 0; k < 3; k++) {
        assert_string_equal(a->list[k].name, b->list[k].name);
        assert_true(scores_at(a, k, 1)[METRIC_DICE] == dice[2 * k + 1]);
        assert_true(scores_at(b, k, 0)[METRIC_DICE] == (double)(2 - k) + 0.5);
        assert_true(scores_at(b, k, 1)[METRIC_DICE] == (double)(2 - k));
    }
    assert_true(regions_find(&b->regions, &a->regions.regions[1]) == 1);
    scores_close(a);
    scores_close(b);
}

static void what_only_one_has_is_named_or_dropped(void **state) {
    (void)state;
    const double dice[6] = {0};
    scores pair[2], *a = &pair[0], *b = &pair[1];
    failure failure;
    open_scores(a, 3, dice);
    open_scores(b, 2, dice);
    assert_int_equal(align_two(pair, 0, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "DRO lacks case_2; --common compares the 2 cases"));
    assert_int_equal(a->cases, 3);
    assert_int_equal(align_two((scores[]){*b, *a}, 0, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "ERM lacks case_2"));
    assert_int_equal(align_two(pair, 1, &failure), STATUS_OK);
    assert_int_equal(a->cases, 2);
    a->regions.regions[1].labels[1] = 9;
    assert_int_equal(align_two(pair, 0, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "label"));
    assert_int_equal(align_two(pair, 1, &failure), STATUS_OK);
    assert_int_equal(a->regions.count, 1);
    assert_int_equal(b->regions.count, 1);
    a->list[0].name[0] = a->list[1].name[0] = 'x';
    assert_int_equal(align_two(pair, 1, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "in common"));
    scores_close(a);
    scores_close(b);
}

/* Each of three lacks something else; what is left is what all have, and everything is told. */
static void three_methods_are_reduced_to_what_all_have(void **state) {
    (void)state;
    const double dice[10] = {0};
    scores all[METHODS];
    text dropped = {0};
    open_scores(&all[0], 5, dice);
    open_scores(&all[1], 4, dice);
    open_scores(&all[2], 5, dice);
    all[2].list[0].name[0] = 'x';
    const compared_methods methods = {METHODS, all, NAMES};
    assert_int_equal(scores_align(&methods, 1, &dropped, NULL), STATUS_OK);
    assert_string_equal(text_string(&dropped), "ERM lacks xase_0; DRO lacks case_4, xase_0; CVaR lacks case_0");
    for (int m = 0; m < METHODS; m++) {
        assert_int_equal(all[m].cases, 3);
        for (size_t k = 0; k < 3; k++) assert_int_equal(all[m].list[k].name[5], '1' + (char)k);
        scores_close(&all[m]);
    }
    text_close(&dropped);
}

static comparison open_example(scores *all, strata *strata, const double *const *dice, size_t cases) {
    text lacking = {0};
    comparison comparison;
    for (int m = 0; m < METHODS; m++) open_scores(&all[m], cases, dice[m]);
    assert_int_equal(strata_open(strata, NULL, NULL, &all[0], &lacking, NULL), STATUS_OK);
    assert_int_equal(comparison_open(&comparison, &(compared_methods){METHODS, all, NAMES}, strata, METRIC_DICE, NULL),
                     STATUS_OK);
    return comparison;
}

static void close_example(comparison *comparison, scores *all, strata *strata) {
    comparison_close(comparison);
    strata_close(strata);
    for (int m = 0; m < METHODS; m++) scores_close(&all[m]);
}

enum { CASES = 7 };
static const double ERM[] = {0.5, 0.9, 0.6, 0.8, 0.7, NAN, 0.5, 0.9, 0.5, 0.9, 0.5, 0.9, 0.5, 0.9};
static const double DRO[] = {0.6, 0.9, 0.8, 0.8, 0.95, 0.1, 0.55, 0.9, 0.65, 0.9, 0.7, 0.9, 0.77, 0.9};
static const double CVAR[] = {0.6, 0.9, 0.8, 0.7, 0.95, 0.1, 0.55, 0.9, 0.65, 0.9, 0.7, 0.9, 0.77, 0.9};
static const double *const EXAMPLE[] = {ERM, DRO, CVAR};

static void rows_count_the_same_cases_for_all_methods(void **state) {
    (void)state;
    scores all[METHODS];
    strata strata;
    comparison comparison = open_example(all, &strata, EXAMPLE, CASES);
    const compared_row *row = comparison_at(&comparison, 0, 0, 1);
    assert_int_equal(row->numbers.count, CASES);
    assert_close(row->numbers.mean, 5.02 / 7, 1e-12);
    assert_close(row->difference.mean, 1.22 / 7, 1e-12);
    assert_true(isnan(row->difference.ci.low)); /* seven are too few for an interval */
    assert_int_equal(row->difference.test.better, CASES);
    row = comparison_at(&comparison, 0, 1, 1);
    assert_int_equal(row->numbers.count, CASES); /* in one of them ERM is rightly empty and DRO is not */
    assert_close(row->numbers.mean, 5.4 / 7, 1e-12);
    assert_close(row->difference.mean, -0.9 / 7, 1e-12);
    assert_int_equal(row->difference.test.equal, CASES - 1);
    assert_int_equal(row->rightly_empty, 0);
    assert_int_equal(comparison_at(&comparison, 0, 1, 0)->rightly_empty, 1);
    assert_true(isnan(row->difference.test.p)); /* no test where only one differs */
    close_example(&comparison, all, &strata);
}

/* Three tests: the same p twice for label 1, a larger one for the other label, by which ERM and DRO do not differ. */
static void holm_corrects_for_labels_and_methods(void **state) {
    (void)state;
    scores all[METHODS];
    strata strata;
    static const double other[] = {0.6, 0.91, 0.8, 0.7, 0.95, 0.1, 0.55, 0.93, 0.65, 0.86, 0.7, 0.95, 0.77, 0.96};
    comparison comparison = open_example(all, &strata, (const double *const[]){ERM, DRO, other}, CASES);
    const double small = comparison_at(&comparison, 0, 0, 1)->difference.test.p;
    const double large = comparison_at(&comparison, 0, 1, 2)->difference.test.p;
    assert_true(small < 0.05 && large > 0.5);
    assert_close(comparison_at(&comparison, 0, 0, 1)->difference.holm, 3 * small, 1e-12);
    assert_close(comparison_at(&comparison, 0, 0, 2)->difference.holm, 3 * small, 1e-12);
    assert_close(comparison_at(&comparison, 0, 1, 2)->difference.holm, large, 1e-12);
    assert_true(isnan(comparison_at(&comparison, 0, 1, 1)->difference.holm));
    assert_true(isnan(comparison_at(&comparison, 0, 0, 0)->difference.holm));
    close_example(&comparison, all, &strata);
}

static void tables_show_all_methods_and_mark_the_best_unless_it_is_tied(void **state) {
    (void)state;
    scores all[METHODS];
    strata strata;
    text out = {0};
    failure failure;
    comparison comparison = open_example(all, &strata, EXAMPLE, CASES);
    assert_int_equal(comparison_write(&comparison, COMPARISON_TALL, TABLE_MARKDOWN, &out, NULL), STATUS_OK);
    assert_non_null(strstr(text_string(&out), "| all (7) | ERM | 1 | 7 | 54.3 | 50.0 | **5.0** |"));
    assert_non_null(strstr(text_string(&out), "| all (7) | DRO | 1 | 7 | 71.7 | 70.0 | 16.0 |"));
    assert_non_null(strstr(text_string(&out), "| +17.4 | - | "));
    assert_non_null(strstr(text_string(&out), "| all (7) | CVaR | both | 7 | 75.7 |"));
    text_close(&out);
    assert_int_equal(comparison_write(&comparison, COMPARISON_WIDE, TABLE_LATEX, &out, NULL), STATUS_OK);
    assert_non_null(strstr(text_string(&out), "group & method & 1 mean & median & IQR & difference & Holm p & both"));
    assert_non_null(strstr(text_string(&out), "all (7) & DRO & 71.7 & 70.0 & 16.0 & +17.4 & "));
    text_close(&out);
    comparison_close(&comparison);
    const compared_methods methods = {METHODS, all, NAMES};
    assert_int_equal(comparison_open(&comparison, &methods, &strata, METRIC_HD95, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "HD95"));
    close_example(&comparison, all, &strata);
}

/* ERM predicts a label in 12 cases that 6 references have; DRO and CVaR predict it in these 6.
   Two more have it nowhere. */
static void predicting_what_is_not_there_costs_as_much_as_alone(void **state) {
    (void)state;
    enum { WITH = 6, WITHOUT = 6, NOWHERE = 2, ALL = WITH + WITHOUT + NOWHERE };
    static const table_format FORMATS[] = {TABLE_TEXT, TABLE_MARKDOWN, TABLE_LATEX};
    double wrong[2 * ALL], right[2 * ALL];
    for (int k = 0; k < 2 * ALL; k++) {
        wrong[k] = k < 2 * WITH ? 1 : k < 2 * (WITH + WITHOUT) ? 0 : (double)NAN;
        right[k] = k < 2 * WITH ? 1 : (double)NAN;
    }
    scores all[METHODS];
    strata strata;
    comparison comparison = open_example(all, &strata, (const double *const[]){wrong, right, right}, ALL);
    const compared_row *erm = comparison_at(&comparison, 0, 0, 0), *dro = comparison_at(&comparison, 0, 0, 1);
    assert_int_equal(erm->numbers.count, WITH + WITHOUT);
    assert_int_equal(dro->numbers.count, WITH + WITHOUT);
    assert_int_equal(erm->numbers.missing, NOWHERE);
    assert_int_equal(erm->rightly_empty, 0);
    assert_int_equal(dro->rightly_empty, WITHOUT);
    assert_close(erm->numbers.mean, 0.5, 1e-12);
    assert_close(dro->numbers.mean, 1, 1e-12);
    assert_close(dro->difference.mean, 0.5, 1e-12);
    assert_true(isnan(scores_at(&all[1], WITH, 0)[METRIC_DICE])); /* the scores themselves stay */
    for (int k = 0; k < 3; k++) {
        text out = {0};
        assert_int_equal(comparison_write(&comparison, COMPARISON_WIDE, FORMATS[k], &out, NULL), STATUS_OK);
        assert_non_null(strstr(text_string(&out), "Up to 2 of 14 cases have a label neither in the reference nor"));
        assert_non_null(strstr(text_string(&out), "In up to 6 of 14 cases a label is not in the reference"));
        text_close(&out);
    }
    close_example(&comparison, all, &strata);
}

/* A distance that is right is 0; a value that is missing though there are voxels leaves the case out. */
static void distances_of_what_is_rightly_empty_are_zero(void **state) {
    (void)state;
    scores all[METHODS];
    strata strata;
    comparison comparison = open_example(all, &strata, EXAMPLE, CASES);
    comparison_close(&comparison);
    for (int m = 0; m < METHODS; m++) {
        all[m].measured[METRIC_HD95] = all[m].measured[METRIC_N_PRED] = all[m].measured[METRIC_N_REF] = 1;
        for (size_t row = 0; row < 2 * (size_t)CASES; row++) {
            double *values = all[m].values + row * METRICS;
            values[METRIC_N_REF] = row < 2 ? 0 : 5;
            values[METRIC_N_PRED] = m > 0 && row < 2 ? 0 : 5;
            values[METRIC_HD95] = (m > 0 && row < 2) || (m == 1 && row == 2) ? (double)NAN : 7;
        }
    }
    const compared_methods methods = {METHODS, all, NAMES};
    assert_int_equal(comparison_open(&comparison, &methods, &strata, METRIC_HD95, NULL), STATUS_OK);
    const compared_row *row = comparison_at(&comparison, 0, 0, 1);
    assert_int_equal(row->numbers.count, CASES - 1);
    assert_int_equal(row->rightly_empty, 1);
    assert_close(row->difference.mean, -7.0 / (CASES - 1), 1e-12);
    close_example(&comparison, all, &strata);
}

static void csv_has_a_row_per_method(void **state) {
    (void)state;
    scores all[METHODS];
    strata strata;
    text out = {0};
    csv table;
    comparison comparison = open_example(all, &strata, EXAMPLE, CASES);
    assert_int_equal(comparison_write(&comparison, COMPARISON_TALL, TABLE_CSV, &out, NULL), STATUS_OK);
    assert_int_equal(csv_parse(&table, "x", out.bytes, out.size, CSV_STRICT, NULL), STATUS_OK);
    assert_int_equal(table.rows, 2 * METHODS);
    assert_string_equal(csv_cell(&table, 1, (size_t)csv_column(&table, "method")), "DRO");
    assert_close(csv_number(&table, 1, (size_t)csv_column(&table, "mean")), 5.02 / 7, 1e-9);
    assert_string_equal(csv_cell(&table, 0, (size_t)csv_column(&table, "difference")), "");
    csv_close(&table);
    text_close(&out);
    close_example(&comparison, all, &strata);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_and_regions_are_brought_into_one_order),
        cmocka_unit_test(what_only_one_has_is_named_or_dropped),
        cmocka_unit_test(three_methods_are_reduced_to_what_all_have),
        cmocka_unit_test(rows_count_the_same_cases_for_all_methods),
        cmocka_unit_test(holm_corrects_for_labels_and_methods),
        cmocka_unit_test(tables_show_all_methods_and_mark_the_best_unless_it_is_tied),
        cmocka_unit_test(predicting_what_is_not_there_costs_as_much_as_alone),
        cmocka_unit_test(distances_of_what_is_rightly_empty_are_zero),
        cmocka_unit_test(csv_has_a_row_per_method),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
