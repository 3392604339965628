/* What a run writes into its folder as text while it trains (run/run_folder.h). */
#ifndef HWS_TRAIN_RECORDS_H
#define HWS_TRAIN_RECORDS_H

#include "run/run_folder.h"
#include "train/trainer.h"

status_code write_config(const trainer *trainer, failure *failure);
status_code write_history(const trainer *trainer, failure *failure); /* RUN_HISTORY and RUN_DISTRIBUTION */
status_code write_losses(trainer *trainer, failure *failure);
/* RUN_HARDEST with so many examples, and a picture of each. */
status_code write_hardest(trainer *trainer, int count, failure *failure);
/* RUN_TRIAGE with all examples, and a picture of so many of the first (triage.c). */
status_code write_triage(trainer *trainer, int count, failure *failure);

/* The name of an example as a field. */
void add_example_name(const trainer *trainer, int64_t example, text *csv);
/* What the network says of an example, and its picture in one of the run's folders of pictures; nothing, if the run was told to
   stop and the time for pictures is over. */
status_code show_example(trainer *trainer, int64_t example, run_file pictures, task_verdict *verdict, failure *failure);

#endif
