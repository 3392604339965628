/* What a run writes into its folder as text while it trains (run/run_folder.h). */
#ifndef HWS_TRAIN_RECORDS_H
#define HWS_TRAIN_RECORDS_H

#include "train/gallery.h"

status_code write_config(const trainer *trainer, failure *failure);
status_code write_history(const trainer *trainer, failure *failure); /* RUN_HISTORY and RUN_DISTRIBUTION */
status_code write_losses(trainer *trainer, failure *failure);
/* RUN_HARDEST, and RUN_TRIAGE with all examples, each with so many pictures, or with as many as the time of
   a --budget allows. Unless `anew`, what is there already and right
   stays as it is. */
status_code write_galleries(trainer *trainer, int count, int anew, failure *failure);
/* RUN_TENSORBOARD: the last row, if the settings want it (events.c). */
status_code write_events(trainer *trainer, failure *failure);
/* RUN_HARDEST alone; of what is left of a --budget it takes a hundredth at most. */
status_code write_hardest(trainer *trainer, int count, failure *failure);
gallery_fill fill_triage; /* triage.c */

/* The name of an example as a field. */
void add_example_name(const trainer *trainer, int64_t example, text *csv);
/* A comma and the name of its group, where groups have names; else nothing. */
void add_group_name(const trainer *trainer, int64_t example, text *csv);

#endif
