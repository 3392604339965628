#include "train/group_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int count_groups(group_weights *w, int (*group)(void *context, int64_t example), void *context) {
    int count = 0;
    for (int64_t i = 0; i < w->size; i++) {
        w->group_of[i] = group(context, i);
        if (w->group_of[i] >= count) count = w->group_of[i] + 1;
    }
    return count;
}

static void start(group_weights *w) {
    int there = 0;
    for (int64_t i = 0; i < w->size; i++) w->counts[w->group_of[i]]++;
    for (int g = 0; g < w->count; g++) there += w->counts[g] > 0;
    for (int g = 0; g < w->count; g++) w->q[g] = w->counts[g] ? 1.0 / there : 0;
}

status_code group_weights_open(group_weights *w, int64_t examples, int (*group)(void *context, int64_t example),
                               void *context, failure *failure) {
    *w = (group_weights){.size = examples, .group_of = malloc((size_t)examples * sizeof *w->group_of)};
    if (!w->group_of) return fail_memory(failure, "the groups");
    w->count = count_groups(w, group, context);
    w->q = calloc((size_t)w->count, sizeof *w->q);
    w->sums = calloc((size_t)w->count, sizeof *w->sums);
    w->counts = calloc((size_t)w->count, sizeof *w->counts);
    if (!w->q || !w->sums || !w->counts) return fail_memory(failure, "the groups");
    start(w);
    return STATUS_OK;
}

void group_weights_close(group_weights *w) {
    free(w->group_of);
    free(w->q);
    free(w->sums);
    free(w->counts);
    *w = (group_weights){0};
}

void group_weights_begin(group_weights *w, const int64_t *batch, int64_t count) {
    memset(w->counts, 0, (size_t)w->count * sizeof *w->counts);
    for (int64_t k = 0; k < count; k++) w->counts[w->group_of[batch[k]]]++;
}

double group_weights_at(const group_weights *w, int64_t example) {
    const int g = w->group_of[example];
    return w->q[g] / (double)w->counts[g];
}

/* q exp(step loss), by its logarithm and relative to the largest, which can be no overflow. No weight falls so low
   that it could not come back. */
void group_weights_update(group_weights *w, const int64_t *batch, const double *losses, int64_t count, double step) {
    static const double LEAST = 1e-12;
    double most = -INFINITY, sum = 0;
    memset(w->sums, 0, (size_t)w->count * sizeof *w->sums);
    for (int64_t k = 0; k < count; k++) w->sums[w->group_of[batch[k]]] += losses[k];
    for (int g = 0; g < w->count; g++) {
        w->sums[g] = log(w->q[g]) + (w->counts[g] ? step * w->sums[g] / (double)w->counts[g] : 0);
        if (w->sums[g] > most) most = w->sums[g];
    }
    for (int g = 0; g < w->count; g++) sum += w->sums[g] = exp(w->sums[g] - most);
    for (int g = 0; g < w->count; g++)
        if (w->q[g] > 0) w->q[g] = fmax(LEAST, w->sums[g] / sum);
}

double group_weights_largest(const group_weights *w) {
    double most = 0;
    for (int g = 0; g < w->count; g++) most = w->q[g] > most ? w->q[g] : most;
    return most;
}
