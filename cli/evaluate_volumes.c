/* hws evaluate RUN for a run that segments volumes. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "dataset/dataset.h"
#include "dataset/splits.h"
#include "evaluate.h"
#include "evaluate/groups.h"
#include "evaluate/regions.h"
#include "interrupt.h"
#include "nifti/nifti.h"
#include "phantom_data.h"
#include "predict/segmenter.h"
#include "progress.h"
#include "run/run_folder.h"
#include "run/settings.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct job {
    const evaluate_volumes_settings *asked;
    train_settings settings;
    dataset set;
    splits fold; /* one, or none when all cases were trained on */
    segmenter *segmenter;
    case_files files;
    char folder[PATH_SIZE], validation[PATH_SIZE], groups[PATH_SIZE];
} job;

static int interrupted(void *context) {
    (void)context;
    return cli_interrupted;
}

static const char *out_folder(const job *j) { return j->asked->out ? j->asked->out : j->asked->run; }

/* ---- before the work: everything that can be wrong with the input ---- */

static status_code open_dataset(job *j, failure *failure) {
    char path[PATH_SIZE];
    status_code status = run_path(path, j->asked->run, RUN_CONFIG, failure);
    if (status == STATUS_OK) status = settings_read_file(&j->settings, path, failure);
    if (status == STATUS_OK && phantom_data_named(j->settings.data)) {
        status = phantom_data_folder(j->folder, j->asked->threads, j->asked->quiet, failure);
        j->settings.data = j->folder;
    }
    return status == STATUS_OK ? dataset_open(&j->set, j->settings.data, failure) : status;
}

/* The cases that the run kept apart, as it noted them when it began: folds may have been made anew since. */
static status_code open_fold(job *j, failure *failure) {
    char path[PATH_SIZE];
    if (j->settings.fold < 0) {
        if (!j->asked->quiet)
            cli_error(EXIT_DONE,
                      "this run was trained on all cases (--fold -1): the scores are of cases that it knows");
        return STATUS_OK;
    }
    status_code status = run_path(path, j->asked->run, RUN_FOLD, failure);
    if (status == STATUS_OK && access(path, F_OK) != 0)
        return fail(failure, STATUS_BAD_INPUT, "%.500s is missing, so which cases were not trained on is not known",
                    path);
    return status == STATUS_OK ? splits_read(&j->fold, path, j->set.ids, j->set.train_count, failure) : status;
}

static status_code check_groups(job *j, failure *failure) {
    status_code status = path_join(j->groups, j->set.folder, "groups.csv", failure);
    if (status == STATUS_OK && access(j->groups, F_OK) != 0) *j->groups = 0;
    if (status != STATUS_OK || !*j->groups) return status;
    groups groups;
    status = groups_read(&groups, j->groups, failure);
    groups_close(&groups);
    return status;
}

static status_code open_segmenter(job *j, failure *failure) {
    segmenter_options options = segmenter_options_default();
    options.weights = j->asked->weights;
    options.threads = j->asked->threads;
    options.mirror = !j->asked->no_mirror;
    options.temporary = j->asked->run;
    return segmenter_open(&j->segmenter, &options, &j->asked->run, 1, failure);
}

static status_code prepare(job *j, failure *failure) {
    status_code status = open_dataset(j, failure);
    if (status == STATUS_OK) status = open_fold(j, failure);
    if (status == STATUS_OK) status = check_groups(j, failure);
    if (status == STATUS_OK) status = open_segmenter(j, failure);
    if (status == STATUS_OK)
        status = run_path(j->validation, j->asked->run, run_validation_file(j->asked->weights, !j->asked->no_mirror),
                          failure);
    if (status == STATUS_OK) status = folder_make(j->validation, failure);
    return status == STATUS_OK ? folder_make(out_folder(j), failure) : status;
}

/* ---- the work ---- */

/* Newer than the weights, so made by them. */
static int is_current(const job *j, const char *path) {
    struct stat map, weights;
    char file[PATH_SIZE];
    return run_path(file, j->asked->run, run_weights_file(j->asked->weights), 0) == STATUS_OK &&
           stat(file, &weights) == 0 && stat(path, &map) == 0 &&
           (map.st_mtim.tv_sec > weights.st_mtim.tv_sec ||
            (map.st_mtim.tv_sec == weights.st_mtim.tv_sec && map.st_mtim.tv_nsec > weights.st_mtim.tv_nsec));
}

