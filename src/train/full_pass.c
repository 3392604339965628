/* Passes over all training examples: exact losses, and the gradient of R. */
#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A part of the examples in their order, beginning with `first`; beyond the end it goes on from the front. */
static hws_status fill_part(trainer *t, int64_t first, failure *failure) {
    hws_status status = HWS_OK;
    for (int k = 0; k < learner_part(t->learner) && status == HWS_OK; k++)
        status = t->task->fill(t->task->context, (first + k) % t->task->examples, TASK_PLAIN, 0,
                               learner_input(t->learner) + (size_t)k * t->input_floats,
                               learner_labels(t->learner) + (size_t)k * t->label_count, failure);
    return status;
}

typedef hws_status (*loss_function)(learner *, int, double *, failure *);

static hws_status all_losses(trainer *t, loss_function losses_of, failure *failure) {
    const int64_t n = t->task->examples;
    const int part = learner_part(t->learner);
    hws_status status = HWS_OK;
    double *losses = malloc((size_t)part * sizeof *losses);
    if (!losses) return fail_memory(failure, "the losses");
    for (int64_t done = 0; done < n && status == HWS_OK; done += part) {
        const int count = (int)(n - done < part ? n - done : part);
        status = fill_part(t, done, failure);
        if (status == HWS_OK) status = losses_of(t->learner, count, losses, failure);
        for (int k = 0; k < count && status == HWS_OK; k++) {
            if (!isfinite((float)losses[k])) status = trainer_fail_loss(t, done + k, losses[k], failure);
            t->all[done + k] = (float)losses[k];
        }
    }
    free(losses);
    return status;
}

hws_status trainer_all_losses(trainer *t, failure *failure) { return all_losses(t, learner_evaluate, failure); }

static hws_status add_gradients(trainer *t, const double *p, failure *failure) {
    const int64_t n = t->task->examples;
    const int part = learner_part(t->learner);
    hws_status status = HWS_OK;
    double *losses = malloc((size_t)part * sizeof *losses);
    if (!losses) return fail_memory(failure, "the losses");
    learner_begin(t->learner);
    for (int64_t done = 0; done < n && status == HWS_OK; done += part) {
        const int count = (int)(n - done < part ? n - done : part);
        status = fill_part(t, done, failure);
        if (status == HWS_OK) status = learner_losses(t->learner, count, losses, failure);
        if (status == HWS_OK) learner_backward(t->learner, count, p + done);
    }
    free(losses);
    return status;
}

static hws_status measure(trainer *t, double *p, double *norm, failure *failure) {
    const hws_options options = hws_sampler_options(t->history);
    hws_status status = all_losses(t, learner_losses, failure);
    if (status != HWS_OK) return status;
    status = hws_divergence_probabilities(&options.divergence, options.beta, t->task->examples, t->all, p);
    if (status != HWS_OK) return fail(failure, status, "the gradient of R: %s", hws_status_text(status));
    status = add_gradients(t, p, failure);
    *norm = gradient_norm(graph_trained_floats(learner_graph(t->learner)), graph_gradients(learner_graph(t->learner)));
    return status;
}

hws_status trainer_gradient_norm(trainer *t, double *norm, failure *failure) {
    graph *g = learner_graph(t->learner);
    const size_t floats = graph_running_floats(g);
    float *running = malloc((floats + 1) * sizeof *running);
    double *p = malloc((size_t)t->task->examples * sizeof *p);
    hws_status status = running && p ? HWS_OK : fail_memory(failure, "the gradient of R");
    if (status == HWS_OK) {
        memcpy(running, graph_running(g), floats * sizeof *running);
        status = measure(t, p, norm, failure);
        memcpy(graph_running(g), running, floats * sizeof *running);
    }
    free(running);
    free(p);
    return status;
}
