/*
 * Checkpoints: all that changes in a run, in one safetensors file (docs/formats.md, "Checkpoints").
 * They hold no times, so that a run that was interrupted ends with the same bytes as one that was not.
 */
#define _POSIX_C_SOURCE 200809L
#include "core/temporary_file.h"
#include "model/weights.h"
#include "run/run_folder.h"
#include "train/sampler_status.h"
#include "train/trainer_inside.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char VERSION[] = "1", WEIGHT_SUM[] = "hws.weight_sum", GROUP_WEIGHTS[] = "hws.group_weights",
                  ERRORS[] = "hws.errors", LAST_SEEN[] = "hws.last_seen";
enum { COUNTER_ITERATION, COUNTER_CLIPPED, COUNTER_WEIGHED, COUNTER_STEPS, COUNTER_STOPPED, COUNTERS };

static const int64_t COUNTER_MOST = INT64_C(1) << 53; /* more is no run's, and could not be counted on from */

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* What must live until the file is written. */
typedef struct saved {
    weights_copy *weights;
    void *sampler;
    int64_t counters[COUNTERS], *pending;
    text settings;
    char fingerprint[17];
} saved;

static void saved_free(saved *s) {
    weights_copy_close(&s->weights);
    free(s->sampler);
    free(s->pending);
    text_close(&s->settings);
}

static status_code add_sampler(trainer *t, safetensors_writer *w, saved *s, failure *failure) {
    const size_t size = hws_sampler_state_size(t->history);
    s->sampler = malloc(size);
    if (!s->sampler) return fail_memory(failure, "a checkpoint");
    const hws_status written = hws_sampler_state_write(t->history, s->sampler, size);
    if (written != HWS_OK)
        return sampler_status(hws_sampler_error(t->history), written, "the sampler's state", failure);
    return safetensors_add(w, &(safetensors_entry){"hws.sampler", SAFETENSORS_U8, 1, &size}, s->sampler, failure);
}

static status_code add_pending(trainer *t, safetensors_writer *w, saved *s, failure *failure) {
    const size_t shape[2] = {(size_t)loader_count(t->loader), (size_t)t->candidates};
    s->pending = malloc((shape[0] * shape[1] + 1) * sizeof *s->pending);
    if (!s->pending) return fail_memory(failure, "a checkpoint");
    for (size_t k = 0; k < shape[0]; k++)
        memcpy(s->pending + k * shape[1], loader_examples(t->loader, (int64_t)k), shape[1] * sizeof *s->pending);
    return safetensors_add(w, &(safetensors_entry){"hws.pending", SAFETENSORS_I64, 2, shape}, s->pending, failure);
}

static status_code add_counters(trainer *t, safetensors_writer *w, saved *s, failure *failure) {
    const size_t counters = COUNTERS, examples = (size_t)t->task->examples, floats = learner_state_floats(t->learner);
    const size_t rows[2] = {t->rows.count, rows_width(t->task->metrics)};
    s->counters[COUNTER_ITERATION] = t->iteration;
    s->counters[COUNTER_CLIPPED] = t->clipped;
    s->counters[COUNTER_WEIGHED] = t->weighed;
    s->counters[COUNTER_STEPS] = learner_steps(t->learner);
    s->counters[COUNTER_STOPPED] = t->stopped;
    status_code status =
        safetensors_add(w, &(safetensors_entry){"hws.counters", SAFETENSORS_I64, 1, &counters}, s->counters, failure);
    if (status == STATUS_OK)
        status = safetensors_add(w, &(safetensors_entry){"hws.best", SAFETENSORS_F64, 0, 0}, &t->best, failure);
    if (status == STATUS_OK)
        status = safetensors_add(w, &(safetensors_entry){WEIGHT_SUM, SAFETENSORS_F64, 0, 0}, &t->weight_sum, failure);
    if (status == STATUS_OK)
        status =
            safetensors_add(w, &(safetensors_entry){"hws.draws", SAFETENSORS_U64, 1, &examples}, t->draws, failure);
    if (status == STATUS_OK)
        status =
            safetensors_add(w, &(safetensors_entry){"hws.rows", SAFETENSORS_F64, 2, rows}, t->rows.values, failure);
    if (status == STATUS_OK)
        status = safetensors_add(w, &(safetensors_entry){"hws.optimizer", SAFETENSORS_F32, 1, &floats},
                                 learner_state(t->learner), failure);
    return status;
}

