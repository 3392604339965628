/*
 * A tiny task: points in FEATURES dimensions with a class each, for mlp-0-HIDDEN. Training and test set are the same.
 * Points can be augmented with keyed noise, and made to fail.
 */
#ifndef HWS_TEST_POINTS_H
#define HWS_TEST_POINTS_H

#include "augment/purposes.h"
#include "core/arg_max.h"
#include "core/random.h"
#include "testing.h"
#include "train/trainer_inside.h"

enum { POINTS = 50, FEATURES = 5, CLASSES = 3 };

typedef struct points {
    float x[POINTS][FEATURES];
    int labels[POINTS];
    int micro_batch; /* 0: the whole batch */
    double noise;
    int failing; /* this example cannot be loaded; -1: none */
} points;

static inline status_code points_network(void *context, const train_settings *settings, learner_options *options,
                                         failure *failure) {
    const points *p = context;
    const status_code status = model_parse(settings->model, &options->model, failure);
    options->model.input = (shape){p->micro_batch ? p->micro_batch : (int)settings->batch, {1, 1, 1}, FEATURES};
    options->model.classes = CLASSES;
    options->loss = LOSS_CROSS_ENTROPY;
    return status;
}

static inline status_code points_fill(void *context, const task_request *request, failure *failure) {
    const points *p = context;
    const int64_t example = request->example;
    const uint64_t iteration = request->iteration;
    random_stream stream;
    if (example == p->failing) return fail(failure, STATUS_CANNOT_READ, "point %lld is lost", (long long)example);
    random_start(&stream, 77, RANDOM_AUGMENT, iteration == TASK_PLAIN ? 0 : iteration, request->slot);
    for (int k = 0; k < FEATURES; k++)
        request->input[k] =
            p->x[example][k] + (iteration == TASK_PLAIN ? 0 : (float)(p->noise * random_normal(&stream)));
    request->labels[0] = (int16_t)p->labels[example];
    return STATUS_OK;
}

static inline void points_name(void *context, int64_t example, text *name) {
    (void)context;
    text_format(name, "point-%lld", (long long)example);
}

static inline int points_group(void *context, int64_t example) { return ((const points *)context)->labels[example]; }

static inline int points_is_wrong(void *context, learner *learner, int slot) {
    (void)context;
    const float *scores = graph_output_values(learner_graph(learner), 0) + slot * CLASSES;
    return arg_max(scores, CLASSES) != learner_labels(learner)[slot];
}

static inline void points_metric(void *context, int index, text *name) {
    (void)context, (void)index;
    text_add(name, "accuracy");
}

static inline status_code points_evaluate(void *context, learner *learner, const listener *listener, double *values,
                                          failure *failure) {
    (void)context, (void)learner, (void)listener, (void)failure;
    values[0] = 0.5;
    return STATUS_OK;
}

static inline status_code points_show(void *context, learner *learner, const task_exhibit *exhibits, int count,
                                      failure *failure) {
    (void)context, (void)learner, (void)exhibits, (void)count, (void)failure;
    return STATUS_OK;
}

static inline void points_describe(void *context, run_facts *facts) { (void)context, facts->class_count = CLASSES; }

/* Clusters that overlap; class 0 is rare. */
static inline task points_task(points *p) {
    uint64_t state = 5;
    *p = (points){.failing = -1};
    for (int i = 0; i < POINTS; i++) {
        p->labels[i] = i % 10 == 0 ? 0 : 1 + i % 2;
        for (int k = 0; k < FEATURES; k++) p->x[i][k] = (float)(test_normal(&state) + 2 * (k == p->labels[i]));
    }
    return (task){.context = p,
                  .kind = TASK_CLASSIFICATION,
                  .examples = POINTS,
                  .fingerprint = 42,
                  .metrics = 1,
                  .network = points_network,
                  .fill = points_fill,
                  .name = points_name,
                  .label = points_group,
                  .group = points_group,
                  .is_wrong = points_is_wrong,
                  .metric = points_metric,
                  .evaluate = points_evaluate,
                  .show = points_show,
                  .describe = points_describe};
}

static inline train_settings points_settings(void) {
    train_settings s = settings_default();
    s.data = "points";
    s.model = "mlp-0-6";
    s.batch = 8;
    s.lr = 0.1;
    s.beta = 5;
    s.tail = (double)NAN;
    s.threads = 1;
    s.loss_init = 1.1;
    return s;
}

#endif
