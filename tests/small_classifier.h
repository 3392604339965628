/* Runs of networks that classify, with random weights. */
#ifndef HWS_TESTS_SMALL_CLASSIFIER_H
#define HWS_TESTS_SMALL_CLASSIFIER_H

#include "core/path.h"
#include "model/image_classifier.h"
#include "model/weights.h"
#include "run/config.h"
#include "run/run_folder.h"
#include "testing.h"

static inline void small_classifier_must(status_code status, const failure *failure) {
    if (status != STATUS_OK) fail_msg("%s", failure->message);
}

/* Into a new folder; the facts say the size of the images and their classes. */
static inline void small_classifier_write(const char *folder, const char *model, const run_facts *facts,
                                          uint64_t seed) {
    const labelled_images like = {
        .height = facts->height, .width = facts->width, .channels = facts->channels, .classes = facts->class_count};
    train_settings settings = settings_default();
    learner_options options = {0};
    graph *g;
    failure failure = {0};
    char path[PATH_SIZE];
    settings.model = model;
    small_classifier_must(folder_make(folder, &failure), &failure);
    small_classifier_must(run_config_write(folder, &settings, facts, &failure), &failure);
    small_classifier_must(image_classifier_network(&like, model, 1, &options, &failure), &failure);
    small_classifier_must(model_open(&options.model, &(graph_options){.threads = 1, .inference = 1}, &g, &failure),
                          &failure);
    graph_initialise(g, seed);
    small_classifier_must(run_path(path, folder, RUN_BEST, &failure), &failure);
    small_classifier_must(weights_save(g, 0, path, &failure), &failure);
    graph_close(&g);
    settings_close(&settings);
}

#endif
