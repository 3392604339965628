/* The references themselves: small cases worked out by hand, gradients against central differences. */
#include "numbers.h"
#include "reference.h"

static double *random_doubles(size_t count, uint64_t *seed) {
    double *values = doubles(count);
    for (size_t i = 0; i < count; i++) values[i] = test_normal(seed);
    return values;
}

typedef struct norm_case {
    int groups, channels;
    size_t rows;
    double slope, *x, *scale, *shift, *share;
} norm_case;

static double norm_sum(const norm_case *n) {
    const size_t count = (size_t)n->groups * n->rows * (size_t)n->channels;
    double *y = doubles(count), sum = 0;
    reference_norm(n->groups, n->rows, n->channels, n->x, n->scale, n->shift, 1e-5, n->slope, y, 0, 0);
    for (size_t i = 0; i < count; i++) sum += n->share[i] * y[i];
    free(y);
    return sum;
}

static void check_difference(const norm_case *n, double *at, double expected) {
    const double old = *at, step = 1e-6;
    *at = old + step;
    const double above = norm_sum(n);
    *at = old - step;
    const double below = norm_sum(n);
    *at = old;
    assert_near((above - below) / (2 * step), expected, 1e-7);
}

static void norms_have_the_gradients_of_central_differences(void **state) {
    (void)state;
    for (int groups = 1; groups <= 3; groups++) {
        uint64_t seed = (uint64_t)groups;
        norm_case n = {groups, 3, 7, groups == 2 ? 0 : 0.1, 0, 0, 0, 0};
        const size_t count = (size_t)groups * n.rows * 3;
        n.x = random_doubles(count, &seed);
        n.share = random_doubles(count, &seed);
        n.scale = random_doubles(3, &seed);
        n.shift = random_doubles(3, &seed);
        double *dx = doubles(count), dscale[3], dshift[3];
        reference_norm_backward(groups, n.rows, 3, n.x, n.scale, n.shift, 1e-5, n.slope, n.share, dx, dscale, dshift);
        for (size_t i = 0; i < count; i++) check_difference(&n, &n.x[i], dx[i]);
        for (int c = 0; c < 3; c++) {
            check_difference(&n, &n.scale[c], dscale[c]);
            check_difference(&n, &n.shift[c], dshift[c]);
        }
        free(n.x);
        free(n.share);
        free(n.scale);
        free(n.shift);
        free(dx);
    }
}

static void a_norm_leaves_mean_zero_and_variance_one(void **state) {
    (void)state;
    uint64_t seed = 4;
    double *x = random_doubles(2 * 50, &seed), y[100], mean[2], variance[2];
    for (int i = 0; i < 100; i++) x[i] = 3 * x[i] + 5;
    reference_norm(1, 50, 2, x, 0, 0, 0, 1, y, mean, variance);
    for (int c = 0; c < 2; c++) {
        double sum = 0, squares = 0;
        for (int r = 0; r < 50; r++) {
            sum += y[2 * r + c];
            squares += y[2 * r + c] * y[2 * r + c];
            assert_near(y[2 * r + c] * sqrt(variance[c]) + mean[c], x[2 * r + c], 1e-12);
        }
        assert_near(sum, 0, 1e-12);
        assert_near(squares / 50, 1, 1e-12);
    }
    free(x);
}

/* The transposed convolution scatters, the way back of a convolution follows its links: two roads to one number. */
static void a_transposed_convolution_is_the_way_back_of_one(void **state) {
    (void)state;
    const window windows[] = {
        {{2, {4, 6, 4}, 3}, 5, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}},
        {{1, {1, 7, 5}, 2}, 3, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}},
    };
    for (size_t k = 0; k < 2; k++) {
        const window *w = &windows[k];
        const shape out = window_output(w);
        uint64_t seed = k;
        double *weights = random_doubles((size_t)(w->kernel[0] * w->kernel[1] * w->kernel[2] * 15), &seed);
        double *gradient = random_doubles(shape_count(&out), &seed);
        double *one = doubles(shape_count(&w->in)), *other = doubles(shape_count(&w->in));
        reference_convolution_data(w, weights, gradient, one);
        reference_transposed(out, w->in, w->kernel, w->stride, w->padding, weights, 0, gradient, other);
        for (size_t i = 0; i < shape_count(&w->in); i++) assert_near(one[i], other[i], 1e-12);
        free(weights);
        free(gradient);
        free(one);
        free(other);
    }
}

static void assert_list(const double *values, const double *expected, size_t count) {
    for (size_t i = 0; i < count; i++) assert_near(values[i], expected[i], 1e-12);
}

static void convolutions_are_those_of_paper_and_pencil(void **state) {
    (void)state;
    const window w = {{1, {1, 1, 4}, 1}, 1, {1, 1, 3}, {1, 1, 1}, {0, 0, 1}};
    double y[4];
    reference_convolution(&w, (const double[]){1, 10, 100}, (const double[]){0.5}, (const double[]){1, 2, 3, 4}, y);
    assert_list(y, (const double[]){210.5, 321.5, 432.5, 43.5}, 4);
    const window halved = {{1, {1, 1, 4}, 1}, 1, {1, 1, 3}, {1, 1, 2}, {0, 0, 1}};
    reference_convolution(&halved, (const double[]){1, 10, 100}, 0, (const double[]){1, 2, 3, 4}, y);
    assert_list(y, (const double[]){210, 432}, 2);
}

static void pooling_is_that_of_paper_and_pencil(void **state) {
    (void)state;
    const double x[12] = {1, -1, 5, -2, 3, -3, 3, -4, 0, -5, 0, -9}; /* six points of two channels */
    const window w = {{1, {1, 1, 6}, 2}, 2, {1, 1, 2}, {1, 1, 2}, {0, 0, 0}};
    double y[6];
    size_t chosen[6];
    reference_max_pool(&w, x, y, chosen);
    assert_list(y, (const double[]){5, -1, 3, -3, 0, -5}, 6);
    const size_t expected[6] = {2, 1, 4, 5, 8, 9};
    for (int i = 0; i < 6; i++) assert_int_equal(chosen[i], expected[i]);
    reference_global_mean((shape){2, {1, 1, 3}, 2}, x, y);
    assert_list(y, (const double[]){3, -2, 1, -6}, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_are_those_of_paper_and_pencil),
        cmocka_unit_test(a_transposed_convolution_is_the_way_back_of_one),
        cmocka_unit_test(norms_have_the_gradients_of_central_differences),
        cmocka_unit_test(a_norm_leaves_mean_zero_and_variance_one),
        cmocka_unit_test(pooling_is_that_of_paper_and_pencil),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
