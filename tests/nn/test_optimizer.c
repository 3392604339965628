#include "nn/optimizer.h"
#include "testing.h"

#include <omp.h>

enum { KINDS = 5, STEPS = 10 };

/* A training of a block: gradients that depend on the parameters and on the step, so that mistakes add up. */
typedef struct training {
    size_t count;
    float *parameters, *gradients, *state;
} training;

static training training_open(optimizer_kind kind, size_t count) {
    uint64_t random = 7;
    training t = {count, malloc(count * 4), malloc(count * 4), calloc(optimizer_state_size(kind, count) + 1, 4)};
    for (size_t i = 0; i < count; i++) t.parameters[i] = (float)test_normal(&random);
    return t;
}

static void training_close(training *t) {
    free(t->parameters);
    free(t->gradients);
    free(t->state);
}

static void new_gradients(training *t, int step) {
    uint64_t random = (uint64_t)step;
    for (size_t i = 0; i < t->count; i++)
        t->gradients[i] = (float)(0.3 * t->parameters[i] + 0.1 * test_normal(&random));
}

/* PyTorch's own procedure for one parameter, as its documentation spells it, in doubles. */
static void plain_step(const optimizer_options *o, double rate, int step, double g, double *p, double *buffer,
                       double *square) {
    if (o->kind == OPTIMIZER_ADAMW) *p -= rate * o->weight_decay * *p;
    else g += o->weight_decay * *p;
    if (o->kind == OPTIMIZER_SGD) {
        *p -= rate * g;
    } else if (o->kind == OPTIMIZER_MOMENTUM || o->kind == OPTIMIZER_NESTEROV) {
        *buffer = step > 1 ? o->momentum * *buffer + g : g;
        *p -= rate * (o->kind == OPTIMIZER_NESTEROV ? g + o->momentum * *buffer : *buffer);
    } else {
        *buffer = o->beta1 * *buffer + (1 - o->beta1) * g;
        *square = o->beta2 * *square + (1 - o->beta2) * g * g;
        const double first = *buffer / (1 - pow(o->beta1, step)), second = *square / (1 - pow(o->beta2, step));
        *p -= rate * first / (sqrt(second) + o->epsilon);
    }
}

/* A step of all parameters; `norm` (may be NULL) receives that of the gradients before clipping. */
static status_code whole_step(const optimizer_options *o, double rate, int64_t step, const optimizer_block *block,
                              double *norm, failure *failure) {
    const double measured = gradient_norm(block->count, block->gradients);
    if (norm) *norm = measured;
    const status_code status = optimizer_allows(measured, step, failure);
    if (status == STATUS_OK) optimizer_step_some(o, rate, step, measured, block, 0, block->count);
    return status;
}

static double plain_norm(size_t count, const float *values) {
    long double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (long double)values[i] * values[i];
    return (double)sqrtl(sum);
}

static void compare_with_plain(optimizer_options o, size_t count, double rate) {
    training t = training_open(o.kind, count);
    double *p = malloc(count * 8), *buffer = calloc(count, 8), *square = calloc(count, 8);
    for (size_t i = 0; i < count; i++) p[i] = t.parameters[i];
    for (int step = 1; step <= STEPS; step++) {
        new_gradients(&t, step);
        const double norm = plain_norm(count, t.gradients);
        const double scale = o.clip_norm > 0 ? fmin(1, o.clip_norm / (norm + 1e-6)) : 1;
        for (size_t i = 0; i < count; i++)
            plain_step(&o, rate, step, scale * t.gradients[i], &p[i], &buffer[i], &square[i]);
        double measured = 0;
        assert_int_equal(
            whole_step(&o, rate, step, &(optimizer_block){count, t.gradients, t.parameters, t.state}, &measured, NULL),
            STATUS_OK);
        assert_close(measured, norm, 1e-14);
        for (size_t i = 0; i < count; i++) assert_near(t.parameters[i], p[i], 3e-6 * fmax(1, fabs(p[i])));
    }
    free(p);
    free(buffer);
    free(square);
    training_close(&t);
}

static void every_kind_agrees_with_plain_loops_in_double(void **state) {
    (void)state;
    const size_t counts[] = {1, 5, 4097, 40000};
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t k = 0; k < 4; k++)
            for (int variant = 0; variant < 4; variant++) {
                optimizer_options o = optimizer_options_default((optimizer_kind)kind);
                if (variant & 1) o.weight_decay = 0.05;
                if (variant & 2) o.clip_norm = 0.5;
                o.momentum = 0.97;
                compare_with_plain(o, counts[k], kind < 3 ? 0.02 : 0.003);
            }
}

static void a_constant_gradient_gives_closed_forms(void **state) {
    (void)state;
    const float g = 0.5f;
    float p = 0, v = 0, moments[2] = {0};
    optimizer_options o = optimizer_options_default(OPTIMIZER_MOMENTUM);
    for (int t = 1; t <= 20; t++) whole_step(&o, 0.1, t, &(optimizer_block){1, &g, &p, &v}, NULL, NULL);
    /* v_t = g (1 - m^t) / (1 - m); p = -rate sum of v */
    assert_close(v, 0.5 * (1 - pow(0.9, 20)) / 0.1, 1e-5);
    assert_close(p, -0.1 * 0.5 / 0.1 * (20 - 0.9 * (1 - pow(0.9, 20)) / 0.1), 1e-5);
    /* Adam's corrected moments are g and g^2 at every step: it walks at the learning rate. */
    p = 0;
    o = optimizer_options_default(OPTIMIZER_ADAM);
    for (int t = 1; t <= 20; t++) whole_step(&o, 0.1, t, &(optimizer_block){1, &g, &p, moments}, NULL, NULL);
    assert_close(p, -2.0, 1e-5);
    /* Without gradients AdamW shrinks by (1 - rate decay) at every step. */
    const float none = 0;
    float q = 3;
    memset(moments, 0, sizeof moments);
    o = optimizer_options_default(OPTIMIZER_ADAMW);
    o.weight_decay = 0.1;
    for (int t = 1; t <= 20; t++) whole_step(&o, 0.1, t, &(optimizer_block){1, &none, &q, moments}, NULL, NULL);
    assert_close(q, 3 * pow(0.99, 20), 1e-5);
}

