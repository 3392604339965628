#include "evaluate/class_patients.h"

#include "testing.h"

/* Seven examples of four patients and of nobody; the third patient has examples of both classes. */
static const uint8_t labels[] = {1, 0, 1, 1, 0, 1, 0};
static const int patients[] = {2, 0, 2, 1, 1, -1, -1};
static const float probabilities[] = {0.9F, 0.1F, 0.2F, 0.8F, 0.3F, 0.7F, 0.5F,
                                      0.5F, 0.5F, 0.5F, 0.4F, 0.6F, 0.7F, 0.3F};

static void patients_have_the_mean_of_their_examples(void **state) {
    (void)state;
    const class_predictions p = {7, 2, labels, probabilities, patients};
    class_patients each;
    assert_int_equal(class_patients_open(&each, &p, NULL), STATUS_OK);
    assert_int_equal(each.count, 4);
    assert_int_equal(each.mixed, 1);
    static const int64_t first[] = {0, 1, 5, 6}, examples[] = {2, 1, 1, 1};
    static const uint8_t expected[] = {1, 0, 1, 0};
    static const double second[] = {0.4, 0.8, 0.6, 0.3};
    for (int k = 0; k < 4; k++) {
        assert_int_equal(each.first[k], first[k]);
        assert_int_equal(each.examples[k], examples[k]);
        assert_int_equal(each.labels[k], expected[k]);
        assert_close((double)each.probabilities[2 * k + 1], second[k], 1e-6);
        assert_close((double)each.probabilities[2 * k], 1 - second[k], 1e-6);
    }
    class_scored scored;
    assert_int_equal(class_patients_score(&each, 2, &scored, NULL), STATUS_OK);
    assert_int_equal(scored.count, 4);
    assert_close(scored.value[CLASS_ACCURACY], 0.5, 1e-12); /* the last two */
    assert_close(scored.value[CLASS_AUROC], 0.5, 1e-12);    /* 0.4 and 0.6 against 0.8 and 0.3 */
    class_patients_close(&each);
}

static void nobody_may_be_left(void **state) {
    (void)state;
    static const uint8_t both[] = {0, 1};
    static const int one[] = {0, 0};
    const class_predictions p = {2, 2, both, probabilities, one}, none = {0, 2, both, probabilities, one};
    class_patients each;
    class_scored scored;
    assert_int_equal(class_patients_open(&each, &p, NULL), STATUS_OK);
    assert_true(each.count == 0 && each.mixed == 1);
    assert_int_equal(class_patients_score(&each, 2, &scored, NULL), STATUS_OK);
    assert_true(scored.count == 0 && isnan(scored.value[CLASS_ACCURACY]));
    class_patients_close(&each);
    assert_int_equal(class_patients_open(&each, &none, NULL), STATUS_OK);
    assert_true(each.count == 0 && each.mixed == 0);
    class_patients_close(&each);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patients_have_the_mean_of_their_examples),
        cmocka_unit_test(nobody_may_be_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
