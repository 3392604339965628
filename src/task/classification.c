#include "task/classification.h"

#include "core/arg_max.h"
#include "picture/png.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

void classification_pixels(const classification *c, const uint8_t *pixels, size_t count, float *input) {
    const double scale = 1 / (255 * c->std), shift = c->mean / c->std;
    for (size_t k = 0; k < count; k++) input[k] = (float)(pixels[k] * scale - shift);
}

/* From a count of each byte value: exact, and the same in any order. */
static status_code measure_pixels(classification *c, failure *failure) {
    uint64_t counts[256] = {0};
    const size_t all = (size_t)c->train->count * labelled_images_stride(c->train);
    for (size_t k = 0; k < all; k++) counts[c->train->pixels[k]]++;
    double sum = 0, squares = 0;
    for (int v = 0; v < 256; v++) sum += (double)counts[v] * v / 255;
    c->mean = sum / (double)all;
    for (int v = 0; v < 256; v++) squares += (double)counts[v] * (v / 255.0 - c->mean) * (v / 255.0 - c->mean);
    c->std = sqrt(squares / (double)all);
    return c->std > 0 ? STATUS_OK : fail(failure, STATUS_BAD_INPUT, "all pixels of the training images are equal");
}

/* ---- the network ------------------------------------------------------------------------------------------------- */

status_code classification_network(const labelled_images *like, const char *model, int batch, learner_options *options,
                                   failure *failure) {
    const status_code status = model_parse(model, &options->model, failure);
    if (status != STATUS_OK) return status;
    if (options->model.kind == MODEL_UNET)
        return fail(failure, STATUS_BAD_INPUT, "a U-Net does not classify images: take wrn-16-1 or mlp-2-64");
    options->model.input = options->model.kind == MODEL_MLP
                               ? (shape){batch, {1, 1, 1}, (int)labelled_images_stride(like)}
                               : (shape){batch, {1, like->height, like->width}, like->channels};
    options->model.classes = like->classes;
    options->loss = LOSS_CROSS_ENTROPY;
    return STATUS_OK;
}

static status_code network(void *context, const train_settings *settings, learner_options *options, failure *failure) {
    const classification *c = context;
    return classification_network(c->train, settings->model, (int)settings->batch, options, failure);
}

/* ---- examples ---------------------------------------------------------------------------------------------------- */

static status_code fill(void *context, int64_t example, uint64_t iteration, uint32_t slot, float *input,
                        int16_t *labels, failure *failure) {
    const classification *c = context;
    (void)iteration, (void)slot, (void)failure;
    classification_pixels(c, labelled_images_at(c->train, example), labelled_images_stride(c->train), input);
    labels[0] = c->train->labels[example];
    return STATUS_OK;
}

static void name(void *context, int64_t example, char name[TASK_NAME]) {
    const classification *c = context;
    snprintf(name, TASK_NAME, "%lld", (long long)c->train->origins[example]);
}

static int group(void *context, int64_t example) { return ((const classification *)context)->train->labels[example]; }

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

static void softmax(const float *logits, int classes, float *probabilities) {
    double largest = (double)logits[0], sum = 0;
    for (int k = 1; k < classes; k++) largest = fmax(largest, (double)logits[k]);
    for (int k = 0; k < classes; k++) sum += exp((double)logits[k] - largest);
    for (int k = 0; k < classes; k++) probabilities[k] = (float)(exp((double)logits[k] - largest) / sum);
}

static void load(const classification *c, const labelled_images *set, learner *l, int64_t first, int count) {
    const size_t stride = labelled_images_stride(set);
    classification_pixels(c, labelled_images_at(set, first), (size_t)count * stride, learner_input(l));
    for (int k = 0; k < count; k++) learner_labels(l)[k] = set->labels ? set->labels[first + k] : 0;
}

status_code classification_evaluate(const classification *c, const labelled_images *set, learner *l, double *losses,
                                    float *probabilities, failure *failure) {
    const int part = learner_part(l), classes = graph_output_shape(learner_graph(l), 0).channels;
    for (int64_t done = 0; done < set->count; done += part) {
        const int count = (int)(set->count - done < part ? set->count - done : part);
        load(c, set, l, done, count);
        const status_code status = learner_evaluate(l, count, losses ? losses + done : 0, failure);
        if (status != STATUS_OK) return status;
        const float *logits = graph_output_values(learner_graph(l), 0);
        for (int k = 0; k < count && probabilities; k++)
            softmax(logits + (size_t)k * (size_t)classes, classes,
                    probabilities + ((size_t)done + (size_t)k) * (size_t)classes);
    }
    return STATUS_OK;
}

enum { METRIC_ACCURACY, METRIC_CLASS_0 };

static void metric(void *context, int index, char name[TASK_NAME]) {
    const classification *c = context;
    if (index == METRIC_ACCURACY) snprintf(name, TASK_NAME, "test_accuracy");
    else if (index == METRIC_CLASS_0 + c->train->classes) snprintf(name, TASK_NAME, "test_loss");
    else snprintf(name, TASK_NAME, "test_accuracy_%d", index - METRIC_CLASS_0);
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
    if (status == STATUS_OK) status = classification_evaluate(c, c->test, l, losses, probabilities, failure);
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
    load(c, set, l, example, 1);
    const status_code status = learner_evaluate(l, 1, 0, failure);
    if (status != STATUS_OK) return status;
    snprintf(verdict->label, sizeof verdict->label, "%d", set->labels[example]);
    snprintf(verdict->prediction, sizeof verdict->prediction, "%d",
             arg_max(graph_output_values(learner_graph(l), 0), set->classes));
    if (set->channels != 1 && set->channels != 3) return STATUS_OK; /* no picture of other numbers of channels */
    return png_save(path, labelled_images_at(set, example), (size_t)set->width, (size_t)set->height,
                    set->channels == 3 ? PNG_RGB : PNG_GREY, failure);
}

static void describe(void *context, text *json) {
    const classification *c = context;
    text_format(json, "    \"test_examples\": %lld,\n    \"image_size\": [%d, %d, %d],\n    \"classes\": [",
                (long long)c->test->count, c->train->height, c->train->width, c->train->channels);
    for (int k = 0; k < c->train->classes; k++) text_format(json, "%s\"%d\"", k ? ", " : "", k);
    text_add(json, "],\n    \"pixel_mean\": ");
    settings_number(json, c->mean);
    text_add(json, ",\n    \"pixel_std\": ");
    settings_number(json, c->std);
    text_add(json, ",\n");
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
    const status_code status = measure_pixels(c, failure);
    if (status != STATUS_OK) return status;
    *t = (task){.context = c,
                .kind = "classification",
                .examples = train->count,
                .fingerprint = labelled_images_fingerprint(train) * 3 + labelled_images_fingerprint(test),
                .metrics = METRIC_CLASS_0 + train->classes + 1,
                .best = METRIC_ACCURACY,
                .network = network,
                .fill = fill,
                .name = name,
                .group = group,
                .metric = metric,
                .evaluate = evaluate,
                .show = show,
                .describe = describe};
    return STATUS_OK;
}
