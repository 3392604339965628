#include "statistics/statistics.h"

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
    clusters each;
    assert_int_equal(clusters_open(&each, NULL, NULL, N, NULL), STATUS_OK);
    for (int i = 0; i < N; i++) mean += values[i] / N;
    statistics_options options = {.confidence = 0.95, .resamples = 4000, .seed = 1};
    assert_int_equal(bootstrap_mean(values, &each, &options, &first, NULL), STATUS_OK);
    assert_int_equal(bootstrap_mean(values, &each, &options, &again, NULL), STATUS_OK);
    assert_true(first.low == again.low && first.high == again.high);
    const double expected = 1.96 * 2 / sqrt(N);
    assert_near(first.low, mean - expected, 0.1 * expected);
    assert_near(first.high, mean + expected, 0.1 * expected);
    options = (statistics_options){.confidence = 0.5, .resamples = 4000, .seed = 2};
    assert_int_equal(bootstrap_mean(values, &each, &options, &again, NULL), STATUS_OK);
    assert_true(first.low < again.low && again.high < first.high);
    clusters_close(&each);
}

/* Whoever counts every patient twice knows no more than who counts each once. */
static void a_second_copy_of_each_patient_changes_nothing(void **state) {
    (void)state;
    enum { N = 40 };
    double once[N], twice[2 * N + 1];
    int patients[2 * N + 1];
    uint64_t random = 8;
    for (int i = 0; i < N; i++) {
        once[i] = test_normal(&random);
        twice[2 * i] = twice[2 * i + 1] = once[i];
        patients[2 * i] = patients[2 * i + 1] = 7 * i % N;
    }
    twice[2 * N] = NAN;
    patients[2 * N] = 3;
    statistics_options options = statistics_options_default();
    statistics few, many;
    for (int lower = 0; lower < 2; lower++) {
        options.lower_is_better = lower;
        options.patients = NULL;
        assert_int_equal(statistics_of(once, N, &options, &few, NULL), STATUS_OK);
        options.patients = patients;
        assert_int_equal(statistics_of(twice, 2 * N + 1, &options, &many, NULL), STATUS_OK);
        assert_int_equal(many.count, 2 * N);
        assert_int_equal(many.patients, N);
        assert_int_equal(few.patients, N);
        assert_close(many.ci.low, few.ci.low, 1e-12);
        assert_close(many.ci.high, few.ci.high, 1e-12);
        assert_true(many.tolerance == few.tolerance);
    }
    assert_int_equal(statistics_of(twice, 2 * 9, &options, &many, NULL), STATUS_OK);
    assert_true(isnan(many.ci.low)); /* nine patients */
}

/* One to three numbers each, which have something in common: the error of a ratio of sums over patients. */
static void intervals_of_patients_are_those_of_the_central_limit_theorem(void **state) {
    (void)state;
    enum { PATIENTS = 600 };
    static double values[3 * PATIENTS];
    static int patients[3 * PATIENTS];
    uint64_t random = 9;
    int n = 0;
    for (int p = 0; p < PATIENTS; p++) {
        const double own = test_normal(&random);
        for (int k = 0; k <= p % 3; k++, n++) {
            values[n] = own + 0.3 * test_normal(&random);
            patients[n] = p;
        }
    }
    statistics_options options = statistics_options_default();
    statistics alone, together;
    assert_int_equal(statistics_of(values, (size_t)n, &options, &alone, NULL), STATUS_OK);
    options.patients = patients;
    assert_int_equal(statistics_of(values, (size_t)n, &options, &together, NULL), STATUS_OK);
    double sum[PATIENTS] = {0}, squares = 0;
    for (int i = 0; i < n; i++) sum[patients[i]] += values[i] - together.mean;
    for (int p = 0; p < PATIENTS; p++) squares += sum[p] * sum[p];
    const double expected = 1.96 * sqrt(squares) / n;
    assert_near(together.ci.low, together.mean - expected, 0.06 * expected);
    assert_near(together.ci.high, together.mean + expected, 0.06 * expected);
    assert_true(alone.ci.high - alone.ci.low < 0.8 * (together.ci.high - together.ci.low));
    assert_true(together.mean == alone.mean && together.p5 == alone.p5 && together.std == alone.std);
    assert_true(together.tolerance <= alone.tolerance);
}

/* Cases that are nobody's each stand for themselves. */
static void who_is_nobodys_counts_alone(void **state) {
    (void)state;
    double values[12];
    int nobody[12];
    for (int i = 0; i < 12; i++) {
        values[i] = i * i;
        nobody[i] = -1;
    }
    statistics_options options = statistics_options_default();
    statistics plain, unknown;
    assert_int_equal(statistics_of(values, 12, &options, &plain, NULL), STATUS_OK);
    options.patients = nobody;
    assert_int_equal(statistics_of(values, 12, &options, &unknown, NULL), STATUS_OK);
    assert_true(plain.ci.low == unknown.ci.low && plain.ci.high == unknown.ci.high);
    assert_int_equal(unknown.patients, 12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_follow_numpys_linear_rule),
        cmocka_unit_test(statistics_leave_nan_out_and_count_it),
        cmocka_unit_test(no_numbers_give_nan_and_infinite_ones_are_refused),
        cmocka_unit_test(a_single_number_is_its_own_statistics),
        cmocka_unit_test(intervals_begin_with_ten_numbers),
        cmocka_unit_test(the_bootstrap_interval_is_right_and_repeatable),
        cmocka_unit_test(a_second_copy_of_each_patient_changes_nothing),
        cmocka_unit_test(intervals_of_patients_are_those_of_the_central_limit_theorem),
        cmocka_unit_test(who_is_nobodys_counts_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
