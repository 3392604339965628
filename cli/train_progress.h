/* What hws train shows: on a terminal one line that is rewritten, and a line per epoch everywhere. */
#ifndef HWS_CLI_TRAIN_PROGRESS_H
#define HWS_CLI_TRAIN_PROGRESS_H

#include "train/trainer.h"

typedef struct train_progress {
    int terminal, quiet, shown;
    double start, last; /* seconds; when it began, and when the line was last shown */
    int64_t first;      /* the iteration it began with */
    double loss;        /* smoothed */
} train_progress;

void train_progress_start(train_progress *progress, const trainer *trainer, int quiet);
/* A trainer_watch's report. */
void train_progress_report(void *progress, const trainer *trainer, double loss, const double *row);
/* Clears the terminal's line. */
void train_progress_end(train_progress *progress);

#endif
