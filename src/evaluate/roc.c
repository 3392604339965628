#include "evaluate/roc.h"

#include <math.h>
#include <stdlib.h>

typedef struct judged {
    float probability;
    int is_positive;
} judged;

static int by_probability(const void *a, const void *b) {
    const float x = ((const judged *)a)->probability, y = ((const judged *)b)->probability;
    return (x < y) - (x > y);
}

/* Examples of the same probability are taken together. Returns the number of such steps, and fills those
   that `points` has room for. */
static size_t walk(const judged *all, int64_t count, const double totals[2], size_t every, roc_point *points) {
    double taken[2] = {0};
    size_t steps = 0, kept = 0;
    for (int64_t k = 0; k < count;) {
        const float probability = all[k].probability;
        for (; k < count && all[k].probability == probability; k++) taken[all[k].is_positive]++;
        steps++;
        if (!points || (steps % every && k < count)) continue;
        points[++kept] = (roc_point){(double)probability, taken[1] / totals[1], 1 - taken[0] / totals[0]};
    }
    return points ? kept + 1 : steps;
}

status_code roc_of(const class_predictions *p, int positive, roc_point points[ROC_POINTS], size_t *count,
                   failure *failure) {
    judged *all = malloc(((size_t)p->count + 1) * sizeof *all);
    double totals[2] = {0};
    *count = 0;
    if (!all) return fail_memory(failure, "the ROC curve");
    for (int64_t i = 0; i < p->count; i++) {
        all[i] = (judged){p->probabilities[i * p->classes + positive], p->labels[i] == positive};
        totals[all[i].is_positive]++;
    }
    if (totals[0] > 0 && totals[1] > 0) {
        qsort(all, (size_t)p->count, sizeof *all, by_probability);
        const size_t steps = walk(all, p->count, totals, 1, NULL);
        const size_t every = (steps + ROC_POINTS - 3) / (ROC_POINTS - 2); /* the first and the last are kept as well */
        points[0] = (roc_point){(double)INFINITY, 0, 1};
        *count = walk(all, p->count, totals, every, points);
    }
    free(all);
    return STATUS_OK;
}
