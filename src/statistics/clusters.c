#include "statistics/clusters.h"

#include <stdlib.h>

static int patient_of(const int *patients, const int64_t *examples, int64_t k) {
    return patients ? patients[examples ? examples[k] : k] : -1;
}

/* The cluster of each position in `of`; their number, or -1 without memory. */
static int64_t number_clusters(const int *patients, const int64_t *examples, int64_t count, int64_t *of) {
    int64_t found = 0, last = -1;
    for (int64_t k = 0; k < count; k++)
        if (patient_of(patients, examples, k) > last) last = patient_of(patients, examples, k);
    int64_t *number = malloc((size_t)(last + 2) * sizeof *number);
    if (!number) return -1;
    for (int64_t p = 0; p <= last; p++) number[p] = -1;
    for (int64_t k = 0; k < count; k++) {
        const int patient = patient_of(patients, examples, k);
        const int is_new = patient < 0 || number[patient] < 0;
        if (is_new && patient >= 0) number[patient] = found;
        of[k] = patient >= 0 ? number[patient] : found;
        found += is_new;
    }
    free(number);
    return found;
}

status_code clusters_open(clusters *c, const int *patients, const int64_t *examples, int64_t count, failure *failure) {
    const size_t n = (size_t)count;
    int64_t *of = malloc((n + 1) * sizeof *of);
    *c = (clusters){.starts = calloc(n + 2, sizeof *c->starts), .members = malloc((n + 1) * sizeof *c->members)};
    const int64_t found = of && c->starts && c->members ? number_clusters(patients, examples, count, of) : -1;
    if (found >= 0) {
        c->count = found;
        for (size_t k = 0; k < n; k++) c->starts[of[k] + 1]++;
        for (int64_t k = 0; k < found; k++) c->starts[k + 1] += c->starts[k];
        for (size_t k = n; k-- > 0;) c->members[--c->starts[of[k] + 1]] = (int64_t)k;
        for (int64_t k = 0; k < found; k++) c->starts[k] = c->starts[k + 1];
        c->starts[found] = count;
    }
    free(of);
    return found < 0 ? fail_memory(failure, "the patients") : STATUS_OK;
}

void clusters_close(clusters *c) {
    free(c->starts);
    free(c->members);
    *c = (clusters){0};
}
