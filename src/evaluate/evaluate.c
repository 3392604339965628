#include "evaluate/evaluate.h"

#include "core/crc64.h"
#include "core/parallel.h"
#include "evaluate/find_postprocessing.h"
#include "evaluate/own_results.h"
#include "evaluate/scoring.h"
#include "evaluate/summary.h"
#include "evaluate/worst_cases.h"
#include "ranks/ranks.h"
#include "run/run_folder.h"

#include <stdlib.h>
#include <string.h>

/* What is under way: what was asked for, and what comes out. */
typedef struct job {
    const evaluate_request *request;
    const listener *listener;
    scoring_options options;
    region_list regions;
    evaluation *result;
} job;

/* ---- before the work: everything that can be wrong with the input ---- */

static status_code check_folders(const evaluate_request *request, failure *failure) {
    if (request->find_postprocessing && !request->out)
        return fail(failure, STATUS_BAD_INPUT, "--find-postprocessing needs --out, where it is written");
    if (request->images && !request->out)
        return fail(failure, STATUS_BAD_INPUT, "--images needs --out, where the pictures go");
    if (request->images && !path_is_folder(request->images))
        return fail(failure, STATUS_BAD_INPUT, "--images %.500s: there is no folder of this name", request->images);
    if (request->out && path_exists(request->out) && !path_is_folder(request->out))
        return fail(failure, STATUS_BAD_INPUT,
                    "the folder %.500s could not be made: a file has this name; choose another", request->out);
    return STATUS_OK;
}

static status_code read_regions(job *job, failure *failure) {
    const evaluate_request *request = job->request;
    status_code status = STATUS_OK;
    if (request->labels) status = regions_add_labels(&job->regions, request->labels, failure);
    if (status == STATUS_OK && request->regions) status = regions_add_named(&job->regions, request->regions, failure);
    return status;
}

static status_code read_groups(job *job, failure *failure) {
    const evaluate_request *request = job->request;
    if (request->by && !request->groups) return fail(failure, STATUS_BAD_INPUT, "--by needs --groups");
    if (!request->groups) return STATUS_OK;
    const status_code status = case_groups_read(&job->result->groups, request->groups, failure);
    return status == STATUS_OK ? strata_check_columns(&job->result->groups, request->by, failure) : status;
}

/* Where labels are looked for in the references, it is done once they are known. */
static status_code check_postprocessing(const job *job, failure *failure) {
    return job->request->find_postprocessing ? find_postprocessing_check(&job->regions, failure) : STATUS_OK;
}

static status_code prepare(job *job, failure *failure) {
    status_code status = check_folders(job->request, failure);
    if (status == STATUS_OK && job->request->empty)
        status = empty_rule_parse(job->request->empty, &job->options.empty, failure);
    if (status == STATUS_OK) status = read_regions(job, failure);
    if (status == STATUS_OK) status = check_postprocessing(job, failure);
    return status == STATUS_OK ? read_groups(job, failure) : status;
}

/* ---- the work ---- */

static const case_groups *groups_of(const job *job) { return job->request->groups ? &job->result->groups : NULL; }

static void tell(const listener *listener, const char *before, const text *what, const char *after) {
    text notice = {0};
    text_format(&notice, "%s%.900s%s", before, text_string(what), after);
    if (what->size > 0 && !notice.failed) listener_notice(listener, notice.bytes);
    text_close(&notice);
}

/* Who see other cases would wait for each other forever. */
static status_code check_same_cases(const ranks *r, const case_pairs *pairs, failure *failure) {
    crc64 crc;
    crc64_start(&crc);
    for (size_t k = 0; k < pairs->count; k++) crc64_add(&crc, pairs->list[k].name, strlen(pairs->list[k].name) + 1);
    return ranks_check_same(r, crc64_value(&crc), "what is evaluated", failure);
}

static status_code score(job *job, const case_pairs *pairs, failure *failure) {
    const ranks *r = ranks_here();
    spacing_doubts doubts = {0};
    status_code status = ranks_is_first(r) ? case_pairs_check(pairs, &doubts, failure) : STATUS_OK;
    spacing_doubts_tell(&doubts, job->listener);
    if (status == STATUS_OK && ranks_is_first(r) && job->request->out)
        status = own_results_check_cases(job->request->out, job->request->find_postprocessing, failure);
    status = ranks_agree(r, status, failure);
    if (status == STATUS_OK) status = check_same_cases(r, pairs, failure);
    if (status == STATUS_OK && job->regions.count == 0) {
        status = scoring_find_labels(pairs, &job->options, &job->regions, job->listener, failure);
        if (status == STATUS_OK) status = check_postprocessing(job, failure);
    }
    if (status == STATUS_OK && job->request->out) status = folder_make(job->request->out, failure);
    status = ranks_agree(r, status, failure);
    if (status != STATUS_OK) return status;
    return scoring_run(pairs, &job->regions, &job->options, job->listener, &job->result->scores, failure);
}

