/* What a run writes into its folder as text while it trains (run/run_folder.h). */
#ifndef HWS_TRAIN_RECORDS_H
#define HWS_TRAIN_RECORDS_H

#include "run/run_folder.h"
#include "train/trainer.h"

status_code write_config(const trainer *trainer, failure *failure);
status_code write_history(const trainer *trainer, failure *failure); /* RUN_HISTORY and RUN_DISTRIBUTION */
status_code write_losses(trainer *trainer, failure *failure);
/* RUN_HARDEST with so many examples, and a picture of each; fewer if the time of a --budget does not suffice. */
status_code write_hardest(trainer *trainer, int count, failure *failure);
/* RUN_TRIAGE with all examples, and a picture of so many of the first (triage.c), or of fewer. */
status_code write_triage(trainer *trainer, int count, failure *failure);

/* The name of an example as a field. */
void add_example_name(const trainer *trainer, int64_t example, text *csv);
/* What the network says of an example, and its picture in one of the run's folders of pictures. */
status_code show_example(trainer *trainer, int64_t example, run_file pictures, task_verdict *verdict, failure *failure);

#endif
