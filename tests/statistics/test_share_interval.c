#include "statistics/share_interval.h"

#include "testing.h"

/* By scipy.stats.binomtest(k, n).proportion_ci(method="wilson"). */
static void wilsons_interval_is_the_known_one(void **state) {
    (void)state;
    static const struct {
        double right, all, low, high;
    } KNOWN[] = {{17, 17, 0.81568186, 1},
                 {0, 24, 0, 0.13797620},
                 {8, 10, 0.49016247, 0.94331785},
                 {1, 1, 0.20654931, 1},
                 {50, 100, 0.40383153, 0.59616847}};
    for (size_t k = 0; k < sizeof KNOWN / sizeof *KNOWN; k++) {
        const interval ci = share_interval(KNOWN[k].right / KNOWN[k].all, KNOWN[k].all);
        assert_near(ci.low, KNOWN[k].low, 1e-7);
        assert_near(ci.high, KNOWN[k].high, 1e-7);
    }
    assert_true(isnan(share_interval(NAN, 0).low) && isnan(share_interval(NAN, 0).high));
}

/* 16 of 16 and 0 of 1: by hand from their Wilson intervals, 0.80639 to 1 and 0 to 0.79345. */
static void the_mean_of_shares_has_the_width_of_all(void **state) {
    (void)state;
    const double shares[] = {1, NAN, 0}, counts[] = {16, 0, 1};
    const interval ci = share_interval_of_mean(shares, counts, 3), one = share_interval_of_mean(shares, counts, 1);
    assert_near(ci.low, 0.5 - (1 - 0.8063923) / 2, 1e-6);
    assert_near(ci.high, 0.5 + 0.7934507 / 2, 1e-6);
    assert_near(one.low, 0.8063923, 1e-6);
    assert_near(one.high, 1, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wilsons_interval_is_the_known_one),
        cmocka_unit_test(the_mean_of_shares_has_the_width_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
