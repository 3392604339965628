/*
 * A network with its loss and its optimiser: what a training step acts on.
 *
 * A batch is worked on in micro-batches: the whole batch for networks with batch normalisation, one example at a time
 * for the others, which is exact and needs the memory of one.
 *
 *     learner_begin(learner)                                 forget the last step's gradients
 *     for each micro-batch, of `count` examples:
 *         fill learner_input, learner_labels
 *         learner_losses(learner, count, losses, &failure)   one loss per example, before the backward pass
 *         learner_backward(learner, count, weights)          gradients of the sum of weight * loss, added up
 *     learner_join(learner)
 *     learner_update(learner, rate, &norm, &failure)
 */
#ifndef HWS_MODEL_LEARNER_H
#define HWS_MODEL_LEARNER_H

#include "model/model.h"
#include "nn/graph.h"
#include "nn/loss.h"
#include "nn/optimizer.h"
#include "ranks/ranks.h"

typedef struct learner_options {
    model_options model; /* model.input.samples is the micro-batch */
    graph_options graph;
    loss_kind loss;
    double smoothing; /* of its labels; 0: none (nn/loss.h) */
    uint64_t seed;    /* of dropout, whose share the model has */
    optimizer_options optimizer;
    int batch;          /* examples of a batch; 0: one micro-batch */
    const ranks *ranks; /* who work on a batch together; NULL: this process alone. Opened, updated, joined together. */
} learner_options;

typedef struct learner learner;

status_code learner_open(const learner_options *options, learner **learner, failure *failure);
void learner_close(learner **learner);

/* How many examples are worked on at once, here. */
int learner_micro_batch(const learner *learner);

/* The examples of a batch that this rank trains on, [first, end): none if there are more ranks than parts
   of it. Those of a whole batch (learner_takes_whole) are one micro-batch, which all ranks run together,
   also those who have none. */
typedef struct learner_share {
    int first, end;
} learner_share;
learner_share learner_own(const learner *learner);
/* Those of another rank; learner_own is learner_of(learner, its rank). */
learner_share learner_of(const learner *learner, int rank);
int learner_takes_whole(const learner *learner);
const ranks *learner_ranks(const learner *learner);
/* Into how many parts a batch is cut: more ranks have nothing to do. */
int learner_parts(const learner *learner);
graph *learner_graph(learner *learner);
const learner_options *learner_settings(const learner *learner);

/* [example][depth][height][width][channel] and [example][depth][height][width] (or [example] for classification). A
   negative label is left out of the loss. */
float *learner_input(learner *learner);
int16_t *learner_labels(learner *learner);

void learner_begin(learner *learner);

/* Forward with the first `count` examples counting. The losses of the micro-batch; NaN is the caller's to notice. */
status_code learner_losses(learner *learner, int count, double *losses, failure *failure);
/* Weights of the same examples. */
void learner_backward(learner *learner, int count, const double *weights);

/* Behind the last micro-batch of a batch: adds what the other ranks have found. Together. */
void learner_join(learner *learner);
/* Of the gradients that were joined. Together. */
double learner_gradient_norm(learner *learner);

/* One step of the optimiser; STATUS_NOT_FINITE changes nothing. */
status_code learner_update(learner *learner, double rate, double *norm, failure *failure);

/* Forward without training (batch normalisation by its running statistics). Losses may be NULL. The logits of the
   finest output are graph_output_values(learner_graph(l), 0). */
status_code learner_evaluate(learner *learner, int count, double *losses, failure *failure);

/* For checkpoints: the optimiser's state, of which each rank keeps a share until all get it (together), and
   the number of steps made. */
void learner_gather_state(learner *learner);
size_t learner_state_floats(const learner *learner);
float *learner_state(learner *learner);
int64_t learner_steps(const learner *learner);
void learner_set_steps(learner *learner, int64_t steps);

#endif
