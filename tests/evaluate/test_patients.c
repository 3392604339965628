/* Examples of the same patient are one witness: intervals and tests by patient. */
#include "core/arg_max.h"
#include "core/quantile.h"
#include "evaluate/class_scores.h"
#include "statistics/clusters.h"
#include "testing.h"

enum { PATIENTS = 30, EACH = 8, N = PATIENTS * EACH, K = 2 };

static uint8_t labels[N];
static float first[N * K], second[N * K];
static int patients[N];
static int64_t members[N];

static void say(float *rows, int i, double p) {
    rows[K * i] = (float)(1 - p);
    rows[K * i + 1] = (float)p;
}

/* Patients of EACH equal examples, of which both methods know something, and the examples are shuffled. */
static void make_copies(void) {
    uint64_t random = 11;
    for (int k = 0; k < N; k++) {
        const int patient = k * 7 % PATIENTS;
        patients[k] = patient;
        members[k] = k;
        labels[k] = (uint8_t)(patient % 2);
    }
    for (int p = 0; p < PATIENTS; p++) {
        const double a = (double)(test_random(&random) % 64) / 64, b = (double)(test_random(&random) % 64) / 64;
        for (int k = 0; k < N; k++)
            if (patients[k] == p) say(first, k, (2 * a + p % 2) / 3), say(second, k, (3 * b + p % 2) / 4);
    }
}

static class_predictions predictions(const float *rows, int64_t count) {
    return (class_predictions){count, K, labels, rows, patients};
}

/* A plain bootstrap with other random numbers. */
static interval plain_accuracy(const float *rows, int resamples) {
    static double values[20000];
    double hits[PATIENTS] = {0}, counts[PATIENTS] = {0};
    uint64_t random = 5;
    for (int i = 0; i < N; i++) {
        hits[patients[i]] += arg_max(rows + K * i, K) == labels[i];
        counts[patients[i]]++;
    }
    for (int r = 0; r < resamples; r++) {
        double hit = 0, count = 0;
        for (int k = 0; k < PATIENTS; k++) {
            const int drawn = (int)(test_random(&random) % PATIENTS);
            hit += hits[drawn];
            count += counts[drawn];
        }
        values[r] = hit / count;
    }
    sort_numbers(values, (size_t)resamples);
    return (interval){quantile_of_sorted(values, (size_t)resamples, 0.025),
                      quantile_of_sorted(values, (size_t)resamples, 0.975)};
}

static void accuracy_has_the_interval_of_resampled_patients(void **state) {
    (void)state;
    make_copies();
    patients[3] = 4; /* patients of different sizes, and an example of nobody */
    patients[7] = -1;
    labels[3] = 0;
    const class_predictions p = predictions(first, N);
    class_scored s;
    assert_int_equal(class_scores_of(&p, members, N, &s, NULL), STATUS_OK);
    assert_int_equal(s.patients, PATIENTS + 1);
    patients[7] = PATIENTS - 1; /* the plain one knows no nobody; it is 1 of 240 */
    const interval plain = plain_accuracy(first, 20000);
    assert_near(s.ci[CLASS_ACCURACY].low, plain.low, 0.03);
    assert_near(s.ci[CLASS_ACCURACY].high, plain.high, 0.03);
    assert_true(plain.high - plain.low > 0.25); /* that of 240 independent examples is below 0.13 */
}

