/*
 * Whole networks: losses and gradients against the same network in double plain loops, bits that do not depend on
 * threads or runs, steps that allocate nothing.
 */
#include "failing_memory.h"
#include "model/learner.h"
#include "nn/graph_inside.h"
#include "nn/supervision.h"
#include "numbers.h"
#include "plain_graph.h"
#include "plain_loss.h"

#include <limits.h>
#include <malloc.h>
#include <stdatomic.h>

/* ---- counting allocations: the linker sends ours here (see CMakeLists.txt) --------------------------------------- */

static atomic_long allocations;
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size) {
    allocations++;
    return __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size) {
    allocations++;
    return __real_calloc(count, size);
}
void *__wrap_realloc(void *block, size_t size) {
    allocations++;
    return __real_realloc(block, size);
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    allocations++;
    return __real_aligned_alloc(alignment, size);
}

/* ---- the networks ------------------------------------------------------------------------------------------------ */

typedef struct network {
    const char *name, *model;
    shape input;
    int classes, base; /* base: of U-Nets */
    int anisotropic;   /* 1x3x3 filters and 1x2x2 steps at the finest level */
    int max_pool, bias;
    loss_kind loss;
    convolution_algorithm algorithm;
    double bound; /* of a derivative in f32, relative to the lengths of gradient and direction */
} network;

enum { MLP, WRN, WRN_WINOGRAD, UNET_3D, UNET_ANISOTROPIC, UNET_2D, UNET_WINOGRAD, RESENC, NETWORKS };
static const network ALL[NETWORKS] = {
    [MLP] = {"mlp", "mlp-2-17", {5, {1, 1, 1}, 12}, 4, 0, 0, 0, 0, LOSS_CROSS_ENTROPY, CONVOLUTION_DIRECT, 1e-5},
    [WRN] = {"wrn", "wrn-10-1", {3, {1, 9, 11}, 1}, 5, 0, 0, 0, 0, LOSS_CROSS_ENTROPY, CONVOLUTION_DIRECT, 2e-5},
    [WRN_WINOGRAD] = {"wrn by Winograd",
                      "wrn-10-1",
                      {3, {1, 9, 11}, 3},
                      5,
                      0,
                      0,
                      0,
                      0,
                      LOSS_CROSS_ENTROPY,
                      CONVOLUTION_WINOGRAD,
                      2e-5},
    [UNET_3D] = {"unet in 3D", "unet", {1, {8, 12, 8}, 1}, 3, 5, 0, 0, 1, LOSS_DICE_CE, CONVOLUTION_DIRECT, 2e-5},
    [UNET_ANISOTROPIC] =
        {"anisotropic unet", "unet", {2, {2, 8, 12}, 4}, 4, 6, 1, 0, 0, LOSS_DICE_CE, CONVOLUTION_DIRECT, 2e-5},
    [UNET_2D] = {"unet in 2D", "unet", {2, {1, 12, 16}, 2}, 3, 8, 0, 1, 1, LOSS_DICE_CE, CONVOLUTION_DIRECT, 2e-5},
    [UNET_WINOGRAD] =
        {"unet by Winograd", "unet", {1, {4, 12, 8}, 1}, 2, 16, 0, 0, 0, LOSS_DICE_CE, CONVOLUTION_WINOGRAD, 2e-5},
    [RESENC] =
        {"residual encoder", "resenc", {2, {4, 8, 12}, 2}, 3, 5, 1, 0, 1, LOSS_DICE_CE, CONVOLUTION_DIRECT, 2e-5},
};

