#include "core/memory.h"
#include "nn/fast_exp.h"
#include "nn/kernel_set.h"
#include "nn/loss.h"
#include "plain_loss.h"
#include "testing.h"

#include <omp.h>

enum { KINDS = 4 };

/* One example with its gradient, and logits in double for the plain loops. */
typedef struct example {
    loss loss;
    float *logits, *gradient;
    double *exact;
    int16_t *labels;
    void *workspace;
    double value;
} example;

static example example_open(loss_kind kind, size_t positions, size_t classes, uint64_t seed) {
    const size_t elements = positions * classes;
    example e = {.loss = {kind, positions, classes, 0}};
    e.logits = malloc(elements * 4);
    e.gradient = malloc(elements * 4);
    e.exact = malloc(elements * 8);
    e.labels = malloc(positions * 2);
    e.workspace = memory_open(loss_workspace(&e.loss));
    for (size_t i = 0; i < elements; i++) {
        e.logits[i] = (float)(3 * test_normal(&seed));
        e.exact[i] = e.logits[i];
        e.gradient[i] = NAN; /* must be written, not added to */
    }
    const uint64_t labels = kind == LOSS_REGIONS ? UINT64_C(1) << classes : classes;
    for (size_t i = 0; i < positions; i++) e.labels[i] = (int16_t)(test_random(&seed) % labels);
    return e;
}

static void example_close(example *e) {
    free(e->logits);
    free(e->gradient);
    free(e->exact);
    free(e->labels);
    memory_close(e->workspace);
}

static void run(example *e, double weight) {
    failure failure = {0};
    assert_int_equal(loss_check(&e->loss, &failure), STATUS_OK);
    if (loss_forward(&e->loss, e->logits, e->labels, e->workspace, &e->value, &failure) != STATUS_OK)
        fail_msg("%s", failure.message);
    loss_backward(&e->loss, e->labels, e->workspace, weight, e->gradient);
}

static void check_gradient_at(example *e, double weight, size_t i) {
    const double h = 1e-5, middle = e->exact[i];
    e->exact[i] = middle + h;
    const double up = plain_loss(&e->loss, e->exact, e->labels);
    e->exact[i] = middle - h;
    const double down = plain_loss(&e->loss, e->exact, e->labels);
    e->exact[i] = middle;
    const double slope = weight * (up - down) / (2 * h), scale = fabs(weight) / (double)e->loss.positions;
    assert_near(e->gradient[i], slope, 2e-6 * scale + 2e-6 * fabs(slope) + 1e-10 * fabs(weight));
}

/* The value and some 30 components of the gradient. */
static void check(example *e, double weight) {
    run(e, weight);
    assert_near(e->value, plain_loss(&e->loss, e->exact, e->labels), 1e-6 * fmax(1, fabs(e->value)));
    const size_t elements = e->loss.positions * e->loss.classes, stride = elements < 30 ? 1 : elements / 30;
    for (size_t i = 0; i < elements; i += stride) check_gradient_at(e, weight, i);
}

static const size_t POSITIONS[] = {1, 2, 15, 16, 17, 511, 512, 513, 2000}, CLASSES[] = {2, 3, 4, 5, 10, 37};

static void every_loss_agrees_with_plain_loops_and_central_differences(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t p = 0; p < sizeof POSITIONS / sizeof *POSITIONS; p++)
            for (size_t c = 0; c < sizeof CLASSES / sizeof *CLASSES; c++) {
                if (kind == LOSS_REGIONS && CLASSES[c] > LOSS_MAX_REGIONS) continue;
                example e = example_open((loss_kind)kind, POSITIONS[p], CLASSES[c], p * 31 + c);
                check(&e, kind % 2 ? 1.0 : 0.37);
                example_close(&e);
            }
}

static void smoothed_labels_agree_with_plain_loops_and_central_differences(void **state) {
    (void)state;
    static const double SMOOTHING[] = {0.05, 0.1, 0.9};
    for (size_t k = 0; k < 3; k++)
        for (size_t p = 0; p < sizeof POSITIONS / sizeof *POSITIONS; p += 2)
            for (size_t c = 0; c < sizeof CLASSES / sizeof *CLASSES; c++) {
                example e = example_open(LOSS_CROSS_ENTROPY, POSITIONS[p], CLASSES[c], p * 31 + c);
                e.loss.smoothing = SMOOTHING[k];
                for (size_t i = 1; i < POSITIONS[p]; i += 5) e.labels[i] = -1;
                check(&e, 0.37);
                example_close(&e);
            }
}

static void one_class_is_no_loss_and_no_gradient(void **state) {
    (void)state;
    example e = example_open(LOSS_CROSS_ENTROPY, 20, 1, 3);
    run(&e, 1);
    assert_near(e.value, 0, 1e-12);
    for (size_t i = 0; i < 20; i++) assert_near(e.gradient[i], 0, 1e-7);
    example_close(&e);
}