/* One example of each patient, in the order in which they come, has the same resamples as all of its copies. */
static void copies_of_examples_change_no_interval(void **state) {
    (void)state;
    make_copies();
    class_scored all, alone;
    class_difference d_all, d_alone;
    const class_predictions a = predictions(first, N), b = predictions(second, N);
    class_predictions a_alone = predictions(first, PATIENTS), b_alone = predictions(second, PATIENTS);
    assert_int_equal(class_scores_of(&a, members, N, &all, NULL), STATUS_OK);
    assert_int_equal(class_scores_difference(&a, &b, members, N, &d_all, NULL), STATUS_OK);
    assert_int_equal(class_scores_of(&a_alone, members, PATIENTS, &alone, NULL), STATUS_OK);
    assert_int_equal(class_scores_difference(&a_alone, &b_alone, members, PATIENTS, &d_alone, NULL), STATUS_OK);
    assert_true(all.count == N && all.patients == PATIENTS && alone.patients == PATIENTS);
    for (int s = 0; s < CLASS_SCORES; s++) {
        assert_near(all.value[s], alone.value[s], 1e-9);
        assert_near(d_all.ci[s].low, d_alone.ci[s].low, 1e-9);
        assert_near(d_all.ci[s].high, d_alone.ci[s].high, 1e-9);
    }
    for (int s = CLASS_AUROC; s < CLASS_SCORES; s++) {
        assert_near(all.ci[s].low, alone.ci[s].low, 1e-9);
        assert_near(all.ci[s].high, alone.ci[s].high, 1e-9);
    }
    assert_int_equal(d_all.only_first, EACH * d_alone.only_first);
    assert_near(d_all.p, d_alone.p, 1e-12);
    assert_near(d_alone.p, class_scores_mcnemar(d_alone.only_first, d_alone.only_second), 1e-12);
}

static void the_worst_group_is_resampled_by_patient(void **state) {
    (void)state;
    static int group[N];
    make_copies();
    for (int k = 0; k < N; k++) group[k] = patients[k] % 2;
    const class_groups groups = {group, 2};
    const class_predictions a = predictions(first, N), b = predictions(second, N);
    const class_predictions a_alone = predictions(first, PATIENTS), b_alone = predictions(second, PATIENTS);
    class_worst all, alone;
    assert_int_equal(class_scores_worst(&a, &b, groups, &all, NULL), STATUS_OK);
    assert_int_equal(class_scores_worst(&a_alone, &b_alone, groups, &alone, NULL), STATUS_OK);
    assert_int_equal(all.group, alone.group);
    assert_near(all.value, alone.value, 1e-12);
    assert_near(all.ci.low, alone.ci.low, 1e-12);
    assert_near(all.ci.high, alone.ci.high, 1e-12);
    assert_near(all.difference_ci.low, alone.difference_ci.low, 1e-12);
    assert_near(all.difference_ci.high, alone.difference_ci.high, 1e-12);
    for (int k = 0; k < N; k++) patients[k] %= 9;
    assert_int_equal(class_scores_worst(&a, &b, groups, &all, NULL), STATUS_OK);
    assert_true(isnan(all.ci.low)); /* nine patients are too few, whatever they have */
    class_scored s;
    assert_int_equal(class_scores_of(&a, members, N, &s, NULL), STATUS_OK);
    assert_true(s.patients == 9 && isnan(s.ci[CLASS_ACCURACY].low) && isnan(s.ci[CLASS_AUROC].high));
}

static void clusters_are_patients_in_the_order_they_come(void **state) {
    (void)state;
    const int of[] = {5, -1, 2, 5, -1, 2, 2, 0};
    const int64_t chosen[] = {2, 1, 0, 3, 6, 4};
    const int64_t starts[] = {0, 2, 3, 5, 6}, expected[] = {0, 4, 1, 2, 3, 5};
    clusters c;
    assert_int_equal(clusters_open(&c, of, chosen, 6, NULL), STATUS_OK);
    assert_int_equal(c.count, 4);
    assert_memory_equal(c.starts, starts, sizeof starts);
    assert_memory_equal(c.members, expected, sizeof expected);
    clusters_close(&c);
    assert_int_equal(clusters_open(&c, NULL, NULL, 3, NULL), STATUS_OK);
    assert_true(c.count == 3 && c.starts[3] == 3 && c.members[2] == 2);
    clusters_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accuracy_has_the_interval_of_resampled_patients),
        cmocka_unit_test(copies_of_examples_change_no_interval),
        cmocka_unit_test(the_worst_group_is_resampled_by_patient),
        cmocka_unit_test(clusters_are_patients_in_the_order_they_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
