#include "statistics/tolerance.h"

#include "core/quantile.h"
#include "core/random.h"
#include "testing.h"

#include <math.h>

/* P(B >= k) as a plain sum of products, B binomial. */
static double at_least(int n, int k, double p) {
    double sum = 0;
    for (int j = k; j <= n; j++) {
        double term = 1;
        for (int i = 0; i < j; i++) term *= p * (n - i) / (j - i);
        for (int i = 0; i < n - j; i++) term *= 1 - p;
        sum += term;
    }
    return sum;
}

static void the_rank_is_the_largest_that_holds(void **state) {
    (void)state;
    for (int n = 1; n <= 120; n++) {
        const int k = (int)tolerance_rank((size_t)n, 0.9, 0.95);
        if (k > 0) assert_true(at_least(n, k, 0.1) >= 0.95);
        assert_true(at_least(n, k + 1, 0.1) < 0.95);
    }
}

/* 29 and 46 are in every table of one-sided tolerance limits. */
static void too_few_cases_give_no_statement(void **state) {
    (void)state;
    double sorted[46];
    for (int i = 0; i < 46; i++) sorted[i] = i;
    assert_int_equal(tolerance_cases_needed(), 29);
    assert_true(isnan(tolerance_of_sorted(sorted, 28, 0)));
    assert_true(tolerance_of_sorted(sorted, 29, 0) == 0);
    assert_true(tolerance_of_sorted(sorted, 29, 1) == 28);
    assert_true(tolerance_of_sorted(sorted, 45, 0) == 0);
    assert_true(tolerance_of_sorted(sorted, 46, 0) == 1);
    assert_true(tolerance_of_sorted(sorted, 46, 1) == 44);
    assert_int_equal(tolerance_rank(0, 0.9, 0.95), 0);
}

/* Scores whose distribution is known: u^3 is skewed towards failure, and rounding it makes ties. The share of all such
   cases that reach x is then known, too. */
static double share_that_reaches(double x, int rounded) {
    const double below = rounded ? fmax(0, x - 0.05) : x; /* what is rounded to x or more */
    return 1 - cbrt(below);
}

static double share_of_statements_that_hold(int n, int rounded, uint64_t seed) {
    enum { TRIALS = 4000 };
    double scores[200];
    int held = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        random_stream stream;
        random_start(&stream, seed, 255, (uint64_t)trial, 0);
        for (int i = 0; i < n; i++) {
            const double unit = random_unit(&stream);
            scores[i] = unit * unit * unit;
            if (rounded) scores[i] = round(10 * scores[i]) / 10;
        }
        sort_numbers(scores, (size_t)n);
        held += share_that_reaches(tolerance_of_sorted(scores, (size_t)n, 0), rounded) >= 0.9;
    }
    return (double)held / TRIALS;
}

/* The standard error of 4000 trials is 0.35 %; four of them are allowed. */
static void statements_hold_as_often_as_they_say(void **state) {
    (void)state;
    static const int sizes[] = {29, 40, 46, 100, 200};
    for (int k = 0; k < 5; k++) {
        const int n = sizes[k];
        const double held = share_of_statements_that_hold(n, 0, 11);
        const double exact = at_least(n, (int)tolerance_rank((size_t)n, 0.9, 0.95), 0.1);
        assert_true(exact >= 0.95);
        assert_near(held, exact, 0.014);
        assert_true(share_of_statements_that_hold(n, 1, 12) >= 0.95 - 0.014);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rank_is_the_largest_that_holds),
        cmocka_unit_test(too_few_cases_give_no_statement),
        cmocka_unit_test(statements_hold_as_often_as_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
