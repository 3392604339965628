#include "evaluate/compare.h"

#include "core/path.h"
#include "evaluate/comparison_folder.h"
#include "evaluate/evaluated.h"
#include "evaluate/evaluation_age.h"
#include "evaluate/own_results.h"

#include <stdio.h>
#include <string.h>

/* What is under way. */
typedef struct job {
    const compare_request *request;
    const listener *listener;
    compared *result;
    char groups[PATH_SIZE]; /* empty: none */
} job;

static int has_groups(const compared *compared) { return compared->groups.table.columns > 0; }

/* ---- scores ---- */

static status_code read_one(job *job, size_t which, failure *failure) {
    evaluated one;
    const compare_request *request = job->request;
    compared *result = job->result;
    status_code status = evaluated_open(&one, request->paths[which], request->dataset, failure);
    if (status == STATUS_OK) {
        if (!request->names) evaluated_call(&one, result->names[which], COMPARED_NAME_BYTES);
        if (!*job->groups && !request->groups && !evaluated_groups(&one, job->groups)) *job->groups = 0;
        if (!*job->groups && !request->groups && !has_groups(result))
            status = evaluated_own_groups(&one, &result->groups, failure);
        result->scores[which] = one.scores;
        one.scores = (scores){0};
    }
    evaluated_close(&one);
    return status;
}

static status_code check_rules(const compared *compared, const compare_request *request, failure *failure) {
    const scores *first = &compared->scores[0];
    for (size_t m = 1; m < compared->count; m++) {
        const scores *other = &compared->scores[m];
        if (!request->empty && other->empty != first->empty)
            return fail(failure, STATUS_BAD_INPUT,
                        "%s was evaluated with --empty %s, %s with --empty %s; choose one of them for all with --empty",
                        compared->names[0], empty_rule_name((int)first->empty), compared->names[m],
                        empty_rule_name((int)other->empty));
        if (request->metric == METRIC_NSD && other->nsd_tolerance != first->nsd_tolerance)
            return fail(failure, STATUS_BAD_INPUT,
                        "the NSD of %s has a tolerance of %g mm, that of %s one of %g mm; evaluate them alike",
                        compared->names[0], first->nsd_tolerance, compared->names[m], other->nsd_tolerance);
    }
    return STATUS_OK;
}

static status_code apply_rules(compared *compared, const compare_request *request, failure *failure) {
    empty_rule rule = EMPTY_NAN;
    status_code status = check_rules(compared, request, failure);
    if (status != STATUS_OK || !request->empty) return status;
    status = empty_rule_parse(request->empty, &rule, failure);
    for (size_t m = 0; m < compared->count && status == STATUS_OK; m++) scores_apply_empty(&compared->scores[m], rule);
    return status;
}

static compared_methods methods_of(compared *compared) {
    for (size_t m = 0; m < compared->count; m++) compared->name_list[m] = compared->names[m];
    return (compared_methods){compared->count, compared->scores, compared->name_list};
}

static status_code align(job *job, failure *failure) {
    text dropped = {0}, notice = {0};
    const compared_methods methods = methods_of(job->result);
    const status_code status = scores_align(&methods, job->request->common, &dropped, failure);
    text_format(&notice, "%.900s; compared are the %zu cases that all have", text_string(&dropped),
                job->result->scores[0].cases);
    if (status == STATUS_OK && dropped.size && !notice.failed) listener_notice(job->listener, notice.bytes);
    text_close(&dropped);
    text_close(&notice);
    return status;
}

static status_code read_scores(job *job, failure *failure) {
    compared *result = job->result;
    status_code status = job->request->names
                             ? method_names_choose(result->names, result->count, job->request->names, failure)
                             : STATUS_OK;
    for (size_t m = 0; m < result->count && status == STATUS_OK; m++) status = read_one(job, m, failure);
    if (status == STATUS_OK && !job->request->names) method_names_make_different(result->names, result->count);
    for (size_t m = 0; m < result->count && status == STATUS_OK; m++)
        evaluation_tell_old(job->request->paths[m], result->names[m], job->listener);
    if (status == STATUS_OK) status = apply_rules(result, job->request, failure);
    return status == STATUS_OK ? align(job, failure) : status;
}

/* ---- groups ---- */

static status_code stratify(job *job, failure *failure) {
    compared *result = job->result;
    const char *path = job->request->groups ? job->request->groups : *job->groups ? job->groups : NULL;
    if (job->request->by && !path && !has_groups(result)) return fail(failure, STATUS_BAD_INPUT, "--by needs --groups");
    text lacking = {0};
    if (path) case_groups_close(&result->groups); /* an evaluation's own count where there are no others */
    status_code status = path ? case_groups_read(&result->groups, path, failure) : STATUS_OK;
    if (status == STATUS_OK)
        status = strata_open(&result->strata, has_groups(result) ? &result->groups : NULL, job->request->by,
                             &result->scores[0], &lacking, failure);
    if (status == STATUS_OK && lacking.size > 0 && !lacking.failed)
        listener_notice(job->listener, text_string(&lacking));
    text_close(&lacking);
    return status;
}

/* ---- files ---- */

static status_code write_one(const void *context, table_format format, text *out, failure *failure) {
    const job *job = context;
    return comparison_write(&job->result->comparison, job->request->layout, format, out, failure);
}

status_code compare_evaluations(compared *compared, const compare_request *request, const listener *listener,
                                failure *failure) {
    memset(compared, 0, sizeof *compared);
    job job = {.request = request, .listener = listener, .result = compared};
    if (request->count < 2 || request->count > COMPARED_MAX)
        return fail(failure, STATUS_BAD_INPUT, "compare takes 2 to %d evaluations", COMPARED_MAX);
    compared->count = request->count;
    status_code status = request->out ? own_results_check(request->out, RESULTS_OF_COMPARISON, failure) : STATUS_OK;
    if (status == STATUS_OK) status = read_scores(&job, failure);
    if (status == STATUS_OK) status = stratify(&job, failure);
    if (status != STATUS_OK) return status;
    const compared_methods methods = methods_of(compared);
    status = comparison_open(&compared->comparison, &methods, &compared->strata, request->metric, failure);
    return status == STATUS_OK && request->out ? comparison_folder_write(request->out, write_one, &job, failure)
                                               : status;
}

void compared_close(compared *compared) {
    comparison_close(&compared->comparison);
    strata_close(&compared->strata);
    case_groups_close(&compared->groups);
    for (size_t m = 0; m < COMPARED_MAX; m++) scores_close(&compared->scores[m]);
}
