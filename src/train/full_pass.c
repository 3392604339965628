/* Passes over all training examples: exact losses, and the gradient of R. */
#include "train/sampler_status.h"
#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A micro-batch of the examples in their order, beginning with `first`; beyond the end it goes on from the front. */
static status_code fill_micro_batch(trainer *t, int64_t first, failure *failure) {
    status_code status = STATUS_OK;
    for (int k = 0; k < learner_micro_batch(t->learner) && status == STATUS_OK; k++) {
        const task_request request = {.example = (first + k) % t->task->examples,
                                      .iteration = TASK_PLAIN,
                                      .input = learner_input(t->learner) + (size_t)k * t->input_floats,
                                      .labels = learner_labels(t->learner) + (size_t)k * t->label_count};
        status = t->task->fill(t->task->context, &request, failure);
    }
    return status;
}

typedef status_code (*loss_function)(learner *, int, double *, failure *);

/* `wrong`, which may be NULL, says which examples the task calls wrong. */
static status_code all_losses(trainer *t, loss_function losses_of, uint8_t *wrong, failure *failure) {
    const int64_t n = t->task->examples;
    const int most = learner_micro_batch(t->learner);
    status_code status = STATUS_OK;
    double *losses = malloc((size_t)most * sizeof *losses);
    if (!losses) return fail_memory(failure, "the losses");
    for (int64_t done = 0; done < n && status == STATUS_OK; done += most) {
        const int count = (int)(n - done < most ? n - done : most);
        status = fill_micro_batch(t, done, failure);
        if (status == STATUS_OK) status = losses_of(t->learner, count, losses, failure);
        for (int k = 0; k < count && status == STATUS_OK; k++) {
            if (!isfinite((float)losses[k])) status = trainer_fail_loss(t, done + k, losses[k], failure);
            t->all[done + k] = (float)losses[k];
            if (wrong && t->task->is_wrong)
                wrong[done + k] = (uint8_t)t->task->is_wrong(t->task->context, t->learner, k);
        }
    }
    free(losses);
    return status;
}

status_code trainer_all_losses(trainer *t, failure *failure) { return all_losses(t, learner_evaluate, 0, failure); }
status_code trainer_all_errors(trainer *t, uint8_t *wrong, failure *failure) {
    return all_losses(t, learner_evaluate, wrong, failure);
}

static status_code add_gradients(trainer *t, const double *p, failure *failure) {
    const int64_t n = t->task->examples;
    const int most = learner_micro_batch(t->learner);
    status_code status = STATUS_OK;
    double *losses = malloc((size_t)most * sizeof *losses);
    if (!losses) return fail_memory(failure, "the losses");
    learner_begin(t->learner);
    for (int64_t done = 0; done < n && status == STATUS_OK; done += most) {
        const int count = (int)(n - done < most ? n - done : most);
        status = fill_micro_batch(t, done, failure);
        if (status == STATUS_OK) status = learner_losses(t->learner, count, losses, failure);
        if (status == STATUS_OK) learner_backward(t->learner, count, p + done);
    }
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
    *norm = gradient_norm(graph_trained_floats(learner_graph(t->learner)), graph_gradients(learner_graph(t->learner)));
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
