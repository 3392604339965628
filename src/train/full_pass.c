/* Passes over all training examples: exact losses, and the gradient of R. */
#include "train/sampler_status.h"
#include "train/trainer_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* `count` examples in their order, beginning with `first`; beyond the end it goes on from the front. */
static status_code fill(trainer *t, int64_t first, int count, failure *failure) {
    status_code status = STATUS_OK;
    for (int k = 0; k < count && status == STATUS_OK; k++) {
        const task_request request = {.example = (first + k) % t->task->examples,
                                      .iteration = TASK_PLAIN,
                                      .input = learner_input(t->learner) + (size_t)k * t->input_floats,
                                      .labels = learner_labels(t->learner) + (size_t)k * t->label_count};
        status = t->task->fill(t->task->context, &request, failure);
    }
    return status;
}

static status_code take_losses(trainer *t, int64_t first, int count, const double *losses, failure *failure) {
    status_code status = STATUS_OK;
    for (int k = 0; k < count && first + k < t->task->examples && status == STATUS_OK; k++) {
        if (!isfinite((float)losses[k])) status = trainer_fail_loss(t, first + k, losses[k], failure);
        t->all[first + k] = (float)losses[k];
    }
    return status;
}

typedef status_code (*loss_function)(learner *, int, double *, failure *);

/* Of examples that do not depend on each other: each rank takes a share of them. */
static status_code losses_apart(trainer *t, loss_function losses_of, double *losses, uint8_t *wrong, failure *failure) {
    const int64_t n = t->task->examples, first = ranks_start(t->ranks, n, t->ranks->rank),
                  end = ranks_start(t->ranks, n, t->ranks->rank + 1);
    const int most = learner_micro_batch(t->learner);
    status_code status = STATUS_OK;
    size_t counts[RANKS_MAX], sizes[RANKS_MAX];
    for (int64_t done = first; done < end && status == STATUS_OK; done += most) {
        const int count = (int)(end - done < most ? end - done : most);
        status = listener_stops(t->listener)
                     ? fail(failure, STATUS_STOPPED, "stopped while all examples were evaluated")
                     : fill(t, done, count, failure);
        if (status == STATUS_OK) status = losses_of(t->learner, count, losses, failure);
        if (status == STATUS_OK) status = take_losses(t, done, count, losses, failure);
        for (int k = 0; k < count && status == STATUS_OK && wrong && t->task->is_wrong; k++)
            wrong[done + k] = (uint8_t)t->task->is_wrong(t->task->context, t->learner, k);
    }
    for (int k = 0; k < t->ranks->count; k++) {
        counts[k] = (size_t)(ranks_start(t->ranks, n, k + 1) - ranks_start(t->ranks, n, k));
        sizes[k] = counts[k] * sizeof *t->all;
    }
    ranks_gather(t->ranks, t->all, sizes);
    if (wrong) ranks_gather(t->ranks, wrong, counts);
    return ranks_agree(t->ranks, status, failure);
}

/* The own examples of the batch that begins with `first`, forward in training. */
static status_code forward_own(trainer *t, int64_t first, double *losses, failure *failure) {
    const learner_share own = learner_own(t->learner);
    const status_code status = ranks_agree(t->ranks, fill(t, first + own.first, own.end - own.first, failure), failure);
    return status == STATUS_OK
               ? ranks_agree(t->ranks, learner_losses(t->learner, own.end - own.first, losses, failure), failure)
               : status;
}

/* Of batches that are normalised together. */
static status_code losses_together(trainer *t, double *losses, failure *failure) {
    status_code status = STATUS_OK;
    size_t sizes[RANKS_MAX];
    for (int k = 0; k < t->ranks->count; k++) {
        const learner_share share = learner_of(t->learner, k);
        sizes[k] = (size_t)(share.end - share.first) * sizeof *losses;
    }
    for (int64_t done = 0; done < t->task->examples && status == STATUS_OK; done += t->batch) {
        status = forward_own(t, done, losses + learner_own(t->learner).first, failure);
        if (status != STATUS_OK) break;
        ranks_gather(t->ranks, losses, sizes);
        status = take_losses(t, done, (int)t->batch, losses, failure);
    }
    return status;
}

