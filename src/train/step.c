/* One iteration of Algorithm 1 of the paper. */
#include "nn/team.h"
#include "train/batch_tail.h"
#include "train/sampler_status.h"
#include "train/trainer_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static status_code refresh_history(trainer *t, failure *failure) {
    const status_code status = trainer_all_losses(t, failure);
    if (status != STATUS_OK) return status;
    const hws_status set = hws_sampler_set_losses(t->history, 0, t->task->examples, t->all);
    return sampler_status(hws_sampler_error(t->history), set, "the losses of all examples", failure);
}

/* The batches of a second training can only be drawn when the first is over. */
static int may_draw(const trainer *t, int64_t iteration) {
    return loader_count(t->loader) <= t->settings.look_ahead &&
           (!t->first_training || t->trains_again || iteration < t->first_training);
}

/* Step 4 and 5: I ~ p(L). Batches are drawn `look_ahead` iterations before they are needed. */
static status_code draw(trainer *t, failure *failure) {
    status_code status = STATUS_OK;
    if (t->iteration == t->first_training && t->first_training && !t->trains_again)
        status = trainer_train_again(t, failure);
    while (status == STATUS_OK && may_draw(t, t->iteration + loader_count(t->loader))) {
        const int64_t iteration = t->iteration + loader_count(t->loader);
        if (t->settings.history == HISTORY_EXACT && iteration >= t->warm_up) status = refresh_history(t, failure);
        if (status == STATUS_OK) status = batches_draw(&t->batches, iteration, t->drawn, failure);
        if (status == STATUS_OK) loader_add(t->loader, iteration, t->drawn);
    }
    return status;
}

/* Examples first to first + count - 1 of those that were chosen. */
static void load(trainer *t, const loaded *batch, int64_t first, int count) {
    for (int k = 0; k < count; k++) {
        const size_t from = (size_t)t->chosen[first + k];
        memcpy(learner_input(t->learner) + (size_t)k * t->input_floats, batch->input + from * t->input_floats,
               t->input_floats * sizeof(float));
        memcpy(learner_labels(t->learner) + (size_t)k * t->label_count, batch->labels + from * t->label_count,
               t->label_count * sizeof(int16_t));
    }
}

static int smaller(int64_t a, int64_t b) { return (int)(a < b ? a : b); }

static status_code check_finite(const trainer *t, const loaded *batch, int64_t first, int count, failure *failure) {
    for (int64_t k = first; k < first + count; k++)
        if (!isfinite((float)t->losses[k]))
            return trainer_fail_loss(t, batch->examples[t->chosen[k]], t->losses[k], failure);
    return STATUS_OK;
}

/* The losses of all candidates as in prediction (batch normalisation by its running statistics), which enter the
   history; each rank takes a share of them. */
static status_code score(trainer *t, const loaded *batch, failure *failure) {
    const int most = learner_micro_batch(t->learner);
    status_code status = STATUS_OK;
    size_t sizes[RANKS_MAX];
    for (int k = 0; k < t->ranks->count; k++)
        sizes[k] = (size_t)(ranks_start(t->ranks, t->candidates, k + 1) - ranks_start(t->ranks, t->candidates, k)) *
                   sizeof *t->losses;
    const int64_t first = ranks_start(t->ranks, t->candidates, t->ranks->rank),
                  end = ranks_start(t->ranks, t->candidates, t->ranks->rank + 1);
    for (int64_t done = first; done < end && status == STATUS_OK; done += most) {
        const int count = smaller(most, end - done);
        load(t, batch, done, count);
        status = learner_evaluate(t->learner, count, t->losses + done, failure);
        if (status == STATUS_OK) status = check_finite(t, batch, done, count, failure);
    }
    ranks_gather(t->ranks, t->losses, sizes);
    for (int64_t k = 0; k < t->candidates; k++) t->scores[k] = (float)t->losses[k];
    return ranks_agree(t->ranks, status, failure);
}

/* Online hard example mining: the hardest candidates are trained on. */
static status_code mine(trainer *t, const loaded *batch, failure *failure) {
    const status_code status = score(t, batch, failure);
    return status == STATUS_OK ? order_by_loss(t->losses, t->candidates, t->chosen, failure) : status;
}

/* CVaR of a batch that is worked on in parts: only what has a weight is trained on. */
static status_code find_tail(trainer *t, const loaded *batch, failure *failure) {
    status_code status = score(t, batch, failure);
    if (status == STATUS_OK) status = batch_tail_weights(t->losses, t->batch, t->settings.tail, t->tail, failure);
    t->trained = 0;
    for (int64_t k = 0; k < t->batch && status == STATUS_OK; k++)
        if (t->tail[k] > 0) t->chosen[t->trained++] = k;
    return status;
}

