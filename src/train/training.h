/* hws train, inside: what it was asked for, and what follows from it. */
#ifndef HWS_TRAIN_TRAINING_H
#define HWS_TRAIN_TRAINING_H

#include "core/path.h"
#include "plan/plan.h"
#include "ranks/ranks.h"
#include "train/budget.h"
#include "train/train.h"

typedef struct training {
    const train_request *request;
    const train_listener *listener;
    train_settings settings;
    char data[PATH_SIZE], cache[PATH_SIZE], phantoms[PATH_SIZE], from[PATH_SIZE], losses[PATH_SIZE]; /* of settings */
    plan begun; /* of the run that is resumed */
    train_outcome *outcome;
    const ranks *ranks; /* who train together; rank 0 alone makes and writes files */
    int resume;
    double began;                  /* the clock */
    char costs[BUDGET_COSTS_SIZE]; /* of settings */
} training;

/* The settings, from the defaults, a config or the run that is resumed, and the options upon them; STATUS_BAD_INPUT
   where they do not fit together (settle.c). */
status_code training_settle(training *training, failure *failure);

int data_is_volumes(const char *data);
int data_is_path(const char *data); /* rather than a word, such as digits */

/* Whether someone asked for this setting: by an option, or in a config that was written by hand. */
int training_chooses(const training *training, const char *key);

/* Whether the time decides how long to train: a budget that a config tells of has been chosen for already, and
   that is in the config, too. */
int training_wants_budget(const training *training);
budget_fixed training_fixed(const training *training);

#endif