/* What only some objectives and histories have. */
static status_code add_special(trainer *t, safetensors_writer *w, failure *failure) {
    const size_t examples = (size_t)t->task->examples, groups = (size_t)t->groups.count;
    status_code status = STATUS_OK;
    if (t->objective == OBJECTIVE_GROUP_DRO)
        status =
            safetensors_add(w, &(safetensors_entry){GROUP_WEIGHTS, SAFETENSORS_F64, 1, &groups}, t->groups.q, failure);
    if (status == STATUS_OK && t->trains_again)
        status = safetensors_add(w, &(safetensors_entry){ERRORS, SAFETENSORS_U8, 1, &examples}, t->errors, failure);
    if (status == STATUS_OK && t->settings.history == HISTORY_EXACT)
        status =
            safetensors_add(w, &(safetensors_entry){LAST_SEEN, SAFETENSORS_F32, 1, &examples}, t->last_seen, failure);
    return status;
}

static status_code add_metadata(trainer *t, safetensors_writer *w, saved *s, failure *failure) {
    train_settings settings = t->settings;
    settings_forget_free(&settings, t->task->kind == TASK_SEGMENTATION); /* config.json has them */
    json_writer json = json_writer_start(&s->settings);
    json_begin_object(&json, 0);
    settings_write(&settings, &json);
    json_end(&json);
    if (s->settings.failed) return fail_memory(failure, "a checkpoint");
    snprintf(s->fingerprint, sizeof s->fingerprint, "%016" PRIx64, t->task->fingerprint);
    status_code status = safetensors_add_metadata(w, "hws_checkpoint", VERSION, failure);
    if (status == STATUS_OK) status = safetensors_add_metadata(w, "hws_data", s->fingerprint, failure);
    if (status == STATUS_OK) status = safetensors_add_metadata(w, "hws_settings", s->settings.bytes, failure);
    return status;
}

/* Whether a link was refused because this file system has none. */
static int has_no_links(int error) { return error == EPERM || error == ENOTSUP || error == ENOSYS || error == EMLINK; }

/* Under a second name, and that in place of the previous one; 0, or the reason why not. */
static int link_in_place(const char *latest, const char *previous) {
    char linked[PATH_SIZE + TEMPORARY_NAME_SIZE];
    temporary_path(linked, previous);
    if (link(latest, linked) != 0) return errno;
    const int reason = rename(linked, previous) == 0 ? 0 : errno;
    unlink(linked); /* where it is still there: the two were the same file already */
    return reason;
}

/* The file that stands there becomes the previous one; at every moment one of the two is whole. */
static status_code keep_previous(const char *folder, const char *latest, failure *failure) {
    enum { ATTEMPTS = 100 };
    char previous[PATH_SIZE];
    const status_code status = run_path(previous, folder, RUN_PREVIOUS, failure);
    if (status != STATUS_OK || !path_exists(latest)) return status;
    int reason = ENOENT; /* another process, which takes the second name for one that was left, may remove it */
    for (int k = 0; k < ATTEMPTS && reason == ENOENT; k++) reason = link_in_place(latest, previous);
    if (has_no_links(reason)) reason = rename(latest, previous) == 0 ? 0 : errno;
    if (!reason) return STATUS_OK;
    return fail(failure, STATUS_CANNOT_WRITE, "%.500s cannot be kept as %s: %s", latest, run_file_name(RUN_PREVIOUS),
                strerror(reason));
}

