/*
 * Which examples make up the batch of an iteration: the objectives.
 *
 *     erm       shuffled epochs: each pass is a permutation that only the seed and the pass decide; what is left over
 *               when a pass cannot fill another batch is dropped
 *     dro       hardness weighted sampling: drawn by the sampler from the history of stale losses
 *     reweight  static reweighting by sampling: first a class, all equally likely, then one of its examples, all equally
 *               likely, with replacement; so an example is drawn with a probability inverse to its class' frequency
 *     ohem      online hard example mining: candidates, a multiple of the batch, come in shuffled passes as with erm, and
 *               the hardest ones are trained on (train/step.c)
 *
 * All but dro follow from (seed, iteration) alone; dro also from the sampler, whose state a checkpoint holds.
 */
#ifndef HWS_TRAIN_BATCHES_H
#define HWS_TRAIN_BATCHES_H

#include "hws.h"
#include "run/objective.h"

#include <stdint.h>

typedef struct batches {
    objective_kind kind;
    int64_t examples, size; /* size: drawn per iteration */
    uint64_t seed;
    hws_sampler *history; /* the caller's; for dro */
    int64_t *order;       /* the current permutation, or the examples class by class */
    int64_t pass;         /* which permutation */
    int64_t *starts;      /* where each class begins in `order` */
    int64_t classes;      /* that have examples */
} batches;

/* group(context, example) is the class of an example; for reweight. */
status_code batches_open(batches *batches, objective_kind kind, int64_t examples, int64_t size, uint64_t seed,
                         hws_sampler *history, int (*group)(void *, int64_t), void *context, failure *failure);
void batches_close(batches *batches);

status_code batches_draw(batches *batches, int64_t iteration, int64_t *drawn, failure *failure);

#endif
