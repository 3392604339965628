#include "predict/classifier.h"

#include "model/weights.h"
#include "run/run_folder.h"
#include "json/json_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64 };

status_code run_task(const char *folder, char **task, failure *failure) {
    char path[PATH_SIZE];
    json_t *root = 0;
    *task = 0;
    status_code status = run_require(folder, failure);
    if (status == STATUS_OK) status = run_path(path, folder, RUN_CONFIG, failure);
    if (status == STATUS_OK) status = json_file_read(path, &root, failure);
    if (status != STATUS_OK) return status;
    const char *found = json_string_value(json_object_get(root, "task"));
    *task = malloc(found ? strlen(found) + 1 : 1);
    if (*task) strcpy(*task, found ? found : "");
    json_decref(root);
    return *task ? STATUS_OK : fail_memory(failure, path);
}

static int read_size(const json_t *size, size_t index, int most, int *value) {
    const json_t *item = json_array_get(size, index);
    if (!json_is_integer(item) || json_integer_value(item) < 1 || json_integer_value(item) > most) return 0;
    *value = (int)json_integer_value(item);
    return 1;
}

/* What the network was trained on, of which config.json tells. */
static int read_facts(classifier *m) {
    const json_t *config = m->settings.document, *size = json_object_get(config, "image_size"),
                 *mean = json_object_get(config, "pixel_mean"), *std = json_object_get(config, "pixel_std");
    const size_t classes = json_array_size(json_object_get(config, "classes"));
    m->pixels.mean = json_number_value(mean);
    m->pixels.std = json_number_value(std);
    m->classes = (int)classes;
    return json_array_size(size) == 3 && read_size(size, 0, LABELLED_IMAGES_SIDE_MAX, &m->height) &&
           read_size(size, 1, LABELLED_IMAGES_SIDE_MAX, &m->width) &&
           read_size(size, 2, LABELLED_IMAGES_CHANNELS_MAX, &m->channels) && json_is_number(mean) &&
           json_is_number(std) && m->pixels.std > 0 && isfinite(m->pixels.std) && classes >= 1 &&
           classes <= LABELLED_IMAGES_CLASSES_MAX;
}

static status_code open_learner(classifier *m, int threads, failure *failure) {
    const labelled_images like = {
        .height = m->height, .width = m->width, .channels = m->channels, .classes = m->classes};
    learner_options options = {.optimizer = optimizer_options_default(OPTIMIZER_SGD)};
    options.graph = (graph_options){
        .precision = strcmp(m->settings.precision, "bf16") == 0 ? PRECISION_BF16 : PRECISION_F32,
        .convolution = strcmp(m->settings.conv, "direct") == 0 ? CONVOLUTION_DIRECT : CONVOLUTION_AUTOMATIC,
        .threads = threads,
        .inference = 1};
    const status_code status = image_classifier_network(&like, m->settings.model, BATCH, &options, failure);
    return status == STATUS_OK ? learner_open(&options, &m->learner, failure) : status;
}

/* A run that was stopped before its first epoch has no best weights yet. */
static status_code read_weights(classifier *m, const char *folder, run_weights weights, failure *failure) {
    char path[PATH_SIZE];
    const status_code status = run_path(path, folder, run_weights_file(weights), failure);
    return status == STATUS_OK ? weights_load(learner_graph(m->learner), path, 0, failure) : status;
}

static status_code open_parts(classifier *m, const char *folder, run_weights weights, int threads, failure *failure) {
    char path[PATH_SIZE];
    status_code status = run_require(folder, failure);
    if (status == STATUS_OK) status = run_path(path, folder, RUN_CONFIG, failure);
    if (status == STATUS_OK) status = settings_read_file(&m->settings, path, failure);
    if (status == STATUS_OK) status = settings_check(&m->settings, failure);
    const char *task = status == STATUS_OK ? json_string_value(json_object_get(m->settings.document, "task")) : 0;
    if (status == STATUS_OK && (!task || strcmp(task, "classification") != 0))
        status = fail(failure, STATUS_BAD_INPUT, "%.500s: was trained for %.40s, not for classification", folder,
                      task ? task : "something unknown");
    if (status == STATUS_OK && !read_facts(m))
        status = fail(failure, STATUS_CORRUPT,
                      "%s: does not tell the size, classes and mean of the images it was "
                      "trained on",
                      path);
    if (status == STATUS_OK) status = open_learner(m, threads, failure);
    return status == STATUS_OK ? read_weights(m, folder, weights, failure) : status;
}

status_code classifier_open(classifier *m, const char *folder, run_weights weights, int threads, failure *failure) {
    *m = (classifier){.settings = settings_default()};
    const status_code status = open_parts(m, folder, weights, threads, failure);
    if (status != STATUS_OK) classifier_close(m);
    return status;
}

void classifier_close(classifier *m) {
    learner_close(&m->learner);
    settings_close(&m->settings);
}

status_code classifier_run(classifier *m, const labelled_images *images, double *losses, float *probabilities,
                           failure *failure) {
    if (images->height != m->height || images->width != m->width || images->channels != m->channels ||
        images->classes > m->classes)
        return fail(failure, STATUS_BAD_INPUT,
                    "the images are %dx%dx%d with %d classes, the network was trained on %dx%dx%d with %d",
                    images->height, images->width, images->channels, images->classes, m->height, m->width, m->channels,
                    m->classes);
    return image_classifier_evaluate(m->learner, &m->pixels, images, losses, probabilities, failure);
}
