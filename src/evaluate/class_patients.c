#include "evaluate/class_patients.h"

#include "statistics/clusters.h"

#include <stdlib.h>

static int is_mixed(const class_predictions *p, const int64_t *members, int64_t count) {
    for (int64_t k = 1; k < count; k++)
        if (p->labels[members[k]] != p->labels[members[0]]) return 1;
    return 0;
}

static void add_patient(class_patients *patients, const class_predictions *p, const int64_t *members, int64_t count) {
    float *mean = patients->probabilities + patients->count * p->classes;
    for (int c = 0; c < p->classes; c++) {
        double sum = 0;
        for (int64_t k = 0; k < count; k++) sum += (double)p->probabilities[members[k] * p->classes + c];
        mean[c] = (float)(sum / (double)count);
    }
    patients->first[patients->count] = members[0];
    patients->examples[patients->count] = count;
    patients->labels[patients->count++] = p->labels[members[0]];
}

status_code class_patients_open(class_patients *patients, const class_predictions *p, failure *failure) {
    const size_t most = (size_t)p->count + 1;
    clusters each;
    *patients = (class_patients){.first = malloc(most * sizeof *patients->first),
                                 .examples = malloc(most * sizeof *patients->examples),
                                 .labels = malloc(most),
                                 .probabilities = malloc(most * (size_t)p->classes * sizeof *patients->probabilities)};
    if (!patients->first || !patients->examples || !patients->labels || !patients->probabilities)
        return fail_memory(failure, "the patients");
    const status_code status = clusters_open(&each, p->patients, NULL, p->count, failure);
    for (int64_t k = 0; k < each.count && status == STATUS_OK; k++) {
        const int64_t *members = each.members + each.starts[k], count = each.starts[k + 1] - each.starts[k];
        if (is_mixed(p, members, count)) patients->mixed++;
        else add_patient(patients, p, members, count);
    }
    clusters_close(&each);
    return status;
}

void class_patients_close(class_patients *patients) {
    free(patients->first);
    free(patients->examples);
    free(patients->labels);
    free(patients->probabilities);
    *patients = (class_patients){0};
}

status_code class_patients_score(const class_patients *patients, int classes, class_scored *scored, failure *failure) {
    const class_predictions p = {patients->count, classes, patients->labels, patients->probabilities, NULL};
    int64_t *members = malloc(((size_t)patients->count + 1) * sizeof *members);
    if (!members) return fail_memory(failure, "the patients");
    for (int64_t k = 0; k < patients->count; k++) members[k] = k;
    const status_code status = class_scores_of(&p, members, patients->count, scored, failure);
    free(members);
    return status;
}
