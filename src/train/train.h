/*
 * hws train as a call: opens the data, makes or takes up the run's folder, trains, and leaves the folder complete.
 *
 *     train_request request = {.folder = "runs/dro", .data = "digits", .options = options, .option_count = 2};
 *     train_run(&request, &listener, &outcome, &failure);
 *
 * DATA is what images/classification_data.h knows, "phantom" (task/phantom_data.h) or a dataset folder
 * (dataset/dataset.h). To add a source of data, open a task for it here.
 */
#ifndef HWS_TRAIN_TRAIN_H
#define HWS_TRAIN_TRAIN_H

#include "train/trainer.h"

/* A setting as one would type it (run/settings.h, settings_set). */
typedef struct train_option {
    const char *key, *value;
} train_option;

typedef struct train_request {
    const char *folder;  /* the run's; NULL: none, for a dry run */
    const char *data;    /* NULL: as the config says */
    int resume;          /* go on with the run in the folder; else it must hold none */
    int dry_run;         /* 1: only find out what it would take; nothing is written but the cache */
    int resume_or_start; /* resume if the folder holds a run, begin one if not */
    const char *config;  /* a config.json to begin with; may be NULL */
    const char *recipe;  /* see settings_follow_recipe; may be NULL */
    const train_option *options;
    size_t option_count;
} train_request;

/* What a run would take, as a few steps in a temporary folder show. */
typedef struct train_trial {
    double step, validation, end;   /* seconds: of an iteration, of the end of an epoch, of the end */
    double training;                /* seconds of all of it */
    double memory, available, disk; /* bytes: the most that the trial had, what there was before, the checkpoints */
    long long iterations, epoch_length;
} train_trial;

typedef struct train_outcome {
    train_trial trial; /* of a dry run */
    trainer_end end;
    double stop_grad_norm; /* as it was set */
    double waiting;        /* the share of the time that training waited for its loader */
} train_outcome;

/*
 * Options change what the recipe says, and that changes the settings of the run that is resumed, or else those of the
 * config, or else the defaults for such data. The folder is locked meanwhile. Sets OpenMP's number of threads. When the
 * listener says stop, a checkpoint is written, and the status is STATUS_STOPPED; what is wrong with the request itself
 * is found before anything is written; what only the data or a measurement show, such as a budget that is too short,
 * may be found when the plan is there already.
 */
status_code train_run(const train_request *request, const train_listener *listener, train_outcome *outcome,
                      failure *failure);

#endif
