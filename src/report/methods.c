#include "report/methods.h"

#include "evaluate/worst_cases.h"
#include "run/run_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_evaluated(const run *run) { return run->is_segmentation && evaluated_is_there(run->folder); }

static status_code reserve(methods *methods, size_t count, failure *failure) {
    methods->files = calloc(count + 1, sizeof *methods->files);
    methods->scores = calloc(count + 1, sizeof *methods->scores);
    methods->names = calloc(count + 1, sizeof *methods->names);
    methods->runs = calloc(count + 1, sizeof *methods->runs);
    return methods->files && methods->scores && methods->names && methods->runs ? STATUS_OK
                                                                                : fail_memory(failure, "the report");
}

/* One that cannot be read, or has no Dice, is left out and told. */
static void take_run(methods *methods, const run *run) {
    failure why = {0};
    evaluated *files = &methods->files[methods->count];
    const status_code status = evaluated_open(files, run->folder, NULL, &why);
    if (status != STATUS_OK || !files->scores.measured[METRIC_DICE] || methods->count == COMPARED_MAX) {
        snprintf(methods->problem, sizeof methods->problem, "%.200s: %.300s", run->name,
                 status != STATUS_OK ? why.message : "there is no Dice, or there are too many evaluations");
        evaluated_close(files);
        return;
    }
    methods->scores[methods->count] = files->scores;
    files->scores = (scores){0};
    methods->names[methods->count] = run->name;
    methods->runs[methods->count++] = run;
}

static const char *groups_path(const methods *methods, const report_request *request, char path[PATH_SIZE]) {
    if (request->groups) return request->groups;
    if (run_path(path, methods->files[0].folder, RUN_GROUPS, NULL) == STATUS_OK && path_exists(path)) return path;
    return evaluated_groups(&methods->files[0], path) ? path : NULL;
}

static status_code stratify(methods *methods, const report_request *request, failure *failure) {
    char own[PATH_SIZE];
    text lacking = {0};
    const char *path = groups_path(methods, request, own);
    status_code status = path ? case_groups_read(&methods->groups, path, failure)
                              : evaluated_own_groups(&methods->files[0], &methods->groups, failure);
    const int grouped = methods->groups.table.columns > 0;
    if (status == STATUS_OK)
        status = strata_open(&methods->strata, grouped ? &methods->groups : NULL, NULL, &methods->scores[0], &lacking,
                             failure);
    text_close(&lacking);
    return status;
}

static status_code compare(methods *methods, const report_request *request, failure *failure) {
    const compared_methods all = {methods->count, methods->scores, methods->names};
    status_code status = scores_align(&all, 1, &methods->left_out, failure);
    if (status == STATUS_OK) status = stratify(methods, request, failure);
    return status == STATUS_OK ? comparison_open(&methods->dice, &all, &methods->strata, METRIC_DICE, failure) : status;
}

status_code methods_open(methods *methods, const runs *runs, const report_request *request, failure *failure) {
    *methods = (struct methods){0};
    struct failure why = {0};
    status_code status = reserve(methods, runs->count, failure);
    for (size_t r = 0; r < runs->count && status == STATUS_OK; r++)
        if (is_evaluated(&runs->all[r])) take_run(methods, &runs->all[r]);
    if (status != STATUS_OK || methods->count == 0) return status;
    status = compare(methods, request, &why);
    if (status == STATUS_OK) return STATUS_OK;
    if (status == STATUS_OUT_OF_MEMORY || request->groups) return fail(failure, status, "%s", why.message);
    snprintf(methods->problem, sizeof methods->problem, "%.500s", why.message);
    for (size_t m = 0; m < methods->count; m++) scores_close(&methods->scores[m]);
    methods->count = 0;
    return STATUS_OK;
}

void methods_close(methods *methods) {
    comparison_close(&methods->dice);
    strata_close(&methods->strata);
    case_groups_close(&methods->groups);
    for (size_t m = 0; m < methods->count; m++) scores_close(&methods->scores[m]);
    free(methods->files);
    free(methods->scores);
    free(methods->names);
    free(methods->runs);
    text_close(&methods->left_out);
}

void methods_case_means(const methods *methods, size_t method, const stratum *stratum, double *values) {
    for (size_t k = 0; k < stratum->count; k++) values[k] = case_mean_dice(&methods->scores[method], stratum->cases[k]);
}
