/* The files of a run's folder that are written as text (docs/formats.md, "A run's folder"). */
#ifndef HWS_TRAIN_RUN_FILES_H
#define HWS_TRAIN_RUN_FILES_H

#include "train/trainer.h"

enum { RUN_PATH = 4096 };

/* "folder/name"; 0 if it is too long. */
int run_path(char path[RUN_PATH], const char *folder, const char *name);
/* The same, as a status. */
status_code run_join(char path[RUN_PATH], const char *folder, const char *name, failure *failure);

/* Whether the folder holds a run. */
int run_exists(const char *folder);

/* Makes the folder if it is not there, and those above it. */
status_code run_make_folder(const char *folder, failure *failure);

/* Takes the folder for this process: fails when another one trains in it. Returns a descriptor to close, or -1. */
int run_lock(const char *folder, failure *failure);

/* Removes what a process that was killed in the middle of writing has left behind. */
void run_clean(const char *folder);

status_code run_write(const char *folder, const char *name, const text *text, failure *failure);

status_code run_write_config(const trainer *trainer, failure *failure);
status_code run_write_history(const trainer *trainer, failure *failure);      /* history.csv and distribution.csv */
status_code run_write_losses(trainer *trainer, failure *failure);             /* losses.csv */
status_code run_write_hardest(trainer *trainer, int count, failure *failure); /* hardest.csv and hardest/NAME.png */

#endif
