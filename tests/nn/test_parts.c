/*
 * A batch that several graphs work on, each on some of its parts: outputs, statistics and gradients are those of one
 * graph that works on all of it, to the bit. The graphs run in threads and join through shared memory.
 */
#include "needs_kernels.h"
#include "numbers.h"

#include "nn/graph.h"

#include <pthread.h>

enum { SAMPLES = 11, PART = 3, PARTS = 4, WORKERS_MAX = 5, CLASSES = 5 };
static const shape INPUT = {SAMPLES, {2, 9, 11}, 16};

typedef struct network {
    precision precision;
    norm_kind norm;
    convolution_algorithm algorithm;
} network;

/* Every operation with parameters, by both algorithms. Winograd's scales the first norm on reading. */
static graph *open_graph(const network *n, int samples, const graph_batch *batch, int threads) {
    failure failure;
    graph *g = graph_open(
        &(graph_options){.precision = n->precision, .threads = threads, .convolution = n->algorithm, .batch = *batch});
    shape in = INPUT;
    in.samples = samples;
    tensor x = graph_input(g, in);
    x = graph_convolution(g, "first", x, &(convolution_options){.features = 32, .kernel = {3, 3, 3}, .bias = 1});
    x = graph_norm(g, "norm", x, &(norm_options){.kind = n->norm, .slope = 0.1F});
    x = graph_convolution(g, "reads_scaled", x, &(convolution_options){.features = 16, .kernel = {1, 3, 3}, .bias = 1});
    x = graph_convolution(g, "second", x,
                          &(convolution_options){.features = 16, .kernel = {1, 3, 3}, .stride = {1, 2, 2}, .bias = 1});
    x = graph_transposed_convolution(g, "up", x, 16, (const int[]){1, 2, 2}, 1);
    x = graph_norm(g, "norm2", x, &(norm_options){.kind = n->norm, .slope = 0});
    x = graph_fully_connected(g, "classes", graph_mean(g, x), CLASSES, 1);
    graph_output(g, x);
    if (graph_plan(g, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    graph_initialise(g, 7);
    return g;
}

/* ---- workers ----------------------------------------------------------------------------------------------------- */

typedef struct team {
    const network *network;
    pthread_barrier_t barrier;
    double shared[4096];
    int starts[WORKERS_MAX + 1]; /* the first part of each worker */
    float *gradients;            /* [PARTS][parameters] */
    float outputs[SAMPLES * CLASSES];
    float *running; /* of the first worker */
} team;

typedef struct worker {
    team *team;
    int index;
    pthread_t thread;
    double *values; /* that are joined */
    size_t per_part;
} worker;

static void join(void *context, double *values, size_t per_part) {
    worker *w = context;
    assert_null(w->values); /* one at a time */
    w->values = values;
    w->per_part = per_part;
}

/* What was asked for comes as late as it may. */
static void joined(void *context) {
    worker *w = context;
    team *t = w->team;
    double *values = w->values;
    const size_t per_part = w->per_part;
    w->values = NULL;
    const size_t first = (size_t)t->starts[w->index] * per_part, end = (size_t)t->starts[w->index + 1] * per_part;
    pthread_barrier_wait(&t->barrier);
    memcpy(t->shared + first, values + first, (end - first) * sizeof *values);
    pthread_barrier_wait(&t->barrier);
    memcpy(values, t->shared, PARTS * per_part * sizeof *values);
}

static float input_at(size_t i) { return (float)((i * 2654435761U >> 7) % 1000) * 0.002F - 1; }
static float gradient_at(size_t i) { return (float)((i * 2246822519U >> 9) % 1000) * 0.001F - 0.5F; }

/* One pass over samples from `first` on; outputs may be NULL. */
static void pass(graph *g, size_t first, int idle, float *outputs) {
    const shape in = graph_input_shape(g), out = graph_output_shape(g, 0);
    const size_t floats = shape_count(&in) / (size_t)in.samples;
    for (size_t i = 0; i < shape_count(&in); i++) graph_input_values(g)[i] = input_at(first * floats + i);
    graph_forward(g, 1);
    if (outputs && !idle)
        memcpy(outputs + first * CLASSES, graph_output_values(g, 0), shape_count(&out) * sizeof *outputs);
    for (size_t i = 0; i < shape_count(&out) && !idle; i++)
        graph_output_gradients(g, 0)[i] = gradient_at(first * CLASSES + i);
    graph_backward(g);
}

static void *work(void *argument) {
    worker *w = argument;
    team *t = w->team;
    const int first = t->starts[w->index], end = t->starts[w->index + 1];
    const int samples = end * PART < SAMPLES ? (end - first) * PART : SAMPLES - first * PART;
    const graph_batch batch = {.samples = SAMPLES,
                               .part = PART,
                               .first_part = first,
                               .idle = first == end,
                               .context = w,
                               .join = join,
                               .joined = joined};
    graph *g = open_graph(t->network, batch.idle ? PART : samples, &batch, 1);
    graph_gradients_by_part(g, t->gradients + (size_t)first * graph_trained_floats(g), graph_trained_floats(g));
    assert_int_equal(graph_parts(g), end - first);
    pass(g, (size_t)first * PART, batch.idle, t->outputs);
    if (w->index == 0) memcpy(t->running, graph_running(g), graph_running_floats(g) * sizeof *t->running);
    graph_close(&g);
    return 0;
}

static void run_workers(team *t, int count) {
    worker workers[WORKERS_MAX];
    assert_int_equal(pthread_barrier_init(&t->barrier, 0, (unsigned)count), 0);
    for (int k = 0; k < count; k++) {
        workers[k] = (worker){.team = t, .index = k};
        assert_int_equal(pthread_create(&workers[k].thread, 0, work, &workers[k]), 0);
    }
    for (int k = 0; k < count; k++) pthread_join(workers[k].thread, 0);
    pthread_barrier_destroy(&t->barrier);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void check_team(const network *n, graph *whole, const float *outputs, const int *starts, int count) {
    const size_t floats = graph_trained_floats(whole), running = graph_running_floats(whole);
    team t = {.network = n};
    memcpy(t.starts, starts, (size_t)(count + 1) * sizeof *starts);
    t.gradients = calloc(PARTS * floats, sizeof *t.gradients);
    t.running = calloc(running + 1, sizeof *t.running);
    assert_true(t.gradients && t.running);
    run_workers(&t, count);
    for (int part = 1; part < PARTS; part++)
        for (size_t i = 0; i < floats; i++) t.gradients[i] += t.gradients[(size_t)part * floats + i];
    assert_memory_equal(t.outputs, outputs, sizeof t.outputs);
    assert_memory_equal(t.running, graph_running(whole), running * sizeof *t.running);
    assert_memory_equal(t.gradients, graph_gradients(whole), floats * sizeof *t.gradients);
    free(t.gradients);
    free(t.running);
}

/* All parts by one, by two of different size, by one each, and with workers that have none. */
static const int STARTS[][WORKERS_MAX + 1] = {{0, 4},       {0, 2, 4},       {0, 1, 4},
                                              {0, 3, 3, 4}, {0, 1, 2, 3, 4}, {0, 0, 2, 3, 4, 4}};
static const int WORKERS[] = {1, 2, 2, 3, 4, 5};

static void check_network(const network *n) {
    graph *whole = open_graph(n, SAMPLES, &(graph_batch){.part = PART}, 2);
    assert_int_equal(graph_parts(whole), PARTS);
    float outputs[SAMPLES * CLASSES];
    pass(whole, 0, 0, outputs);
    for (size_t k = 0; k < sizeof WORKERS / sizeof *WORKERS; k++) check_team(n, whole, outputs, STARTS[k], WORKERS[k]);
    graph_close(&whole);
}

static void parts_may_be_anywhere(void **state) {
    (void)state;
    for (int precision = PRECISION_F32; precision <= PRECISION_BF16; precision++)
        for (int norm = NORM_BATCH; norm <= NORM_INSTANCE; norm++)
            for (int algorithm = CONVOLUTION_AUTOMATIC; algorithm <= CONVOLUTION_WINOGRAD; algorithm++)
                check_network(&(network){(enum precision)precision, (norm_kind)norm, (convolution_algorithm)algorithm});
}

/* The sum of a part does not depend on what is there: gradients of zeros and of something differ by one addition. */
static void parts_are_summed_by_themselves(void **state) {
    (void)state;
    const network n = {PRECISION_F32, NORM_INSTANCE, CONVOLUTION_AUTOMATIC};
    graph *g = open_graph(&n, 1, &(graph_batch){0}, 2);
    const size_t floats = graph_trained_floats(g);
    float *first = malloc(floats * sizeof *first);
    assert_non_null(first);
    pass(g, 0, 0, 0);
    memcpy(first, graph_gradients(g), floats * sizeof *first);
    for (size_t i = 0; i < floats; i++) graph_gradients(g)[i] = 1000;
    pass(g, 0, 0, 0);
    for (size_t i = 0; i < floats; i++) {
        const float sum = 1000 + first[i];
        assert_memory_equal(&sum, &graph_gradients(g)[i], sizeof sum);
    }
    free(first);
    graph_close(&g);
}

/* What is told to be complete is not touched again. */
typedef struct told {
    graph *graph;
    float *copy;
    size_t from;
    int calls;
} told;

static void note(void *context, size_t offset) {
    told *t = context;
    const size_t floats = graph_trained_floats(t->graph);
    assert_true(offset <= t->from);
    assert_memory_equal(t->copy + t->from, graph_gradients(t->graph) + t->from, (floats - t->from) * sizeof(float));
    memcpy(t->copy + offset, graph_gradients(t->graph) + offset, (floats - offset) * sizeof(float));
    t->from = offset;
    t->calls++;
}

static void complete_gradients_stay(void **state) {
    (void)state;
    told t = {0};
    const network n = {PRECISION_F32, NORM_BATCH, CONVOLUTION_AUTOMATIC};
    graph *g = open_graph(&n, SAMPLES, &(graph_batch){.part = PART, .context = &t, .ready = note}, 2);
    t = (told){g, calloc(graph_trained_floats(g), sizeof(float)), graph_trained_floats(g), 0};
    assert_non_null(t.copy);
    pass(g, 0, 0, 0);
    assert_int_equal(t.from, 0);
    assert_int_equal(t.calls, 7);
    assert_memory_equal(t.copy, graph_gradients(g), graph_trained_floats(g) * sizeof(float));
    free(t.copy);
    graph_close(&g);
}

int main(void) {
    leave_out_without_kernels();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_may_be_anywhere),
        cmocka_unit_test(parts_are_summed_by_themselves),
        cmocka_unit_test(complete_gradients_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