/* `wrong`, which may be NULL, says which examples the task calls wrong. */
static status_code all_losses(trainer *t, loss_function losses_of, uint8_t *wrong, failure *failure) {
    const int most = learner_micro_batch(t->learner);
    double *losses = malloc(((size_t)most + (size_t)t->batch) * sizeof *losses);
    if (!losses) return fail_memory(failure, "the losses");
    const int together = losses_of == learner_losses && learner_takes_whole(t->learner);
    const status_code status =
        together ? losses_together(t, losses, failure) : losses_apart(t, losses_of, losses, wrong, failure);
    free(losses);
    return status;
}

status_code trainer_all_losses(trainer *t, failure *failure) { return all_losses(t, learner_evaluate, 0, failure); }
status_code trainer_all_errors(trainer *t, uint8_t *wrong, failure *failure) {
    return all_losses(t, learner_evaluate, wrong, failure);
}

/* A micro-batch of at most `count` examples, on the rank that has it; what lies beyond the end has no weight. */
static status_code add_micro_batch(trainer *t, int64_t first, int64_t count, const double *p, failure *failure) {
    const int most = learner_micro_batch(t->learner);
    const int64_t rest = t->task->examples - first;
    if (count > rest) count = rest;
    if (count > most) count = most;
    if (count <= 0) return STATUS_OK;
    status_code status = fill(t, first, most, failure);
    if (status == STATUS_OK) status = learner_losses(t->learner, (int)count, t->losses, failure);
    if (status == STATUS_OK) learner_backward(t->learner, (int)count, p + first);
    return status;
}

/* The gradients of the batch that begins with `first`. */
static status_code add_batch(trainer *t, int64_t first, const double *p, double *losses, failure *failure) {
    const learner_share own = learner_own(t->learner);
    status_code status = STATUS_OK;
    if (learner_takes_whole(t->learner)) {
        const int64_t rest = t->task->examples - first - own.first, all = own.end - own.first;
        status = forward_own(t, first, losses, failure);
        if (status != STATUS_OK) return status;
        learner_backward(t->learner, (int)(rest < 0 ? 0 : rest < all ? rest : all), p + first + own.first);
    } else {
        for (int k = own.first; k < own.end && status == STATUS_OK; k += learner_micro_batch(t->learner))
            status = add_micro_batch(t, first + k, own.end - k, p, failure);
    }
    learner_join(t->learner);
    return ranks_agree(t->ranks, status, failure);
}

static status_code add_gradients(trainer *t, const double *p, failure *failure) {
    status_code status = STATUS_OK;
    double *losses = malloc((size_t)t->batch * sizeof *losses);
    if (!losses) return fail_memory(failure, "the losses");
    learner_begin(t->learner);
    for (int64_t done = 0; done < t->task->examples && status == STATUS_OK; done += t->batch)
        status = add_batch(t, done, p, losses, failure);
    free(losses);
    return status;
}

static status_code measure(trainer *t, double *p, double *norm, failure *failure) {
    const hws_options options = hws_sampler_options(t->history);
    hws_error error;
    status_code status = all_losses(t, learner_losses, 0, failure);
    if (status != STATUS_OK) return status;
    const hws_status found =
        hws_divergence_probabilities(&options.divergence, options.beta, t->task->examples, t->all, p, &error);
    if (found != HWS_OK) return sampler_status(&error, found, "the gradient of R", failure);
    status = add_gradients(t, p, failure);
    if (status == STATUS_OK) *norm = learner_gradient_norm(t->learner);
    return status;
}

status_code trainer_gradient_norm(trainer *t, double *norm, failure *failure) {
    graph *g = learner_graph(t->learner);
    const size_t floats = graph_running_floats(g);
    float *running = malloc((floats + 1) * sizeof *running);
    double *p = malloc((size_t)t->task->examples * sizeof *p);
    status_code status = running && p ? STATUS_OK : fail_memory(failure, "the gradient of R");
    if (status == STATUS_OK) {
        memcpy(running, graph_running(g), floats * sizeof *running);
        status = measure(t, p, norm, failure);
        memcpy(graph_running(g), running, floats * sizeof *running);
    }
    free(running);
    free(p);
    return status;
}