static status_code stratify(job *job, failure *failure) {
    evaluation *result = job->result;
    text lacking = {0};
    const statistics_options options = statistics_options_default();
    status_code status =
        strata_open(&result->strata, groups_of(job), job->request->by, &result->scores, &lacking, failure);
    tell(job->listener, "", &lacking, "");
    text_close(&lacking);
    if (status != STATUS_OK) return status;
    return stratified_open(&result->stratified, &result->scores, &result->strata, &options, failure);
}

static status_code write_table(const job *job, table_format format, run_file file, failure *failure) {
    text out = {0};
    status_code status = stratified_write(&job->result->stratified, format, &out, failure);
    if (status == STATUS_OK) status = run_write(job->request->out, file, &out, failure);
    text_close(&out);
    return status;
}

static status_code write_cases(const job *job, failure *failure) {
    text out = {0};
    status_code status = scores_write_csv(&job->result->scores, groups_of(job), &out, failure);
    if (status == STATUS_OK) status = run_write(job->request->out, RUN_CASES, &out, failure);
    text_close(&out);
    return status;
}

static status_code write_worst(const job *job, failure *failure) {
    text notes = {0};
    const status_code status =
        worst_write(&job->result->scores, job->request->images, job->request->out, &notes, failure);
    tell(job->listener, "", &notes, "");
    text_close(&notes);
    return status;
}

static status_code write_all(const job *job, failure *failure) {
    char path[PATH_SIZE];
    status_code status = run_path(path, job->request->out, RUN_SUMMARY, failure);
    if (status == STATUS_OK) status = summary_write(path, &job->result->scores, failure);
    if (status == STATUS_OK) status = write_cases(job, failure);
    if (status == STATUS_OK) status = write_table(job, TABLE_CSV, RUN_TABLE_CSV, failure);
    if (status == STATUS_OK) status = write_table(job, TABLE_TEXT, RUN_TABLE_TEXT, failure);
    if (status == STATUS_OK) status = write_table(job, TABLE_MARKDOWN, RUN_TABLE_MARKDOWN, failure);
    if (status == STATUS_OK) status = write_table(job, TABLE_LATEX, RUN_TABLE_LATEX, failure);
    return status == STATUS_OK ? write_worst(job, failure) : status;
}

static status_code find(const job *job, const case_pairs *pairs, failure *failure) {
    const ranks *r = ranks_here();
    postprocessing *found = malloc(sizeof *found); /* large */
    status_code status = ranks_agree(r, found ? STATUS_OK : fail_memory(failure, "the postprocessing"), failure);
    if (status == STATUS_OK)
        status = find_postprocessing(pairs, &job->result->scores, &job->options, job->listener, found, failure);
    if (status == STATUS_OK && ranks_is_first(r)) status = postprocessing_write(found, job->request->out, failure);
    free(found);
    return ranks_agree(r, status, failure);
}

static status_code evaluate(job *job, const case_pairs *pairs, failure *failure) {
    status_code status = score(job, pairs, failure);
    if (status == STATUS_OK) status = stratify(job, failure);
    if (status == STATUS_OK && job->request->out && ranks_is_first(ranks_here())) status = write_all(job, failure);
    status = ranks_agree(ranks_here(), status, failure);
    return status == STATUS_OK && job->request->find_postprocessing ? find(job, pairs, failure) : status;
}

static job job_start(evaluation *evaluation, const evaluate_request *request, const listener *listener) {
    *evaluation = (struct evaluation){0};
    return (job){.request = request,
                 .listener = listener,
                 .options = {.hd95 = request->hd95,
                             .assd = request->surface,
                             .nsd = request->nsd,
                             .ignore = request->ignore,
                             .threads = request->threads ? request->threads : parallel_processors()},
                 .result = evaluation};
}

status_code evaluate_check(const evaluate_request *request, failure *failure) {
    evaluation unused;
    job job = job_start(&unused, request, NULL);
    const status_code status = prepare(&job, failure);
    regions_close(&job.regions);
    evaluation_close(&unused);
    return status;
}

status_code evaluate_pairs(evaluation *evaluation, const case_pairs *pairs, const evaluate_request *request,
                           const listener *listener, failure *failure) {
    job job = job_start(evaluation, request, listener);
    status_code status = prepare(&job, failure);
    if (status == STATUS_OK) status = evaluate(&job, pairs, failure);
    regions_close(&job.regions);
    return status;
}

status_code evaluate_folders(evaluation *evaluation, const evaluate_request *request, const listener *listener,
                             failure *failure) {
    job job = job_start(evaluation, request, listener);
    case_pairs pairs = {0};
    text left_out = {0};
    status_code status = prepare(&job, failure);
    if (status == STATUS_OK)
        status =
            case_pairs_open(&pairs, request->predictions, request->references, request->common, &left_out, failure);
    tell(listener, "", &left_out, "; these cases are left out");
    text_close(&left_out);
    if (status == STATUS_OK) status = evaluate(&job, &pairs, failure);
    case_pairs_close(&pairs);
    regions_close(&job.regions);
    return status;
}

void evaluation_close(evaluation *evaluation) {
    stratified_close(&evaluation->stratified);
    strata_close(&evaluation->strata);
    scores_close(&evaluation->scores);
    case_groups_close(&evaluation->groups);
}
