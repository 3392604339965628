#include "task/classification.h"

#include "core/arg_max.h"
#include "model/image_classifier.h"
#include "picture/png.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the network ------------------------------------------------------------------------------------------------- */

static status_code network(void *context, const train_settings *settings, learner_options *options, failure *failure) {
    const classification *c = context;
    return image_classifier_network(c->train, settings->model, (int)settings->batch, options, failure);
}

/* ---- examples ---------------------------------------------------------------------------------------------------- */

static status_code fill(void *context, const task_request *request, failure *failure) {
    const classification *c = context;
    (void)failure;
    pixel_scale_apply(&c->pixels, labelled_images_at(c->train, request->example), labelled_images_stride(c->train),
                      request->input);
    request->labels[0] = c->train->labels[request->example];
    return STATUS_OK;
}

static void name(void *context, int64_t example, text *name) {
    const classification *c = context;
    text_format(name, "%lld", (long long)c->train->origins[example]);
}

static int label(void *context, int64_t example) { return ((const classification *)context)->train->labels[example]; }

static int is_wrong(void *context, learner *l, int slot) {
    const int classes = ((const classification *)context)->train->classes;
    const float *scores = graph_output_values(learner_graph(l), 0) + (size_t)slot * (size_t)classes;
    return arg_max(scores, classes) != learner_labels(l)[slot];
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

enum { METRIC_ACCURACY, METRIC_CLASS_0 };

static void metric(void *context, int index, text *name) {
    const classification *c = context;
    if (index == METRIC_ACCURACY) text_add(name, "test_accuracy");
    else if (index == METRIC_CLASS_0 + c->train->classes) text_add(name, "test_loss");
    else text_format(name, "test_accuracy_%d", index - METRIC_CLASS_0);
}

/* A class without test images has no accuracy: NaN. */
static void summarise(const labelled_images *set, const double *losses, const float *probabilities, double *values) {
    int64_t right[LABELLED_IMAGES_CLASSES_MAX] = {0}, all[LABELLED_IMAGES_CLASSES_MAX] = {0}, sum = 0;
    double loss = 0;
    for (int64_t i = 0; i < set->count; i++) {
        const int label = set->labels[i];
        all[label]++;
        right[label] += arg_max(probabilities + (size_t)i * (size_t)set->classes, set->classes) == label;
        loss += losses[i];
    }
    for (int k = 0; k < set->classes; k++) {
        values[METRIC_CLASS_0 + k] = all[k] ? (double)right[k] / (double)all[k] : (double)NAN;
        sum += right[k];
    }
    values[METRIC_ACCURACY] = (double)sum / (double)set->count;
    values[METRIC_CLASS_0 + set->classes] = loss / (double)set->count;
}

static status_code evaluate(void *context, learner *l, double *values, failure *failure) {
    const classification *c = context;
    const size_t count = (size_t)c->test->count;
    double *losses = malloc(count * sizeof *losses);
    float *probabilities = malloc(count * (size_t)c->test->classes * sizeof *probabilities);
    status_code status = losses && probabilities ? STATUS_OK : fail_memory(failure, "the evaluation");
    if (status == STATUS_OK) status = image_classifier_evaluate(l, &c->pixels, c->test, losses, probabilities, failure);
    if (status == STATUS_OK) summarise(c->test, losses, probabilities, values);
    free(losses);
    free(probabilities);
    return status;
}

/* ---- showing ----------------------------------------------------------------------------------------------------- */

static status_code show(void *context, learner *l, int64_t example, const char *path, task_verdict *verdict,
                        failure *failure) {
    const classification *c = context;
    const labelled_images *set = c->train;
    image_classifier_load(l, &c->pixels, set, example, 1);
    const status_code status = learner_evaluate(l, 1, 0, failure);
    if (status != STATUS_OK) return status;
    snprintf(verdict->label, sizeof verdict->label, "%d", set->labels[example]);
    snprintf(verdict->prediction, sizeof verdict->prediction, "%d",
             arg_max(graph_output_values(learner_graph(l), 0), set->classes));
    if (set->channels != 1 && set->channels != 3) return STATUS_OK; /* no picture of other numbers of channels */
    return png_save(path, labelled_images_at(set, example), (size_t)set->width, (size_t)set->height,
                    set->channels == 3 ? PNG_RGB : PNG_GREY, failure);
}

static void describe(void *context, run_facts *facts) {
    const classification *c = context;
    facts->test_examples = c->test->count;
    facts->height = c->train->height;
    facts->width = c->train->width;
    facts->channels = c->train->channels;
    facts->class_count = c->train->classes;
    facts->pixel_mean = c->pixels.mean;
    facts->pixel_std = c->pixels.std;
}

/* ------------------------------------------------------------------------------------------------------------------ */

status_code task_classification(task *t, classification *c, const labelled_images *train, const labelled_images *test,
                                failure *failure) {
    *c = (classification){.train = train, .test = test};
    if (!train->labels || !test->labels)
        return fail(failure, STATUS_BAD_INPUT, "the images have no labels: nothing can be learnt from them");
    if (train->height != test->height || train->width != test->width || train->channels != test->channels ||
        train->classes != test->classes)
        return fail(failure, STATUS_BAD_INPUT, "training and test images differ in size, channels or classes");
    const status_code status = pixel_scale_measure(&c->pixels, train, failure);
    if (status != STATUS_OK) return status;
    *t = (task){.context = c,
                .kind = TASK_CLASSIFICATION,
                .examples = train->count,
                .fingerprint = labelled_images_fingerprint(train) * 3 + labelled_images_fingerprint(test),
                .metrics = METRIC_CLASS_0 + train->classes + 1,
                .best = METRIC_ACCURACY,
                .network = network,
                .fill = fill,
                .name = name,
                .label = label,
                .group = label,
                .is_wrong = is_wrong,
                .metric = metric,
                .evaluate = evaluate,
                .show = show,
                .describe = describe};
    return STATUS_OK;
}
