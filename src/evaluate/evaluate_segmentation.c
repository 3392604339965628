#define _POSIX_C_SOURCE 200809L
#include "dataset/dataset.h"
#include "dataset/splits.h"
#include "evaluate/evaluate_run.h"
#include "evaluate/own_results.h"
#include "nifti/nifti.h"
#include "predict/segmenter.h"
#include "ranks/shared_work.h"
#include "run/config.h"
#include "task/phantom_data.h"

#include <string.h>

typedef struct job {
    const evaluate_run_request *request;
    shared_work *work; /* while cases are predicted */
    const listener *listener;
    const char *run; /* the one that is worked on */
    train_settings settings;
    dataset set;
    splits fold; /* one, or none when all cases were trained on */
    case_groups groups;
    segmenter *segmenter;
    case_pairs pairs;
    char folder[PATH_SIZE], validation[PATH_SIZE];
} job;

static const char *out_folder(const job *j) { return j->request->out ? j->request->out : j->request->run; }

/* ---- before the work: everything that can be wrong with the input ---- */

/* It has weights that no epoch of its own made. */
static int is_imported(const char *run) {
    return run_has(run, RUN_BEST) && !run_has(run, RUN_LATEST) && !run_has(run, RUN_HISTORY) && !run_has(run, RUN_FOLD);
}

static status_code open_dataset(job *j, failure *failure) {
    char path[PATH_SIZE];
    if (is_imported(j->run))
        return fail(
            failure, STATUS_BAD_INPUT,
            "%.500s is an imported model and has no validation cases: make label maps with hws predict and score "
            "them with hws evaluate --pred DIR --ref DIR",
            j->run);
    status_code status = run_path(path, j->run, RUN_CONFIG, failure);
    if (status == STATUS_OK) status = run_config_read_settings(&j->settings, path, failure);
    if (status == STATUS_OK && phantom_data_named(j->settings.data)) {
        status = phantom_data_folder(j->folder, j->request->threads, j->listener, failure);
        j->settings.data = j->folder;
    }
    if (status == STATUS_OK && !path_exists(j->settings.data))
        return fail(failure, STATUS_CANNOT_READ,
                    "%.300s: the dataset that this run was trained on is not there any more; if it has moved, tell the "
                    "run where it is, and evaluate then: hws train PLACE --resume --out %.200s",
                    j->settings.data, j->run);
    if (status == STATUS_OK) status = dataset_open(&j->set, j->settings.data, failure);
    return status == STATUS_OK ? case_groups_of_dataset(&j->groups, &j->set, failure) : status;
}

/* The cases that the run kept apart, as it noted them when it began: folds may have been made anew since. */
static status_code open_fold(job *j, failure *failure) {
    char path[PATH_SIZE];
    if (j->settings.fold < 0) return STATUS_OK;
    status_code status = run_path(path, j->run, RUN_FOLD, failure);
    if (status == STATUS_OK && !path_exists(path))
        return fail(failure, STATUS_BAD_INPUT,
                    "%.500s is missing, so it is not known which cases were left out of training", path);
    return status == STATUS_OK ? splits_read(&j->fold, path, j->set.ids, j->set.train_count, failure) : status;
}

static status_code open_segmenter(job *j, failure *failure) {
    segmenter_options options = segmenter_options_default();
    options.weights = j->request->weights;
    options.threads = j->request->threads;
    options.mirror = !j->request->no_mirror;
    options.temporary = j->run;
    options.adapts = 1;
    return segmenter_open(&j->segmenter, &options, &j->run, 1, failure);
}

static void close_run(job *j) {
    segmenter_close(&j->segmenter);
    case_groups_close(&j->groups);
    splits_close(&j->fold);
    dataset_close(&j->set);
    settings_close(&j->settings);
}

/* A run's cases; what was open of the run before is closed, so that the last one's dataset stays for scoring. */
static status_code open_run(job *j, const char *run, failure *failure) {
    close_run(j);
    j->run = run;
    j->settings = settings_default_volumes();
    const status_code status = open_dataset(j, failure);
    return status == STATUS_OK ? open_fold(j, failure) : status;
}

