/*
 * Which examples make up the batch of an iteration: the objectives.
 *
 *     erm       shuffled epochs: each pass is a permutation that only the seed and the pass decide; what is left over
 *               when a pass cannot fill another batch is dropped
 *               (independent: every example of a batch is uniform, with replacement, as in nnU-Net)
 *     dro       hardness weighted sampling: drawn by the sampler from the history of stale losses, after a warm-up of
 *               some iterations that are drawn as with erm
 *     reweight  static reweighting by sampling: first a class or group, all equally likely, then one of its examples,
 *               all equally likely, with replacement; so an example is drawn with a probability inverse to its group's
 *               frequency
 *     group-dro draws as reweight does; the losses are weighted (train/group_weights.h)
 *     ohem      online hard example mining: candidates, a multiple of the batch, come in shuffled passes as with erm,
 *               and the hardest ones are trained on (train/step.c)
 *     cvar-batch draws as erm does; the hardest part of the batch is trained on (train/batch_tail.h)
 *     jtt       draws as erm does until batches_upweight; then passes in which some examples are several times
 *
 * All but dro after its warm-up follow from (seed, iteration) alone, and jtt from what is upweighted; dro also from the
 * sampler, whose state a checkpoint holds.
 */
#ifndef HWS_TRAIN_BATCHES_H
#define HWS_TRAIN_BATCHES_H

#include "core/failure.h"
#include "hws.h"
#include "run/objective.h"

#include <stdint.h>

typedef struct batches_options {
    objective_kind kind;
    int64_t examples, size; /* size: drawn per iteration */
    uint64_t seed;
    int independent;                              /* of erm, and of dro while it warms up */
    int64_t warm_up;                              /* iterations of dro that are drawn as erm would */
    hws_sampler *history;                         /* the caller's; for dro */
    int (*group)(void *context, int64_t example); /* the group of an example; for reweight and group-dro */
    void *context;
} batches_options;

typedef struct batches {
    batches_options options;
    int64_t *order;  /* the current permutation, or the examples group by group */
    int64_t pass;    /* which permutation */
    int64_t *starts; /* where each group begins in `order` */
    int64_t groups;  /* that have examples */
    int64_t *pool;   /* what a pass consists of; NULL: every example once */
    int64_t pooled;  /* how many that are */
    int64_t first;   /* the iteration with which such passes begin */
} batches;

status_code batches_open(batches *batches, const batches_options *options, failure *failure);
void batches_close(batches *batches);

/* From iteration `first` on a pass has the marked examples so many times, the others once. */
status_code batches_upweight(batches *batches, const uint8_t *marked, int64_t times, int64_t first, failure *failure);

status_code batches_draw(batches *batches, int64_t iteration, int64_t *drawn, failure *failure);

#endif
