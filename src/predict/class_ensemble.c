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

status_code class_ensemble_open(class_ensemble *e, const char *const *runs, int count, run_weights weights, int threads,
                                failure *failure) {
    *e = (class_ensemble){.models = calloc((size_t)count, sizeof *e->models)};
    status_code status = e->models ? STATUS_OK : fail_memory(failure, "the networks");
    for (int k = 0; k < count && status == STATUS_OK; k++) {
        status = classifier_open(&e->models[k], runs[k], weights, threads, failure);
        if (status != STATUS_OK) break;
        e->count++;
        if (!same_classes(&e->models[k].config.facts, &e->models[0].config.facts))
            status = fail(failure, STATUS_BAD_INPUT, "%.300s and %.300s were trained on different classes", runs[0],
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
