#include "predict/classifier.h"

#include "model/weights.h"
#include "run/run_folder.h"

#include <math.h>

enum { MICRO_BATCH = 64 };

static status_code open_learner(classifier *m, const classifier_options *chosen, failure *failure) {
    const run_facts *f = &m->config.facts;
    const labelled_images like = {
        .height = f->height, .width = f->width, .channels = f->channels, .classes = f->class_count};
    learner_options options = {.optimizer = optimizer_options_default(OPTIMIZER_SGD)};
    /* The algorithms, and so the bits, are those of a whole batch. */
    options.graph = (graph_options){.precision = m->config.settings.precision,
                                    .convolution = m->config.settings.conv,
                                    .threads = chosen->threads,
                                    .inference = 1,
                                    .batch = {.samples = MICRO_BATCH}};
    const status_code status = image_classifier_network(&like, m->config.settings.model,
                                                        chosen->one_by_one ? 1 : MICRO_BATCH, &options, failure);
    return status == STATUS_OK ? learner_open(&options, &m->learner, failure) : status;
}

/* A run that was stopped before its first epoch has no best weights yet. */
static status_code read_weights(classifier *m, const char *folder, run_weights weights, failure *failure) {
    char path[PATH_SIZE];
    const status_code status = run_path(path, folder, run_weights_file(weights), failure);
    return status == STATUS_OK ? weights_load(learner_graph(m->learner), path, 0, failure) : status;
}

static status_code check_facts(const run_facts *facts, const char *folder, failure *failure) {
    if (facts->task != TASK_CLASSIFICATION)
        return fail(failure, STATUS_BAD_INPUT, "%.500s: was trained for %s, not for classification", folder,
                    task_kind_name(facts->task));
    if (facts->height > LABELLED_IMAGES_SIDE_MAX || facts->width > LABELLED_IMAGES_SIDE_MAX ||
        facts->channels > LABELLED_IMAGES_CHANNELS_MAX || facts->class_count > LABELLED_IMAGES_CLASSES_MAX)
        return fail(failure, STATUS_CORRUPT, "%.500s: its config.json tells of images that are too large to be true",
                    folder);
    return STATUS_OK;
}

static status_code open_parts(classifier *m, const char *folder, const classifier_options *options, failure *failure) {
    status_code status = run_config_open(&m->config, folder, failure);
    if (status == STATUS_OK) status = check_facts(&m->config.facts, folder, failure);
    if (status != STATUS_OK) return status;
    m->pixels.mean = m->config.facts.pixel_mean;
    m->pixels.std = m->config.facts.pixel_std;
    m->classes = m->config.facts.class_count;
    status = open_learner(m, options, failure);
    return status == STATUS_OK ? read_weights(m, folder, options->weights, failure) : status;
}

status_code classifier_open(classifier *m, const char *folder, const classifier_options *options, failure *failure) {
    *m = (classifier){0};
    const status_code status = open_parts(m, folder, options, failure);
    if (status != STATUS_OK) classifier_close(m);
    return status;
}

void classifier_close(classifier *m) {
    learner_close(&m->learner);
    run_config_close(&m->config);
}

static status_code check_numbers(const float *probabilities, int64_t count, int classes, failure *failure) {
    for (int64_t k = 0; k < count * classes; k++)
        if (!isfinite(probabilities[k]))
            return fail(failure, STATUS_FAILED,
                        "the network gives no number for image %lld: its training diverged, so train it anew, with a "
                        "smaller rate",
                        (long long)(k / classes + 1));
    return STATUS_OK;
}

status_code classifier_run(classifier *m, const labelled_images *images, double *losses, float *probabilities,
                           failure *failure) {
    const run_facts *f = &m->config.facts;
    if (images->height != f->height || images->width != f->width || images->channels != f->channels ||
        images->classes > m->classes)
        return fail(failure, STATUS_BAD_INPUT,
                    "the images are %dx%dx%d with %d classes, the network was trained on %dx%dx%d with %d",
                    images->height, images->width, images->channels, images->classes, f->height, f->width, f->channels,
                    m->classes);
    const image_scores scores = {losses, probabilities, m->listener};
    const status_code status = image_classifier_evaluate(m->learner, &m->pixels, images, &scores, failure);
    if (status != STATUS_OK || !probabilities) return status;
    return check_numbers(probabilities, images->count, m->classes, failure);
}
