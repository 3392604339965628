#include "statistics/wilcoxon.h"

#include "testing.h"

static wilcoxon test_differences(const double *differences, size_t count) {
    static const double zeros[1000];
    wilcoxon result;
    assert_int_equal(wilcoxon_test(zeros, differences, count, &result, NULL), STATUS_OK);
    return result;
}

/* All 2^n signs of the differences that are not zero, each as likely as the other. */
static double plain_exact_p(const double *differences, int count) {
    double ranks[10], positive = 0, total = 0;
    int n = 0, extreme = 0;
    for (int i = 0; i < count; i++) {
        double rank = 0.5;
        for (int j = 0; j < count; j++)
            if (differences[j] != 0)
                rank += fabs(differences[j]) < fabs(differences[i])    ? 1
                        : fabs(differences[j]) == fabs(differences[i]) ? 0.5
                                                                       : 0;
        if (differences[i] == 0) continue;
        ranks[n++] = rank;
        total += rank;
        if (differences[i] > 0) positive += rank;
    }
    for (int signs = 0; signs < 1 << n; signs++) {
        double sum = 0;
        for (int i = 0; i < n; i++) sum += signs >> i & 1 ? ranks[i] : 0;
        extreme += sum <= fmin(positive, total - positive);
    }
    return fmin(1, 2.0 * extreme / (1 << n));
}

static void the_exact_value_counts_all_signs(void **state) {
    (void)state;
    uint64_t random = 8;
    for (int round = 0; round < 60; round++) {
        double differences[10];
        const int n = 1 + (int)(test_random(&random) % 10);
        for (int i = 0; i < n; i++) differences[i] = test_normal(&random) + 0.5;
        const wilcoxon result = test_differences(differences, (size_t)n);
        assert_true(result.exact);
        assert_close(result.p, plain_exact_p(differences, n), 1e-12);
    }
}

static void it_does_so_with_ties_and_zeros_too(void **state) {
    (void)state;
    uint64_t random = 9;
    for (int round = 0; round < 200; round++) {
        double differences[10];
        const int n = 1 + (int)(test_random(&random) % 10);
        for (int i = 0; i < n; i++) differences[i] = (double)(test_random(&random) % 6) - 2;
        const wilcoxon result = test_differences(differences, (size_t)n);
        assert_true(result.exact);
        assert_close(result.p, plain_exact_p(differences, n), 1e-12);
    }
    const double one_equal[] = {1, 2, 0, 3, 4, 5}, one_size[] = {1, 1, 1, 1, 1, 1};
    assert_close(test_differences(one_equal, 6).p, 2. / 32, 1e-12);
    assert_close(test_differences(one_size, 6).p, 2. / 64, 1e-12);
}

/* Values of scipy.stats.wilcoxon, which is exact here, and the share of the 2^8 signs. */
static void known_values_are_met(void **state) {
    (void)state;
    const double plants[] = {6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75};
    wilcoxon result = test_differences(plants, 15);
    assert_true(result.exact);
    assert_close(result.statistic, 24, 0);
    assert_close(result.p, 0.041259765625, 1e-12);
    const double tied[] = {1, 1, -2, 3, 3, 3, -1, 0, 5, 0};
    result = test_differences(tied, 10);
    assert_true(result.exact);
    assert_int_equal(result.better, 6);
    assert_int_equal(result.worse, 2);
    assert_int_equal(result.equal, 2);
    assert_close(result.statistic, 6, 0);
    assert_close(result.p, 0.1171875, 1e-12);
}

static void many_pairs_use_the_normal_approximation(void **state) {
    (void)state;
    double differences[60];
    for (int i = 0; i < 60; i++) differences[i] = (i % 3 ? 1 : -1) * (i + 1.0);
    const wilcoxon result = test_differences(differences, 60);
    assert_false(result.exact);
    /* negative ranks: 1, 4, ..., 58 */
    const double negative = 590, mean = 60 * 61 / 4.0, deviation = sqrt(60 * 61 * 121 / 24.0);
    assert_close(result.statistic, negative, 0);
    assert_close(result.p, erfc((mean - negative) / deviation / sqrt(2)), 1e-12);
}

/* Fifty that differ are counted in full, whatever else is equal; one more is not. */
static void equal_pairs_do_not_count_towards_the_limit(void **state) {
    (void)state;
    double differences[60] = {0};
    for (int i = 0; i < 50; i++) differences[i] = i % 5 ? 1 : -1;
    assert_true(test_differences(differences, 60).exact);
    /* P(B <= 10) of fifty fair coins, twice */
    assert_close(test_differences(differences, 60).p, 2.3861331676755526e-05, 1e-18);
    differences[50] = 1;
    assert_false(test_differences(differences, 60).exact);
}

static void nan_is_left_out_and_equal_methods_have_p_one(void **state) {
    (void)state;
    const double a[] = {1, 2, NAN, 4}, b[] = {1, 2, 3, NAN};
    wilcoxon result;
    assert_int_equal(wilcoxon_test(a, b, 4, &result, NULL), STATUS_OK);
    assert_int_equal(result.missing, 2);
    assert_int_equal(result.equal, 2);
    assert_true(result.p == 1);
    assert_int_equal(wilcoxon_test(a + 2, b + 2, 2, &result, NULL), STATUS_OK);
    assert_true(isnan(result.p));
    assert_int_equal(wilcoxon_test(a, b, 0, &result, NULL), STATUS_OK);
    assert_true(isnan(result.p));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_exact_value_counts_all_signs),
        cmocka_unit_test(it_does_so_with_ties_and_zeros_too),
        cmocka_unit_test(known_values_are_met),
        cmocka_unit_test(many_pairs_use_the_normal_approximation),
        cmocka_unit_test(equal_pairs_do_not_count_towards_the_limit),
        cmocka_unit_test(nan_is_left_out_and_equal_methods_have_p_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