static void clipping_bounds_the_step_and_leaves_small_gradients_alone(void **state) {
    (void)state;
    optimizer_options o = optimizer_options_default(OPTIMIZER_SGD);
    o.clip_norm = 1;
    const float large[2] = {30, 40}, small[2] = {0.3f, 0.4f};
    float p[2] = {0};
    double norm = 0;
    whole_step(&o, 1, 1, &(optimizer_block){2, large, p, NULL}, &norm, NULL);
    assert_close(norm, 50, 1e-15);
    assert_close(p[0], -0.6, 1e-6);
    assert_close(p[1], -0.8, 1e-6);
    p[0] = p[1] = 0;
    whole_step(&o, 1, 1, &(optimizer_block){2, small, p, NULL}, NULL, NULL);
    assert_true(p[0] == -0.3f && p[1] == -0.4f);
}

static void the_norm_is_exact_at_the_ends_of_the_range(void **state) {
    (void)state;
    assert_true(gradient_norm(0, NULL) == 0);
    const float huge[4] = {3e38f, 3e38f, 3e38f, 3e38f}, tiny[4] = {1e-44f, 1e-44f, 1e-44f, 1e-44f};
    assert_close(gradient_norm(4, huge), 2.0 * (double)3e38f, 1e-15);
    assert_close(gradient_norm(4, tiny), 2.0 * (double)1e-44f, 1e-15);
    const size_t count = 5000003;
    float *ones = malloc(count * sizeof *ones);
    for (size_t i = 0; i < count; i++) ones[i] = 1;
    for (size_t n = count - 20; n <= count; n++) assert_true(gradient_norm(n, ones) == sqrt((double)n));
    for (size_t n = 1; n < 30; n++) assert_true(gradient_norm(n, ones) == sqrt((double)n));
    free(ones);
}

static void a_gradient_that_is_not_finite_changes_nothing(void **state) {
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int kind = 0; kind < KINDS; kind++)
        for (int k = 0; k < 3; k++) {
            const size_t count = 9000;
            const optimizer_options o = optimizer_options_default((optimizer_kind)kind);
            training t = training_open(o.kind, count), same = training_open(o.kind, count);
            new_gradients(&t, 1);
            t.gradients[8191] = bad[k];
            failure failure = {0};
            double norm = 0;
            assert_int_equal(
                whole_step(&o, 0.1, 4, &(optimizer_block){count, t.gradients, t.parameters, t.state}, &norm, &failure),
                STATUS_NOT_FINITE);
            assert_true(isfinite(norm) == 0);
            assert_non_null(strstr(failure.message, "step 4"));
            assert_memory_equal(t.parameters, same.parameters, count * 4);
            assert_memory_equal(t.state, same.state, optimizer_state_size(o.kind, count) * 4);
            training_close(&t);
            training_close(&same);
        }
}

static training train(optimizer_kind kind, size_t count, int threads) {
    optimizer_options o = optimizer_options_default(kind);
    o.clip_norm = 2;
    o.weight_decay = 0.01;
    training t = training_open(kind, count);
    omp_set_num_threads(threads);
    for (int step = 1; step <= 5; step++) {
        new_gradients(&t, step);
        whole_step(&o, 0.01, step, &(optimizer_block){count, t.gradients, t.parameters, t.state}, NULL, NULL);
    }
    return t;
}

static void the_number_of_threads_does_not_change_a_bit(void **state) {
    (void)state;
    const size_t count = 100003;
    for (int kind = 0; kind < KINDS; kind++) {
        training one = train((optimizer_kind)kind, count, 1);
        for (int threads = 2; threads <= 3; threads++) {
            training more = train((optimizer_kind)kind, count, threads);
            assert_memory_equal(one.parameters, more.parameters, count * 4);
            assert_memory_equal(one.state, more.state, optimizer_state_size((optimizer_kind)kind, count) * 4);
            training_close(&more);
        }
        training_close(&one);
    }
}

static void senseless_options_are_refused(void **state) {
    (void)state;
    optimizer_options o[7];
    for (int k = 0; k < 7; k++) o[k] = optimizer_options_default(OPTIMIZER_ADAM);
    assert_int_equal(optimizer_check(&o[0], NULL), STATUS_OK);
    o[0].momentum = 1;
    o[1].beta1 = -0.1;
    o[2].beta2 = NAN;
    o[3].epsilon = INFINITY;
    o[4].weight_decay = -1;
    o[5].clip_norm = -1;
    o[6].kind = (optimizer_kind)5;
    for (int k = 0; k < 7; k++) {
        failure failure = {0};
        assert_int_equal(optimizer_check(&o[k], &failure), STATUS_BAD_INPUT);
        assert_true(failure.message[0] != 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_agrees_with_plain_loops_in_double),
        cmocka_unit_test(a_constant_gradient_gives_closed_forms),
        cmocka_unit_test(clipping_bounds_the_step_and_leaves_small_gradients_alone),
        cmocka_unit_test(the_norm_is_exact_at_the_ends_of_the_range),
        cmocka_unit_test(a_gradient_that_is_not_finite_changes_nothing),
        cmocka_unit_test(the_number_of_threads_does_not_change_a_bit),
        cmocka_unit_test(senseless_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