static status_code write_file(trainer *t, int whole, const char *path, failure *failure) {
    safetensors_writer *w;
    saved s = {0};
    status_code status = safetensors_writer_open(&w, failure);
    if (status != STATUS_OK) return status;
    status = weights_add(w, learner_graph(t->learner), learner_steps(t->learner), &s.weights, failure);
    if (status == STATUS_OK) status = add_metadata(t, w, &s, failure);
    if (status == STATUS_OK && whole) status = add_sampler(t, w, &s, failure);
    if (status == STATUS_OK && whole) status = add_pending(t, w, &s, failure);
    if (status == STATUS_OK && whole) status = add_counters(t, w, &s, failure);
    if (status == STATUS_OK && whole) status = add_special(t, w, failure);
    if (status == STATUS_OK && whole && !t->latest_is_damaged) status = keep_previous(t->folder, path, failure);
    if (status == STATUS_OK) status = safetensors_write(w, path, failure);
    if (status == STATUS_OK && whole) t->latest_is_damaged = 0;
    safetensors_writer_close(&w);
    saved_free(&s);
    return status;
}

status_code checkpoint_write(trainer *t, failure *failure) {
    char path[PATH_SIZE];
    status_code status = run_path(path, t->folder, RUN_LATEST, failure);
    learner_gather_state(t->learner);
    if (status == STATUS_OK && ranks_is_first(t->ranks)) status = write_file(t, 1, path, failure);
    return ranks_agree(t->ranks, status, failure);
}

static status_code write_weights(trainer *t, run_file file, failure *failure) {
    char path[PATH_SIZE];
    if (!ranks_is_first(t->ranks)) return STATUS_OK;
    const status_code status = run_path(path, t->folder, file, failure);
    return status == STATUS_OK ? write_file(t, 0, path, failure) : status;
}

status_code checkpoint_write_best(trainer *t, failure *failure) { return write_weights(t, RUN_BEST, failure); }
status_code checkpoint_write_first(trainer *t, failure *failure) { return write_weights(t, RUN_FIRST, failure); }

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static status_code check_settings(const trainer *t, const char *path, const char *settings, failure *failure) {
    train_settings then = run_config_defaults(t->task->kind); /* of settings that are younger than the checkpoint */
    status_code status = settings_read_text(&then, settings, path, failure);
    const char *difference = status == STATUS_OK ? settings_difference(&then, &t->settings) : 0;
    if (difference)
        status = fail(failure, STATUS_BAD_INPUT,
                      "%s: was made with another '%s'; a run is resumed with the settings it began with: start a new "
                      "one in another folder",
                      path, difference);
    settings_close(&then);
    return status;
}

static int is_fingerprint(const char *written, uint64_t value) {
    char digits[17];
    snprintf(digits, sizeof digits, "%016" PRIx64, value);
    return strcmp(written, digits) == 0;
}

static status_code check_data(const trainer *t, const char *path, const char *written, failure *failure) {
    const uint64_t now = t->task->fingerprint, former = t->task->former_fingerprint;
    if (is_fingerprint(written, now) || (former && is_fingerprint(written, former))) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%s: was made with other data (fingerprint %.16s, now %016" PRIx64
                "); a run is resumed with the same data",
                path, written, now);
}

static status_code check_origin(const trainer *t, const safetensors *file, const char *path, failure *failure) {
    const char *version = safetensors_metadata(file, "hws_checkpoint"), *data = safetensors_metadata(file, "hws_data"),
               *settings = safetensors_metadata(file, "hws_settings");
    if (!safetensors_verified(file) || !version || !data || !settings || !safetensors_find(file, "hws.sampler"))
        return fail(failure, STATUS_CORRUPT, "%s: is not a checkpoint of hws train", path);
    if (strcmp(version, VERSION) != 0)
        return fail(failure, STATUS_BAD_INPUT,
                    "%s: was written by another version of hws (format %.20s): resume it with that one", path, version);
    const status_code status = check_settings(t, path, settings, failure);
    return status == STATUS_OK ? check_data(t, path, data, failure) : status;
}

static status_code corrupt(const char *path, const char *what, failure *failure) {
    return fail(failure, STATUS_CORRUPT, "%s: %s", path, what);
}

