/* What a run writes into its folder as text while it trains (run/run_folder.h). */
#ifndef HWS_TRAIN_RECORDS_H
#define HWS_TRAIN_RECORDS_H

#include "train/trainer.h"

status_code write_config(const trainer *trainer, failure *failure);
status_code write_history(const trainer *trainer, failure *failure); /* RUN_HISTORY and RUN_DISTRIBUTION */
status_code write_losses(trainer *trainer, failure *failure);
/* RUN_HARDEST with so many examples, and a picture of each. */
status_code write_hardest(trainer *trainer, int count, failure *failure);

#endif
