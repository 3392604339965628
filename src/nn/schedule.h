/* The learning rate over the course of a training. */
#ifndef HWS_NN_SCHEDULE_H
#define HWS_NN_SCHEDULE_H

#include "core/failure.h"

typedef enum schedule_kind {
    SCHEDULE_CONSTANT = 0,
    SCHEDULE_POLY = 1,      /* rate (1 - t / length)^power: from the rate at t = 0 to 0 at t = length, and 0 after it */
    SCHEDULE_COSINE = 2,    /* rate (1 + cos(pi t / length)) / 2, and 0 after the length */
    SCHEDULE_POLY_EPOCH = 3 /* poly with one rate per epoch, that of its beginning, as nnU-Net */
} schedule_kind;

typedef struct schedule {
    schedule_kind kind;
    double rate;   /* the rate at the start */
    double length; /* in the unit of t, epochs or iterations; more than 0 */
    double power;  /* 0.9, more than 0 */
    double epoch;  /* 1, in the unit of t; more than 0 */
    /* 0; the first so many t have (t + 1) / (warm_up + 1) of the rate, then the schedule begins, with what is left of
       the length as its length. */
    double warm_up;
} schedule;

schedule schedule_default(schedule_kind kind, double rate, double length);

/* "constant", "poly", "cosine" or "poly-epoch". */
const char *schedule_name(schedule_kind kind);

status_code schedule_check(const schedule *schedule, failure *failure);

/* The learning rate at t >= 0. */
double schedule_rate(const schedule *schedule, double t);

#endif
