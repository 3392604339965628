/* hws evaluate RUN for a run that segments volumes. */
#define _POSIX_C_SOURCE 200809L
#include "cache_progress.h"
#include "cli.h"
#include "eval/regions.h"
#include "evaluate.h"
#include "interrupt.h"
#include "phantom_data.h"
#include "predict/predictor.h"
#include "train/run_files.h"
#include "train/segmentation_source.h"
#include "volume/nifti.h"

#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct job {
    const evaluate_volumes_settings *asked;
    train_settings settings;
    segmentation_source *source;
    predictor *predictor;
    char folder[RUN_PATH], validation[RUN_PATH], references[RUN_PATH], images[RUN_PATH], groups[RUN_PATH];
} job;

static hws_status go_on(void *context, size_t done, size_t all, failure *failure) {
    (void)context, (void)done, (void)all;
    return cli_interrupted
               ? fail(failure, HWS_ERROR_IO, "stopped; the same command goes on with the cases that are left")
               : HWS_OK;
}

/* Other weights and unmirrored windows give other label maps: each has its place. */
static const char *validation_name(const evaluate_volumes_settings *asked) {
    const int latest = strcmp(asked->weights, "latest.safetensors") == 0;
    if (asked->no_mirror) return latest ? "validation-latest-unmirrored" : "validation-unmirrored";
    return latest ? "validation-latest" : "validation";
}

static hws_status open_run(job *j, failure *failure) {
    char path[RUN_PATH];
    if (!run_path(path, j->asked->run, "config.json") ||
        !run_path(j->validation, j->asked->run, validation_name(j->asked)))
        return fail(failure, HWS_ERROR_IO, "the path %.100s... is too long", j->asked->run);
    hws_status status = settings_read_file(&j->settings, path, failure);
    j->settings.threads = j->asked->threads;
    if (status == HWS_OK && phantom_data_named(j->settings.data)) {
        status = phantom_data_folder(j->folder, j->asked->threads, j->asked->quiet, failure);
        j->settings.data = j->folder;
    }
    cache_progress progress = {.quiet = j->asked->quiet};
    const cache_listener listener = cache_progress_listener(&progress);
    if (status == HWS_OK)
        status = segmentation_source_open(&j->source, &j->settings, &listener, &cli_interrupted, failure);
    cache_progress_end(&progress);
    if (status != HWS_OK) return status;
    predictor_options options = predictor_options_default();
    options.weights = j->asked->weights;
    options.threads = j->asked->threads;
    options.mirror = !j->asked->no_mirror;
    options.temporary = j->asked->run;
    options.progress = go_on;
    status = predictor_open(&j->predictor, &options, &j->asked->run, 1, failure);
    return status == HWS_OK ? run_make_folder(j->validation, failure) : status;
}

/* Newer than the weights, so made by them. */
static int is_current(const job *j, const char *path) {
    struct stat map, weights;
    char file[RUN_PATH];
    return run_path(file, j->asked->run, j->asked->weights) && stat(file, &weights) == 0 && stat(path, &map) == 0 &&
           (map.st_mtim.tv_sec > weights.st_mtim.tv_sec ||
            (map.st_mtim.tv_sec == weights.st_mtim.tv_sec && map.st_mtim.tv_nsec > weights.st_mtim.tv_nsec));
}

/* The prediction gets the name of the reference, as hws evaluate wants it. */
static hws_status predict_case(job *j, const dataset *set, const char *id, failure *failure) {
    const dataset_case *one = dataset_find(set, id);
    char name[RUN_PATH], path[RUN_PATH];
    if (!one || !one->labels)
        return fail(failure, HWS_ERROR_ARGUMENT, "%.300s has no case %.200s any more", set->folder, id);
    snprintf(name, sizeof name, "%s", one->labels);
    if (!run_path(path, j->validation, basename(name)))
        return fail(failure, HWS_ERROR_IO, "the path %.100s... is too long", j->validation);
    snprintf(name, sizeof name, "%s", one->labels);
    snprintf(j->references, sizeof j->references, "%s", dirname(name));
    snprintf(name, sizeof name, "%s", one->images[0]);
    snprintf(j->images, sizeof j->images, "%s", dirname(name));
    if (!j->asked->overwrite && is_current(j, path)) return HWS_OK;
    volume image;
    label_map labels;
    hws_status status = dataset_load(set, one, &image, 0, failure);
    if (status != HWS_OK) return status;
    status = predictor_run(j->predictor, &image, &labels, failure);
    volume_close(&image);
    if (status != HWS_OK) return status;
    status = nifti_write_labels(path, &labels, failure);
    label_map_close(&labels);
    return status;
}

static hws_status predict_validation(job *j, failure *failure) {
    const segmentation_data *data = segmentation_source_data(j->source);
    cli_progress progress;
    hws_status status = HWS_OK;
    cli_progress_start(&progress, "predicting", j->asked->quiet);
    for (int64_t k = 0; k < data->validation_count && status == HWS_OK; k++) {
        status = predict_case(j, segmentation_source_dataset(j->source), data->validation[k].name, failure);
        cli_progress_step(&progress, (size_t)k + 1, (size_t)data->validation_count);
    }
    cli_progress_end(&progress);
    return status;
}

/* Labels go by the names that dataset.json gives them, unless a name holds what separates them. */
static void list_labels(const segmentation_data *data, text *labels, text *regions) {
    int named = 1;
    for (int k = 1; k < data->plan->classes; k++)
        named = named && *data->label_names[k] && !strpbrk(data->label_names[k], ",=+") &&
                strlen(data->label_names[k]) < REGION_NAME_BYTES;
    for (int k = 1; k < data->plan->classes; k++)
        if (named) text_format(regions, "%s%s=%d", k > 1 ? "," : "", data->label_names[k], k);
        else text_format(labels, "%s%d", k > 1 ? "," : "", k);
}

static int score(job *j) {
    const dataset *set = segmentation_source_dataset(j->source);
    const int grouped = run_path(j->groups, set->folder, "groups.csv") && access(j->groups, F_OK) == 0;
    text labels = {0}, regions = {0};
    list_labels(segmentation_source_data(j->source), &labels, &regions);
    if (labels.failed || regions.failed) return cli_error(EXIT_FAILED, "out of memory");
    if (set->ignore >= 0 && !j->asked->quiet)
        fprintf(stderr, "note: voxels with the label %d, to be ignored, count as background here\n", set->ignore);
    const evaluate_settings settings = {.predictions = j->validation,
                                        .labels = labels.bytes,
                                        .regions = regions.bytes,
                                        .references = j->references,
                                        .groups = grouped ? j->groups : 0,
                                        .images = j->images,
                                        .out = j->asked->out ? j->asked->out : j->asked->run,
                                        .threads = j->asked->threads,
                                        .hd95 = j->asked->hd95,
                                        .surface = j->asked->surface,
                                        .common = 1,
                                        .quiet = 1,
                                        .no_table = j->asked->quiet};
    const int code = evaluate_folders(&settings);
    text_close(&labels);
    text_close(&regions);
    return code;
}

int evaluate_volumes(const evaluate_volumes_settings *asked) {
    static job j;
    failure failure = {0};
    j = (job){.asked = asked, .settings = settings_default_volumes()};
    cli_catch_interrupts();
    hws_status status = open_run(&j, &failure);
    if (status == HWS_OK) status = predict_validation(&j, &failure);
    const int code = status == HWS_OK ? score(&j) : cli_error(cli_exit_code(status), "%s", failure.message);
    predictor_close(&j.predictor);
    segmentation_source_close(&j.source);
    settings_close(&j.settings);
    return code;
}
