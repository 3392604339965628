/*
 * Ranks that were told different things, or see different files, would train a network that no single process could
 * have trained, or wait for each other forever: they are compared before they begin. All of this is called together
 * (ranks/ranks.h) and costs a process that works alone nothing.
 */
#ifndef HWS_TRAIN_SAME_ON_RANKS_H
#define HWS_TRAIN_SAME_ON_RANKS_H

#include "train/trainer.h"

/* STATUS_BAD_INPUT if a setting differs that all must share. Where files are, and how many threads
   work, is each rank's own. */
status_code same_settings_on_ranks(const ranks *ranks, const train_settings *settings, failure *failure);

/* STATUS_BAD_INPUT if the examples, or their groups, differ. `name` is what messages call the data. */
status_code same_data_on_ranks(const ranks *ranks, const task *task, const char *name, failure *failure);

/* STATUS_BAD_INPUT if the weights, or the losses in the history, differ. Messages call them
   what they were read from. */
status_code same_state_on_ranks(trainer *trainer, const char *weights, const char *losses, failure *failure);

#endif
