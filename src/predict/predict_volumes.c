#define _POSIX_C_SOURCE 200809L
#include "core/crc64.h"
#include "core/memory.h"
#include "core/text.h"
#include "core/utf8.h"
#include "nifti/nifti.h"
#include "predict/case_list.h"
#include "predict/postprocessing.h"
#include "predict/predict.h"
#include "predict/probability_file.h"
#include "predict/segmenter.h"
#include "ranks/shared_work.h"

#include <stdlib.h>
#include <string.h>

/* What became of a case. */
typedef struct case_result {
    int found;          /* its label map was there before */
    status_code status; /* its image is broken: why */
    char why[512];
} case_result;

typedef struct job {
    const predict_request *request;
    const ranks *ranks; /* to whom the cases are dealt */
    shared_work *work;
    const listener *listener; /* of this rank's share */
    listener windows;         /* of one image: passes on to that */
    segmenter *segmenter;
    postprocessing after;
    case_result *results; /* of all cases */
    size_t done;          /* cases, of this rank's share */
    size_t steps;         /* of all cases */
} job;

static void tell(void *context, const char *what, size_t done, size_t total) {
    const job *j = context;
    listener_progress(j->listener, what, j->done * PREDICT_STEPS + done * PREDICT_STEPS / total, j->steps);
}

static int stops(void *context) { return listener_stops(((const job *)context)->listener); }

/* A failure that names the image it is about. */
static status_code fail_case(const listed_case *one, status_code status, failure *failure) {
    const struct failure reason = *failure;
    if (status == STATUS_STOPPED) return status;
    return fail(failure, status, "%.200s: %.700s", one->id, reason.message);
}

/* What is wrong with one image does not keep the others from being predicted. */
static int is_about_the_image(status_code status) {
    return status == STATUS_BAD_INPUT || status == STATUS_CORRUPT || status == STATUS_CANNOT_READ ||
           status == STATUS_NOT_FINITE;
}

/* Where a case's files go; `probabilities` is empty where they are not asked for. */
typedef struct case_files {
    char labels[PATH_SIZE], probabilities[PATH_SIZE];
} case_files;

static status_code name_files(const job *j, const listed_case *one, case_files *files, failure *failure) {
    files->probabilities[0] = 0;
    status_code status = path_format(files->labels, failure, "%s/%s%s", j->request->output, one->id, one->ending);
    if (status == STATUS_OK && j->request->save_probabilities)
        status = path_format(files->probabilities, failure, "%s/%s.npz", j->request->output, one->id);
    return status;
}

static int is_done(const case_files *files) {
    return path_exists(files->labels) && (!*files->probabilities || path_exists(files->probabilities));
}

/* Labels are written last: who finds them finds the probabilities, too. */
static status_code label(job *j, const volume *image, const case_files *files, failure *failure) {
    const int outputs = segmenter_plan(j->segmenter)->classes;
    const size_t voxels = volume_grid_voxels(&image->grid);
    label_map labels = {0};
    segmenter_output output = {0};
    status_code status = label_map_open(&labels, &image->grid, failure);
    if (status == STATUS_OK && *files->probabilities) {
        output.probabilities = memory_open(voxels * (size_t)outputs * sizeof *output.probabilities);
        if (!output.probabilities) status = fail_memory(failure, "the probabilities");
    }
    output.labels = labels.labels;
    if (status == STATUS_OK) status = segmenter_run(j->segmenter, image, &output, &j->windows, failure);
    if (status == STATUS_OK) status = postprocessing_apply(&j->after, image->grid.size, labels.labels, failure);
    if (status == STATUS_OK && output.probabilities)
        status = probability_file_write(files->probabilities, &image->grid, outputs, output.probabilities, failure);
    if (status == STATUS_OK) status = nifti_write_labels(files->labels, &labels, failure);
    memory_close(output.probabilities);
    label_map_close(&labels);
    return status;
}

static int is_found(const job *j, const case_files *files) { return !j->request->overwrite && is_done(files); }

