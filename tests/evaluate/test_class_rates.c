#include "evaluate/class_rates.h"

#include "testing.h"

enum { MANY = 4000 };

/* Examples with these labels, for which these classes are the most probable. */
typedef struct example_set {
    uint8_t labels[MANY];
    float probabilities[MANY * 3];
    int patients[MANY];
    int64_t count;
} example_set;

static void add(example_set *set, int label, int predicted, int patient) {
    const int64_t i = set->count++;
    set->labels[i] = (uint8_t)label;
    set->patients[i] = patient;
    for (int c = 0; c < 3; c++) set->probabilities[3 * i + c] = c == predicted ? 0.5F : 0.25F;
}

static void add_some(example_set *set, int count, int label, int predicted) {
    for (int k = 0; k < count; k++) add(set, label, predicted, -1);
}

static class_predictions predictions_of(const example_set *set, int with_patients) {
    return (class_predictions){set->count, 3, set->labels, set->probabilities, with_patients ? set->patients : NULL};
}

static void rates_follow_their_definitions(void **state) {
    (void)state;
    static example_set set;
    set.count = 0;
    add_some(&set, 8, 0, 0);
    add_some(&set, 4, 0, 1);
    add_some(&set, 3, 1, 0);
    add_some(&set, 15, 1, 1);
    class_rates each[4];
    const class_predictions p = predictions_of(&set, 0);
    assert_int_equal(class_rates_of(&p, each, NULL), STATUS_OK);
    assert_close(each[0].value[RATE_SENSITIVITY], 8. / 12, 1e-15);
    assert_close(each[0].value[RATE_SPECIFICITY], 15. / 18, 1e-15);
    assert_close(each[0].value[RATE_PRECISION], 8. / 11, 1e-15);
    assert_close(each[0].value[RATE_F1], 2 * 8. / (12 + 11), 1e-15);
    assert_close(each[1].value[RATE_SENSITIVITY], 15. / 18, 1e-15);
    assert_close(each[1].value[RATE_SPECIFICITY], 8. / 12, 1e-15);
    assert_close(each[1].value[RATE_F1], 30. / 37, 1e-15);
    /* the third class is neither there nor predicted */
    assert_true(isnan(each[2].value[RATE_SENSITIVITY]) && isnan(each[2].value[RATE_PRECISION]));
    assert_true(isnan(each[2].value[RATE_F1]) && each[2].value[RATE_SPECIFICITY] == 1);
    assert_close(each[3].value[RATE_F1], (16. / 23 + 30. / 37) / 2, 1e-15);
    assert_true(isnan(each[3].value[RATE_SENSITIVITY]) && isnan(each[3].ci[RATE_PRECISION].low));
    /* Wilson's intervals of 8 of 12, 8 of 11, 30 of 30, by their formula */
    assert_close(each[0].ci[RATE_SENSITIVITY].low, 0.39062, 1e-4);
    assert_close(each[0].ci[RATE_SENSITIVITY].high, 0.86187, 1e-4);
    assert_close(each[0].ci[RATE_PRECISION].low, 0.43436, 1e-4);
    assert_close(each[0].ci[RATE_PRECISION].high, 0.90251, 1e-4);
    assert_close(each[2].ci[RATE_SPECIFICITY].low, 0.88648, 1e-4);
    assert_true(each[2].ci[RATE_SPECIFICITY].high == 1);
}

static void a_class_that_is_never_predicted_has_no_precision(void **state) {
    (void)state;
    static example_set set;
    set.count = 0;
    add_some(&set, 12, 0, 0);
    add_some(&set, 9, 2, 0);
    class_rates each[4];
    const class_predictions p = predictions_of(&set, 0);
    assert_int_equal(class_rates_of(&p, each, NULL), STATUS_OK);
    assert_true(isnan(each[2].value[RATE_PRECISION]) && each[2].value[RATE_SENSITIVITY] == 0);
    assert_true(each[2].value[RATE_F1] == 0);
    assert_true(isnan(each[2].ci[RATE_SENSITIVITY].low)); /* nine */
    assert_true(each[0].ci[RATE_SENSITIVITY].high == 1);
    set.count = 0;
    const class_predictions nothing = predictions_of(&set, 0);
    assert_int_equal(class_rates_of(&nothing, each, NULL), STATUS_OK);
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < CLASS_RATES; r++) assert_true(isnan(each[c].value[r]) && isnan(each[c].ci[r].low));
}