/* The ratio of group-dro and cvar-batch to the weight 1 / batch. */
static status_code weigh_batch(trainer *t, int64_t first, int count, failure *failure) {
    status_code status = STATUS_OK;
    const double batch = (double)t->batch;
    if (t->objective == OBJECTIVE_CVAR_BATCH && count == t->batch)
        status = batch_tail_weights(t->losses, count, t->settings.tail, t->tail, failure);
    for (int64_t k = first; k < first + count && status == STATUS_OK; k++) {
        const int by_group = t->objective == OBJECTIVE_GROUP_DRO;
        const double weight = by_group ? group_weights_at(&t->groups, t->chosen_examples[k]) : t->tail[t->chosen[k]];
        t->fresh[k] = (float)t->losses[k];
        t->weights[k] = weight;
        t->ratios[k] = (float)(weight * batch);
    }
    return status;
}

static int weighs_by_ratio(const trainer *t) {
    return t->settings.importance != IMPORTANCE_OFF && t->objective == OBJECTIVE_DRO && t->iteration >= t->warm_up;
}

/* Steps 6 to 11: w = 1, or clip(p_new / p_old), for which a loss that was guessed is the stale one, as L_init in the
   paper; the gradient is that of the mean of w times loss. */
static status_code weigh(trainer *t, int64_t first, int count, failure *failure) {
    if (t->objective == OBJECTIVE_GROUP_DRO || t->objective == OBJECTIVE_CVAR_BATCH)
        return weigh_batch(t, first, count, failure);
    for (int64_t k = first; k < first + count; k++) {
        t->fresh[k] = (float)t->losses[k];
        t->ratios[k] = 1;
    }
    const hws_status status = weighs_by_ratio(t) ? hws_sampler_importance(t->history, count, t->chosen_examples + first,
                                                                          t->fresh + first, t->ratios + first)
                                                 : HWS_OK;
    if (status != HWS_OK) return sampler_status(hws_sampler_error(t->history), status, "importance weights", failure);
    for (int64_t k = first; k < first + count; k++) t->weights[k] = (double)t->ratios[k] / (double)t->batch;
    return STATUS_OK;
}

/* What a row of the history says about the weights. */
static void count_weights(trainer *t) {
    const int by_batch = t->objective == OBJECTIVE_GROUP_DRO || t->objective == OBJECTIVE_CVAR_BATCH;
    for (int64_t k = 0; k < t->trained; k++) {
        const double ratio = by_batch ? t->weights[k] * (double)t->batch : (double)t->ratios[k];
        t->weighed++;
        t->weight_sum += ratio;
        t->clipped += weighs_by_ratio(t) && (ratio <= (double)(float)t->settings.weight_min ||
                                             ratio >= (double)(float)t->settings.weight_max);
    }
}

/* Step 12: L_I <- fresh losses. Once for the whole batch, so that all weights come from the losses before it. */
static status_code remember(trainer *t, const loaded *batch, failure *failure) {
    for (int64_t k = 0; k < t->trained; k++) {
        const int64_t example = t->chosen_examples[k];
        t->draws[example] += t->objective != OBJECTIVE_CVAR_BATCH || t->weights[k] > 0;
        t->scores[t->chosen[k]] = t->fresh[k];
        t->last_seen[example] = t->fresh[k];
    }
    if (t->objective == OBJECTIVE_GROUP_DRO)
        group_weights_update(&t->groups, t->chosen_examples, t->losses, t->trained, t->settings.group_step);
    return sampler_status(hws_sampler_error(t->history),
                          hws_sampler_update(t->history, t->candidates, batch->examples, t->scores), "the history",
                          failure);
}

/* The examples of the batch that are trained on: all of them, or the hardest. */
static status_code choose(trainer *t, const loaded *batch, failure *failure) {
    status_code status = STATUS_OK;
    t->trained = t->batch;
    for (int64_t k = 0; k < t->candidates; k++) t->chosen[k] = k;
    if (t->objective == OBJECTIVE_OHEM) status = mine(t, batch, failure);
    if (t->objective == OBJECTIVE_CVAR_BATCH && !learner_takes_whole(t->learner)) status = find_tail(t, batch, failure);
    for (int64_t k = 0; k < t->trained; k++) t->chosen_examples[k] = batch->examples[t->chosen[k]];
    if (t->objective == OBJECTIVE_GROUP_DRO) group_weights_begin(&t->groups, t->chosen_examples, t->trained);
    return status;
}

