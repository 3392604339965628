#include "predict/class_ensemble.h"

#include <stdlib.h>
#include <string.h>

/* Classes by number where neither has names. */
static int same_classes(const run_facts *a, const run_facts *b) {
    if (a->class_count != b->class_count) return 0;
    for (int k = 0; k < a->class_count; k++)
        if (strcmp(a->class_names[k], b->class_names[k]) != 0) return 0;
    return 1;
}

static status_code check_fit(const run_facts *first, const char *first_run, const run_facts *facts, const char *run,
                             failure *failure) {
    if (!same_classes(facts, first))
        return fail(failure, STATUS_BAD_INPUT, "%.300s and %.300s were trained on different classes", first_run, run);
    if (facts->height != first->height || facts->width != first->width || facts->channels != first->channels)
        return fail(
            failure, STATUS_BAD_INPUT,
            "%.300s was trained on images of %dx%dx%d and %.300s on %dx%dx%d: only networks for one size can be "
            "averaged",
            first_run, first->height, first->width, first->channels, run, facts->height, facts->width, facts->channels);
    return STATUS_OK;
}

static const char *greys_of(const class_ensemble *e, int k) { return e->models[k].config.settings.greys; }

status_code class_ensemble_open(class_ensemble *e, const char *const *runs, int count,
                                const classifier_options *options, failure *failure) {
    *e = (class_ensemble){.models = calloc((size_t)count, sizeof *e->models)};
    status_code status = e->models ? STATUS_OK : fail_memory(failure, "the networks");
    for (int k = 0; k < count && status == STATUS_OK; k++) {
        status = classifier_open(&e->models[k], runs[k], options, failure);
        if (status != STATUS_OK) break;
        e->count++;
        status = check_fit(&e->models[0].config.facts, runs[0], &e->models[k].config.facts, runs[k], failure);
        if (status == STATUS_OK && strcmp(greys_of(e, 0), greys_of(e, k)) != 0)
            status = fail(failure, STATUS_BAD_INPUT, "%.300s and %.300s were trained with different --greys", runs[0],
                          runs[k]);
    }
    if (status != STATUS_OK) class_ensemble_close(e);
    return status;
}

void class_ensemble_close(class_ensemble *e) {
    for (int k = 0; k < e->count; k++) classifier_close(&e->models[k]);
    free(e->models);
    *e = (class_ensemble){0};
}

status_code class_ensemble_run(class_ensemble *e, const labelled_images *set, const listener *listener,
                               float *probabilities, failure *failure) {
    const size_t all = (size_t)set->count * (size_t)e->models[0].classes;
    float *one = malloc(all * sizeof *one + 1);
    status_code status = one ? STATUS_OK : fail_memory(failure, "the probabilities");
    memset(probabilities, 0, all * sizeof *probabilities);
    for (int r = 0; r < e->count && status == STATUS_OK; r++) {
        e->models[r].listener = listener;
        status = classifier_run(&e->models[r], set, 0, one, failure);
        e->models[r].listener = NULL;
        for (size_t k = 0; k < all && status == STATUS_OK; k++) probabilities[k] += one[k] / (float)e->count;
    }
    free(one);
    return status;
}
