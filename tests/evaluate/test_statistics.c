#include "evaluate/statistics.h"

#include "core/quantile.h"
#include "testing.h"

static void quantiles_follow_numpys_linear_rule(void **state) {
    (void)state;
    const double sorted[] = {1, 2, 4, 8, 16};
    assert_close(quantile_of_sorted(sorted, 5, 0), 1, 0);
    assert_close(quantile_of_sorted(sorted, 5, 1), 16, 0);
    assert_close(quantile_of_sorted(sorted, 5, 0.5), 4, 0);
    assert_close(quantile_of_sorted(sorted, 5, 0.05), 1.2, 1e-14);
    assert_close(quantile_of_sorted(sorted, 5, 0.1), 1.4, 1e-14);
    assert_close(quantile_of_sorted(sorted, 5, 0.95), 14.4, 1e-14);
    assert_close(quantile_of_sorted(sorted, 1, 0.3), 1, 0);
    assert_true(isnan(quantile_of_sorted(sorted, 0, 0.5)));
}

static void statistics_leave_nan_out_and_count_it(void **state) {
    (void)state;
    const double values[] = {0.5, NAN, 0.9, 0.1, 0.7, NAN, 0.1};
    statistics_options options = statistics_options_default();
    statistics result;
    assert_int_equal(statistics_of(values, 7, &options, &result, NULL), STATUS_OK);
    assert_int_equal(result.count, 5);
    assert_int_equal(result.missing, 2);
    assert_close(result.mean, 0.46, 1e-14);
    assert_close(result.std, 0.32 * sqrt(5. / 4), 1e-14);
    assert_close(result.median, 0.5, 1e-14);
    assert_close(result.p25, 0.1, 1e-14);
    assert_close(result.p75, 0.7, 1e-14);
    assert_close(result.iqr, 0.6, 1e-14);
    assert_close(result.p10, 0.1, 1e-14);
    assert_close(result.p95, 0.86, 1e-14);
    assert_int_equal(result.worst, 3);
    assert_true(result.worst_value == 0.1);
    assert_true(isnan(result.ci.low) && isnan(result.ci.high)); /* five numbers are too few for an interval */
    assert_true(isnan(result.tolerance));
    options.lower_is_better = 1;
    assert_int_equal(statistics_of(values, 7, &options, &result, NULL), STATUS_OK);
    assert_int_equal(result.worst, 2);
}

static void no_numbers_give_nan_and_infinite_ones_are_refused(void **state) {
    (void)state;
    const double nothing[] = {NAN, NAN}, infinite[] = {1, INFINITY};
    const statistics_options options = statistics_options_default();
    statistics result;
    failure failure;
    for (size_t count = 0; count <= 2; count++) {
        assert_int_equal(statistics_of(nothing, count, &options, &result, NULL), STATUS_OK);
        assert_int_equal(result.count, 0);
        assert_int_equal(result.missing, count);
        assert_true(isnan(result.mean) && isnan(result.std) && isnan(result.ci.low) && isnan(result.median) &&
                    isnan(result.iqr) && isnan(result.worst_value));
    }
    assert_int_equal(statistics_of(infinite, 2, &options, &result, &failure), STATUS_NOT_FINITE);
}

static void a_single_number_is_its_own_statistics(void **state) {
    (void)state;
    const double value = 0.25;
    const statistics_options options = statistics_options_default();
    statistics result;
    assert_int_equal(statistics_of(&value, 1, &options, &result, NULL), STATUS_OK);
    assert_true(result.mean == 0.25 && isnan(result.std) && result.p5 == 0.25 && result.p95 == 0.25 && result.iqr == 0);
    assert_true(isnan(result.ci.low) && isnan(result.ci.high));
}

static void intervals_begin_with_ten_numbers(void **state) {
    (void)state;
    double values[STATISTICS_INTERVAL_CASES];
    for (int i = 0; i < STATISTICS_INTERVAL_CASES; i++) values[i] = i;
    const statistics_options options = statistics_options_default();
    statistics result;
    assert_int_equal(statistics_of(values, STATISTICS_INTERVAL_CASES - 1, &options, &result, NULL), STATUS_OK);
    assert_true(isnan(result.ci.low));
    assert_int_equal(statistics_of(values, STATISTICS_INTERVAL_CASES, &options, &result, NULL), STATUS_OK);
    assert_true(result.ci.low < result.mean && result.mean < result.ci.high);
}

/* For many numbers the interval is that of the central limit theorem. */
static void the_bootstrap_interval_is_right_and_repeatable(void **state) {
    (void)state;
    enum { N = 2000 };
    static double values[N];
    uint64_t random = 6;
    for (int i = 0; i < N; i++) values[i] = 3 + 2 * test_normal(&random);
    double mean = 0;
    interval first, again;
    for (int i = 0; i < N; i++) mean += values[i] / N;
    statistics_options options = {.confidence = 0.95, .resamples = 4000, .seed = 1};
    assert_int_equal(bootstrap_mean(values, N, &options, &first, NULL), STATUS_OK);
    assert_int_equal(bootstrap_mean(values, N, &options, &again, NULL), STATUS_OK);
    assert_true(first.low == again.low && first.high == again.high);
    const double expected = 1.96 * 2 / sqrt(N);
    assert_near(first.low, mean - expected, 0.1 * expected);
    assert_near(first.high, mean + expected, 0.1 * expected);
    options = (statistics_options){.confidence = 0.5, .resamples = 4000, .seed = 2};
    assert_int_equal(bootstrap_mean(values, N, &options, &again, NULL), STATUS_OK);
    assert_true(first.low < again.low && again.high < first.high);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_follow_numpys_linear_rule),
        cmocka_unit_test(statistics_leave_nan_out_and_count_it),
        cmocka_unit_test(no_numbers_give_nan_and_infinite_ones_are_refused),
        cmocka_unit_test(a_single_number_is_its_own_statistics),
        cmocka_unit_test(intervals_begin_with_ten_numbers),
        cmocka_unit_test(the_bootstrap_interval_is_right_and_repeatable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
