/* What hws train shows: on a terminal one line that is rewritten, and a line per epoch everywhere. */
#ifndef HWS_CLI_TRAIN_PROGRESS_H
#define HWS_CLI_TRAIN_PROGRESS_H

#include "progress.h"
#include "train/train.h"

typedef struct train_progress {
    int terminal, quiet, shown;
    cli_progress preparing; /* what comes before the first iteration */
    double start, last;     /* seconds; when training began, and when the line was last shown */
    int64_t first;          /* the iteration it began with */
    double loss;            /* smoothed */
} train_progress;

/* The listener refers to the progress, and says stop when the user does. */
train_listener train_progress_start(train_progress *progress, int quiet);

/* Clears the terminal's line. */
void train_progress_end(train_progress *progress);

#endif
