/* Scores of predicted classes against their definitions. */
#include "evaluate/class_scores.h"

#include "core/arg_max.h"
#include "testing.h"

enum { N = 60, K = 3 };

static uint8_t labels[N];
static float probabilities[N * K];
static int64_t members[N];

/* Coarse, so that there are ties. */
static void make(int classes) {
    uint64_t random = (uint64_t)classes;
    for (int i = 0; i < N; i++) {
        double p[K], sum = 0;
        labels[i] = (uint8_t)(test_random(&random) % (uint64_t)classes);
        members[i] = i;
        for (int k = 0; k < classes; k++) sum += p[k] = 1 + (double)(test_random(&random) % 6) + 3 * (labels[i] == k);
        for (int k = 0; k < classes; k++) probabilities[i * classes + k] = (float)(p[k] / sum);
    }
}

/* Every pair. */
static double plain_area(int classes, int c) {
    double pairs = 0, won = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            if (labels[i] != c || labels[j] == c) continue;
            const float a = probabilities[i * classes + c], b = probabilities[j * classes + c];
            pairs++;
            won += a > b ? 1 : a == b ? 0.5 : 0;
        }
    return won / pairs;
}

static void scores_are_what_they_are_defined_as(void **state) {
    (void)state;
    for (int classes = 2; classes <= K; classes++) {
        make(classes);
        class_scored s;
        const class_predictions p = {N, classes, labels, probabilities};
        assert_int_equal(class_scores_of(&p, members, N, &s, NULL), STATUS_OK);
        double hits[K] = {0}, all[K] = {0}, gap[CLASS_BINS] = {0}, area = 0;
        for (int i = 0; i < N; i++) {
            const float *row = probabilities + i * classes;
            const int best = arg_max(row, classes);
            all[labels[i]]++;
            hits[labels[i]] += best == labels[i];
            gap[(int)((double)row[best] * CLASS_BINS)] += (best == labels[i]) - (double)row[best];
        }
        double accuracy = 0, balanced = 0, ece = 0;
        for (int k = 0; k < classes; k++) {
            accuracy += hits[k] / N;
            balanced += hits[k] / all[k] / classes;
            if (classes > 2) area += plain_area(classes, k) / classes;
        }
        if (classes == 2) area = plain_area(2, 1);
        for (int b = 0; b < CLASS_BINS; b++) ece += fabs(gap[b]) / N;
        const double expected[] = {accuracy, balanced, area, ece};
        for (int k = 0; k < CLASS_SCORES; k++) {
            assert_close(s.value[k], expected[k], 1e-9);
            assert_true(s.ci[k].low < s.ci[k].high && s.ci[k].high <= 1);
            if (k != CLASS_ECE) assert_true(s.ci[k].low <= s.value[k] && s.value[k] <= s.ci[k].high);
        }
    }
}

/* The interval of an accuracy is about that of a binomial share. */
static void intervals_have_the_right_width(void **state) {
    (void)state;
    make(2);
    class_scored s;
    class_scores_of(&(class_predictions){N, 2, labels, probabilities}, members, N, &s, NULL);
    const double share = s.value[CLASS_ACCURACY], width = 2 * 1.96 * sqrt(share * (1 - share) / N);
    assert_close(s.ci[CLASS_ACCURACY].high - s.ci[CLASS_ACCURACY].low, width, 0.2);
}

static void few_examples_have_no_interval_and_one_class_no_area(void **state) {
    (void)state;
    make(2);
    class_scored s;
    const class_predictions p = {N, 2, labels, probabilities};
    assert_int_equal(class_scores_of(&p, members, 9, &s, NULL), STATUS_OK);
    assert_true(s.count == 9 && isnan(s.ci[CLASS_ACCURACY].low) && !isnan(s.value[CLASS_ACCURACY]));
    memset(labels, 1, sizeof labels);
    assert_int_equal(class_scores_of(&p, members, N, &s, NULL), STATUS_OK);
    assert_true(isnan(s.value[CLASS_AUROC]) && isnan(s.ci[CLASS_AUROC].low));
    assert_int_equal(class_scores_of(&p, members, 0, &s, NULL), STATUS_OK);
    assert_true(isnan(s.value[CLASS_ACCURACY]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_what_they_are_defined_as),
        cmocka_unit_test(intervals_have_the_right_width),
        cmocka_unit_test(few_examples_have_no_interval_and_one_class_no_area),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