static status_code predict(job *j, const dataset_case *one, const char *path, failure *failure) {
    volume image;
    label_map labels;
    status_code status = dataset_load(&j->set, one, &image, 0, failure);
    if (status != STATUS_OK) return status;
    status = segmenter_label(j->segmenter, &image, &(listener){.stop = interrupted}, &labels, failure);
    volume_close(&image);
    if (status == STATUS_STOPPED)
        return fail(failure, status, "stopped; the same command goes on with the cases that are left");
    if (status != STATUS_OK) return status;
    status = nifti_write_labels(path, &labels, failure);
    label_map_close(&labels);
    return status;
}

static status_code take_case(job *j, const dataset_case *one, failure *failure) {
    char name[PATH_SIZE], path[PATH_SIZE];
    if (!one->labels) return fail(failure, STATUS_BAD_INPUT, "%.300s has no labels of %.200s", j->set.folder, one->id);
    snprintf(name, sizeof name, "%s%s", one->id, j->set.file_ending);
    status_code status = path_join(path, j->validation, name, failure);
    if (status == STATUS_OK && (j->asked->overwrite || !is_current(j, path))) status = predict(j, one, path, failure);
    return status == STATUS_OK ? case_files_add(&j->files, one->id, path, one->labels, one->images[0], failure)
                               : status;
}

static status_code take_cases(job *j, failure *failure) {
    const split *fold = j->fold.count ? &j->fold.folds[0] : 0;
    const size_t count = fold ? fold->val_count : j->set.train_count;
    cli_progress progress;
    status_code status = STATUS_OK;
    cli_progress_start(&progress, "predicting", j->asked->quiet);
    for (size_t k = 0; k < count && status == STATUS_OK; k++) {
        status = take_case(j, &j->set.train[fold ? fold->val[k] : k], failure);
        cli_progress_step(&progress, k + 1, count);
    }
    cli_progress_end(&progress);
    return status;
}

/* The names that dataset.json gives the labels, or their numbers if a name cannot stand in a table. */
static void list_labels(const dataset *set, text *labels, text *regions) {
    int named = 1;
    for (int k = 0; k < set->label_count; k++) named = named && region_name_is_good(set->labels[k].name);
    for (int value = 1; value < set->values; value++)
        for (int k = 0; k < set->label_count; k++) {
            if (set->labels[k].count != 1 || set->labels[k].values[0] != value) continue;
            if (named) text_format(regions, "%s%s=%d", value > 1 ? "," : "", set->labels[k].name, value);
            else text_format(labels, "%s%d", value > 1 ? "," : "", value);
        }
}

static int score(job *j) {
    text labels = {0}, regions = {0};
    list_labels(&j->set, &labels, &regions);
    const evaluate_settings settings = {.listed = &j->files,
                                        .labels = labels.bytes,
                                        .regions = regions.bytes,
                                        .groups = *j->groups ? j->groups : 0,
                                        .out = out_folder(j),
                                        .ignore = j->set.ignore > 0 ? j->set.ignore : 0,
                                        .threads = j->asked->threads,
                                        .hd95 = j->asked->hd95,
                                        .surface = j->asked->surface,
                                        .quiet = j->asked->quiet,
                                        .no_table = j->asked->quiet};
    const int code =
        labels.failed || regions.failed ? cli_error(EXIT_FAILED, "out of memory") : evaluate_folders(&settings);
    text_close(&labels);
    text_close(&regions);
    return code;
}

int evaluate_volumes(const evaluate_volumes_settings *asked) {
    static job j;
    failure failure = {0};
    j = (job){.asked = asked, .settings = settings_default_volumes()};
    cli_catch_interrupts();
    status_code status = prepare(&j, &failure);
    if (status == STATUS_OK) status = take_cases(&j, &failure);
    const int code = status == STATUS_OK ? score(&j) : cli_error(cli_exit_code(status), "%s", failure.message);
    segmenter_close(&j.segmenter);
    case_files_close(&j.files);
    splits_close(&j.fold);
    dataset_close(&j.set);
    settings_close(&j.settings);
    return code;
}
