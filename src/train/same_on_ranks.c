#include "train/same_on_ranks.h"

#include "core/crc64.h"
#include "run/setting_value.h"
#include "train/sampler_status.h"
#include "train/training.h"

#include <stdlib.h>
#include <string.h>

static int is_own(const setting *s) {
    static const char *const OWN[] = {"cache", "from", "loaders", "picture_memory", "threads"};
    for (size_t k = 0; k < sizeof OWN / sizeof *OWN; k++)
        if (strcmp(s->key, OWN[k]) == 0) return 1;
    return 0;
}

/* What remains of the settings when it does not matter where files are: what is in them is compared later. */
static train_settings without_places(const train_settings *settings) {
    train_settings s = *settings;
    if (data_is_path(s.data)) s.data = data_is_volumes(s.data) ? "volumes" : "images";
    if (*s.loss_init_file) s.loss_init_file = "a file";
    return s;
}

static status_code number_settings(const train_settings *settings, uint64_t *numbers, failure *failure) {
    const train_settings s = without_places(settings);
    text value = {0};
    crc64 crc;
    for (size_t k = 0; k < settings_count(); k++) {
        value.size = 0;
        json_writer json = json_writer_start(&value);
        json_begin_object(&json, NULL);
        if (!is_own(settings_at(k))) setting_value_write(&s, settings_at(k), &json);
        json_end(&json);
        crc64_start(&crc);
        crc64_add(&crc, text_string(&value), value.size);
        numbers[k] = crc64_value(&crc);
    }
    const status_code status = value.failed ? fail_memory(failure, "the settings") : STATUS_OK;
    text_close(&value);
    return status;
}

static status_code same_numbers(const ranks *r, const uint64_t *numbers, failure *failure) {
    for (size_t k = 0; k < settings_count(); k++) {
        const int other = ranks_first_other(r, numbers[k]);
        if (other)
            return fail(failure, STATUS_BAD_INPUT,
                        "rank %d has another '%s' than rank 0: start all ranks with the same options", other,
                        settings_at(k)->key);
    }
    return STATUS_OK;
}

status_code same_settings_on_ranks(const ranks *r, const train_settings *settings, failure *failure) {
    if (r->count == 1) return STATUS_OK;
    uint64_t *numbers = calloc(settings_count(), sizeof *numbers);
    status_code status = numbers ? number_settings(settings, numbers, failure) : fail_memory(failure, "the settings");
    status = ranks_agree(r, status, failure);
    if (status == STATUS_OK && numbers) status = same_numbers(r, numbers, failure);
    free(numbers);
    return status;
}

status_code same_data_on_ranks(const ranks *r, const task *task, const char *name, failure *failure) {
    crc64 crc;
    if (r->count == 1) return STATUS_OK;
    crc64_start(&crc);
    crc64_add(&crc, &task->examples, sizeof task->examples);
    crc64_add(&crc, &task->fingerprint, sizeof task->fingerprint);
    for (int64_t i = 0; task->group && i < task->examples; i++) {
        const int group = task->group(task->context, i);
        crc64_add(&crc, &group, sizeof group);
    }
    return ranks_check_same(r, crc64_value(&crc), name, failure);
}

static status_code same_losses(trainer *t, const char *name, failure *failure) {
    crc64 crc;
    const hws_status got = hws_sampler_get_losses(t->history, 0, t->task->examples, t->all);
    status_code status = sampler_status(hws_sampler_error(t->history), got, "the losses", failure);
    status = ranks_agree(t->ranks, status, failure);
    crc64_start(&crc);
    crc64_add(&crc, t->all, (size_t)t->task->examples * sizeof *t->all);
    return status == STATUS_OK ? ranks_check_same(t->ranks, crc64_value(&crc), name, failure) : status;
}

status_code same_state_on_ranks(trainer *t, const char *weights, const char *losses, failure *failure) {
    graph *g = learner_graph(t->learner);
    crc64 crc;
    if (t->ranks->count == 1) return STATUS_OK;
    crc64_start(&crc);
    crc64_add(&crc, graph_values(g), graph_trained_floats(g) * sizeof(float));
    crc64_add(&crc, graph_running(g), graph_running_floats(g) * sizeof(float));
    const status_code status = ranks_check_same(t->ranks, crc64_value(&crc), weights, failure);
    return status == STATUS_OK ? same_losses(t, losses, failure) : status;
}
