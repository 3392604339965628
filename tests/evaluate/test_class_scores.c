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
        const class_predictions p = {N, classes, labels, probabilities, NULL};
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
    class_scores_of(&(class_predictions){N, 2, labels, probabilities, NULL}, members, N, &s, NULL);
    const double share = s.value[CLASS_ACCURACY], width = 2 * 1.96 * sqrt(share * (1 - share) / N);
    assert_close(s.ci[CLASS_ACCURACY].high - s.ci[CLASS_ACCURACY].low, width, 0.2);
}

static void few_examples_have_no_interval_and_one_class_no_area(void **state) {
    (void)state;
    make(2);
    class_scored s;
    const class_predictions p = {N, 2, labels, probabilities, NULL};
    assert_int_equal(class_scores_of(&p, members, 9, &s, NULL), STATUS_OK);
    assert_true(s.count == 9 && isnan(s.ci[CLASS_ACCURACY].low) && !isnan(s.value[CLASS_ACCURACY]));
    memset(labels, 1, sizeof labels);
    assert_int_equal(class_scores_of(&p, members, N, &s, NULL), STATUS_OK);
    assert_true(isnan(s.value[CLASS_AUROC]) && isnan(s.ci[CLASS_AUROC].low));
    assert_int_equal(class_scores_of(&p, members, 0, &s, NULL), STATUS_OK);
    assert_true(isnan(s.value[CLASS_ACCURACY]));
}

/* What equals nothing, not even itself, must not be waited for. */
static void probabilities_that_are_no_numbers_end(void **state) {
    (void)state;
    make(2);
    class_scored s;
    probabilities[7] = NAN;
    assert_int_equal(class_scores_of(&(class_predictions){N, 2, labels, probabilities, NULL}, members, N, &s, NULL),
                     STATUS_OK);
}

/* `right` of N examples of class 0, and of class 1 `others`, all wrong. */
static class_scored scored_shares(int right, int zeros, int others) {
    class_scored s;
    const class_predictions p = {N, 2, labels, probabilities, NULL};
    for (int i = 0; i < zeros + others; i++) {
        members[i] = i;
        labels[i] = i >= zeros;
        probabilities[2 * i + 1] = (i < zeros && i >= right ? 0.6f : 0.3f) + 0.001f * (float)(i * 7 % 13);
        probabilities[2 * i] = 1 - probabilities[2 * i + 1];
    }
    assert_int_equal(class_scores_of(&p, members, zeros + others, &s, NULL), STATUS_OK);
    return s;
}

/* A bootstrap would say 100 to 100, 0 to 0 and, of resamples without the one of class 1, 0 to 50. */
static void intervals_do_not_collapse(void **state) {
    (void)state;
    class_scored s = scored_shares(17, 17, 0);
    assert_near(s.ci[CLASS_ACCURACY].low, 0.81568186, 1e-7);
    assert_near(s.ci[CLASS_ACCURACY].high, 1, 0);
    assert_true(isnan(s.ci[CLASS_BALANCED].low) && isnan(s.ci[CLASS_BALANCED].high));
    s = scored_shares(0, 24, 0);
    assert_near(s.ci[CLASS_ACCURACY].low, 0, 0);
    assert_near(s.ci[CLASS_ACCURACY].high, 0.13797620, 1e-7);
    s = scored_shares(16, 16, 1);
    assert_near(s.value[CLASS_BALANCED], 0.5, 1e-12);
    assert_near(s.ci[CLASS_BALANCED].low, 0.5 - (1 - 0.8063923) / 2, 1e-6);
    assert_near(s.ci[CLASS_BALANCED].high, 0.5 + 0.7934507 / 2, 1e-6);
    assert_true(!isnan(s.value[CLASS_AUROC]) && isnan(s.ci[CLASS_AUROC].low)); /* of a single one nobody can tell */
    s = scored_shares(40, 50, 4);
    assert_true(isnan(s.ci[CLASS_AUROC].low));
    s = scored_shares(40, 50, 5);
    assert_true(s.ci[CLASS_AUROC].low < s.value[CLASS_AUROC] && s.value[CLASS_AUROC] < s.ci[CLASS_AUROC].high);
}