static void ignored_positions_count_for_nothing_even_if_they_are_nan(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        example e = example_open((loss_kind)kind, 777, 3, 5);
        for (size_t i = 0; i < 777; i += 3) e.labels[i] = (int16_t)(i % 2 ? -1 : -300);
        check(&e, 1);
        const double value = e.value;
        for (size_t i = 0; i < 777; i += 3) e.logits[i * 3 + 1] = i % 2 ? NAN : INFINITY;
        run(&e, 1);
        assert_true(e.value == value);
        for (size_t i = 0; i < 777; i += 3)
            for (size_t c = 0; c < 3; c++) assert_true(e.gradient[i * 3 + c] == 0);
        example_close(&e);
    }
}

static void an_example_of_which_all_is_ignored_has_no_gradient(void **state) {
    (void)state;
    const double expected[] = {0, -1, -1, -1};
    for (int kind = 0; kind < KINDS; kind++) {
        example e = example_open((loss_kind)kind, 40, 3, 5);
        for (size_t i = 0; i < 40; i++) e.labels[i] = -1;
        run(&e, 1);
        assert_true(e.value == expected[kind]);
        for (size_t i = 0; i < 120; i++) assert_true(e.gradient[i] == 0);
        example_close(&e);
    }
}

static void an_absent_class_pulls_its_probability_down(void **state) {
    (void)state;
    for (int kind = LOSS_DICE_CE; kind <= LOSS_DICE; kind++) {
        example e = example_open((loss_kind)kind, 600, 4, 9);
        for (size_t i = 0; i < 600; i++) e.labels[i] = (int16_t)(i % 3);
        check(&e, 1);
        example_close(&e);
    }
}

static void the_weight_scales_the_gradient_and_not_the_loss(void **state) {
    (void)state;
    const double weights[] = {0, 0.01, 2.5, 100};
    for (int kind = 0; kind < KINDS; kind++) {
        example one = example_open((loss_kind)kind, 1000, 3, 11);
        run(&one, 1);
        for (int k = 0; k < 4; k++) {
            example e = example_open((loss_kind)kind, 1000, 3, 11);
            run(&e, weights[k]);
            assert_true(e.value == one.value);
            for (size_t i = 0; i < 3000; i++)
                assert_near(e.gradient[i], weights[k] * one.gradient[i], 1e-9 * weights[k]);
            example_close(&e);
        }
        example_close(&one);
    }
}

static void a_single_region_is_a_loss(void **state) {
    (void)state;
    example e = example_open(LOSS_REGIONS, 700, 1, 9);
    check(&e, 0.6);
    example_close(&e);
}

static void most_regions_are_served(void **state) {
    (void)state;
    example e = example_open(LOSS_REGIONS, 600, LOSS_MAX_REGIONS, 10);
    e.labels[0] = INT16_MAX;
    check(&e, 1);
    example_close(&e);
}

static void perfect_regions_reach_minus_one(void **state) {
    (void)state;
    example e = example_open(LOSS_REGIONS, 5000, 3, 13);
    for (size_t i = 0; i < 5000; i++)
        for (size_t c = 0; c < 3; c++) e.logits[i * 3 + c] = e.labels[i] & 1 << c ? 200.0f : -200.0f;
    run(&e, 1);
    assert_near(e.value, -1, 1e-12);
    example_close(&e);
}

static void a_perfect_segmentation_reaches_minus_one(void **state) {
    (void)state;
    example e = example_open(LOSS_DICE_CE, 5000, 3, 13);
    for (size_t i = 0; i < 5000; i++)
        for (size_t c = 0; c < 3; c++) e.logits[i * 3 + c] = e.labels[i] == (int)c ? 200.0f : -200.0f;
    run(&e, 1);
    assert_near(e.value, -1, 1e-12);
    example_close(&e);
}

static void extreme_logits_stay_finite(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        example e = example_open((loss_kind)kind, 1500, 3, 17);
        for (size_t i = 0; i < 4500; i++) {
            e.logits[i] = (i * 2654435761u >> 7) % 3 == 0 ? 1e4f : (i % 5 == 0 ? 0.0f : -1e4f);
            e.exact[i] = e.logits[i];
        }
        run(&e, 1);
        assert_close(e.value, plain_loss(&e.loss, e.exact, e.labels), 1e-6);
        for (size_t i = 0; i < 4500; i++) assert_true(isfinite(e.gradient[i]) != 0);
        example_close(&e);
    }
}

static void nan_and_infinity_make_the_loss_not_finite(void **state) {
    (void)state;
    const float bad[] = {NAN, INFINITY};
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t at = 0; at < 900 * 3; at += 113)
            for (int k = 0; k < 2; k++) {
                example e = example_open((loss_kind)kind, 900, 3, 19);
                e.logits[at] = bad[k];
                run(&e, 1);
                assert_true(isfinite(e.value) == 0);
                example_close(&e);
            }
}

