#define _POSIX_C_SOURCE 200809L
#include "evaluate/scores.h"

#include "core/path.h"
#include "nifti/case_names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const NAMES[METRICS] = {"Dice",   "IoU",   "TP",   "FP",   "FN", "TN",
                                           "n_pred", "n_ref", "HD95", "ASSD", "NSD"};

const char *metric_name(metric metric) { return NAMES[metric]; }

metric metric_by_name(const char *name) {
    int k = 0;
    while (k < METRICS && strcmp(NAMES[k], name) != 0) k++;
    return (metric)k;
}

int metric_lower_is_better(metric metric) {
    return metric == METRIC_FP || metric == METRIC_FN || metric == METRIC_HD95 || metric == METRIC_ASSD;
}

int metric_is_share(metric metric) { return metric == METRIC_DICE || metric == METRIC_IOU || metric == METRIC_NSD; }

const char *metric_unit(metric metric) {
    if (metric_is_share(metric)) return "%";
    return metric == METRIC_HD95 || metric == METRIC_ASSD ? "mm" : "voxels";
}

const char *empty_rule_name(int rule) { return rule == EMPTY_NAN ? "nan" : rule == EMPTY_ONE ? "1" : NULL; }

status_code empty_rule_parse(const char *name, empty_rule *rule, failure *failure) {
    const char *known;
    for (int k = 0; (known = empty_rule_name(k)); k++) {
        if (strcmp(name, known) != 0) continue;
        *rule = (empty_rule)k;
        return STATUS_OK;
    }
    return fail(failure, STATUS_BAD_INPUT, "--empty %.40s is not one; nan and 1 are", name);
}

void scores_copy_rules(scores *scores, const struct scores *from) {
    scores->ignored = from->ignored;
    scores->empty = from->empty;
    scores->nsd_tolerance = from->nsd_tolerance;
}

/* Where the voxels were not counted, a missing Dice tells as much: nothing else is a reason for it. */
static int is_empty(const struct scores *scores, const double *values) {
    const int counted = scores->measured[METRIC_N_PRED] && scores->measured[METRIC_N_REF];
    return counted ? values[METRIC_N_PRED] == 0 && values[METRIC_N_REF] == 0 : isnan(values[METRIC_DICE]);
}

int scores_is_empty(const scores *scores, size_t which, size_t region) {
    return is_empty(scores, scores_at(scores, which, region));
}

double metric_when_right(metric metric) {
    if (metric_is_share(metric)) return 1;
    return metric == METRIC_HD95 || metric == METRIC_ASSD ? 0 : (double)NAN;
}

void scores_apply_empty(scores *scores, empty_rule rule) {
    static const metric touched[] = {METRIC_DICE, METRIC_IOU, METRIC_NSD, METRIC_HD95, METRIC_ASSD};
    const size_t rows = scores->cases * scores->regions.count;
    for (size_t row = 0; row < rows; row++) {
        double *values = scores->values + row * METRICS;
        if (!is_empty(scores, values)) continue;
        for (int k = 0; k < 5; k++)
            values[touched[k]] = rule == EMPTY_NAN ? (double)NAN : metric_when_right(touched[k]);
    }
    scores->empty = rule;
}

status_code scores_open(scores *scores, size_t cases, const region_list *regions, failure *failure) {
    memset(scores, 0, sizeof *scores);
    const status_code status = regions_copy(&scores->regions, regions, failure);
    if (status != STATUS_OK) return status;
    const size_t row = regions->count * METRICS;
    if (row == 0 || cases > SIZE_MAX / sizeof(double) / row) return fail_memory(failure, "scores");
    scores->list = calloc(cases ? cases : 1, sizeof *scores->list);
    scores->values = malloc((cases ? cases : 1) * row * sizeof *scores->values);
    if (!scores->list || !scores->values) return fail_memory(failure, "scores");
    scores->cases = cases;
    for (size_t i = 0; i < cases * row; i++) scores->values[i] = (double)NAN;
    return STATUS_OK;
}

void scores_close(scores *scores) {
    for (size_t k = 0; k < scores->cases; k++) {
        free(scores->list[k].name);
        free(scores->list[k].prediction);
        free(scores->list[k].reference);
        free(scores->list[k].image);
    }
    free(scores->list);
    free(scores->values);
    regions_close(&scores->regions);
    memset(scores, 0, sizeof *scores);
}

double *scores_at(const scores *scores, size_t which, size_t region) {
    return scores->values + (which * scores->regions.count + region) * METRICS;
}

status_code scores_name(scores *scores, size_t which, const char *name, const char *prediction, const char *reference,
                        failure *failure) {
    scored_case *named = &scores->list[which];
    named->name = strdup(name);
    named->prediction = strdup(prediction);
    named->reference = strdup(reference);
    if (!named->name || !named->prediction || !named->reference) return fail_memory(failure, "the names of cases");
    return STATUS_OK;
}

void case_name_of(const char *path, char *name, size_t capacity) {
    const char *file = path_name(path), *ending = case_ending(file), *dot = strrchr(file, '.');
    if (!ending) ending = dot && dot > file ? dot : "";
    snprintf(name, capacity, "%.*s", (int)(strlen(file) - strlen(ending)), file);
}

long scores_find(const scores *scores, const char *name) {
    for (size_t k = 0; k < scores->cases; k++)
        if (scores->list[k].name && strcmp(scores->list[k].name, name) == 0) return (long)k;
    return -1;
}
