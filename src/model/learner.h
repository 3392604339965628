/*
 * A network with its loss and its optimiser: what a training step acts on.
 *
 * A batch is worked on in micro-batches: the whole batch for networks with batch normalisation, one example at a time for
 * the others, which is exact and needs the memory of one.
 *
 *     learner_begin(learner)                          forget the last step's gradients
 *     for each micro-batch:
 *         fill learner_input, learner_labels
 *         learner_losses(learner, losses, &failure)   one loss per example, before the backward pass
 *         learner_backward(learner, weights)          gradients of the sum of weight * loss, added up
 *     learner_update(learner, rate, &norm, &failure)
 */
#ifndef HWS_MODEL_LEARNER_H
#define HWS_MODEL_LEARNER_H

#include "model/model.h"
#include "nn/graph.h"
#include "nn/loss.h"
#include "nn/optimizer.h"

typedef struct learner_options {
    model_options model; /* model.input.samples is the micro-batch */
    graph_options graph;
    loss_kind loss;
    optimizer_options optimizer;
} learner_options;

typedef struct learner learner;

status_code learner_open(const learner_options *options, learner **learner, failure *failure);
void learner_close(learner **learner);

/* How many examples are worked on at once. */
int learner_micro_batch(const learner *learner);
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

/* One step of the optimiser; STATUS_NOT_FINITE changes nothing. */
status_code learner_update(learner *learner, double rate, double *norm, failure *failure);

/* Forward without training (batch normalisation by its running statistics). Losses may be NULL. The logits of the
   finest output are graph_output_values(learner_graph(l), 0). */
status_code learner_evaluate(learner *learner, int count, double *losses, failure *failure);

/* For checkpoints: the optimiser's state and the number of steps made. */
size_t learner_state_floats(const learner *learner);
float *learner_state(learner *learner);
int64_t learner_steps(const learner *learner);
void learner_set_steps(learner *learner, int64_t steps);

#endif