/* Of one class alone: the balanced accuracy would be the accuracy once more. */
static void one_class_has_neither_balanced_accuracy_nor_auroc(void **state) {
    (void)state;
    class_difference d;
    const class_scored s = scored_shares(15, 20, 0);
    assert_near(s.value[CLASS_ACCURACY], 0.75, 1e-12);
    assert_true(isnan(s.value[CLASS_BALANCED]) && isnan(s.value[CLASS_AUROC]));
    assert_true(isnan(s.ci[CLASS_BALANCED].low) && isnan(s.ci[CLASS_BALANCED].high));
    assert_true(!isnan(s.ci[CLASS_ACCURACY].low) && !isnan(s.value[CLASS_ECE]));
    const class_predictions p = {N, 2, labels, probabilities, NULL};
    assert_int_equal(class_scores_difference(&p, &p, members, 20, &d, NULL), STATUS_OK);
    assert_true(isnan(d.value[CLASS_BALANCED]) && isnan(d.ci[CLASS_BALANCED].low) && d.value[CLASS_ACCURACY] == 0);
}

/* 20 patients of two, all right: as 20 examples, not as 40. */
static void patients_that_are_all_right_have_wilsons_interval(void **state) {
    (void)state;
    int patients[40];
    class_scored s = scored_shares(40, 40, 0);
    for (int i = 0; i < 40; i++) patients[i] = i / 2;
    const class_predictions p = {N, 2, labels, probabilities, patients};
    assert_int_equal(class_scores_of(&p, members, 40, &s, NULL), STATUS_OK);
    assert_int_equal(s.patients, 20);
    assert_near(s.ci[CLASS_ACCURACY].low, 20 / (20 + 1.959963984540054 * 1.959963984540054), 1e-9);
    assert_near(s.ci[CLASS_ACCURACY].high, 1, 0);
    const int all[40] = {0};
    class_worst w;
    const class_predictions some = {40, 2, labels, probabilities, patients};
    assert_int_equal(class_scores_worst(&some, NULL, (class_groups){all, 1}, &w, NULL), STATUS_OK);
    assert_near(w.ci.low, s.ci[CLASS_ACCURACY].low, 1e-12);
}

/* A second method that is right where the first is, but for some examples. */
static void differences_are_those_of_the_same_examples(void **state) {
    (void)state;
    static float other[N * K];
    make(2);
    const class_predictions first = {N, 2, labels, probabilities, NULL}, second = {N, 2, labels, other, NULL};
    memcpy(other, probabilities, sizeof other);
    int only_second = 0, only_first = 0;
    for (int i = 0; i < N; i++) {
        const int right = arg_max(probabilities + 2 * i, 2) == labels[i];
        const int turn = right ? only_first < 2 : only_second < 9;
        if (!turn) continue;
        other[2 * i] = probabilities[2 * i + 1], other[2 * i + 1] = probabilities[2 * i];
        if (probabilities[2 * i] == probabilities[2 * i + 1]) other[2 * i + !labels[i]] = 0.1f; /* a tie says class 0 */
        const int now = arg_max(other + 2 * i, 2) == labels[i];
        only_second += now && !right, only_first += right && !now;
    }
    class_scored a, b;
    class_difference d;
    assert_int_equal(class_scores_of(&first, members, N, &a, NULL), STATUS_OK);
    assert_int_equal(class_scores_of(&second, members, N, &b, NULL), STATUS_OK);
    assert_int_equal(class_scores_difference(&first, &second, members, N, &d, NULL), STATUS_OK);
    assert_int_equal(d.only_first, only_first);
    assert_int_equal(d.only_second, only_second);
    for (int s = 0; s < CLASS_SCORES; s++) assert_near(d.value[s], b.value[s] - a.value[s], 1e-12);
    /* The variance of a paired difference: discordant examples only. */
    const double n = N, mean = (only_second - only_first) / n;
    const double wide = 2 * 1.96 * sqrt(((only_second + only_first) / n - mean * mean) / n);
    assert_near(d.ci[CLASS_ACCURACY].high - d.ci[CLASS_ACCURACY].low, wide, 0.25 * wide);
    assert_int_equal(class_scores_difference(&first, &first, members, N, &d, NULL), STATUS_OK);
    assert_true(d.p == 1 && isnan(d.ci[CLASS_AUROC].low) &&
                isnan(d.ci[CLASS_ACCURACY].low)); /* every resample says 0 */
}

