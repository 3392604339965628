#define _POSIX_C_SOURCE 200809L
#include "core/replaceable.h"
#include "core/whole_file.h"
#include "images/example_list.h"
#include "images/idx.h"
#include "predict/predict_pictures.h"
#include "predict/predict_table.h"
#include "predict/score_table.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the table of probabilities. */
#define TABLE_BEGINNING "image,prediction"

typedef struct job {
    const predict_request *request;
    const listener *listener;
    class_ensemble ensemble;
    class_threshold threshold;
    size_t done;
} job;

/* The name of the labels' file for one of images: without its folder, "images" and "idx3" exchanged, without ".gz". */
static status_code labels_name(const char *images_path, char name[PATH_SIZE], failure *failure) {
    char base[PATH_SIZE];
    status_code status = path_format(base, failure, "%s", path_name(images_path));
    if (status != STATUS_OK) return status;
    const size_t length = strlen(base);
    if (length > 3 && strcmp(base + length - 3, ".gz") == 0) base[length - 3] = 0;
    char *images = strstr(base, "images");
    if (!images) return path_format(name, failure, "%s-labels", base);
    memcpy(images, "labels", 6);
    char *idx = strstr(base, "idx3");
    if (idx) idx[3] = '1';
    return path_format(name, failure, "%s", base);
}

/* Where the labels of a file of images go, and the table of their probabilities. */
static status_code outputs_of(const job *j, const char *images, char labels[PATH_SIZE], char table[PATH_SIZE],
                              failure *failure) {
    char name[PATH_SIZE];
    status_code status = labels_name(images, name, failure);
    if (status == STATUS_OK) status = path_join(labels, j->request->output, name, failure);
    return status == STATUS_OK ? path_format(table, failure, "%s.csv", labels) : status;
}

static int holds_probabilities(const char *beginning, const void *context) {
    (void)context;
    return strncmp(beginning, TABLE_BEGINNING, sizeof TABLE_BEGINNING - 1) == 0;
}

/* Labels look the same whoever gave them: the table beside them, which is written first, tells. */
static int are_predicted(const char *beginning, const void *table) {
    (void)beginning;
    char other[BEGINNING_SIZE];
    return file_beginning(table, other) && holds_probabilities(other, NULL);
}

static status_code check_outputs(const job *j, const char *images, failure *failure) {
    char labels[PATH_SIZE], table[PATH_SIZE];
    status_code status = outputs_of(j, images, labels, table, failure);
    if (status == STATUS_OK) status = replaceable_check(table, holds_probabilities, NULL, "predictions", failure);
    return status == STATUS_OK ? replaceable_check(labels, are_predicted, table, "predictions", failure) : status;
}

static void add_rows(const labelled_images *set, const float *probabilities, class_threshold threshold, uint8_t *labels,
                     text *csv) {
    text_add(csv, TABLE_BEGINNING);
    for (int k = 0; k < set->classes; k++) text_format(csv, ",p_%d", k);
    text_add(csv, "\n");
    for (int64_t i = 0; i < set->count; i++) {
        const float *p = probabilities + (size_t)i * (size_t)set->classes;
        const int best = class_threshold_decide(threshold, p, set->classes);
        labels[i] = (uint8_t)best;
        text_format(csv, "%lld,%d", (long long)i, best);
        for (int k = 0; k < set->classes; k++) text_format(csv, ",%.9g", (double)p[k]);
        text_add(csv, "\n");
    }
}

static status_code write_labels(const job *j, const char *images, const labelled_images *set,
                                const float *probabilities, failure *failure) {
    char path[PATH_SIZE], table[PATH_SIZE];
    text csv = {0};
    status_code status = outputs_of(j, images, path, table, failure);
    if (status != STATUS_OK) return status;
    uint8_t *labels = malloc((size_t)set->count + 1);
    if (!labels) return fail_memory(failure, "the labels");
    add_rows(set, probabilities, j->threshold, labels, &csv);
    status = whole_file_write_text(table, &csv, failure);
    if (status == STATUS_OK) status = idx_write_labels(labels, set->count, path, failure);
    if (status == STATUS_OK && j->request->wrote)
        j->request->wrote(j->request->context, path, (size_t)set->count, "image");
    text_close(&csv);
    free(labels);
    return status;
}

/* Their pixels are bytes. */
static status_code check_greys(const job *j, const char *images, failure *failure) {
    const char *greys = j->ensemble.models[0].config.settings.greys;
    if (!*greys) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%.500s: is an IDX file, but the run was trained on pictures of 16 bits (--greys %.100s)", images,
                greys);
}