static status_code prepare(job *j, const char *run, failure *failure) {
    status_code status = open_run(j, run, failure);
    if (status == STATUS_OK && j->settings.fold < 0)
        listener_notice(
            j->listener,
            "this run was trained on all cases (--fold -1): the scores are of cases that it was trained on");
    if (status == STATUS_OK) status = open_segmenter(j, failure);
    if (status == STATUS_OK)
        status =
            run_path(j->validation, j->run, run_validation_file(j->request->weights, !j->request->no_mirror), failure);
    if (status == STATUS_OK) status = folder_make(j->validation, failure);
    return status == STATUS_OK ? folder_make(out_folder(j), failure) : status;
}

/* ---- the work ---- */

/* Newer than the weights, so made by them. */
static int is_current(const job *j, const char *path) {
    char weights[PATH_SIZE];
    return run_path(weights, j->run, run_weights_file(j->request->weights), 0) == STATUS_OK &&
           path_is_newer(path, weights);
}

static status_code predict(job *j, const dataset_case *one, const char *path, failure *failure) {
    volume image;
    label_map labels;
    status_code status = dataset_load(&j->set, one, &image, 0, failure);
    if (status != STATUS_OK) return status;
    const struct listener windows = listener_stop_only(j->listener);
    status = segmenter_label(j->segmenter, &image, &windows, &labels, failure);
    volume_close(&image);
    if (status != STATUS_OK) return status;
    status = nifti_write_labels(path, &labels, failure);
    label_map_close(&labels);
    return status;
}

static status_code take_case(job *j, const dataset_case *one, int is_own, failure *failure) {
    char path[PATH_SIZE];
    if (!one->labels) return fail(failure, STATUS_BAD_INPUT, "%.300s has no labels of %.200s", j->set.folder, one->id);
    status_code status = path_format(path, failure, "%s/%s%s", j->validation, one->id, j->set.file_ending);
    if (status == STATUS_OK && is_own && (j->request->overwrite || !is_current(j, path)))
        status = predict(j, one, path, failure);
    return status == STATUS_OK ? case_pairs_add(&j->pairs, one->id, path, one->labels, one->images[0], failure)
                               : status;
}

/* All cases are listed, and this rank's share is predicted. */
static status_code take_share(job *j, size_t count, size_t *failed, failure *failure) {
    const split *fold = j->fold.count ? &j->fold.folds[0] : 0;
    const ranks *r = ranks_here();
    size_t done = 0;
    for (size_t k = 0; k < count; k++) {
        if (ranks_has(r, k)) shared_work_at(j->work, k);
        const status_code status = take_case(j, &j->set.train[fold ? fold->val[k] : k], ranks_has(r, k), failure);
        *failed = k;
        if (status != STATUS_OK) return status;
        if (ranks_has(r, k)) listener_progress(j->listener, "predicting", ++done, count);
    }
    return STATUS_OK;
}

static status_code take_cases(job *j, failure *failure) {
    const size_t count = j->fold.count ? j->fold.folds[0].val_count : j->set.train_count;
    const listener *outer = j->listener;
    shared_work work;
    size_t failed = 0;
    j->work = &work;
    j->listener = shared_work_begin(&work, ranks_here(), outer, count);
    status_code status = take_share(j, count, &failed, failure);
    status = shared_work_end(&work, status, status == STATUS_STOPPED ? count : failed, failure);
    j->listener = outer;
    if (status == STATUS_STOPPED)
        fail(
            failure, status,
            j->request->overwrite
                ? "stopped; some label maps are new and others as before: the same command predicts all again, without "
                  "--overwrite those that are there are kept"
                : "stopped; the same command goes on with the cases that are left");
    return status;
}

/* What dataset.json calls regions, as NAME=1+2+4; R1, R2, ... where a name cannot stand in a table. */
static void list_regions(const dataset *set, int named, text *regions) {
    int count = 0;
    for (int k = 0; k < set->label_count; k++) {
        const dataset_label *label = &set->labels[k];
        if (label->values[0] == 0) continue;
        if (count++) text_add(regions, ",");
        if (named) text_format(regions, "%s=", label->name);
        else text_format(regions, "R%d=", count);
        for (int v = 0; v < label->count; v++) text_format(regions, "%s%d", v ? "+" : "", label->values[v]);
    }
}

