/*
 * A run's config.json: what it was told, and facts about its data, network and program (docs/formats.md).
 *
 *     {"settings": {"objective": "dro", ...}, "facts": {"task": "classification", ...}}
 *
 * Older versions wrote both into one object; such folders are read as well.
 */
#ifndef HWS_RUN_CONFIG_H
#define HWS_RUN_CONFIG_H

#include "run/settings.h"

typedef enum task_kind { TASK_UNKNOWN, TASK_CLASSIFICATION, TASK_SEGMENTATION } task_kind;

/* "classification" and "segmentation"; "something unknown" for what a later version may name. */
const char *task_kind_name(task_kind kind);

/* What is not told is 0 or NULL. */
typedef struct run_facts {
    const char *version; /* of hws */
    task_kind task;
    long long examples; /* that are trained on */
    int class_count;
    const char *const *class_names; /* NULL, when written: their numbers */
    uint64_t data_fingerprint;
    long long epoch_iterations;
    size_t parameters;
    const char *convolutions; /* a line for each: which algorithm it uses; only written */

    /* Classification: how pixels go into the network. */
    long long test_examples;
    int height, width, channels;
    double pixel_mean, pixel_std;

    /* Segmentation. */
    long long validation_cases;
    int patch[3];
} run_facts;

typedef struct run_config {
    train_settings settings;
    run_facts facts;
    const char **class_names; /* what the facts refer to */
} run_config;

/* What a setting that a run does not tell had: what the program did before there was a choice,
   or the task's default. */
train_settings run_config_defaults(task_kind task);

/* Reads what a run's folder holds. Settings that are not there are as run_config_defaults has them, facts may
   be missing; but what is there is right, and for classification all that the network's input needs is there.
   On failure it is closed. */
status_code run_config_open(run_config *config, const char *folder, failure *failure);
void run_config_close(run_config *config);

/* Overwrites the settings that a config.json holds. What one that was written by hand does not tell stays; in one of a
   run, which names its task, it is as run_config_defaults has it. */
status_code run_config_read_settings(train_settings *settings, const char *path, failure *failure);

/* Whether the config.json that settings were read from was written by hand and names this one; that of a run names all,
   whoever chose them. */
int run_config_chooses(const train_settings *settings, const char *key);

/* Whether they were read from the config.json of a run, which tells all settings, and not from one
   that was written by hand. */
int run_config_is_of_run(const train_settings *settings);

/* Which task a run's folder was trained for; quicker than to open it. */
status_code run_config_task(const char *folder, task_kind *task, failure *failure);

/* All that a run's config.json tells, settings and facts, as one flat object that the caller gives back with
   json_decref: for those who show it. */
status_code run_config_entries(const char *folder, struct json_t **entries, failure *failure);

status_code run_config_write(const char *folder, const train_settings *settings, const run_facts *facts,
                             failure *failure);

#endif