/* A resample without the only example of a class says nothing of the mean over all classes. */
static void the_mean_needs_some_examples_of_each_class(void **state) {
    (void)state;
    static example_set set;
    class_rates each[4];
    for (int third = 1; third <= 5; third += 4) {
        set.count = 0;
        add_some(&set, 45, 0, 0);
        add_some(&set, 4, 0, 1);
        add_some(&set, 50, 1, 1);
        add_some(&set, third, 2, 0);
        const class_predictions p = predictions_of(&set, 0);
        assert_int_equal(class_rates_of(&p, each, NULL), STATUS_OK);
        assert_int_equal(isnan(each[3].ci[RATE_F1].low) == 0, third == 5);
        assert_true(each[3].value[RATE_F1] < 0.67);
    }
    assert_true(each[3].ci[RATE_F1].high < 0.67); /* not that of two classes, which are far above */
}

/* Whoever counts every patient five times knows no more than who counts each once; F1's
   interval is the delta method's. */
static void patients_count_once(void **state) {
    (void)state;
    static example_set once, often;
    once.count = often.count = 0;
    uint64_t random = 5;
    for (int patient = 0; patient < 600; patient++) {
        const int label = patient % 2, right = test_unit(&random) < 0.8;
        for (int k = 0; k < 5; k++) add(&often, label, right ? label : 1 - label, patient);
        add(&once, label, right ? label : 1 - label, patient);
    }
    class_rates single[4], repeated[4];
    const class_predictions a = predictions_of(&once, 0), b = predictions_of(&often, 1);
    assert_int_equal(class_rates_of(&a, single, NULL), STATUS_OK);
    assert_int_equal(class_rates_of(&b, repeated, NULL), STATUS_OK);
    for (int c = 0; c < 2; c++)
        for (int r = 0; r < CLASS_RATES; r++) {
            const interval x = single[c].ci[r], y = repeated[c].ci[r];
            assert_close(single[c].value[r], repeated[c].value[r], 1e-15);
            assert_near(x.low, y.low, 0.15 * (x.high - x.low));
            assert_near(x.high, y.high, 0.15 * (x.high - x.low));
        }
    /* 2 tp / (2 tp + wrong) of independent examples: its variance to the first order */
    const double f = single[0].value[RATE_F1];
    double tp = 0, wrong = 0;
    for (int64_t i = 0; i < once.count; i++) {
        const int predicted = once.probabilities[3 * i + 1] > once.probabilities[3 * i];
        tp += once.labels[i] == 0 && predicted == 0;
        wrong += once.labels[i] != predicted;
    }
    const double total = 2 * tp + wrong, by_tp = 2 * wrong / (total * total), by_wrong = -2 * tp / (total * total);
    const double n = (double)once.count, p = tp / n, q = wrong / n;
    const double variance =
        n * (by_tp * by_tp * p * (1 - p) + by_wrong * by_wrong * q * (1 - q) - 2 * by_tp * by_wrong * p * q);
    assert_near(single[0].ci[RATE_F1].low, f - 1.96 * sqrt(variance), 0.4 * sqrt(variance));
    assert_near(single[0].ci[RATE_F1].high, f + 1.96 * sqrt(variance), 0.4 * sqrt(variance));
    assert_true(single[2].value[RATE_SPECIFICITY] == 1 && repeated[2].ci[RATE_SPECIFICITY].low > 0.99);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_follow_their_definitions),
        cmocka_unit_test(a_class_that_is_never_predicted_has_no_precision),
        cmocka_unit_test(the_mean_needs_some_examples_of_each_class),
        cmocka_unit_test(patients_count_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
