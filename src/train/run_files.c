#define _DEFAULT_SOURCE
#include "train/run_files.h"
#include "train/sampler_status.h"

#include "core/whole_file.h"
#include "picture/png.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int run_path(char path[RUN_PATH], const char *folder, const char *name) {
    const int length = snprintf(path, RUN_PATH, "%s/%s", folder, name);
    return length > 0 && length < RUN_PATH;
}

status_code run_join(char path[RUN_PATH], const char *folder, const char *name, failure *failure) {
    return run_path(path, folder, name) ? STATUS_OK
                                        : fail(failure, STATUS_BAD_INPUT, "the path %.100s... is too long", folder);
}

int run_exists(const char *folder) {
    char path[RUN_PATH];
    return run_path(path, folder, "config.json") && whole_file_exists(path);
}

static int make_one(const char *path) {
    struct stat info;
    if (mkdir(path, 0777) == 0) return 1;
    if (errno != EEXIST) return 0;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return 1;
    errno = ENOTDIR;
    return 0;
}

status_code run_make_folder(const char *folder, failure *failure) {
    char path[RUN_PATH];
    const int length = snprintf(path, sizeof path, "%s", folder);
    int good = length > 0 && length < RUN_PATH - 64;
    if (!good) errno = ENAMETOOLONG;
    for (char *slash = good ? strchr(path + 1, '/') : 0; slash && good; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        good = make_one(path);
        *slash = '/';
    }
    if (good && make_one(path)) return STATUS_OK;
    return fail(failure, STATUS_CANNOT_WRITE, "the folder %.500s cannot be made: %s", folder, strerror(errno));
}

int run_lock(const char *folder, failure *failure) {
    const int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0 && (flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)) return descriptor;
    if (descriptor < 0) fail(failure, STATUS_CANNOT_READ, "%.500s: cannot be opened: %s", folder, strerror(errno));
    else fail(failure, STATUS_FAILED, "%.500s: another process trains in this folder; wait for it or stop it", folder);
    if (descriptor >= 0) close(descriptor);
    return -1;
}

/* NAME.tmpPID.NUMBER, as atomic_file makes it. */
static int is_left_over(const char *name) {
    const char *at = strstr(name, ".tmp");
    return at && at[4] && strspn(at + 4, "0123456789.") == strlen(at + 4);
}

void run_clean(const char *folder) {
    char path[RUN_PATH];
    DIR *listing = opendir(folder);
    for (const struct dirent *entry; listing && (entry = readdir(listing));)
        if (is_left_over(entry->d_name) && run_path(path, folder, entry->d_name)) unlink(path);
    if (listing) closedir(listing);
}

status_code run_write(const char *folder, const char *name, const text *text, failure *failure) {
    char path[RUN_PATH];
    if (!run_path(path, folder, name))
        return fail(failure, STATUS_BAD_INPUT, "%.200s...: the path is too long", folder);
    if (text->failed) return fail_memory(failure, path);
    return whole_file_write(path, text_string(text), text->size, failure);
}

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

status_code run_write_config(const trainer *t, failure *failure) {
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
    const status_code status = run_write(t->folder, "config.json", &json, failure);
    text_close(&json);
    return status;
}

status_code run_write_history(const trainer *t, failure *failure) {
    text csv = {0};
    rows_history(&t->rows, t->task, &csv);
    status_code status = run_write(t->folder, "history.csv", &csv, failure);
    text_close(&csv);
    if (status != STATUS_OK) return status;
    rows_distribution(&t->rows, &csv);
    status = run_write(t->folder, "distribution.csv", &csv, failure);
    text_close(&csv);
    return status;
}

status_code run_write_losses(trainer *t, failure *failure) {
    const int64_t n = t->task->examples;
    char name[TASK_NAME];
    text csv = {0};
    uint64_t *ages = malloc((size_t)n * sizeof *ages);
    hws_status read = ages ? hws_sampler_ages(t->history, 0, n, ages) : HWS_ERROR_MEMORY;
    if (read == HWS_OK) read = hws_sampler_get_losses(t->history, 0, n, t->all);
    status_code status = sampler_status(0, read, "the losses", failure);
    if (status == STATUS_OK) {
        text_format(&csv, "example,stale_loss,age,draws%s\n", t->task->group ? ",label" : "");
        for (int64_t i = 0; i < n; i++) {
            t->task->name(t->task->context, i, name);
            text_format(&csv, "%s,%.9g,%llu,%llu", name, (double)t->all[i], (unsigned long long)ages[i],
                        (unsigned long long)t->draws[i]);
            if (t->task->group) text_format(&csv, ",%d", t->task->group(t->task->context, i));
            text_add(&csv, "\n");
        }
        status = run_write(t->folder, "losses.csv", &csv, failure);
    }
    text_close(&csv);
    free(ages);
    return status;
}

static status_code add_hard_one(trainer *t, const char *pictures, int64_t rank, int64_t example, float loss, text *csv,
                                failure *failure) {
    char name[TASK_NAME], file[TASK_NAME + 8], path[RUN_PATH];
    task_verdict verdict = {{0}, {0}};
    uint64_t age = 0;
    t->task->name(t->task->context, example, name);
    snprintf(file, sizeof file, "%s.png", name);
    if (!run_path(path, pictures, file))
        return fail(failure, STATUS_BAD_INPUT, "%.200s...: the path is too long", pictures);
    const status_code status = t->task->show(t->task->context, t->learner, example, path, &verdict, failure);
    hws_sampler_ages(t->history, example, 1, &age);
    text_format(csv, "%lld,%s,%s,%s,%.9g,%llu,%llu\n", (long long)rank, name, verdict.label, verdict.prediction,
                (double)loss, (unsigned long long)t->draws[example], (unsigned long long)age);
    return status;
}

status_code run_write_hardest(trainer *t, int count, failure *failure) {
    char pictures[RUN_PATH];
    text csv = {0};
    const int64_t k = count < t->task->examples ? count : t->task->examples;
    int64_t *examples = malloc((size_t)k * sizeof *examples);
    if (!examples) return fail_memory(failure, "the hardest examples");
    status_code status =
        sampler_status(0, hws_sampler_hardest(t->history, k, examples, t->all), "the hardest examples", failure);
    if (status == STATUS_OK && !run_path(pictures, t->folder, "hardest"))
        status = fail(failure, STATUS_BAD_INPUT, "%.200s...: the path is too long", t->folder);
    if (status == STATUS_OK) status = run_make_folder(pictures, failure);
    if (status == STATUS_OK) png_remove_all(pictures); /* those of earlier moments */
    text_add(&csv, "rank,example,label,prediction,loss,draws,age\n");
    for (int64_t i = 0; i < k && status == STATUS_OK; i++)
        status = add_hard_one(t, pictures, i + 1, examples[i], t->all[i], &csv, failure);
    if (status == STATUS_OK) status = run_write(t->folder, "hardest.csv", &csv, failure);
    text_close(&csv);
    free(examples);
    return status;
}
