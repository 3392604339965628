/* What hws train shows: on a terminal one line that is rewritten, and a line per epoch everywhere. All lines but the
   rewritten one also go to the run's train.log. */
#ifndef HWS_CLI_TRAIN_PROGRESS_H
#define HWS_CLI_TRAIN_PROGRESS_H

#include "progress.h"
#include "run/run_log.h"
#include "train/train.h"

typedef struct train_progress {
    int terminal, quiet, shown, dry;
    cli_progress preparing; /* what comes before the first iteration and behind the last */
    run_log log;
    double start, last; /* seconds; when training began, and when the line was last shown */
    int64_t first;      /* the iteration it began with */
    double loss;        /* smoothed */
    text best;          /* the value that chose the weights that are kept, in words; empty: none did yet */
    text metric, next;  /* its name, and the command that comes next */
} train_progress;

/* The listener refers to the progress, and says stop when the user does. */
train_listener train_progress_start(train_progress *progress, int quiet, int dry_run);

/* Clears the terminal's line and says how it ended; `failure` may be NULL. Behind it the progress is empty. */
void train_progress_end(train_progress *progress, const train_outcome *outcome, const failure *failure);

/* Instead, of a dry run: what it would take. */
void train_progress_tell_trial(train_progress *progress, const train_trial *trial);

#endif