/* What each rank knows about its own examples, for all; `size` bytes each. */
static void gather_own(const trainer *t, void *values, size_t size) {
    size_t sizes[RANKS_MAX];
    for (int k = 0; k < t->ranks->count; k++) {
        const learner_share share = learner_of(t->learner, k);
        sizes[k] = (size_t)(share.end - share.first) * size;
    }
    ranks_gather(t->ranks, values, sizes);
}

/* A batch that is worked on at once: its losses are all there before the first weight is needed. */
static status_code train_at_once(trainer *t, const loaded *batch, failure *failure) {
    const learner_share own = learner_own(t->learner);
    const int count = own.end - own.first;
    load(t, batch, own.first, count);
    status_code status = learner_losses(t->learner, count, t->losses + own.first, failure);
    gather_own(t, t->losses, sizeof *t->losses);
    status = ranks_agree(t->ranks, status, failure);
    if (status == STATUS_OK) status = check_finite(t, batch, 0, (int)t->batch, failure);
    if (status == STATUS_OK) status = weigh(t, 0, (int)t->batch, failure);
    if (status != STATUS_OK) return status;
    learner_backward(t->learner, count, t->weights + own.first);
    learner_join(t->learner);
    return STATUS_OK;
}

/* Losses and gradients of a micro-batch. Its weights are needed before there are losses of the next: normalised ones
   are by the mean of the batches before and of this micro-batch. */
static status_code train_on(trainer *t, const loaded *batch, int64_t first, int count, failure *failure) {
    load(t, batch, first, count);
    status_code status = learner_losses(t->learner, count, t->losses + first, failure);
    if (status == STATUS_OK) status = check_finite(t, batch, first, count, failure);
    if (status == STATUS_OK) status = weigh(t, first, count, failure);
    if (status == STATUS_OK) learner_backward(t->learner, count, t->weights + first);
    return status;
}

/* One micro-batch after the other. Also after a failure the ranks join, since the others wait for it. */
static status_code train_in_turn(trainer *t, const loaded *batch, failure *failure) {
    const learner_share own = learner_own(t->learner);
    const int most = learner_micro_batch(t->learner);
    const int64_t end = smaller(own.end, t->trained);
    status_code status = STATUS_OK;
    for (int64_t done = own.first; done < end && status == STATUS_OK; done += most)
        status = train_on(t, batch, done, smaller(most, end - done), failure);
    learner_join(t->learner);
    gather_own(t, t->losses, sizeof *t->losses);
    gather_own(t, t->fresh, sizeof *t->fresh);
    gather_own(t, t->weights, sizeof *t->weights);
    gather_own(t, t->ratios, sizeof *t->ratios);
    return ranks_agree(t->ranks, status, failure);
}

/* Step 13: theta <- theta - rate * gradient. */
static status_code descend(trainer *t, failure *failure) {
    const double rate = trainer_rate(t, t->iteration);
    struct failure why = {0};
    const status_code status = learner_update(t->learner, rate, 0, &why);
    if (status == STATUS_NOT_FINITE) return trainer_fail_update(t, why.message, failure);
    return status == STATUS_OK ? status : fail(failure, status, "%s", why.message);
}

static double mean_loss(const trainer *t) {
    double sum = 0;
    for (int64_t k = 0; k < t->trained; k++) sum += t->losses[k] / (double)t->trained;
    return sum;
}

status_code trainer_step(trainer *t, double *loss, failure *failure) {
    const loaded *batch;
    status_code status = draw(t, failure);
    if (status == STATUS_OK) status = loader_take(t->loader, &batch, failure);
    status = ranks_agree(t->ranks, status, failure);
    if (status == STATUS_OK) status = choose(t, batch, failure);
    if (status != STATUS_OK) return status;
    team_step_begin();
    learner_begin(t->learner);
    status = (learner_takes_whole(t->learner) ? train_at_once : train_in_turn)(t, batch, failure);
    if (status == STATUS_OK) count_weights(t);
    if (status == STATUS_OK) status = remember(t, batch, failure);
    if (status == STATUS_OK) status = descend(t, failure);
    if (status != STATUS_OK) return status;
    team_step_end();
    loader_release(t->loader);
    t->iteration++;
    *loss = mean_loss(t);
    return STATUS_OK;
}
