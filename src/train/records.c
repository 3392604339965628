#define _POSIX_C_SOURCE 200809L
#include "train/records.h"
#include "core/path.h"
#include "train/sampler_status.h"

#include "picture/png.h"
#include "run/run_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_convolutions(text *json, const graph *g) {
    const size_t size = graph_describe(g, 0, 0) + 1;
    char *lines = malloc(size);
    if (!lines) {
        json->failed = 1;
        return;
    }
    graph_describe(g, lines, size);
    text_add(json, "    \"convolutions\": [");
    int first = 1;
    for (char *at = strtok(size > 1 ? lines : 0, "\n"); at; at = strtok(0, "\n"), first = 0) {
        text_add(json, first ? "\n        " : ",\n        ");
        settings_string(json, at);
    }
    text_add(json, first ? "],\n" : "\n    ],\n");
    free(lines);
}

status_code write_config(const trainer *t, failure *failure) {
    text json = {0};
    text_format(&json, "{\n    \"hws_version\": \"%s\",\n    \"task\": \"%s\",\n    \"examples\": %lld,\n",
                hws_version(), t->task->kind, (long long)t->task->examples);
    t->task->describe(t->task->context, &json);
    text_format(&json, "    \"data_fingerprint\": \"%016llx\",\n    \"epoch_iterations\": %lld,\n",
                (unsigned long long)t->task->fingerprint, (long long)t->epoch_iterations);
    text_format(&json, "    \"parameters\": %zu,\n", graph_trained_floats(learner_graph(t->learner)));
    add_convolutions(&json, learner_graph(t->learner));
    settings_write(&t->settings, &json);
    text_add(&json, "}\n");
    const status_code status = run_write(t->folder, RUN_CONFIG, &json, failure);
    text_close(&json);
    return status;
}

status_code write_history(const trainer *t, failure *failure) {
    text csv = {0};
    rows_history(&t->rows, t->task, &csv);
    status_code status = run_write(t->folder, RUN_HISTORY, &csv, failure);
    text_close(&csv);
    if (status != STATUS_OK) return status;
    rows_distribution(&t->rows, &csv);
    status = run_write(t->folder, RUN_DISTRIBUTION, &csv, failure);
    text_close(&csv);
    return status;
}

status_code write_losses(trainer *t, failure *failure) {
    const int64_t n = t->task->examples;
    char name[TASK_NAME];
    text csv = {0};
    uint64_t *ages = malloc((size_t)n * sizeof *ages);
    if (!ages) return fail_memory(failure, "the losses");
    hws_status read = hws_sampler_ages(t->history, 0, n, ages);
    if (read == HWS_OK) read = hws_sampler_get_losses(t->history, 0, n, t->all);
    status_code status = sampler_status(hws_sampler_error(t->history), read, "the losses", failure);
    if (status == STATUS_OK) {
        text_format(&csv, "example,stale_loss,age,draws%s\n", t->task->group ? ",label" : "");
        for (int64_t i = 0; i < n; i++) {
            t->task->name(t->task->context, i, name);
            text_format(&csv, "%s,%.9g,%llu,%llu", name, (double)t->all[i], (unsigned long long)ages[i],
                        (unsigned long long)t->draws[i]);
            if (t->task->group) text_format(&csv, ",%d", t->task->group(t->task->context, i));
            text_add(&csv, "\n");
        }
        status = run_write(t->folder, RUN_LOSSES, &csv, failure);
    }
    text_close(&csv);
    free(ages);
    return status;
}

static status_code add_hard_one(trainer *t, const char *pictures, int64_t rank, int64_t example, float loss, text *csv,
                                failure *failure) {
    char name[TASK_NAME], file[TASK_NAME + 8], path[PATH_SIZE];
    task_verdict verdict = {{0}, {0}};
    uint64_t age = 0;
    t->task->name(t->task->context, example, name);
    snprintf(file, sizeof file, "%s.png", name);
    status_code status = path_join(path, pictures, file, failure);
    if (status != STATUS_OK) return status;
    status = t->task->show(t->task->context, t->learner, example, path, &verdict, failure);
    hws_sampler_ages(t->history, example, 1, &age);
    text_format(csv, "%lld,%s,%s,%s,%.9g,%llu,%llu\n", (long long)rank, name, verdict.label, verdict.prediction,
                (double)loss, (unsigned long long)t->draws[example], (unsigned long long)age);
    return status;
}

status_code write_hardest(trainer *t, int count, failure *failure) {
    char pictures[PATH_SIZE];
    text csv = {0};
    const int64_t k = count < t->task->examples ? count : t->task->examples;
    int64_t *examples = malloc((size_t)k * sizeof *examples);
    if (!examples) return fail_memory(failure, "the hardest examples");
    status_code status =
        sampler_status(hws_sampler_error(t->history), hws_sampler_hardest(t->history, k, examples, t->all),
                       "the hardest examples", failure);
    if (status == STATUS_OK) status = run_path(pictures, t->folder, RUN_HARDEST_PICTURES, failure);
    if (status == STATUS_OK) status = folder_make(pictures, failure);
    if (status == STATUS_OK) png_remove_all(pictures); /* those of earlier moments */
    text_add(&csv, "rank,example,label,prediction,loss,draws,age\n");
    for (int64_t i = 0; i < k && status == STATUS_OK; i++)
        status = add_hard_one(t, pictures, i + 1, examples[i], t->all[i], &csv, failure);
    if (status == STATUS_OK) status = run_write(t->folder, RUN_HARDEST, &csv, failure);
    text_close(&csv);
    free(examples);
    return status;
}
