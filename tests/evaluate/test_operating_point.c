#include "evaluate/operating_point.h"

#include "testing.h"

enum { N = 3000 };

static uint8_t labels[N];
static float probabilities[2 * N];
static int patients[N];
static int64_t members[N];

/* Two classes, of which the second is a third of the examples and more probable where it is right. */
static class_predictions make(int64_t count, uint64_t seed) {
    for (int64_t i = 0; i < count; i++) {
        labels[i] = i % 3 == 0;
        const double p = 1 / (1 + exp(-(test_normal(&seed) + (labels[i] ? 1 : -1))));
        probabilities[2 * i + 1] = (float)p;
        probabilities[2 * i] = 1 - (float)p;
        members[i] = i;
        patients[i] = (int)(i / 2);
    }
    return (class_predictions){count, 2, labels, probabilities, NULL};
}

static double share_at(int64_t count, double threshold, int of_positives) {
    double right = 0, all = 0;
    for (int64_t i = 0; i < count; i++) {
        if (labels[i] != of_positives) continue;
        all++;
        right += ((double)probabilities[2 * i + 1] >= threshold) == of_positives;
    }
    return right / all;
}

/* By trying all thresholds: none other that reaches the goal has a better share of the other kind. */
static void the_threshold_is_the_best_that_reaches_the_goal(void **state) {
    (void)state;
    enum { COUNT = 301 };
    const class_predictions p = make(COUNT, 3);
    for (int is_sensitivity = 0; is_sensitivity < 2; is_sensitivity++)
        for (int percent = 5; percent <= 100; percent += 5) {
            const operating_goal goal = {is_sensitivity, percent / 100.};
            double threshold = -1, best = -1;
            assert_int_equal(operating_threshold(&p, 1, goal, &threshold, NULL), STATUS_OK);
            assert_true(share_at(COUNT, threshold, is_sensitivity) >= goal.share - 1e-12);
            for (int k = 0; k <= COUNT; k++) {
                const double other = k < COUNT ? (double)probabilities[2 * k + 1] : 2;
                if (share_at(COUNT, other, is_sensitivity) >= goal.share - 1e-12)
                    best = fmax(best, share_at(COUNT, other, !is_sensitivity));
            }
            assert_close(share_at(COUNT, threshold, !is_sensitivity), best, 1e-12);
        }
}

static void scores_are_those_of_the_members(void **state) {
    (void)state;
    class_predictions p = make(N, 5);
    operating_scores all, few, paired;
    assert_int_equal(operating_scores_of(&p, members, N, (operating_rule){1, 0.4}, &all, NULL), STATUS_OK);
    assert_close(all.sensitivity, share_at(N, 0.4, 1), 1e-12);
    assert_close(all.specificity, share_at(N, 0.4, 0), 1e-12);
    assert_int_equal(all.positives, N / 3);
    assert_int_equal(all.negatives, N - N / 3);
    const double half = 1.96 * sqrt(all.sensitivity * (1 - all.sensitivity) / (N / 3));
    assert_near(all.sensitivity_ci.low, all.sensitivity - half, 0.15 * half);
    assert_near(all.sensitivity_ci.high, all.sensitivity + half, 0.15 * half);
    assert_int_equal(operating_scores_of(&p, members, 9, (operating_rule){1, 0.4}, &few, NULL), STATUS_OK);
    assert_true(few.positives == 3 && few.negatives == 6 && isnan(few.sensitivity_ci.low));
    assert_int_equal(operating_scores_of(&p, members, 0, (operating_rule){1, 0.4}, &few, NULL), STATUS_OK);
    assert_true(few.positives == 0 && isnan(few.sensitivity) && isnan(few.specificity));
    for (int i = 0; i < N; i += 2) { /* two equal examples of each patient are one */
        labels[i + 1] = labels[i];
        probabilities[2 * i + 3] = probabilities[2 * i + 1];
    }
    p.patients = patients;
    assert_int_equal(operating_scores_of(&p, members, N, (operating_rule){1, 0.4}, &paired, NULL), STATUS_OK);
    const double wide = 1.96 * sqrt(paired.specificity * (1 - paired.specificity) / ((double)paired.negatives / 2));
    assert_near(paired.specificity_ci.high - paired.specificity_ci.low, 2 * wide, 0.2 * wide);
}

static void goals_are_read_and_others_refused(void **state) {
    (void)state;
    operating_goal goal;
    assert_int_equal(operating_goal_parse("sensitivity=0.95", &goal, NULL), STATUS_OK);
    assert_true(goal.is_sensitivity && goal.share == 0.95);
    assert_int_equal(operating_goal_parse("specificity=1", &goal, NULL), STATUS_OK);
    assert_true(!goal.is_sensitivity && goal.share == 1);
    static const char *const WRONG[] = {"",    "sensitivity",  "sensitivity=",  "sensitivity=0",    "sensitivity=1.5",
                                        "0.9", "accuracy=0.9", "specificity=x", "specificity=0.9x", "specificity=nan"};
    for (size_t k = 0; k < sizeof WRONG / sizeof *WRONG; k++)
        assert_int_equal(operating_goal_parse(WRONG[k], &goal, NULL), STATUS_BAD_INPUT);
    const class_predictions p = make(2, 1); /* one of each: fine; one alone: not */
    double threshold;
    assert_int_equal(operating_threshold(&p, 1, (operating_goal){1, 0.5}, &threshold, NULL), STATUS_OK);
    const class_predictions single = make(1, 1);
    assert_int_equal(operating_threshold(&single, 1, (operating_goal){1, 0.5}, &threshold, NULL), STATUS_BAD_INPUT);
    assert_int_equal(operating_threshold(&single, 0, (operating_goal){1, 0.5}, &threshold, NULL), STATUS_BAD_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_threshold_is_the_best_that_reaches_the_goal),
        cmocka_unit_test(scores_are_those_of_the_members),
        cmocka_unit_test(goals_are_read_and_others_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
