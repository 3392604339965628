#include "evaluate/comparison.h"

#include "example_scores.h"

static void cases_and_regions_are_brought_into_one_order(void **state) {
    (void)state;
    const double dice[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
    scores a, b;
    failure failure;
    open_scores(&a, 3, dice);
    open_scores(&b, 3, dice);
    /* b in another order: cases turned round, regions exchanged */
    for (size_t k = 0; k < 3; k++) {
        snprintf(b.list[k].name, strlen(b.list[k].name) + 1, "case_%zu", 2 - k);
        scores_at(&b, k, 0)[METRIC_DICE] = (double)k;
        scores_at(&b, k, 1)[METRIC_DICE] = (double)k + 0.5;
    }
    const region kept = b.regions.regions[0];
    b.regions.regions[0] = b.regions.regions[1];
    b.regions.regions[1] = kept;
    assert_int_equal(scores_align(&a, &b, 0, &failure), STATUS_OK);
    for (size_t k = 0; k < 3; k++) {
        assert_string_equal(a.list[k].name, b.list[k].name);
        assert_true(scores_at(&a, k, 1)[METRIC_DICE] == dice[2 * k + 1]);
        assert_true(scores_at(&b, k, 0)[METRIC_DICE] == (double)(2 - k) + 0.5);
        assert_true(scores_at(&b, k, 1)[METRIC_DICE] == (double)(2 - k));
    }
    assert_true(regions_find(&b.regions, &a.regions.regions[1]) == 1);
    scores_close(&a);
    scores_close(&b);
}

static void what_only_one_has_is_named_or_dropped(void **state) {
    (void)state;
    const double dice[6] = {0};
    scores a, b;
    failure failure;
    open_scores(&a, 3, dice);
    open_scores(&b, 2, dice);
    assert_int_equal(scores_align(&a, &b, 0, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "the second summary lacks case_2"));
    assert_int_equal(a.cases, 3);
    assert_int_equal(scores_align(&b, &a, 0, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "the first summary lacks case_2"));
    assert_int_equal(scores_align(&a, &b, 1, &failure), STATUS_OK);
    assert_int_equal(a.cases, 2);
    a.regions.regions[1].labels[1] = 9;
    assert_int_equal(scores_align(&a, &b, 0, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "label"));
    assert_int_equal(scores_align(&a, &b, 1, &failure), STATUS_OK);
    assert_int_equal(a.regions.count, 1);
    assert_int_equal(b.regions.count, 1);
    a.list[0].name[0] = a.list[1].name[0] = 'x';
    assert_int_equal(scores_align(&a, &b, 1, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "in common"));
    scores_close(&a);
    scores_close(&b);
}

static void tables_show_both_methods_the_better_one_bold_and_the_test(void **state) {
    (void)state;
    const double dice_a[] = {0.5, 0.9, 0.6, 0.8, 0.7, NAN}, dice_b[] = {0.6, 0.9, 0.8, 0.8, 0.95, 0.1};
    scores a, b;
    strata strata;
    text lacking = {0}, out = {0};
    comparison comparison;
    const compared_methods methods = {{&a, &b}, {"ERM", "DRO"}};
    open_scores(&a, 3, dice_a);
    open_scores(&b, 3, dice_b);
    assert_int_equal(strata_open(&strata, NULL, NULL, &a, &lacking, NULL), STATUS_OK);
    assert_int_equal(comparison_open(&comparison, &methods, &strata, METRIC_DICE, NULL), STATUS_OK);
    const comparison_row *row = comparison_at(&comparison, 0, 0);
    assert_close(row->method[0].mean, 0.6, 1e-12);
    assert_close(row->test.p, 0.25, 1e-12);
    assert_int_equal(comparison_at(&comparison, 0, 1)->test.equal, 2);
    assert_int_equal(comparison_at(&comparison, 0, 1)->test.missing, 1);
    assert_int_equal(comparison_write(&comparison, COMPARISON_TALL, TABLE_MARKDOWN, &out, NULL), STATUS_OK);
    assert_non_null(
        strstr(text_string(&out), "| all (3) | ERM | 1 | 60.0 | 60.0 | **10.0** | 55.0 | 52.0 | 51.0 | 50.0 |  |"));
    assert_non_null(strstr(text_string(&out), "| all (3) | DRO | 1 | **78.3** | **80.0** | 17.5 | **70.0** |"));
    assert_non_null(strstr(text_string(&out), "| all (3) | difference | 1 | +18.3 | +20.0 | +7.5 |"));
    assert_non_null(strstr(text_string(&out), "| 0.250 |"));
    text_close(&out);
    assert_int_equal(comparison_write(&comparison, COMPARISON_WIDE, TABLE_LATEX, &out, NULL), STATUS_OK);
    assert_non_null(strstr(text_string(&out), "group & method & 1 mean & median & IQR & both mean & median & IQR"));
    assert_non_null(strstr(text_string(&out), "all (3) & Wilcoxon p & 0.250 &  &  & 1.000 &  &"));
    text_close(&out);
    assert_int_equal(comparison_write(&comparison, COMPARISON_TALL, TABLE_CSV, &out, NULL), STATUS_OK);
    csv table;
    assert_int_equal(csv_parse(&table, "x", out.bytes, out.size, CSV_STRICT, NULL), STATUS_OK);
    assert_int_equal(table.rows, 2);
    assert_close(csv_number(&table, 0, (size_t)csv_column(&table, "b_mean")), 0.7833333333, 1e-9);
    csv_close(&table);
    text_close(&out);
    comparison_close(&comparison);
    failure failure;
    assert_int_equal(comparison_open(&comparison, &methods, &strata, METRIC_HD95, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "HD95"));
    comparison_close(&comparison);
    strata_close(&strata);
    scores_close(&a);
    scores_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_and_regions_are_brought_into_one_order),
        cmocka_unit_test(what_only_one_has_is_named_or_dropped),
        cmocka_unit_test(tables_show_both_methods_the_better_one_bold_and_the_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