/* By scipy.stats.binomtest(k, n).pvalue. */
static void mcnemars_test_is_the_binomial_one(void **state) {
    (void)state;
    assert_near(class_scores_mcnemar(2, 9), 0.0654296875, 1e-10);
    assert_near(class_scores_mcnemar(9, 2), 0.0654296875, 1e-10);
    assert_near(class_scores_mcnemar(0, 6), 0.03125, 1e-12);
    assert_near(class_scores_mcnemar(5, 5), 1, 1e-12);
    assert_near(class_scores_mcnemar(0, 0), 1, 1e-12);
    assert_near(class_scores_mcnemar(400, 500), 0.00095644, 1e-7);
}

static void the_worst_group_has_the_lowest_accuracy(void **state) {
    (void)state;
    int group[N];
    double hits[3] = {0}, all[3] = {0};
    make(3);
    const class_predictions p = {N, 3, labels, probabilities, NULL};
    for (int i = 0; i < N; i++) {
        group[i] = i % 7 == 0 ? -1 : i % 3;
        if (group[i] < 0) continue;
        all[group[i]]++;
        hits[group[i]] += arg_max(probabilities + 3 * i, 3) == labels[i];
    }
    int worst = 0;
    for (int k = 1; k < 3; k++)
        if (hits[k] / all[k] < hits[worst] / all[worst]) worst = k;
    class_worst w;
    assert_int_equal(class_scores_worst(&p, &p, (class_groups){group, 4}, &w, NULL), STATUS_OK);
    assert_int_equal(w.group, worst);
    assert_near(w.value, hits[worst] / all[worst], 1e-12);
    assert_true(w.ci.low < w.value && w.ci.high >= w.value && w.ci.low >= 0 && w.ci.high < 1);
    assert_true(w.difference == 0 && isnan(w.difference_ci.low) && isnan(w.difference_ci.high));
    for (int i = 0; i < N; i++) group[i] = -1;
    assert_int_equal(class_scores_worst(&p, NULL, (class_groups){group, 4}, &w, NULL), STATUS_OK);
    assert_true(w.group == -1 && isnan(w.value) && isnan(w.ci.low) && isnan(w.difference));
}

/* Of a group of one wrong example every resample is that example: its interval would be 0 to 0. */
static void small_groups_leave_the_worst_without_an_interval(void **state) {
    (void)state;
    int group[N];
    static float others[2 * N]; /* of a method that is wrong elsewhere */
    make(2);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 2; c++) others[2 * i + c] = probabilities[2 * i + (i % 3 ? c : 1 - c)];
    const class_predictions p = {N, 2, labels, probabilities, NULL}, q = {N, 2, labels, others, NULL};
    for (int small = 1; small <= 10; small++) {
        for (int i = 0; i < N; i++) group[i] = i < small ? 0 : 2; /* nobody is in 1 */
        class_worst w;
        assert_int_equal(class_scores_worst(&p, &q, (class_groups){group, 3}, &w, NULL), STATUS_OK);
        assert_false(isnan(w.value) || isnan(w.difference));
        assert_int_equal(isnan(w.ci.low) && isnan(w.ci.high), small < 10);
        assert_int_equal(isnan(w.difference_ci.low) && isnan(w.difference_ci.high), small < 10);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_what_they_are_defined_as),
        cmocka_unit_test(probabilities_that_are_no_numbers_end),
        cmocka_unit_test(intervals_do_not_collapse),
        cmocka_unit_test(one_class_has_neither_balanced_accuracy_nor_auroc),
        cmocka_unit_test(patients_that_are_all_right_have_wilsons_interval),
        cmocka_unit_test(differences_are_those_of_the_same_examples),
        cmocka_unit_test(mcnemars_test_is_the_binomial_one),
        cmocka_unit_test(the_worst_group_has_the_lowest_accuracy),
        cmocka_unit_test(small_groups_leave_the_worst_without_an_interval),
        cmocka_unit_test(intervals_have_the_right_width),
        cmocka_unit_test(few_examples_have_no_interval_and_one_class_no_area),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