static void the_number_of_threads_does_not_change_a_bit(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        example one = example_open((loss_kind)kind, 300001, 3, 23);
        omp_set_num_threads(1);
        run(&one, 0.7);
        for (int threads = 2; threads <= 3; threads++) {
            example more = example_open((loss_kind)kind, 300001, 3, 23);
            omp_set_num_threads(threads);
            run(&more, 0.7);
            assert_true(one.value == more.value);
            assert_memory_equal(one.gradient, more.gradient, 300001 * 3 * sizeof(float));
            example_close(&more);
        }
        assert_near(one.value, plain_loss(&one.loss, one.exact, one.labels), 1e-7);
        example_close(&one);
    }
}

static void labels_beyond_the_classes_are_refused(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        example e = example_open((loss_kind)kind, 1200, 3, 29);
        const int16_t first_bad = kind == LOSS_REGIONS ? 8 : 3;
        e.labels[1100] = first_bad;
        failure failure = {0};
        assert_int_equal(loss_forward(&e.loss, e.logits, e.labels, e.workspace, &e.value, &failure), STATUS_BAD_INPUT);
        assert_non_null(strstr(failure.message, first_bad == 8 ? "label 8" : "label 3"));
        example_close(&e);
    }
}

static void senseless_losses_are_refused(void **state) {
    (void)state;
    const loss bad[] = {
        {LOSS_DICE, 10, 1, 0},           {LOSS_CROSS_ENTROPY, 0, 3, 0},     {LOSS_CROSS_ENTROPY, 3, 0, 0},
        {LOSS_DICE_CE, 10, 40000, 0},    {(loss_kind)KINDS, 10, 3, 0},      {LOSS_REGIONS, SIZE_MAX / 8, 3, 0},
        {LOSS_DICE, SIZE_MAX / 2, 2, 0}, {LOSS_REGIONS, 10, 16, 0},         {LOSS_REGIONS, 10, 0, 0},
        {LOSS_CROSS_ENTROPY, 10, 3, 1},  {LOSS_CROSS_ENTROPY, 10, 3, -0.1}, {LOSS_CROSS_ENTROPY, 10, 3, NAN},
        {LOSS_DICE_CE, 10, 3, 0.1}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        failure failure = {0};
        assert_int_equal(loss_check(&bad[k], &failure), STATUS_BAD_INPUT);
        assert_true(failure.message[0] != 0);
    }
}

static void the_fast_exponential_is_right_to_two_units(void **state) {
    (void)state;
    double worst = 0;
    const double ulp = 0x1p-23;
    for (float x = -87.29f; x < 88; x += 0.00037f) {
        const double exact = exp((double)x);
        int exponent;
        (void)frexp(exact, &exponent);
        worst = fmax(worst, fabs((double)fast_exp(x) - exact) / ldexp(ulp, exponent - 1));
    }
    assert_true(worst < 2);
    assert_true(fast_exp(0) == 1 && fast_exp(-87.4f) == 0 && fast_exp(-1e30f) == 0 && fast_exp(-INFINITY) == 0);
    assert_true(isnan(fast_exp(NAN)) != 0);
}

/* Where a run is named _generic it must not test other kernels. */
static void the_kernels_are_those_that_are_asked_for(void **state) {
    (void)state;
    const char *asked = getenv("HWS_KERNELS");
    const kernel_set *best;
    assert_int_equal(kernel_set_find(asked, &best, NULL), STATUS_OK);
    assert_ptr_equal(loss_kernels_chosen(), best->losses);
    if (asked && strcmp(asked, "generic") == 0) assert_string_equal(loss_kernels_chosen()->name, "generic");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernels_are_those_that_are_asked_for),
        cmocka_unit_test(every_loss_agrees_with_plain_loops_and_central_differences),
        cmocka_unit_test(smoothed_labels_agree_with_plain_loops_and_central_differences),
        cmocka_unit_test(one_class_is_no_loss_and_no_gradient),
        cmocka_unit_test(ignored_positions_count_for_nothing_even_if_they_are_nan),
        cmocka_unit_test(an_example_of_which_all_is_ignored_has_no_gradient),
        cmocka_unit_test(an_absent_class_pulls_its_probability_down),
        cmocka_unit_test(the_weight_scales_the_gradient_and_not_the_loss),
        cmocka_unit_test(a_perfect_segmentation_reaches_minus_one),
        cmocka_unit_test(perfect_regions_reach_minus_one),
        cmocka_unit_test(a_single_region_is_a_loss),
        cmocka_unit_test(most_regions_are_served),
        cmocka_unit_test(extreme_logits_stay_finite),
        cmocka_unit_test(nan_and_infinity_make_the_loss_not_finite),
        cmocka_unit_test(the_number_of_threads_does_not_change_a_bit),
        cmocka_unit_test(labels_beyond_the_classes_are_refused),
        cmocka_unit_test(senseless_losses_are_refused),
        cmocka_unit_test(the_fast_exponential_is_right_to_two_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
