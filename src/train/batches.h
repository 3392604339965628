/*
 * Which examples make up the batch of an iteration: the objectives.
 *
 *     erm       shuffled epochs: each pass is a permutation that only the seed and the pass decide; what is left over
 *               when a pass cannot fill another batch is dropped
 *               (independent: every example of a batch is uniform, with replacement, as in nnU-Net)
 *     dro       hardness weighted sampling: drawn by the sampler from the history of stale losses, after a warm-up of
 *               some iterations that are drawn as with erm
 *     reweight  static reweighting by sampling: first a class, all equally likely, then one of its examples, all equally
 *               likely, with replacement; so an example is drawn with a probability inverse to its class' frequency
 *     ohem      online hard example mining: candidates, a multiple of the batch, come in shuffled passes as with erm, and
 *               the hardest ones are trained on (train/step.c)
 *
 * All but dro after its warm-up follow from (seed, iteration) alone; dro also from the sampler, whose state a checkpoint holds.
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
    int (*group)(void *context, int64_t example); /* the class of an example; for reweight */
    void *context;
} batches_options;

typedef struct batches {
    batches_options options;
    int64_t *order;  /* the current permutation, or the examples class by class */
    int64_t pass;    /* which permutation */
    int64_t *starts; /* where each class begins in `order` */
    int64_t classes; /* that have examples */
} batches;

status_code batches_open(batches *batches, const batches_options *options, failure *failure);
void batches_close(batches *batches);

status_code batches_draw(batches *batches, int64_t iteration, int64_t *drawn, failure *failure);

#endif
