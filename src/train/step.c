/* One iteration of Algorithm 1 of the paper. */
#include "train/sampler_status.h"
#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Step 4 and 5: I ~ p(L). Batches are drawn `look_ahead` iterations before they are needed. */
static status_code draw(trainer *t, failure *failure) {
    status_code status = STATUS_OK;
    while (loader_count(t->loader) <= t->settings.look_ahead && status == STATUS_OK) {
        if (strcmp(t->settings.history, "exact") == 0) {
            status = trainer_all_losses(t, failure);
            if (status != STATUS_OK) return status;
            const hws_status set = hws_sampler_set_losses(t->history, 0, t->task->examples, t->all);
            if (set != HWS_OK)
                return sampler_status(hws_sampler_error(t->history), set, "the losses of all examples", failure);
        }
        const int64_t iteration = t->iteration + loader_count(t->loader);
        status = batches_draw(&t->batches, iteration, t->drawn, failure);
        if (status == STATUS_OK) loader_add(t->loader, iteration, t->drawn);
    }
    return status;
}

static void load(trainer *t, const loaded *batch, const int64_t *positions, int count) {
    for (int k = 0; k < count; k++) {
        const size_t from = (size_t)positions[k];
        memcpy(learner_input(t->learner) + (size_t)k * t->input_floats, batch->input + from * t->input_floats,
               t->input_floats * sizeof(float));
        memcpy(learner_labels(t->learner) + (size_t)k * t->label_count, batch->labels + from * t->label_count,
               t->label_count * sizeof(int16_t));
    }
}

static int smaller(int64_t a, int64_t b) { return (int)(a < b ? a : b); }

static status_code check_finite(const trainer *t, const loaded *batch, const int64_t *positions, int count,
                                const double *losses, failure *failure) {
    for (int k = 0; k < count; k++)
        if (!isfinite((float)losses[k])) return trainer_fail_loss(t, batch->examples[positions[k]], losses[k], failure);
    return STATUS_OK;
}

typedef struct scored {
    double loss;
    int64_t position;
} scored;

static int harder_first(const void *a, const void *b) {
    const scored *x = a, *y = b;
    if (x->loss != y->loss) return x->loss < y->loss ? 1 : -1;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* Online hard example mining: candidates are scored as in prediction (batch normalisation by its running statistics),
   their losses enter the history, and the hardest are trained on. */
static status_code mine(trainer *t, const loaded *batch, failure *failure) {
    status_code status = STATUS_OK;
    scored *all = malloc((size_t)t->candidates * sizeof *all);
    if (!all) return fail_memory(failure, "the candidates");
    const int part = learner_part(t->learner);
    for (int64_t done = 0; done < t->candidates && status == STATUS_OK; done += part) {
        const int count = smaller(part, t->candidates - done);
        load(t, batch, t->chosen + done, count);
        status = learner_evaluate(t->learner, count, t->losses + done, failure);
        if (status == STATUS_OK) status = check_finite(t, batch, t->chosen + done, count, t->losses + done, failure);
    }
    for (int64_t k = 0; k < t->candidates; k++) {
        all[k] = (scored){t->losses[k], k};
        t->scores[k] = (float)t->losses[k];
    }
    qsort(all, (size_t)t->candidates, sizeof *all, harder_first);
    for (int64_t k = 0; k < t->batch; k++) t->chosen[k] = all[k].position;
    free(all);
    return status;
}

/* Steps 6 to 11: w = 1, or clip(p_new / p_old); the gradient is that of the mean of w times loss. */
static status_code weigh(trainer *t, int64_t first, int count, failure *failure) {
    for (int64_t k = first; k < first + count; k++) {
        t->fresh[k] = (float)t->losses[k];
        t->ratios[k] = 1;
    }
    const int importance = t->settings.importance && t->objective == OBJECTIVE_DRO;
    if (importance && hws_sampler_importance(t->history, count, t->chosen_examples + first, t->fresh + first,
                                             t->ratios + first) != HWS_OK)
        return fail(failure, STATUS_BAD_INPUT, "importance weights: %s", hws_sampler_error(t->history)->message);
    for (int64_t k = first; k < first + count; k++) {
        /* What was not seen before has no loss to compare with. */
        const int compared = importance && t->draws[t->chosen_examples[k]] > 0;
        const double ratio = compared ? (double)t->ratios[k] : 1;
        t->weights[k] = ratio / (double)t->batch;
        t->weighed++;
        t->clipped += compared && (ratio <= (double)(float)t->settings.weight_min ||
                                   ratio >= (double)(float)t->settings.weight_max);
    }
    return STATUS_OK;
}

/* Step 12: L_I <- fresh losses. Once for the whole batch, so that all weights come from the losses before it. */
static status_code remember(trainer *t, const loaded *batch, failure *failure) {
    for (int64_t k = 0; k < t->batch; k++) {
        t->draws[t->chosen_examples[k]]++;
        t->scores[t->chosen[k]] = t->fresh[k];
    }
    return sampler_status(hws_sampler_error(t->history),
                          hws_sampler_update(t->history, t->candidates, batch->examples, t->scores), "the history",
                          failure);
}

/* The examples of the batch that are trained on: all of them, or the hardest. */
static status_code choose(trainer *t, const loaded *batch, failure *failure) {
    status_code status = STATUS_OK;
    for (int64_t k = 0; k < t->candidates; k++) t->chosen[k] = k;
    if (t->objective == OBJECTIVE_OHEM) status = mine(t, batch, failure);
    for (int64_t k = 0; k < t->batch; k++) t->chosen_examples[k] = batch->examples[t->chosen[k]];
    return status;
}

status_code trainer_step(trainer *t, double *loss, failure *failure) {
    const loaded *batch;
    const int part = learner_part(t->learner);
    status_code status = draw(t, failure);
    if (status == STATUS_OK) status = loader_take(t->loader, &batch, failure);
    if (status == STATUS_OK) status = choose(t, batch, failure);
    if (status == STATUS_OK) learner_begin(t->learner);
    for (int64_t done = 0; done < t->batch && status == STATUS_OK; done += part) {
        const int count = smaller(part, t->batch - done);
        load(t, batch, t->chosen + done, count);
        status = learner_losses(t->learner, count, t->losses + done, failure);
        if (status == STATUS_OK) status = check_finite(t, batch, t->chosen + done, count, t->losses + done, failure);
        if (status == STATUS_OK) status = weigh(t, done, count, failure);
        if (status == STATUS_OK) learner_backward(t->learner, count, t->weights + done);
    }
    if (status == STATUS_OK) status = remember(t, batch, failure);
    if (status == STATUS_OK)
        status = learner_update(t->learner, schedule_rate(&t->schedule, (double)t->iteration), 0, failure);
    if (status != STATUS_OK) return status;
    loader_release(t->loader);
    t->iteration++;
    *loss = 0;
    for (int64_t k = 0; k < t->batch; k++) *loss += t->losses[k] / (double)t->batch;
    return STATUS_OK;
}
