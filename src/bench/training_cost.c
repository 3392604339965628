#define _POSIX_C_SOURCE 200809L
#include "bench/training_cost.h"

#include "bench/layer_cost.h"
#include "core/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void set_input(training_task *task) {
    model_options *m = &task->learner.model;
    const int *patch = task->patch, unet = m->kind == MODEL_UNET;
    m->input = (shape){unet ? 1 : task->batch, {patch[0], patch[1], patch[2]}, task->channels};
    if (m->kind == MODEL_MLP)
        m->input = (shape){task->batch, {1, 1, 1}, patch[0] * patch[1] * patch[2] * task->channels};
    m->classes = task->classes;
    if (!unet) return;
    model_unet_defaults(m, patch[0] > 1 ? 3 : 2);
    m->unet_levels = task->levels;
    m->unet_base = task->base;
    m->unet_max_pool = task->max_pool;
}

status_code training_task_complete(training_task *task, failure *failure) {
    learner_options *l = &task->learner;
    const status_code status = model_parse(task->model, &l->model, failure);
    if (status != STATUS_OK) return status;
    const int unet = l->model.kind == MODEL_UNET;
    if (!task->batch) task->batch = unet ? 2 : 64;
    if (!task->classes) task->classes = unet ? 3 : 10;
    if (!task->patch[0]) memcpy(task->patch, unet ? (int[3]){40, 56, 40} : (int[3]){1, 28, 28}, sizeof task->patch);
    set_input(task);
    l->graph = task->graph;
    l->batch = task->batch;
    l->ranks = ranks_here();
    l->graph.recompute = unet || l->model.kind == MODEL_RESNET;
    l->loss = unet ? LOSS_DICE_CE : LOSS_CROSS_ENTROPY;
    l->optimizer = optimizer_options_default(unet ? OPTIMIZER_NESTEROV : OPTIMIZER_SGD);
    if (unet) {
        l->optimizer.momentum = 0.99;
        l->optimizer.weight_decay = 3e-5;
        l->optimizer.clip_norm = 12;
    }
    return STATUS_OK;
}

static unsigned next(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void fill(learner *l, int classes) {
    const shape in = graph_input_shape(learner_graph(l)), out = graph_output_shape(learner_graph(l), 0);
    unsigned state = 1;
    for (size_t i = 0; i < shape_count(&in); i++) learner_input(l)[i] = (float)next(&state) * 0x1p-24f;
    for (size_t i = 0; i < shape_rows(&out); i++) learner_labels(l)[i] = (int16_t)(next(&state) % (unsigned)classes);
}

/* Each rank works on its share. */
static status_code step(learner *l, int batch, double *losses, double *weights, failure *failure) {
    const learner_share own = learner_own(l);
    const int whole = learner_takes_whole(l), count = whole ? own.end - own.first : 1;
    learner_begin(l);
    for (int done = 0; done < (whole ? 1 : own.end - own.first); done++) {
        const status_code status = learner_losses(l, count, losses, failure);
        if (status != STATUS_OK) return status;
        for (int i = 0; i < count; i++) weights[i] = 1.0 / batch;
        learner_backward(l, count, weights);
    }
    learner_join(l);
    return learner_update(l, 0.01, 0, failure);
}

/* The clock of the first rank counts. */
static int first_says(const learner *l, int go_on) {
    ranks_share_first(learner_ranks(l), &go_on, sizeof go_on);
    return go_on;
}

/* Each run is at least a quarter of a second long. */
static status_code time_run(learner *l, int batch, double *losses, double *weights, timings *all, failure *failure) {
    const double start = clock_seconds();
    status_code status = STATUS_OK;
    int steps = 0;
    while (status == STATUS_OK && first_says(l, steps == 0 || clock_seconds() - start < 0.25)) {
        status = step(l, batch, losses, weights, failure);
        steps++;
    }
    return status == STATUS_OK ? timings_add(all, (clock_seconds() - start) / steps, failure) : status;
}

static status_code time_steps(learner *l, int batch, double seconds, timing *result, failure *failure) {
    double *losses = calloc(2 * (size_t)learner_micro_batch(l), sizeof *losses);
    if (!losses) return fail_memory(failure, "the losses");
    double *weights = losses + learner_micro_batch(l);
    timings all = {0};
    status_code status = step(l, batch, losses, weights, failure);
    const double end = clock_seconds() + seconds;
    while (status == STATUS_OK && first_says(l, clock_seconds() < end || !all.count))
        status = time_run(l, batch, losses, weights, &all, failure);
    timings_end(&all, result);
    free(losses);
    return status;
}

/* As a step of training does at most: losses, weights and what they were made of, five numbers for each example. */
static double time_gathering(const learner *l, double *values) {
    enum { RUNS = 5, ROUNDS = 200, NUMBERS = 5 };
    size_t sizes[RANKS_MAX];
    double best = INFINITY;
    for (int k = 0; k < learner_ranks(l)->count; k++) {
        const learner_share share = learner_of(l, k);
        sizes[k] = (size_t)(share.end - share.first) * sizeof *values;
    }
    for (int run = 0; run < RUNS; run++) {
        const double start = clock_seconds();
        for (int k = 0; k < ROUNDS * NUMBERS; k++) ranks_gather(learner_ranks(l), values, sizes);
        best = fmin(best, (clock_seconds() - start) / ROUNDS);
    }
    return best;
}

static status_code measure_gathering(const learner *l, int batch, double *seconds, failure *failure) {
    double *values = calloc((size_t)batch, sizeof *values);
    *seconds = 0;
    if (!values) return fail_memory(failure, "the losses");
    if (learner_ranks(l)->count > 1) *seconds = time_gathering(l, values);
    free(values);
    return STATUS_OK;
}

status_code training_cost_measure(const training_task *task, learner *l, double seconds, training_cost *cost,
                                  failure *failure) {
    graph_initialise(learner_graph(l), 0);
    fill(l, task->classes);
    status_code status = time_steps(l, task->batch, seconds, &cost->step, failure);
    if (status == STATUS_OK) status = measure_gathering(l, task->batch, &cost->gather_seconds, failure);
    if (status != STATUS_OK) return status;
    const double passes = (double)task->batch / learner_micro_batch(l);
    cost->gflops = graph_flops(learner_graph(l)) * passes / cost->step.median / 1e9;
    cost->peak_gflops = peak_gflops(task->graph.threads);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    cost->peak_megabytes = (double)usage.ru_maxrss / 1024;
    return STATUS_OK;
}
