/*
 * What is recorded at the end of each epoch: the rows of history.csv and distribution.csv.
 *
 * A row has a number for each column but the seconds, which are kept apart so that a checkpoint holds no times.
 */
#ifndef HWS_TRAIN_ROWS_H
#define HWS_TRAIN_ROWS_H

#include "core/text.h"
#include "task/task.h"

/* The columns: the first of history.csv, then the metrics, further ones of history.csv, distribution.csv's, and those
   of history.csv that came later: checkpoints of older versions have shorter rows. */
enum {
    ROW_EPOCH,
    ROW_ITERATION,
    ROW_LR,
    ROW_LOSS_MEAN,
    ROW_LOSS_STD,
    ROW_ROBUST_LOSS,
    ROW_ESS,
    ROW_P_MAX,
    ROW_CLIP_RATE,
    ROW_FIRST
};
enum { ROW_BETA, ROW_GRAD_NORM, ROW_LAST };
enum { ROW_QUANTILES = 14 }; /* seven of the losses, seven of the chances to be drawn */
enum {
    ROW_CVAR,
    ROW_PERCENTILE,
    ROW_PERCENTILE_BOUND,
    ROW_UNSEEN,
    ROW_WEIGHT_MEAN,
    ROW_STALE_DISTANCE,
    ROW_GROUP_WEIGHT_MAX,
    ROW_LATER
};

typedef struct rows {
    int metrics;
    size_t count, capacity;
    double *values;  /* [count][rows_width] */
    double *seconds; /* [count]; NaN if not known */
} rows;

size_t rows_width(int metrics);
size_t rows_later(int metrics); /* where the later ones begin */
status_code rows_open(rows *rows, int metrics, failure *failure);
void rows_close(rows *rows);

/* A new row, all NaN; NULL if there is no memory. */
double *rows_add(rows *rows, double seconds);
double *rows_at(const rows *rows, size_t index);

/* The files as text. */
void rows_history(const rows *rows, const task *task, text *csv);
void rows_distribution(const rows *rows, text *csv);

/* Takes the seconds of the rows of the same iteration from a history.csv, where there is one. */
void rows_take_seconds(rows *rows, const char *path);

#endif