static status_code predict_image(job *j, const listed_case *one, const case_files *files, failure *failure) {
    volume image;
    status_code status = case_list_load(one, segmenter_plan(j->segmenter)->channels, &image, failure);
    if (status != STATUS_OK) return status;
    status = label(j, &image, files, failure);
    volume_close(&image);
    return status == STATUS_OK ? STATUS_OK : fail_case(one, status, failure);
}

static status_code predict_case(job *j, const listed_case *one, case_result *result, failure *failure) {
    case_files files;
    struct failure why = {0};
    status_code status = name_files(j, one, &files, failure);
    result->found = status == STATUS_OK && is_found(j, &files);
    if (status != STATUS_OK || result->found) return status;
    status = predict_image(j, one, &files, &why);
    if (status == STATUS_OK) return STATUS_OK;
    if (!is_about_the_image(status)) return fail(failure, status, "%s", why.message);
    result->status = status;
    utf8_copy(result->why, sizeof result->why, why.message);
    return STATUS_OK;
}

static status_code predict_share(job *j, const case_list *list, size_t *failed, failure *failure) {
    for (size_t k = 0; k < list->count; k++) {
        if (!ranks_has(j->ranks, k)) continue;
        shared_work_at(j->work, k);
        const status_code status = predict_case(j, &list->cases[k], &j->results[k], failure);
        *failed = k;
        if (status != STATUS_OK) return status;
        listener_progress(j->listener, "predicting", ++j->done * PREDICT_STEPS, j->steps);
    }
    return STATUS_OK;
}

static status_code predict_cases(job *j, const case_list *list, const listener *listener, failure *failure) {
    shared_work work;
    size_t failed = 0;
    j->work = &work;
    j->steps = list->count * PREDICT_STEPS;
    j->listener = shared_work_begin(&work, j->ranks, listener, j->steps);
    status_code status = predict_share(j, list, &failed, failure);
    status = shared_work_end(&work, status, status == STATUS_STOPPED ? list->count : failed, failure);
    if (status == STATUS_STOPPED)
        fail(failure, status,
             j->request->overwrite
                 ? "stopped; of the label maps in %.500s some are new and others as before: the same command predicts "
                   "all again, without --overwrite those that are there are kept"
                 : "stopped; images that are done are in %.500s, and the same command goes on with the others",
             j->request->output);
    return status == STATUS_OK ? ranks_gather_items(j->ranks, j->results, list->count, sizeof *j->results, failure)
                               : status;
}

/* Why the images that are broken are, in the order of the cases: whoever of the ranks met them. */
static status_code fail_broken(const job *j, const case_list *list, failure *failure) {
    enum { MOST = 700 }; /* bytes that are told of them */
    size_t broken = 0, told = 0, last = 0;
    text reasons = {0};
    for (size_t k = 0; k < list->count; k++) {
        if (j->results[k].status == STATUS_OK) continue;
        broken++;
        last = k;
        if (reasons.size >= MOST) continue;
        text_format(&reasons, "%s%s", told++ ? "; " : "", j->results[k].why);
    }
    if (broken > told) text_format(&reasons, "; and %zu more", broken - told);
    status_code status = STATUS_OK;
    if (broken && list->count == 1) status = fail(failure, j->results[last].status, "%s", j->results[last].why);
    else if (broken)
        status = fail(failure, STATUS_FAILED, "%zu of %zu cases could not be predicted, the others are in %.200s: %s",
                      broken, list->count, j->request->output, text_string(&reasons));
    text_close(&reasons);
    return status;
}

/* By the first rank: wrong channels are a mistake in the input as a whole, and are told before hours of work. */
static status_code check_headers(const job *j, const case_list *list, const listener *listener, failure *failure) {
    status_code status = STATUS_OK;
    case_files files;
    spacing_doubts doubts = {0};
    for (size_t k = 0; k < list->count && status == STATUS_OK && ranks_is_first(j->ranks); k++) {
        status = name_files(j, &list->cases[k], &files, failure);
        if (status == STATUS_OK && !is_found(j, &files))
            status = case_list_check(&list->cases[k], segmenter_plan(j->segmenter)->channels, &doubts, failure);
    }
    spacing_doubts_tell(&doubts, listener);
    return ranks_agree(j->ranks, status, failure);
}

