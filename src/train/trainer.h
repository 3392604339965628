/*
 * Training: Algorithm 1 of the paper in a loop, with its records.
 *
 *     trainer_open(&trainer, &settings, task, folder, &failure)
 *     trainer_begin(trainer, &failure)        a new run: first weights, config.json
 *     or trainer_resume(trainer, &failure)    goes on where the last checkpoint stands, to the same bits
 *     trainer_run(trainer, &listener, &end, &failure)
 *     trainer_close(&trainer)
 *
 * Everything random is keyed by the seed and by counters, the engine gives the same bits for any number of threads, and
 * a checkpoint holds all that changes: so one run equals another of the same settings and data to the bit, whether it
 * was interrupted or not.
 *
 * Look-ahead: with look-ahead k the batch of iteration t + k is drawn when t iterations are done, always. k = 0 is
 * exactly Algorithm 1; with k > 0 threads prepare batches while others are worked on, and draws are based on losses
 * that are k iterations older.
 *
 * An epoch is floor(examples / batch) iterations, or --epoch-length, whatever the objective.
 */
#ifndef HWS_TRAIN_TRAINER_H
#define HWS_TRAIN_TRAINER_H

#include "core/listener.h"
#include "task/task.h"
#include "train/batches.h"
#include "train/group_weights.h"
#include "train/loader.h"
#include "train/pace.h"
#include "train/rows.h"

#include "nn/schedule.h"

typedef struct trainer {
    train_settings settings; /* texts are the caller's */
    const task *task;
    const char *folder;
    const ranks *ranks; /* who train together: each on its share of a batch, and rank 0 alone writes */
    learner *learner;
    objective_kind objective;
    hws_sampler *history; /* the stale losses and their ages; dro draws from it. It counts draws, too, but only its
                             own, with pending batches; nobody reads them. */
    batches batches;
    loader *loader;
    schedule schedule;
    int64_t batch, candidates;        /* examples trained on and examples drawn per iteration */
    int64_t epoch_iterations, total;  /* the latter follows the pace */
    int64_t warm_up;                  /* so many iterations are drawn as erm would */
    pace pace;                        /* changes of the length, and the clock of a --budget */
    size_t followed;                  /* so many of the changes have come about */
    text lengths;                     /* of settings, as they are recorded */
    int64_t first_training;           /* of jtt: so many iterations; else 0 */
    size_t input_floats, label_count; /* of one example */

    /* What changes, and a checkpoint keeps. */
    int64_t iteration;        /* done */
    int64_t clipped, weighed; /* importance weights of this epoch */
    double weight_sum;        /* of those weighed; NaN in an epoch that a checkpoint without it began */
    double best;              /* the best value of the task's metric so far; not finite if there is none */
    int stopped;              /* 1: the gradient's norm fell below --stop-grad-norm */
    uint64_t *draws;          /* how often each example was trained on, whatever the objective */
    group_weights groups;     /* of group-dro */
    int trains_again;         /* 1: the second training of jtt has begun */
    uint8_t *errors;          /* [examples] of jtt: the errors of the first training */
    float *last_seen;         /* [examples]: the loss when last trained on, NaN before; --history exact keeps it */
    rows rows;

    int latest_is_damaged;                /* 1: it went on from the checkpoint before, which is the only good one */
    const listener *listener;             /* of trainer_run: a long evaluation asks it whether to stop; may be NULL */
    double draw_until;                    /* the clock: pictures are drawn so long after it was told to stop */
    double seconds;                       /* of training before this process */
    double started;                       /* the clock when it began */
    char notices[2048];                   /* lines worth telling, until they are told: trainer_notice, trainer_tell */
    int told_unseen, told_effective_size; /* once per process is enough */

    /* Scratch, of the candidates' size. */
    int64_t *drawn, *chosen_examples;
    int64_t *chosen; /* positions in the batch that are trained on */
    int64_t trained; /* how many of them in this iteration: the batch, or fewer with cvar-batch */
    double *tail;    /* by position: the weights of cvar-batch */
    double *losses, *weights;
    float *fresh, *ratios, *scores;
    float *all; /* [examples]: losses, when all are needed */
} trainer;

/* All functions are called by all ranks together (ranks_here). */
status_code trainer_open(trainer **trainer, const train_settings *settings, const task *task, const char *folder,
                         failure *failure);
void trainer_close(trainer **trainer);

status_code trainer_begin(trainer *trainer, failure *failure);
status_code trainer_resume(trainer *trainer, failure *failure);

/* Who looks on; any function may be NULL, and so may the listener. All get the context of `work`. */
typedef struct train_listener {
    listener work; /* preparations, notices, and whether to write a checkpoint and stop */
    /* Before the first iteration, also when there is none left to do. */
    void (*begin)(void *context, const trainer *trainer);
    /* After each iteration; row is the epoch's when one has ended, else NULL. `loss` is the batch's mean. */
    void (*report)(void *context, const trainer *trainer, double loss, const double *row);
} train_listener;

/* Late: the time of a --budget was over before the last validation was. */
typedef enum trainer_end { TRAINER_FINISHED, TRAINER_CONVERGED, TRAINER_INTERRUPTED, TRAINER_LATE } trainer_end;

/* From now on the run keeps to a time: the clock at which all must be over, and what is known of the costs in
   seconds. */
typedef struct trainer_time {
    double deadline, step, validation, end;
} trainer_time;
void trainer_watch(trainer *trainer, const trainer_time *time);

/* Until the end or until told to stop. After a failure the last checkpoint is as it was. */
status_code trainer_run(trainer *trainer, const train_listener *listener, trainer_end *end, failure *failure);

/* Whether all iterations and validations are done. */
int trainer_is_over(const trainer *trainer);

/* Seconds of training so far, those of earlier processes included. */
double trainer_seconds(const trainer *trainer);

#endif
