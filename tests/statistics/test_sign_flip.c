#include "statistics/sign_flip.h"

#include "statistics/binomial.h"
#include "testing.h"

#include <stdlib.h>

/* Every way to choose the signs. */
static double enumerated(const int64_t *d, int count) {
    int64_t seen = 0, as_far = 0;
    for (int k = 0; k < count; k++) seen += d[k];
    for (long ways = 0; ways < 1L << count; ways++) {
        int64_t sum = 0;
        for (int k = 0; k < count; k++) sum += ways >> k & 1 ? d[k] : -d[k];
        as_far += llabs(sum) >= llabs(seen);
    }
    return (double)as_far / (double)(1L << count);
}

static double tested(const int64_t *d, int64_t count) {
    double p = NAN;
    assert_int_equal(sign_flip_test(d, count, &p, NULL), STATUS_OK);
    return p;
}

static void p_is_that_of_all_signs(void **state) {
    (void)state;
    uint64_t random = 4;
    for (int count = 0; count <= 14; count++) {
        int64_t d[14] = {0};
        for (int k = 0; k < count; k++) d[k] = (int64_t)(test_random(&random) % 13) - 3;
        assert_near(tested(d, count), enumerated(d, count), 1e-12);
    }
    assert_near(tested((int64_t[]){8, 8, 8, 8, 8, -8}, 6), 14. / 64, 1e-12);
    assert_near(tested((int64_t[]){0, 0}, 2), 1, 0);
}

/* Twice the chance of so few, or fewer, of the answers that differ. */
static double mcnemars(int a, int b) {
    double p = 0;
    for (int k = 0; k <= (a < b ? a : b); k++) p += binomial_probability((size_t)(a + b), (size_t)k, 0.5);
    return fmin(1, 2 * p);
}

static void one_example_per_patient_is_mcnemars_test(void **state) {
    (void)state;
    int64_t d[40] = {0};
    for (int only_first = 0; only_first < 12; only_first++) {
        for (int k = 0; k < 40; k++) d[k] = k < only_first ? -1 : k < only_first + 9 ? 1 : 0;
        assert_near(tested(d, 40), mcnemars(only_first, 9), 1e-12);
    }
}

/* 40,000 patients that differ by 1 to 5 examples: the exact distribution would take too long. */
static void many_patients_are_tested_by_the_normal_distribution(void **state) {
    (void)state;
    enum { MANY = 40000 };
    static int64_t d[MANY];
    double squares = 0, sum = 0;
    for (int k = 0; k < MANY; k++) d[k] = (k % 5 + 1) * (k % 100 < 51 ? 1 : -1);
    for (int k = 0; k < MANY; k++) squares += (double)(d[k] * d[k]), sum += (double)d[k];
    assert_near(tested(d, MANY), erfc(fabs(sum) / sqrt(squares) / sqrt(2)), 1e-9);
    /* Where both can be had they are the same: the first 4,000, of which the exact one is still quick. */
    squares = sum = 0;
    for (int k = 0; k < 4000; k++) squares += (double)(d[k] * d[k]), sum += (double)d[k];
    assert_near(tested(d, 4000), erfc((fabs(sum) - 1) / sqrt(squares) / sqrt(2)), 1e-3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p_is_that_of_all_signs),
        cmocka_unit_test(one_example_per_patient_is_mcnemars_test),
        cmocka_unit_test(many_patients_are_tested_by_the_normal_distribution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