static status_code read_sampler(trainer *t, const safetensors *file, const char *path, failure *failure) {
    const safetensor *state = safetensors_find(file, "hws.sampler");
    hws_sampler *sampler = 0;
    hws_error error;
    const hws_status read = hws_sampler_state_read(&sampler, state->data, state->size, 0, &error);
    if (read != HWS_OK) return sampler_status(&error, read, path, failure);
    if (hws_sampler_size(sampler) != t->task->examples || !hws_sampler_options(sampler).keep_counts) {
        hws_sampler_close(&sampler);
        return corrupt(path, "its history belongs to another run", failure);
    }
    hws_sampler_close(&t->history);
    t->history = t->batches.options.history = sampler;
    return STATUS_OK;
}

static status_code read_pending(trainer *t, const safetensors *file, const char *path, failure *failure) {
    const safetensor *pending = safetensors_find(file, "hws.pending");
    if (!pending || pending->dtype != SAFETENSORS_I64 || pending->rank != 2 ||
        pending->shape[1] != (size_t)t->candidates || pending->shape[0] > (size_t)t->settings.look_ahead)
        return corrupt(path, "its pending batches do not fit the settings", failure);
    const char *bytes = pending->data;
    const size_t size = pending->shape[1] * sizeof *t->drawn;
    for (size_t k = 0; k < pending->shape[0] * pending->shape[1]; k++) {
        int64_t example;
        memcpy(&example, bytes + k * sizeof example, sizeof example);
        if (example < 0 || example >= t->task->examples)
            return corrupt(path, "a pending batch names an example that is not there", failure);
    }
    for (size_t k = 0; k < pending->shape[0]; k++) {
        memcpy(t->drawn, bytes + k * size, size);
        loader_add(t->loader, t->iteration + (int64_t)k, t->drawn);
    }
    return STATUS_OK;
}

static status_code read_rows(trainer *t, const safetensors *file, const char *path, failure *failure) {
    const safetensor *found = safetensors_find(file, "hws.rows");
    const size_t width = found && found->rank == 2 ? found->shape[1] : 0; /* older versions had fewer later columns */
    if (!found || found->dtype != SAFETENSORS_F64 || width > rows_width(t->task->metrics) ||
        width < rows_later(t->task->metrics))
        return corrupt(path, "its rows of history.csv do not fit the task", failure);
    t->rows.count = 0;
    for (size_t k = 0; k < found->shape[0]; k++) {
        double *row = rows_add(&t->rows, (double)NAN);
        if (!row) return fail_memory(failure, "the history");
        memcpy(row, (const char *)found->data + k * width * sizeof *row, width * sizeof *row);
    }
    return STATUS_OK;
}

/* Older versions had none. */
static status_code read_weight_sum(trainer *t, const safetensors *file, failure *failure) {
    t->weight_sum = (double)NAN;
    if (!safetensors_find(file, WEIGHT_SUM)) return STATUS_OK;
    return safetensors_copy(file, &(safetensors_entry){WEIGHT_SUM, SAFETENSORS_F64, 0, 0}, &t->weight_sum, failure);
}

static status_code read_group_weights(trainer *t, const safetensors *file, const char *path, failure *failure) {
    const size_t groups = (size_t)t->groups.count;
    double sum = 0;
    const status_code status =
        safetensors_copy(file, &(safetensors_entry){GROUP_WEIGHTS, SAFETENSORS_F64, 1, &groups}, t->groups.q, failure);
    if (status != STATUS_OK) return status;
    for (size_t g = 0; g < groups; g++) sum += t->groups.q[g] >= 0 ? t->groups.q[g] : (double)NAN;
    return fabs(sum - 1) < 1e-6 ? STATUS_OK : corrupt(path, "its weights of groups do not add up to 1", failure);
}

/* Whether there are errors says which training of jtt this is. */
static status_code read_errors(trainer *t, const safetensors *file, failure *failure) {
    const size_t examples = (size_t)t->task->examples;
    t->trains_again = safetensors_find(file, ERRORS) != 0;
    if (!t->trains_again) return STATUS_OK;
    const status_code status =
        safetensors_copy(file, &(safetensors_entry){ERRORS, SAFETENSORS_U8, 1, &examples}, t->errors, failure);
    return status == STATUS_OK ? trainer_upweight_errors(t, failure) : status;
}

