#include "evaluate/overlap.h"

#include "testing.h"

static void counts_and_scores_are_those_of_a_small_example(void **state) {
    (void)state;
    const int16_t prediction[8] = {1, 1, 2, 0, 3, 0, 1, 0}, reference[8] = {1, 2, 2, 0, 1, 3, 0, 0};
    const region whole = {"whole", 3, {1, 2, 3}}, one = {"1", 1, {1}};
    uint8_t a[8], b[8];
    region_mask(&one, prediction, 8, a);
    region_mask(&one, reference, 8, b);
    overlap counts = overlap_of(a, b, 8);
    assert_int_equal(counts.tp, 1);
    assert_int_equal(counts.fp, 2);
    assert_int_equal(counts.fn, 1);
    assert_int_equal(counts.tn, 4);
    assert_close(overlap_dice(&counts), 0.4, 1e-15);
    assert_close(overlap_iou(&counts), 0.25, 1e-15);
    region_mask(&whole, prediction, 8, a);
    region_mask(&whole, reference, 8, b);
    counts = overlap_of(a, b, 8);
    assert_int_equal(counts.tp, 4);
    assert_int_equal(counts.fp, 1);
    assert_int_equal(counts.fn, 1);
    assert_int_equal(counts.tn, 2);
    assert_close(overlap_dice(&counts), 0.8, 1e-15);
}

static void masks_and_counts_agree_with_plain_loops(void **state) {
    (void)state;
    enum { N = 5000 };
    static int16_t prediction[N], reference[N];
    static uint8_t a[N], b[N];
    uint64_t random = 2;
    for (int round = 0; round < 20; round++) {
        uint64_t table[2][2] = {{0}};
        const region region = {"some", 3, {2, 7, 300}};
        const int16_t labels[] = {0, 1, 2, 7, 300, -5};
        for (int i = 0; i < N; i++) {
            prediction[i] = labels[test_random(&random) % 6];
            reference[i] = labels[test_random(&random) % 6];
            const int p = prediction[i] == 2 || prediction[i] == 7 || prediction[i] == 300;
            const int r = reference[i] == 2 || reference[i] == 7 || reference[i] == 300;
            table[p][r]++;
        }
        region_mask(&region, prediction, N, a);
        region_mask(&region, reference, N, b);
        const overlap counts = overlap_of(a, b, N);
        assert_int_equal(counts.tp, table[1][1]);
        assert_int_equal(counts.fp, table[1][0]);
        assert_int_equal(counts.fn, table[0][1]);
        assert_int_equal(counts.tn, table[0][0]);
    }
}

static void empty_in_both_is_nan_and_in_one_is_zero(void **state) {
    (void)state;
    const overlap both = {.tn = 5}, missed = {.fn = 3, .tn = 2}, invented = {.fp = 3, .tn = 2};
    assert_true(isnan(overlap_dice(&both)) && isnan(overlap_iou(&both)));
    assert_true(overlap_dice(&missed) == 0 && overlap_iou(&missed) == 0);
    assert_true(overlap_dice(&invented) == 0 && overlap_iou(&invented) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_scores_are_those_of_a_small_example),
        cmocka_unit_test(masks_and_counts_agree_with_plain_loops),
        cmocka_unit_test(empty_in_both_is_nan_and_in_one_is_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
