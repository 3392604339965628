/*
 * How long a run is when the clock has a say (--budget): it begins with a planned number of iterations, and whenever
 * the time turns out to be too short or too long for them, its length changes.
 *
 * Changes are the only thing that the clock decides, and they are recorded: length I:N says that after iteration I the
 * run was to have N iterations in all. Who follows the recorded ones gets the same bits without a clock.
 *
 * The learning rate follows: each iteration goes an equal share of what was left of the planned way when the length
 * changed last, so that a run that was cut still ends where the schedule does.
 */
#ifndef HWS_TRAIN_PACE_H
#define HWS_TRAIN_PACE_H

#include "core/failure.h"
#include "core/text.h"

#include <stddef.h>
#include <stdint.h>

typedef struct length_change {
    int64_t at, total;
} length_change;

enum { PACE_LAST = 5 };

typedef struct pace {
    int64_t planned; /* iterations */
    length_change *changes;
    size_t count;

    double deadline;        /* the clock; 0: nobody looks at it */
    double step;            /* seconds of an iteration, of late */
    double last[PACE_LAST]; /* of the last ones */
    int64_t measured;       /* how many there were */
    double validation;      /* a validation in such steps: it becomes slower with them */
    double validated;       /* seconds of a validation, of late: the next takes at least as long */
    double end;             /* seconds of what comes after the last; there are fewer pictures if it takes more */
    double mark;            /* the clock after what was measured last */
} pace;

/* Changes that were recorded as "I:N,I:N"; "": none. STATUS_BAD_INPUT if they cannot have been. */
status_code pace_open(pace *pace, int64_t planned, const char *changes, failure *failure);
void pace_close(pace *pace);

/* The changes as they are recorded. */
void pace_record(const pace *pace, text *changes);

/* The length that is known when so many iterations are done. */
int64_t pace_length(const pace *pace, int64_t done);

/* How far on the planned way an iteration is: the number of the iteration itself if nothing was changed before it. */
double pace_position(const pace *pace, int64_t iteration);

/* From here on the clock counts: all must be over at the deadline. What is not known (0) is measured first. */
void pace_watch(pace *pace, double deadline, double step, double validation, double end, double now);

/*
 * An iteration, or a validation, has ended. What a step takes is a mean over at least ten of them and over a hundredth
 * of the time that is left. A single one moves it by a tenth at most: a machine that stands still for a moment is not a
 * slow one. If the last PACE_LAST have all been slow, it is. Until so many are measured, the mean is at most what the
 * slowest of them took. There are few validations, so that half of what the newest took counts, and of a single one
 * that took many times longer than expected no more than three times.
 */
void pace_measure_step(pace *pace, double now);
void pace_measure_validation(pace *pace, double now);

/* What was done since is no iteration's work, such as writing a file: its time is gone, but
   says nothing about theirs. */
void pace_skip(pace *pace, double now);

/* What must be left of the time for the records after it. */
double pace_reserve(const pace *pace);

/*
 * After `done` iterations, at least one, before the validation that comes after every `epoch` of them and after the
 * last: 1, and a change is added, if the time does not suffice for the length or, ten times per epoch in the first two
 * thirds of the planned way, for more. No length is less than `done` or `least`. -1: no memory. What is before a
 * recorded change decides nothing.
 */
typedef struct pace_moment {
    int64_t done, epoch, least;
    double now;
} pace_moment;
int pace_decide(pace *pace, const pace_moment *moment);

#endif