static status_code read_special(trainer *t, const safetensors *file, const char *path, failure *failure) {
    const size_t examples = (size_t)t->task->examples;
    status_code status = STATUS_OK;
    if (t->objective == OBJECTIVE_GROUP_DRO) status = read_group_weights(t, file, path, failure);
    if (status == STATUS_OK && t->objective == OBJECTIVE_JTT) status = read_errors(t, file, failure);
    if (status == STATUS_OK && safetensors_find(file, LAST_SEEN)) /* older versions had none */
        status = safetensors_copy(file, &(safetensors_entry){LAST_SEEN, SAFETENSORS_F32, 1, &examples}, t->last_seen,
                                  failure);
    return status;
}

static status_code read_counters(trainer *t, const safetensors *file, const char *path, failure *failure) {
    const size_t count = COUNTERS, examples = (size_t)t->task->examples, floats = learner_state_floats(t->learner);
    int64_t counters[COUNTERS];
    status_code status =
        safetensors_copy(file, &(safetensors_entry){"hws.counters", SAFETENSORS_I64, 1, &count}, counters, failure);
    if (status == STATUS_OK)
        status = safetensors_copy(file, &(safetensors_entry){"hws.best", SAFETENSORS_F64, 0, 0}, &t->best, failure);
    if (status == STATUS_OK) status = read_weight_sum(t, file, failure);
    if (status == STATUS_OK)
        status =
            safetensors_copy(file, &(safetensors_entry){"hws.draws", SAFETENSORS_U64, 1, &examples}, t->draws, failure);
    if (status == STATUS_OK)
        status = safetensors_copy(file, &(safetensors_entry){"hws.optimizer", SAFETENSORS_F32, 1, &floats},
                                  learner_state(t->learner), failure);
    if (status != STATUS_OK) return status;
    for (int k = 0; k < COUNTERS; k++)
        if (counters[k] < 0 || counters[k] > COUNTER_MOST) return corrupt(path, "a counter is impossible", failure);
    t->iteration = counters[COUNTER_ITERATION];
    t->clipped = counters[COUNTER_CLIPPED];
    t->weighed = counters[COUNTER_WEIGHED];
    if (!t->weighed) t->weight_sum = 0;
    t->stopped = counters[COUNTER_STOPPED] != 0;
    learner_set_steps(t->learner, counters[COUNTER_STEPS]);
    return STATUS_OK;
}

static status_code read_file(trainer *t, const char *path, failure *failure) {
    safetensors *file = 0;
    status_code status = safetensors_open(&file, path, failure);
    if (status == STATUS_OK) status = check_origin(t, file, path, failure);
    if (status == STATUS_OK) status = weights_take(file, path, learner_graph(t->learner), 0, failure);
    if (status == STATUS_OK) status = read_sampler(t, file, path, failure);
    if (status == STATUS_OK) status = read_counters(t, file, path, failure);
    if (status == STATUS_OK) status = read_rows(t, file, path, failure);
    if (status == STATUS_OK) status = read_special(t, file, path, failure);
    if (status == STATUS_OK) status = read_pending(t, file, path, failure);
    safetensors_close(&file);
    return status;
}

status_code checkpoint_read(trainer *t, failure *failure) {
    char path[PATH_SIZE];
    struct failure second = {0};
    status_code status = run_path(path, t->folder, RUN_LATEST, failure);
    if (status == STATUS_OK) status = read_file(t, path, failure);
    /* What cannot be read now may be whole: only what is damaged or missing is given up. */
    if (status != STATUS_CORRUPT && (status != STATUS_CANNOT_READ || path_exists(path))) return status;
    if (run_path(path, t->folder, RUN_PREVIOUS, 0) != STATUS_OK || read_file(t, path, &second) != STATUS_OK)
        return status;
    trainer_notice(t, "%.700s; going on from %s instead", failure->message, run_file_name(RUN_PREVIOUS));
    t->latest_is_damaged = 1;
    return STATUS_OK;
}