static learner_options options_of(const network *n) {
    learner_options options = {.loss = n->loss};
    failure failure = {0};
    if (model_parse(n->model, &options.model, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    options.model.input = n->input;
    options.model.classes = n->classes;
    if (n->base) {
        model_unet_defaults(&options.model, n->input.size[0] > 1 ? 3 : 2);
        options.model.unet_levels = 3;
        options.model.unet_base = n->base;
        options.model.unet_max_pool = n->max_pool;
        options.model.unet_bias = n->bias;
        if (n->anisotropic) options.model.unet_kernel[0][0] = options.model.unet_stride[1][0] = 1;
    }
    options.graph = (graph_options){.threads = 2, .convolution = n->algorithm};
    options.optimizer = optimizer_options_default(OPTIMIZER_NESTEROV);
    options.optimizer.weight_decay = 1e-4;
    return options;
}

/* Another batch for each seed; labels of 1 in 16 are left out. */
static void fill_batch(learner *l, uint64_t seed) {
    graph *g = learner_graph(l);
    const shape in = graph_input_shape(g), out = graph_output_shape(g, 0);
    for (size_t i = 0; i < shape_count(&in); i++)
        learner_input(l)[i] = float_from_bf16(float_to_bf16((float)test_normal(&seed)));
    for (size_t i = 0; i < shape_rows(&out); i++) {
        const uint64_t word = test_random(&seed);
        const int left_out = shape_positions(&out) > 1 && word >> 60 == 0;
        learner_labels(l)[i] = (int16_t)(left_out ? -1 : (int)(word % (uint64_t)out.channels));
    }
}

static learner *opened(const learner_options *options) {
    learner *l = 0;
    failure failure = {0};
    if (learner_open(options, &l, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    graph *g = learner_graph(l);
    graph_initialise(g, 11);
    /* Norms and biases away from ones and zeros, where mistakes could hide. */
    uint64_t seed = 5;
    for (int i = 0; i < graph_parameter_count(g); i++) {
        const parameter *p = graph_parameter(g, i);
        for (size_t k = 0; !p->running && p->deviation == 0 && k < p->count; k++)
            graph_values(g)[p->offset + k] += (float)(0.3 * test_normal(&seed));
    }
    fill_batch(l, 1);
    return l;
}

static double weight_of(int example) { return 0.5 + 0.75 * example; }

static void run_step(learner *l, double *losses) {
    double weights[16];
    failure failure = {0};
    const int part = learner_micro_batch(l);
    for (int i = 0; i < part; i++) weights[i] = weight_of(i);
    learner_begin(l);
    if (learner_losses(l, part, losses, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    learner_backward(l, part, weights);
}

/* ---- against doubles --------------------------------------------------------------------------------------------- */

/* The weighted loss of one example, over all outputs. */
static double plain_example_loss(const plain_graph *plain, learner *l, int example) {
    graph *g = learner_graph(l);
    const shape full = graph_output_shape(g, 0);
    double weights[MAX_OUTPUTS], sum = 0;
    supervision_weights((size_t)graph_output_count(g), weights);
    for (int k = 0; k < graph_output_count(g); k++) {
        const shape s = graph_output_shape(g, k);
        const size_t positions = shape_positions(&s);
        int16_t *labels = malloc(positions * sizeof *labels);
        size_t size[3], stride[3];
        for (int axis = 0; axis < 3; axis++) {
            size[axis] = (size_t)full.size[axis];
            stride[axis] = (size_t)(full.size[axis] / s.size[axis]);
        }
        supervision_labels(size, stride, learner_labels(l) + (size_t)example * shape_positions(&full), labels);
        const loss loss = {learner_settings(l)->loss, positions, (size_t)s.channels, learner_settings(l)->smoothing};
        sum += weights[k] *
               plain_loss(&loss, plain_graph_output(plain, k) + (size_t)example * positions * loss.classes, labels);
        free(labels);
    }
    return sum;
}

static double plain_total(plain_graph *plain, learner *l) {
    double sum = 0;
    plain_graph_forward(plain);
    for (int i = 0; i < learner_micro_batch(l); i++) sum += weight_of(i) * plain_example_loss(plain, l, i);
    return sum;
}

static double length_of(const float *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (double)values[i] * (double)values[i];
    return sqrt(sum);
}

/* The derivative along a random direction in which only the parameters [first, first + count) move. */
static void check_direction(const network *n, learner *l, plain_graph *plain, const char *name, size_t first,
                            size_t count, uint64_t seed) {
    const float *gradient = graph_gradients(learner_graph(l)) + first;
    const double all = length_of(graph_gradients(learner_graph(l)), graph_trained_floats(learner_graph(l)));
    double *direction = doubles(count), *old = doubles(count), along = 0, length = 0;
    memcpy(old, plain->parameters + first, count * sizeof *old);
    for (size_t i = 0; i < count; i++) {
        direction[i] = test_normal(&seed);
        along += direction[i] * (double)gradient[i];
        length += direction[i] * direction[i];
    }
    const double step = 1e-6 / sqrt(length); /* so small that hardly an activation crosses zero */
    for (size_t i = 0; i < count; i++) plain->parameters[first + i] = old[i] + step * direction[i];
    const double above = plain_total(plain, l);
    for (size_t i = 0; i < count; i++) plain->parameters[first + i] = old[i] - step * direction[i];
    const double below = plain_total(plain, l), difference = (above - below) / (2 * step);
    memcpy(plain->parameters + first, old, count * sizeof *old);
    const double unit = sqrt(length) * (length_of(gradient, count) + 0.01 * all);
    if (!(fabs(difference - along) <= n->bound * unit))
        fail_msg("%s, %s: the derivative is %.9g, central differences say %.9g: %.3g of the lengths", n->name, name,
                 along, difference, fabs(difference - along) / unit);
    free(direction);
    free(old);
}

static void check_network(const network *n, const learner_options *options) {
    learner *l = opened(options);
    graph *g = learner_graph(l);
    double losses[16];
    run_step(l, losses);
    plain_graph plain = plain_graph_open(g);
    plain_total(&plain, l);
    for (int i = 0; i < learner_micro_batch(l); i++) assert_near(losses[i], plain_example_loss(&plain, l, i), 1e-5);
    for (uint64_t seed = 0; seed < 3; seed++) check_direction(n, l, &plain, "all", 0, graph_trained_floats(g), seed);
    /* Networks of many channels take long in plain loops: a third of their parameters do. */
    for (int i = 0; i < graph_parameter_count(g); i += n->algorithm == CONVOLUTION_WINOGRAD ? 3 : 1) {
        const parameter *p = graph_parameter(g, i);
        if (!p->running) check_direction(n, l, &plain, p->name, p->offset, p->count, (uint64_t)i);
    }
    plain_graph_close(&plain);
    learner_close(&l);
}

static void losses_and_gradients_are_those_of_plain_loops(void **state) {
    (void)state;
    for (int i = 0; i < NETWORKS; i++) {
        learner_options options = options_of(&ALL[i]);
        options.graph.recompute = i == UNET_3D;
        check_network(&ALL[i], &options);
    }
}

static void so_they_are_with_dropout_and_smoothed_labels(void **state) {
    (void)state;
    for (int i = MLP; i <= WRN; i++) {
        learner_options options = options_of(&ALL[i]);
        options.model.dropout = 0.3;
        options.smoothing = 0.1;
        options.seed = 77;
        check_network(&ALL[i], &options);
    }
}

/* The same batch gets another mask in another step; evaluation has none. */
static void dropout_differs_from_step_to_step(void **state) {
    (void)state;
    learner_options options = options_of(&ALL[MLP]);
    options.model.dropout = 0.5;
    learner *l = opened(&options);
    double first[16], again[16], next[16], whole[16], plain[16];
    run_step(l, first);
    run_step(l, again);
    assert_memory_equal(first, again, 5 * sizeof *first);
    learner_set_steps(l, 1);
    run_step(l, next);
    for (int k = 0; k < 5; k++) assert_true(next[k] != first[k]);
    assert_int_equal(learner_evaluate(l, 5, whole, NULL), STATUS_OK);
    learner_close(&l);
    options.model.dropout = 0;
    l = opened(&options);
    run_step(l, plain);
    for (int k = 0; k < 5; k++) assert_true(whole[k] == plain[k] && whole[k] != first[k]);
    learner_close(&l);
}

/*
 * How far the gradient in bf16 is from the one in f32, relative to its length: each operation rounds once (test_ops),
 * but activations near zero change their sign, and with it their slope.
 */
static void bf16_gradients_are_within_its_rounding(void **state) {
    (void)state;
    for (int i = 0; i < NETWORKS; i++) {
        learner_options options = options_of(&ALL[i]);
        learner *exact = opened(&options);
        options.graph.precision = PRECISION_BF16;
        learner *rounded = opened(&options);
        double losses[2][16], squares = 0, errors = 0;
        run_step(exact, losses[0]);
        run_step(rounded, losses[1]);
        for (int k = 0; k < learner_micro_batch(exact); k++) assert_near(losses[1][k], losses[0][k], 0.03);
        const float *a = graph_gradients(learner_graph(exact)), *b = graph_gradients(learner_graph(rounded));
        for (size_t k = 0; k < graph_trained_floats(learner_graph(exact)); k++) {
            squares += (double)a[k] * (double)a[k];
            errors += ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
        }
        if (!(sqrt(errors / squares) <= 0.3))
            fail_msg("%s: the bf16 gradient is off by %.3g of its length", ALL[i].name, sqrt(errors / squares));
        learner_close(&exact);
        learner_close(&rounded);
    }
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

/* The weights and running statistics after three steps. */
static float *trained(const learner_options *options, size_t *floats) {
    learner *l = opened(options);
    graph *g = learner_graph(l);
    double losses[16];
    for (uint64_t step = 0; step < 3; step++) {
        fill_batch(l, step);
        run_step(l, losses);
        assert_int_equal(learner_update(l, 0.05, 0, 0), STATUS_OK);
    }
    const size_t values = graph_trained_floats(g), running = graph_running_floats(g);
    float *all = malloc((values + running) * sizeof *all);
    memcpy(all, graph_values(g), values * sizeof *all);
    memcpy(all + values, graph_running(g), running * sizeof *all);
    *floats = values + running;
    learner_close(&l);
    return all;
}

static void check_same(const network *n, const char *what, const learner_options *a, const learner_options *b) {
    size_t count, again;
    float *one = trained(a, &count), *other = trained(b, &again);
    assert_int_equal(count, again);
    if (memcmp(one, other, count * sizeof *one) != 0) fail_msg("%s: %s changes bits", n->name, what);
    free(one);
    free(other);
}

static void runs_threads_and_recomputing_change_no_bit(void **state) {
    (void)state;
    for (int i = 0; i < 2 * NETWORKS; i++) {
        const network *n = &ALL[i / 2];
        learner_options options = options_of(n);
        options.graph.precision = i & 1 ? PRECISION_BF16 : PRECISION_F32;
        options.graph.threads = 1;
        learner_options other = options;
        check_same(n, "a second run", &options, &other);
        static const int threads[] = {2, 5, 64};
        for (int k = 0; k < (i == 2 * UNET_WINOGRAD ? 3 : 2); k++) { /* with 64 on few processors steps are slow */
            other.graph.threads = threads[k];
            check_same(n, "the number of threads", &options, &other);
        }
        other.graph.threads = 5;
        other.graph.recompute = 1;
        check_same(n, "computing activations a second time", &options, &other);
    }
}

/* Too large for plain loops; its layers are tested by themselves (test_ops), the whole by make test-peer. */
static void residual_networks_keep_their_bits(void **state) {
    (void)state;
    static const network RESNETS[] = {
        {"resnet", "resnet-18", {3, {1, 40, 36}, 3}, 3, 0, 0, 0, 0, LOSS_CROSS_ENTROPY, CONVOLUTION_AUTOMATIC, 0},
        {"bottlenecks", "resnet-50", {2, {1, 33, 32}, 1}, 3, 0, 0, 0, 0, LOSS_CROSS_ENTROPY, CONVOLUTION_DIRECT, 0}};
    for (int i = 0; i < 2; i++) {
        learner_options options = options_of(&RESNETS[i]);
        options.graph.threads = 1;
        learner_options other = options;
        other.graph.threads = 3;
        other.graph.recompute = 1;
        check_same(&RESNETS[i], "threads or computing twice", &options, &other);
    }
}

/* A plan without the backward pass shares memory differently and gives the same. */
static void inference_gives_the_bits_of_training(void **state) {
    (void)state;
    for (int i = 0; i < 2 * NETWORKS; i++) {
        learner_options options = options_of(&ALL[i / 2]);
        options.graph.precision = i & 1 ? PRECISION_BF16 : PRECISION_F32;
        learner *l = opened(&options);
        double losses[16];
        run_step(l, losses); /* running statistics */
        options.graph.inference = 1;
        graph *g = learner_graph(l), *lean = 0;
        assert_int_equal(model_open(&options.model, &options.graph, &lean, 0), STATUS_OK);
        assert_true(graph_memory(lean) < graph_memory(g));
        memcpy(graph_values(lean), graph_values(g), graph_trained_floats(g) * sizeof(float));
        memcpy(graph_running(lean), graph_running(g), graph_running_floats(g) * sizeof(float));
        const shape in = graph_input_shape(g);
        memcpy(graph_input_values(lean), graph_input_values(g), shape_count(&in) * sizeof(float));
        graph_forward(g, 0);
        graph_forward(lean, 0);
        for (int k = 0; k < graph_output_count(g); k++) {
            const shape s = graph_output_shape(g, k);
            assert_memory_equal(graph_output_values(g, k), graph_output_values(lean, k),
                                shape_count(&s) * sizeof(float));
        }
        graph_close(&lean);
        learner_close(&l);
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void a_step_allocates_nothing(void **state) {
    (void)state;
    for (int i = 0; i < 2 * NETWORKS; i++) {
        learner_options options = options_of(&ALL[i / 2]);
        options.graph.precision = i & 1 ? PRECISION_BF16 : PRECISION_F32;
        options.graph.recompute = i & 1;
        const long before_opening = allocations;
        learner *l = opened(&options);
        assert_true(allocations > before_opening); /* they are counted */
        double losses[16];
        const long before = allocations;
        for (int step = 0; step < 3; step++) {
            run_step(l, losses);
            assert_int_equal(learner_update(l, 0.01, 0, 0), STATUS_OK);
            assert_int_equal(learner_evaluate(l, learner_micro_batch(l), losses, 0), STATUS_OK);
        }
        assert_int_equal(allocations, before);
        learner_close(&l);
    }
}

/* Without what was freed before and is kept for the next to ask. */
static long resident_pages(void) {
    malloc_trim(0);
    long size = 0, resident = -1;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return -1;
    if (fscanf(file, "%ld %ld", &size, &resident) != 2) resident = -1;
    fclose(file);
    return resident;
}

/* A leak grows between any two looks. What the system does once (a thread that starts, a page that it makes larger, its
   own rounding of the figure) does not. */
static void memory_stays_flat_over_many_steps(void **state) {
    (void)state;
    if (resident_pages() < 0) skip();
    enum { LOOKS = 6, PAGES = 4 };
    const learner_options options = options_of(&ALL[UNET_2D]);
    learner *l = opened(&options);
    double losses[16];
    const long between = test_size(25, 200);
    long least_growth = LONG_MAX, before = LONG_MIN / 2;
    for (long look = 0; look <= LOOKS; look++) {
        for (long step = 0; step < between; step++) {
            run_step(l, losses);
            assert_int_equal(learner_update(l, 0.001, 0, 0), STATUS_OK);
        }
        const long pages = resident_pages(), growth = pages - before;
        if (growth < least_growth) least_growth = growth;
        before = pages;
    }
    assert_true(least_growth <= PAGES);
    learner_close(&l);
}

/* Each allocation of aligned memory fails once: an error, nothing leaks (ASan), nothing is opened. */
static void no_memory_is_an_error(void **state) {
    (void)state;
    for (int i = 0; i < NETWORKS; i++) {
        const learner_options options = options_of(&ALL[i]);
        learner *l = opened(&options);
        learner_close(&l);
        memory_fail_after(-1);
        l = opened(&options);
        const long needed = memory_fail_after(-1);
        learner_close(&l);
        assert_true(needed > 7);
        for (long k = 0; k < needed; k++) {
            failure failure = {0};
            memory_fail_after(k);
            assert_int_equal(learner_open(&options, &l, &failure), STATUS_OUT_OF_MEMORY);
            assert_null(l);
        }
        memory_fail_after(-1);
    }
}

static void a_batch_that_is_learned_by_heart_has_a_smaller_loss(void **state) {
    (void)state;
    for (int i = 0; i < 2 * NETWORKS; i++) {
        learner_options options = options_of(&ALL[i / 2]);
        options.graph.precision = i & 1 ? PRECISION_BF16 : PRECISION_F32;
        learner *l = opened(&options);
        double losses[16], first = 0, last = 0;
        for (int step = 0; step < 40; step++) {
            run_step(l, losses);
            assert_int_equal(learner_update(l, 0.01, 0, 0), STATUS_OK);
            for (int k = 0; k < learner_micro_batch(l); k++) *(step ? &last : &first) += losses[k];
            if (step && step < 39) last = 0;
        }
        if (!(last < first - 0.1)) fail_msg("%s: the loss went from %g to %g", ALL[i / 2].name, first, last);
        learner_close(&l);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_and_gradients_are_those_of_plain_loops),
        cmocka_unit_test(so_they_are_with_dropout_and_smoothed_labels),
        cmocka_unit_test(dropout_differs_from_step_to_step),
        cmocka_unit_test(bf16_gradients_are_within_its_rounding),
        cmocka_unit_test(runs_threads_and_recomputing_change_no_bit),
        cmocka_unit_test(residual_networks_keep_their_bits),
        cmocka_unit_test(inference_gives_the_bits_of_training),
        cmocka_unit_test(a_step_allocates_nothing),
        cmocka_unit_test(memory_stays_flat_over_many_steps),
        cmocka_unit_test(no_memory_is_an_error),
        cmocka_unit_test(a_batch_that_is_learned_by_heart_has_a_smaller_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
