/* Groups of examples: which has the lowest accuracy, and what is to be told of them (class_scores.h). */
#include "core/arg_max.h"
#include "core/random.h"
#include "evaluate/class_scores.h"
#include "statistics/clusters.h"
#include "statistics/purposes.h"
#include "statistics/share_interval.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RESAMPLES = 1000, MANY_GROUPS = 10 };

/* The examples of a patient in a group. */
typedef struct share {
    int64_t hits[2], count; /* hits of each method */
} share;

/* The shares of group g are list[starts[g]] to list[starts[g + 1] - 1]. */
typedef struct grouped {
    int groups;
    int64_t *starts;
    share *list;
} grouped;

static int is_hit(const class_predictions *p, int64_t example) {
    return p && arg_max(p->probabilities + example * p->classes, p->classes) == p->labels[example];
}

/* Of the `count` examples of a group. */
static status_code add_group(grouped *g, int group, const class_predictions *const methods[2], const int64_t *examples,
                             int64_t count, failure *failure) {
    clusters patients;
    const status_code status = clusters_open(&patients, methods[0]->patients, examples, count, failure);
    share *own = g->list + g->starts[group];
    for (int64_t k = 0; k < patients.count && status == STATUS_OK; k++) {
        own[k] = (share){.count = patients.starts[k + 1] - patients.starts[k]};
        for (int64_t m = patients.starts[k]; m < patients.starts[k + 1]; m++)
            for (int which = 0; which < 2; which++)
                own[k].hits[which] += is_hit(methods[which], examples[patients.members[m]]);
    }
    g->starts[group + 1] = g->starts[group] + patients.count;
    clusters_close(&patients);
    return status;
}

/* Examples by group: those of group g end at ends[g]. */
static void sort_by_group(class_groups groups, int64_t count, int64_t *ends, int64_t *order) {
    for (int64_t i = 0; i < count; i++)
        if (groups.of[i] >= 0) ends[groups.of[i]]++;
    for (int k = 1; k < groups.count; k++) ends[k] += ends[k - 1];
    for (int64_t i = count; i-- > 0;)
        if (groups.of[i] >= 0) order[--ends[groups.of[i]]] = i;
    for (int64_t i = 0; i < count; i++)
        if (groups.of[i] >= 0) ends[groups.of[i]]++;
}

static status_code grouped_open(grouped *g, const class_predictions *const methods[2], class_groups groups,
                                failure *failure) {
    const size_t n = (size_t)methods[0]->count, k = (size_t)groups.count;
    int64_t *ends = calloc(k + 1, sizeof *ends), *order = malloc((n + 1) * sizeof *order);
    *g = (grouped){groups.count, calloc(k + 1, sizeof *g->starts), malloc((n + 1) * sizeof *g->list)};
    status_code status = ends && order && g->starts && g->list ? STATUS_OK : fail_memory(failure, "the groups");
    if (status == STATUS_OK) sort_by_group(groups, methods[0]->count, ends, order);
    for (int group = 0; group < groups.count && status == STATUS_OK; group++) {
        const int64_t from = group ? ends[group - 1] : 0;
        status = add_group(g, group, methods, order + from, ends[group] - from, failure);
    }
    free(ends);
    free(order);
    return status;
}

static void grouped_close(grouped *g) {
    free(g->starts);
    free(g->list);
}

/* The least accuracy of each method; with a stream, of a resample. */
static void least(const grouped *g, random_stream *stream, double value[2], int *where) {
    value[0] = value[1] = (double)NAN;
    for (int k = 0; k < g->groups; k++) {
        const int64_t first = g->starts[k], size = g->starts[k + 1] - first;
        double hits[2] = {0, 0}, count = 0;
        for (int64_t i = 0; i < size; i++) {
            const share *one = &g->list[first + (stream ? (int64_t)random_below(stream, (uint64_t)size) : i)];
            for (int m = 0; m < 2; m++) hits[m] += (double)one->hits[m];
            count += (double)one->count;
        }
        if (size && where && !(hits[0] / count >= value[0])) *where = k;
        for (int m = 0; m < 2 && size; m++)
            if (!(hits[m] / count >= value[m])) value[m] = hits[m] / count;
    }
}

/* A group of one patient is always resampled as itself: it would make the interval of the minimum look certain. */
static int all_have_intervals(const grouped *g) {
    for (int k = 0; k < g->groups; k++) {
        const int64_t size = g->starts[k + 1] - g->starts[k];
        if (size && size < STATISTICS_INTERVAL_CASES) return 0;
    }
    return g->starts[g->groups] > 0;
}

static status_code bootstrap_worst(const grouped *g, class_worst *result, failure *failure) {
    double *values = malloc(2 * RESAMPLES * sizeof *values);
    if (!values) return fail_memory(failure, "the intervals");
    for (size_t r = 0; r < RESAMPLES; r++) {
        random_stream stream;
        double value[2];
        random_start(&stream, 0, RANDOM_BOOTSTRAP, r, 2);
        least(g, &stream, value, NULL);
        values[r] = value[0];
        values[RESAMPLES + r] = value[1] - value[0];
    }
    result->ci = bootstrap_interval(values, RESAMPLES);
    if (interval_is_flat(result->ci)) /* all are right, or a group has none right */
        result->ci = share_interval(result->value, (double)(g->starts[result->group + 1] - g->starts[result->group]));
    result->difference_ci = bootstrap_interval(values + RESAMPLES, RESAMPLES);
    if (interval_is_flat(result->difference_ci)) /* as of equal methods */
        result->difference_ci = (interval){(double)NAN, (double)NAN};
    free(values);
    return STATUS_OK;
}

status_code class_scores_worst(const class_predictions *first, const class_predictions *second, class_groups groups,
                               class_worst *result, failure *failure) {
    const interval none = {(double)NAN, (double)NAN};
    double value[2];
    grouped g;
    *result = (class_worst){-1, (double)NAN, (double)NAN, none, none};
    status_code status = grouped_open(&g, (const class_predictions *const[2]){first, second}, groups, failure);
    if (status == STATUS_OK) {
        least(&g, NULL, value, &result->group);
        result->value = value[0];
        if (second) result->difference = value[1] - value[0];
        if (all_have_intervals(&g)) status = bootstrap_worst(&g, result, failure);
        if (!second) result->difference_ci = none;
    }
    grouped_close(&g);
    return status;
}

void class_groups_tell(const char *column, group_counts counts, const listener *listener) {
    char notice[400];
    const int64_t grouped = counts.examples - counts.without;
    snprintf(notice, sizeof notice,
             "%lld of %lld examples have nothing in the column '%.100s' and are in none of its groups",
             (long long)counts.without, (long long)counts.examples, column);
    if (counts.without) listener_notice(listener, notice);
    snprintf(notice, sizeof notice,
             "the column '%.100s' divides %lld examples into %lld groups, which are too small to judge; a column with "
             "fewer values, such as ranges of numbers, tells more",
             column, (long long)grouped, (long long)counts.groups);
    if (counts.groups > MANY_GROUPS && grouped < 2 * counts.groups) listener_notice(listener, notice);
}