/* The names that dataset.json gives the labels, or their numbers if a name cannot stand in a table. */
static void list_labels(const dataset *set, text *labels, text *regions) {
    int named = 1;
    for (int k = 0; k < set->label_count; k++) named = named && region_name_is_good(set->labels[k].name);
    for (int c = 1; c < set->values && !set->has_regions; c++)
        for (int k = 0; k < set->label_count; k++) {
            if (set->labels[k].values[0] != set->value[c]) continue;
            if (named) text_format(regions, "%s%s=%d", c > 1 ? "," : "", set->labels[k].name, set->value[c]);
            else text_format(labels, "%s%d", c > 1 ? "," : "", set->value[c]);
        }
    if (set->has_regions) list_regions(set, named, regions);
}

/* NULL instead of an evaluation: only checks what was asked for. */
static status_code score(job *j, evaluation *evaluation, failure *failure) {
    text labels = {0}, regions = {0};
    const evaluate_run_request *asked = j->request;
    if (asked->regions) text_add(&regions, asked->regions);
    else list_labels(&j->set, &labels, &regions);
    const evaluate_request request = {.labels = labels.bytes,
                                      .regions = regions.bytes,
                                      .groups = asked->groups             ? asked->groups
                                                : j->groups.table.columns ? j->groups.path
                                                                          : NULL,
                                      .by = asked->by,
                                      .nsd = asked->nsd,
                                      .empty = asked->empty,
                                      .out = out_folder(j),
                                      .ignore = j->set.ignore > 0 ? j->set.ignore : 0,
                                      .threads = asked->threads,
                                      .find_postprocessing = asked->find_postprocessing,
                                      .hd95 = asked->hd95,
                                      .surface = asked->surface};
    const status_code status = labels.failed || regions.failed ? fail_memory(failure, "the labels")
                               : !evaluation                   ? evaluate_check(&request, failure)
                                             : evaluate_pairs(evaluation, &j->pairs, &request, j->listener, failure);
    text_close(&labels);
    text_close(&regions);
    return status;
}

/* Its validation cases. */
static status_code take_run(job *j, const char *run, failure *failure) {
    const status_code status = ranks_agree(ranks_here(), prepare(j, run, failure), failure);
    return status == STATUS_OK ? take_cases(j, failure) : status;
}

/* All runs, of which the one whose dataset names the labels is the last. */
static const char *run_at(const evaluate_run_request *request, int k) {
    return k < request->other_count ? request->others[k] : request->run;
}

/* The labels of the run that is open must be those of the one before: the scores are of what both call so. */
static status_code check_same_labels(const job *j, const dataset *before, const char *run, failure *failure) {
    if (dataset_same_labels(before, &j->set)) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%.300s (%.100s) and %.300s (%.100s) have different labels and cannot be scored together", run,
                before->name, j->run, j->set.name);
}

static status_code check_out(const evaluate_run_request *request, failure *failure) {
    if (!ranks_is_first(ranks_here())) return STATUS_OK;
    return own_results_check_cases(request->out ? request->out : request->run, request->find_postprocessing, failure);
}

/* Before hours of prediction: whether every run can be scored, and as it was asked for. */
static status_code check_runs(job *j, failure *failure) {
    const evaluate_run_request *request = j->request;
    if (request->other_count && !request->out)
        return fail(failure, STATUS_BAD_INPUT, "several runs are scored together: give --out, where the scores go");
    dataset before = {0};
    status_code status = check_out(request, failure);
    for (int k = 0; k <= request->other_count && status == STATUS_OK; k++) {
        dataset_close(&before);
        before = j->set;
        j->set = (dataset){0};
        status = open_run(j, run_at(request, k), failure);
        if (status == STATUS_OK && k > 0) status = check_same_labels(j, &before, run_at(request, k - 1), failure);
    }
    dataset_close(&before);
    return status == STATUS_OK ? score(j, NULL, failure) : status;
}

status_code evaluate_segmentation(evaluation *evaluation, const evaluate_run_request *request, const listener *listener,
                                  failure *failure) {
    *evaluation = (struct evaluation){0};
    job j = {.request = request, .listener = listener};
    status_code status = ranks_agree(ranks_here(), check_runs(&j, failure), failure);
    for (int k = 0; k <= request->other_count && status == STATUS_OK; k++)
        status = take_run(&j, run_at(request, k), failure);
    if (status == STATUS_OK) status = case_pairs_sort(&j.pairs, failure);
    if (status == STATUS_OK) status = score(&j, evaluation, failure);
    case_pairs_close(&j.pairs);
    close_run(&j);
    return status;
}
