#include "evaluate/operating_point.h"

#include "core/quantile.h"
#include "statistics/share_interval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

status_code operating_goal_parse(const char *words, operating_goal *goal, failure *failure) {
    static const char *const NAMES[] = {"specificity=", "sensitivity="};
    for (int k = 0; k < 2; k++) {
        const size_t length = strlen(NAMES[k]);
        char *end;
        if (strncmp(words, NAMES[k], length) != 0) continue;
        *goal = (operating_goal){k, strtod(words + length, &end)};
        if (words[length] && !*end && goal->share > 0 && goal->share <= 1) return STATUS_OK;
    }
    return fail(failure, STATUS_BAD_INPUT,
                "--at %.100s: write sensitivity=S or specificity=S, with a share S above 0 and up to 1, such as "
                "sensitivity=0.95",
                words);
}

static double probability(const class_predictions *p, int64_t i, int positive) {
    return (double)p->probabilities[i * p->classes + positive];
}

/* ---- the threshold ----------------------------------------------------------------------------------------------- */

/* The probabilities of the positive examples, or of the negative ones, in ascending order. */
static size_t gather(const class_predictions *p, int positive, int of_positives, double *values) {
    size_t count = 0;
    for (int64_t i = 0; i < p->count; i++)
        if ((p->labels[i] == positive) == of_positives) values[count++] = probability(p, i, positive);
    sort_numbers(values, count);
    return count;
}

/* How many of `count` are at least this share; a share of counts, such as 0.95 of 20, is not
   exact in floating point. */
static size_t needed(double share, size_t count) { return (size_t)ceil(share * (double)count - 1e-9); }

static double reach(operating_goal goal, const double *sorted, size_t count) {
    const size_t most = needed(goal.share, count);
    if (goal.is_sensitivity) return sorted[count - most];
    return (double)nextafterf((float)sorted[most - 1], INFINITY); /* just above: those stay below */
}

status_code operating_threshold(const class_predictions *p, int positive, operating_goal goal, double *threshold,
                                failure *failure) {
    double *values = malloc(((size_t)p->count + 1) * sizeof *values);
    if (!values) return fail_memory(failure, "the operating point");
    const size_t count = gather(p, positive, goal.is_sensitivity, values);
    const int good = count && (int64_t)count < p->count;
    if (good) *threshold = reach(goal, values, count);
    free(values);
    if (good) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "a threshold cannot be chosen where all or none are of the class");
}

/* ---- what it gives ----------------------------------------------------------------------------------------------- */

/* Which of the members count, whether each is right, and whose it is. */
typedef struct hits {
    double *right;
    int *whose;
    size_t count;
} hits;

static void take(hits *h, const class_predictions *p, const int64_t *members, int64_t count, operating_rule rule,
                 int of_positives) {
    h->count = 0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = members[k];
        if ((p->labels[i] == rule.positive) != of_positives) continue;
        h->whose[h->count] = p->patients ? p->patients[i] : -1;
        h->right[h->count++] = (probability(p, i, rule.positive) >= rule.threshold) == of_positives;
    }
}

static status_code share_of(const hits *h, double *share, interval *ci, failure *failure) {
    statistics found;
    statistics_options options = statistics_options_default();
    options.patients = h->whose;
    const status_code status = statistics_of(h->right, h->count, &options, &found, failure);
    if (status != STATUS_OK) return status;
    *share = found.mean;
    *ci = found.ci;
    if (found.patients >= STATISTICS_INTERVAL_CASES)
        *ci = share_interval_or(*ci, found.patients == found.count, found.mean, (double)found.patients);
    return STATUS_OK;
}

status_code operating_scores_of(const class_predictions *p, const int64_t *members, int64_t count, operating_rule rule,
                                operating_scores *result, failure *failure) {
    hits h = {.right = malloc(((size_t)count + 1) * sizeof *h.right),
              .whose = malloc(((size_t)count + 1) * sizeof *h.whose)};
    status_code status = h.right && h.whose ? STATUS_OK : fail_memory(failure, "the operating point");
    *result = (operating_scores){0};
    for (int of_positives = 0; of_positives < 2 && status == STATUS_OK; of_positives++) {
        take(&h, p, members, count, rule, of_positives);
        *(of_positives ? &result->positives : &result->negatives) = (int64_t)h.count;
        status = share_of(&h, of_positives ? &result->sensitivity : &result->specificity,
                          of_positives ? &result->sensitivity_ci : &result->specificity_ci, failure);
    }
    free(h.right);
    free(h.whose);
    return status;
}
