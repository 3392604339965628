#include "statistics/paired.h"

#include "testing.h"

static void a_difference_has_an_interval_from_ten_pairs_on_and_p_from_six(void **state) {
    (void)state;
    double a[12], b[12];
    const statistics_options options = statistics_options_default();
    paired result;
    for (int i = 0; i < 12; i++) {
        a[i] = 0.1 * i;
        b[i] = a[i] + 0.01 * (i + 1);
    }
    b[11] = NAN;
    for (size_t n = 0; n <= 12; n++) {
        const size_t pairs = n < 11 ? n : 11;
        assert_int_equal(paired_of(a, b, n, &options, &result, NULL), STATUS_OK);
        assert_int_equal(result.count, pairs);
        assert_int_equal(isnan(result.mean) != 0, pairs == 0);
        assert_int_equal(isnan(result.ci.low) == 0, pairs >= STATISTICS_INTERVAL_CASES);
        assert_int_equal(isnan(result.test.p) == 0, pairs >= PAIRED_TEST_CASES);
        if (pairs) assert_close(result.mean, 0.01 * ((double)pairs + 1) / 2, 1e-12);
    }
    assert_true(result.ci.low < result.mean && result.mean < result.ci.high);
    assert_close(result.test.p, 2. / 2048, 1e-12);
}

/* Of twelve pairs those that are equal tell nothing: p is there as soon as six differ, and then below 0.05. */
static void p_needs_six_pairs_that_differ(void **state) {
    (void)state;
    double a[12] = {0}, b[12] = {0};
    const statistics_options options = statistics_options_default();
    paired result;
    for (int differ = 0; differ < 12; differ++) {
        assert_int_equal(paired_of(a, b, 12, &options, &result, NULL), STATUS_OK);
        assert_int_equal(isnan(result.test.p) != 0, differ < PAIRED_TEST_CASES);
        if (differ >= PAIRED_TEST_CASES) assert_close(result.test.p, 2 / pow(2, differ), 1e-12);
        b[differ] = 1;
    }
}

/* Whoever counts every patient twice knows no more than who counts each once. */
static void patients_of_two_pairs_each_count_once(void **state) {
    (void)state;
    enum { N = 14 };
    double a[N], b[N], aa[2 * N], bb[2 * N];
    int patients[2 * N];
    uint64_t random = 4;
    for (int i = 0; i < N; i++) {
        a[i] = test_normal(&random);
        b[i] = a[i] + 0.3 + test_normal(&random);
        for (int k = 0; k < 2; k++) { /* their mean difference is that of the one pair */
            aa[i + k * N] = a[i];
            bb[i + k * N] = b[i] + (k ? 0.125 : -0.125);
            patients[i + k * N] = i;
        }
    }
    statistics_options options = statistics_options_default();
    paired once, twice;
    assert_int_equal(paired_of(a, b, N, &options, &once, NULL), STATUS_OK);
    options.patients = patients;
    assert_int_equal(paired_of(aa, bb, 2 * N, &options, &twice, NULL), STATUS_OK);
    assert_int_equal(twice.count, 2 * N);
    assert_int_equal(twice.patients, N);
    assert_close(twice.mean, once.mean, 1e-12);
    assert_close(twice.ci.low, once.ci.low, 1e-12);
    assert_close(twice.ci.high, once.ci.high, 1e-12);
    assert_true(twice.test.p == once.test.p && twice.test.better == once.test.better);
    for (int i = 0; i < 2 * N; i++) patients[i] = i % 5; /* too few to tell */
    assert_int_equal(paired_of(aa, bb, 2 * N, &options, &twice, NULL), STATUS_OK);
    assert_true(isnan(twice.ci.low) && isnan(twice.test.p) && isnan(twice.holm));
}

/* 0.7 and 0.9 are 0.8 and 0.8 in the mean, but not to the last bit; nor are 0.8 - 0.7 and 0.9 - 0.8. */
static void rounding_is_no_difference(void **state) {
    (void)state;
    double a[24], b[24];
    int patients[24];
    for (int i = 0; i < 24; i++) {
        a[i] = i % 2 ? 0.9 : 0.7;
        b[i] = 0.8;
        patients[i] = i / 2;
    }
    statistics_options options = statistics_options_default();
    options.patients = patients;
    paired result;
    assert_int_equal(paired_of(a, b, 24, &options, &result, NULL), STATUS_OK);
    assert_int_equal(result.test.equal, 12);
    assert_true(isnan(result.test.p));
    const double before[6] = {0.7, 0.8, 0.1, 0.2, 0.3, 0.5}, after[6] = {0.8, 0.9, 0.2, 0.3, 0.4, 0.4};
    options.patients = NULL;
    assert_int_equal(paired_of(before, after, 6, &options, &result, NULL), STATUS_OK);
    assert_true(result.test.statistic == 3.5); /* all six are tied */
}

/* The step-down procedure, by its definition: sorted p times what is left, never falling, at most 1. */
static void holm_follows_its_definition(void **state) {
    (void)state;
    double p[] = {0.01, 0.04, NAN, 0.03, 0.005, 0.9, NAN};
    const double expected[] = {0.04, 0.09, NAN, 0.09, 0.025, 0.9, NAN};
    assert_int_equal(holm_correct(p, 7, NULL), STATUS_OK);
    for (int k = 0; k < 7; k++) {
        if (isnan(expected[k])) assert_true(isnan(p[k]));
        else assert_close(p[k], expected[k], 1e-15);
    }
    double one = 0.3, large[] = {0.6, 0.7};
    assert_int_equal(holm_correct(&one, 1, NULL), STATUS_OK);
    assert_true(one == 0.3);
    assert_int_equal(holm_correct(large, 2, NULL), STATUS_OK);
    assert_true(large[0] == 1 && large[1] == 1);
    assert_int_equal(holm_correct(NULL, 0, NULL), STATUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_difference_has_an_interval_from_ten_pairs_on_and_p_from_six),
        cmocka_unit_test(p_needs_six_pairs_that_differ),
        cmocka_unit_test(patients_of_two_pairs_each_count_once),
        cmocka_unit_test(rounding_is_no_difference),
        cmocka_unit_test(holm_follows_its_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