static status_code predict_list(job *j, const case_list *list, const listener *listener, failure *failure) {
    j->results = calloc(list->count, sizeof *j->results);
    status_code status = check_headers(j, list, listener, failure);
    if (status != STATUS_OK) return status;
    status = j->results ? folder_make(j->request->output, failure) : fail_memory(failure, "the list of cases");
    status = ranks_agree(j->ranks, status, failure);
    return status == STATUS_OK ? predict_cases(j, list, listener, failure) : status;
}

/* Of all ranks if the work was not ended, else of this one. */
static predict_outcome outcome_of(const job *j, const case_list *list, status_code status) {
    predict_outcome outcome = {.volumes = 1, .done = status == STATUS_OK ? list->count : j->done};
    for (size_t k = 0; k < list->count && status == STATUS_OK; k++) {
        outcome.found += (size_t)j->results[k].found;
        outcome.done -= j->results[k].status != STATUS_OK;
    }
    return outcome;
}

/* Who see other cases would wait for each other forever. */
static status_code check_same_cases(const job *j, const case_list *list, failure *failure) {
    crc64 crc;
    crc64_start(&crc);
    for (size_t k = 0; k < list->count; k++) crc64_add(&crc, list->cases[k].id, strlen(list->cases[k].id) + 1);
    return ranks_check_same(j->ranks, crc64_value(&crc), j->request->input, failure);
}

static status_code open_segmenter(job *j, failure *failure) {
    const predict_request *r = j->request;
    segmenter_options options = segmenter_options_default();
    options.weights = r->weights;
    options.threads = r->threads;
    options.bf16 = r->bf16;
    options.step = r->step;
    options.mirror = r->mirror;
    options.average = r->average;
    options.temporary = r->output;
    options.adapts = 1;
    return segmenter_open(&j->segmenter, &options, r->runs, r->run_count, failure);
}

/* The folder of the images: the input, or that of the file that is the input. */
static status_code images_folder(const char *input, char folder[PATH_SIZE], failure *failure) {
    const char *slash = strrchr(input, '/');
    if (path_is_folder(input)) return path_format(folder, failure, "%s", input);
    if (!slash) return path_format(folder, failure, ".");
    return path_format(folder, failure, "%.*s", slash == input ? 1 : (int)(slash - input), input);
}

/* A folder called scan.nii.gz would be taken for the label map. */
static status_code check_output(const char *output, failure *failure) {
    if (path_is_folder(output) || (!path_ends_with(output, ".nii") && !path_ends_with(output, ".nii.gz")))
        return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "--output %.500s is called as a file, but label maps go into a folder, as CASE.nii.gz: name a folder",
                output);
}

status_code predict_volumes(const predict_request *request, const listener *listener, predict_outcome *outcome,
                            failure *failure) {
    job j = {.request = request, .ranks = ranks_here()};
    j.windows = (struct listener){.context = &j, .progress = tell, .stop = stops};
    case_list list = {0};
    char folder[PATH_SIZE];
    status_code status = check_output(request->output, failure);
    if (status == STATUS_OK) status = images_folder(request->input, folder, failure);
    if (status == STATUS_OK) status = predict_check_apart(folder, request->output, failure);
    if (status == STATUS_OK && request->postprocessing)
        status = postprocessing_read(&j.after, request->postprocessing, failure);
    if (status == STATUS_OK) status = open_segmenter(&j, failure);
    if (status == STATUS_OK)
        status = case_list_open(&list, folder, path_is_folder(request->input) ? NULL : path_name(request->input),
                                segmenter_plan(j.segmenter)->channels, failure);
    status = ranks_agree(j.ranks, status, failure);
    if (status == STATUS_OK) status = check_same_cases(&j, &list, failure);
    if (status == STATUS_OK) status = predict_list(&j, &list, listener, failure);
    *outcome = outcome_of(&j, &list, status);
    if (status == STATUS_OK) status = fail_broken(&j, &list, failure);
    free(j.results);
    case_list_close(&list);
    segmenter_close(&j.segmenter);
    return status;
}
