#include "evaluate/roc.h"

#include "testing.h"

enum { N = 5000 };

static uint8_t labels[N];
static float probabilities[2 * N];

static class_predictions make(int64_t count, int levels) {
    uint64_t seed = 11;
    for (int64_t i = 0; i < count; i++) {
        labels[i] = test_unit(&seed) < 0.3;
        const double p = 1 / (1 + exp(-(test_normal(&seed) + labels[i])));
        probabilities[2 * i + 1] = (float)(levels ? floor(p * levels) / levels : p);
        probabilities[2 * i] = 1 - probabilities[2 * i + 1];
    }
    return (class_predictions){count, 2, labels, probabilities, NULL};
}

static double area_under(const roc_point *points, size_t count) {
    double area = 0;
    for (size_t k = 1; k < count; k++)
        area += (points[k - 1].specificity - points[k].specificity) *
                (points[k].sensitivity + points[k - 1].sensitivity) / 2;
    return area;
}

/* Each point by counting, and the area by the share of pairs in the right order. */
static void points_are_what_thresholds_give(void **state) {
    (void)state;
    static const int LEVELS[] = {0, 10, 1};
    for (int k = 0; k < 3; k++) {
        const class_predictions p = make(N, LEVELS[k]);
        roc_point points[ROC_POINTS];
        size_t count = 0;
        class_scored scored;
        static int64_t members[N];
        for (int i = 0; i < N; i++) members[i] = i;
        assert_int_equal(roc_of(&p, 1, points, &count, NULL), STATUS_OK);
        assert_true(count >= 2 && count <= ROC_POINTS);
        assert_true(points[0].sensitivity == 0 && points[0].specificity == 1);
        assert_true(points[count - 1].sensitivity == 1 && points[count - 1].specificity == 0);
        for (size_t at = 0; at < count; at += 7) {
            double right[2] = {0}, all[2] = {0};
            for (int i = 0; i < N; i++) {
                const int taken = (double)probabilities[2 * i + 1] >= points[at].threshold;
                all[labels[i]]++;
                right[labels[i]] += taken == labels[i];
            }
            assert_close(points[at].sensitivity + 1e-9, right[1] / all[1] + 1e-9, 1e-12);
            assert_close(points[at].specificity + 1e-9, right[0] / all[0] + 1e-9, 1e-12);
        }
        assert_int_equal(class_scores_of(&p, members, N, &scored, NULL), STATUS_OK);
        assert_near(area_under(points, count), scored.value[CLASS_AUROC], LEVELS[k] ? 1e-9 : 1e-3);
    }
}

static void one_class_has_no_curve(void **state) {
    (void)state;
    class_predictions p = make(50, 0);
    roc_point points[ROC_POINTS];
    size_t count = 5;
    for (int i = 0; i < 50; i++) labels[i] = 1;
    assert_int_equal(roc_of(&p, 1, points, &count, NULL), STATUS_OK);
    assert_int_equal(count, 0);
    p.count = 0;
    assert_int_equal(roc_of(&p, 0, points, &count, NULL), STATUS_OK);
    assert_int_equal(count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_what_thresholds_give),
        cmocka_unit_test(one_class_has_no_curve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