static status_code predict_file(job *j, const char *images, failure *failure) {
    labelled_images set;
    status_code status = check_greys(j, images, failure);
    if (status == STATUS_OK) status = check_outputs(j, images, failure);
    if (status == STATUS_OK) status = idx_open(&set, images, 0, j->ensemble.models[0].classes, failure);
    if (status != STATUS_OK) return status;
    float *mean = malloc((size_t)set.count * (size_t)set.classes * sizeof *mean + 1);
    status = mean ? folder_make(j->request->output, failure) : fail_memory(failure, "the probabilities");
    if (status == STATUS_OK) status = class_ensemble_run(&j->ensemble, &set, j->listener, mean, failure);
    if (status == STATUS_OK) status = write_labels(j, images, &set, mean, failure);
    if (status == STATUS_OK) j->done++;
    free(mean);
    labelled_images_close(&set);
    return status;
}

static int holds_images(const struct dirent *entry) { return strstr(entry->d_name, "images") != 0; }

static const char *what_is_taken(const job *j) {
    return run_has(j->request->runs[0], RUN_FEATURES) ? "this run takes a table, as a CSV file"
                                                      : "this run takes PNG and JPEG files, folders of them, CSV files "
                                                        "that list them, and IDX files of images";
}

/* Whether a file may be one of IDX, plain or in gzip; what is wrong with such a one its reader says. */
static status_code check_idx(const job *j, const char *path, failure *failure) {
    char beginning[BEGINNING_SIZE];
    if (!file_beginning(path, beginning) || !beginning[0] || memcmp(beginning, "\x1f\x8b", 2) == 0) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "%.500s: is neither a picture nor a table nor an IDX file; %s", path,
                what_is_taken(j));
}

static status_code predict_folder(job *j, failure *failure) {
    struct dirent **entries;
    char path[PATH_SIZE];
    const char *input = j->request->input;
    const int count = scandir(input, &entries, holds_images, alphasort);
    status_code status = STATUS_OK;
    if (count < 0) status = fail_unreadable(failure, input, errno);
    if (count == 0)
        status = fail(failure, STATUS_BAD_INPUT,
                      "%.500s: has neither pictures (.png, .jpg, .jpeg) nor IDX files with 'images' in their names; %s",
                      input, what_is_taken(j));
    for (int k = 0; k < count; k++) {
        if (status == STATUS_OK) listener_progress(j->listener, "predicting", (size_t)k, (size_t)count);
        if (status == STATUS_OK) status = path_join(path, input, entries[k]->d_name, failure);
        if (status == STATUS_OK) status = predict_file(j, path, failure);
        free(entries[k]);
    }
    if (count >= 0) free(entries);
    return status;
}

/* The folder that holds the images: the input, or where the input is. */
static status_code check_apart(const predict_request *request, int is_folder, failure *failure) {
    char folder[PATH_SIZE];
    const char *input = request->input;
    if (is_folder) return predict_check_apart(input, request->output, failure);
    const status_code status = path_format(folder, failure, "%.*s.", (int)(path_name(input) - input), input);
    return status == STATUS_OK ? predict_check_apart(folder, request->output, failure) : status;
}

static status_code predict_all(job *j, failure *failure) {
    const predict_request *r = j->request;
    const int is_folder = path_is_folder(r->input);
    int table = 0, pictures = 0;
    status_code status = predict_is_picture(r->input) ? STATUS_OK : predict_takes_table(r->input, &table, failure);
    if (status == STATUS_OK && !table) status = predict_takes_pictures(r->input, &pictures, failure);
    if (status != STATUS_OK) return status;
    status = pictures || table ? score_table_check(r, failure) : check_apart(r, is_folder, failure);
    if (status == STATUS_OK)
        status = class_ensemble_open(&j->ensemble, r->runs, r->run_count,
                                     &(classifier_options){.weights = r->weights, .threads = r->threads}, failure);
    if (status == STATUS_OK)
        status = class_threshold_parse(r->threshold, &j->ensemble.models[0].config.facts, &j->threshold, failure);
    if (status != STATUS_OK) return status;
    if (table) return predict_table(r, &j->ensemble, j->listener, &j->done, failure);
    if (pictures) return predict_pictures(r, &j->ensemble, j->listener, &j->done, failure);
    if (is_folder) return predict_folder(j, failure);
    status = check_idx(j, r->input, failure);
    return status == STATUS_OK ? predict_file(j, r->input, failure) : status;
}

status_code predict_images(const predict_request *request, const listener *listener, size_t *done, failure *failure) {
    job j = {.request = request, .listener = listener};
    const status_code status = predict_all(&j, failure);
    class_ensemble_close(&j.ensemble);
    *done = j.done;
    return status;
}
