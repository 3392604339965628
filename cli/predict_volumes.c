/* hws predict for volumes. */
#define _POSIX_C_SOURCE 200809L
#include "predict_volumes.h"
#include "cli.h"
#include "interrupt.h"
#include "nifti/nifti.h"
#include "predict/case_list.h"
#include "predict/predictor.h"
#include "progress.h"
#include "run/run_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* All windows of all images count the same, so that the time left can be told. */
typedef struct job {
    const volumes_prediction *asked;
    predictor *predictor;
    cli_progress progress;
    size_t done, cases;
} job;

static status_code tell(void *context, size_t done, size_t all, failure *failure) {
    job *j = context;
    cli_progress_step(&j->progress, j->done * 1000 + done * 1000 / all, j->cases * 1000);
    return cli_interrupted ? fail(failure, STATUS_STOPPED,
                                  "stopped; images that are done are in %.500s, and the same command "
                                  "goes on with the others",
                                  j->asked->output)
                           : STATUS_OK;
}

static status_code fail_case(const listed_case *one, status_code status, failure *failure) {
    const struct failure reason = *failure;
    return fail(failure, status, "%.200s: %.700s", one->id, reason.message);
}

static status_code predict_case(job *j, const listed_case *one, failure *failure) {
    char path[PATH_SIZE];
    if (snprintf(path, sizeof path, "%s/%s%s", j->asked->output, one->id, one->ending) >= PATH_SIZE)
        return fail(failure, STATUS_BAD_INPUT, "%.300s...: the path is too long", j->asked->output);
    if (!j->asked->overwrite && access(path, F_OK) == 0) return STATUS_OK;
    volume image;
    label_map labels;
    status_code status = case_list_load(one, predictor_plan(j->predictor)->channels, &image, failure);
    if (status != STATUS_OK) return status;
    status = predictor_run(j->predictor, &image, &labels, failure);
    volume_close(&image);
    if (status != STATUS_OK) return cli_interrupted ? status : fail_case(one, status, failure);
    status = nifti_write_labels(path, &labels, failure);
    label_map_close(&labels);
    return status;
}

/* Label maps beside the images would be taken for images, or take their places. */
static status_code check_apart(const volumes_prediction *asked, failure *failure) {
    struct stat input, output;
    if (stat(asked->input, &input) != 0 || stat(asked->output, &output) != 0) return STATUS_OK;
    if (input.st_dev != output.st_dev || input.st_ino != output.st_ino) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "%.500s holds the images: name another folder with --output", asked->output);
}

static status_code predict_all(job *j, const case_list *list, failure *failure) {
    status_code status = STATUS_OK;
    j->cases = list->count;
    cli_progress_start(&j->progress, "predicting", j->asked->quiet);
    for (size_t k = 0; k < list->count && status == STATUS_OK; k++) {
        status = predict_case(j, &list->cases[k], failure);
        j->done++;
        cli_progress_step(&j->progress, j->done * 1000, j->cases * 1000);
    }
    cli_progress_end(&j->progress);
    return status;
}

int predict_volumes(const volumes_prediction *asked) {
    failure failure = {0};
    job j = {.asked = asked};
    predictor_options options = predictor_options_default();
    options.weights = asked->weights;
    options.threads = asked->threads;
    options.bf16 = asked->bf16;
    options.step = asked->step;
    options.mirror = asked->mirror;
    options.temporary = asked->output;
    options.progress = tell;
    options.context = &j;
    cli_catch_interrupts();
    case_list list = {0};
    status_code status = check_apart(asked, &failure);
    if (status == STATUS_OK) status = predictor_open(&j.predictor, &options, asked->runs, asked->run_count, &failure);
    if (status == STATUS_OK)
        status = case_list_open(&list, asked->input, predictor_plan(j.predictor)->channels, &failure);
    if (status == STATUS_OK) status = folder_make(asked->output, &failure);
    if (status == STATUS_OK) status = predict_all(&j, &list, &failure);
    if (status == STATUS_OK && !asked->quiet) printf("%zu label maps in %s\n", list.count, asked->output);
    case_list_close(&list);
    predictor_close(&j.predictor);
    if (status == STATUS_OK) return EXIT_DONE;
    return cli_error(cli_exit_code(status), "%s", failure.message);
}
