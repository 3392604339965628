/* What --tensorboard writes at the end of an epoch. */
#define _POSIX_C_SOURCE 200809L
#include "core/csv.h"
#include "core/whole_file.h"
#include "run/run_folder.h"
#include "tensorboard/event_file.h"
#include "train/records.h"
#include "train/sampler_status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BUCKETS = 40, PICTURES = 12, PICTURE_LIMIT = 1 << 26, TAG_SIZE = 256 };

/* A file of its own for each process, so that a run that goes on adds one. */
static status_code events_path(const trainer *t, char path[PATH_SIZE], failure *failure) {
    static long long started;
    char folder[PATH_SIZE];
    status_code status = run_path(folder, t->folder, RUN_TENSORBOARD, failure);
    if (status == STATUS_OK) status = folder_make(folder, failure);
    if (!started) started = (long long)time(NULL);
    return status == STATUS_OK
               ? path_format(path, failure, "%s/events.out.tfevents.%lld.hws.%ld", folder, started, (long)getpid())
               : status;
}

/* The columns of history.csv by their names, the last row's numbers. */
static status_code add_scalars(const trainer *t, event *event, failure *failure) {
    text history = {0};
    csv csv = {0};
    rows_history(&t->rows, t->task, &history);
    const status_code status =
        history.failed ? fail_memory(failure, "the history")
                       : csv_parse(&csv, "the history", text_string(&history), history.size, CSV_STRICT, failure);
    for (size_t k = 0; status == STATUS_OK && csv.rows && k < csv.columns; k++) {
        const char *number = csv_cell(&csv, csv.rows - 1, k);
        if (*number) event_add_scalar(event, csv_name(&csv, k), strtod(number, NULL));
    }
    csv_close(&csv);
    text_close(&history);
    return status;
}

static status_code add_distributions(trainer *t, event *event, failure *failure) {
    const int64_t n = t->task->examples;
    double *values = malloc((size_t)n * sizeof *values);
    if (!values) return fail_memory(failure, "the distribution of the losses");
    hws_status status = hws_sampler_get_losses(t->history, 0, n, t->all);
    for (int64_t i = 0; i < n && status == HWS_OK; i++) values[i] = (double)t->all[i];
    if (status == HWS_OK) event_add_histogram(event, "losses", values, (size_t)n, BUCKETS);
    if (status == HWS_OK) status = hws_sampler_probabilities(t->history, 0, n, values);
    for (int64_t i = 0; i < n && status == HWS_OK; i++) values[i] *= (double)n;
    if (status == HWS_OK) event_add_histogram(event, "chances", values, (size_t)n, BUCKETS);
    free(values);
    return sampler_status(hws_sampler_error(t->history), status, "the distribution", failure);
}

/* Pictures of the hardest examples, where there are any (write_hardest). */
static status_code add_pictures(trainer *t, event *event, failure *failure) {
    int64_t examples[PICTURES];
    const int64_t n = t->task->examples, count = n < PICTURES ? n : PICTURES;
    const hws_status found = hws_sampler_hardest(t->history, count, examples, t->all);
    if (found != HWS_OK) return sampler_status(hws_sampler_error(t->history), found, "the hardest examples", failure);
    for (int64_t k = 0; k < count; k++) {
        char path[PATH_SIZE], tag[TAG_SIZE], *bytes;
        size_t size;
        text name = {0};
        t->task->name(t->task->context, examples[k], &name);
        snprintf(tag, sizeof tag, "hardest/%lld", (long long)k + 1);
        const int there =
            run_picture_path(path, t->folder, RUN_HARDEST_PICTURES, text_string(&name), NULL) == STATUS_OK &&
            whole_file_read(path, PICTURE_LIMIT, &bytes, &size, NULL) == STATUS_OK;
        if (there) event_add_png(event, tag, bytes, size);
        if (there) free(bytes);
        text_close(&name);
    }
    return STATUS_OK;
}

status_code write_events(trainer *t, failure *failure) {
    char path[PATH_SIZE];
    event event;
    if (!t->settings.tensorboard) return STATUS_OK;
    event_begin(&event, (double)time(NULL), t->iteration);
    status_code status = add_scalars(t, &event, failure);
    if (status == STATUS_OK) status = add_distributions(t, &event, failure);
    if (status == STATUS_OK) status = add_pictures(t, &event, failure);
    if (status == STATUS_OK) status = events_path(t, path, failure);
    if (status == STATUS_OK) status = event_append(&event, path, failure);
    event_close(&event);
    return status;
}
