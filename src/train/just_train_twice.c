/*
 * Just train twice (Liu et al. 2021): a first training as with erm, whose errors on the training set are then in each
 * pass of a second training, from the first weights on, several times.
 *
 * Where the task does not say what an error is, the hardest --tail of the examples take their place.
 */
#include "train/batch_tail.h"
#include "train/trainer_inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The share `tail` of the examples with the largest losses, which are in t->all. */
static status_code mark_hardest(trainer *t, failure *failure) {
    const int64_t n = t->task->examples, wanted = (int64_t)ceil(t->settings.tail * (double)n - BATCH_TAIL_LEAST);
    double *losses = malloc((size_t)n * sizeof *losses);
    int64_t *order = malloc((size_t)n * sizeof *order);
    status_code status = losses && order ? STATUS_OK : fail_memory(failure, "the errors");
    for (int64_t i = 0; i < n && status == STATUS_OK; i++) losses[i] = (double)t->all[i];
    if (status == STATUS_OK) status = order_by_loss(losses, n, order, failure);
    for (int64_t k = 0; k < wanted && status == STATUS_OK; k++) t->errors[order[k]] = 1;
    free(losses);
    free(order);
    return status;
}

static status_code find_errors(trainer *t, failure *failure) {
    memset(t->errors, 0, (size_t)t->task->examples * sizeof *t->errors);
    status_code status = trainer_all_errors(t, t->errors, failure);
    return status == STATUS_OK && !t->task->is_wrong ? mark_hardest(t, failure) : status;
}

static void tell(trainer *t) {
    int64_t count = 0;
    for (int64_t i = 0; i < t->task->examples; i++) count += t->errors[i];
    trainer_notice(
        t,
        "after %lld iteration%s the second training begins; %lld of %lld examples are errors of the first, and are "
        "drawn %lld times as often as the others",
        (long long)t->iteration, t->iteration == 1 ? "" : "s", (long long)count, (long long)t->task->examples,
        (long long)t->settings.jtt_weight);
}

status_code trainer_upweight_errors(trainer *t, failure *failure) {
    return batches_upweight(&t->batches, t->errors, t->settings.jtt_weight, t->first_training, failure);
}

status_code trainer_train_again(trainer *t, failure *failure) {
    status_code status = find_errors(t, failure);
    if (status == STATUS_OK) status = trainer_upweight_errors(t, failure);
    if (status == STATUS_OK) status = trainer_first_weights_again(t, failure);
    status = ranks_agree(t->ranks, status, failure);
    if (status != STATUS_OK) return status;
    memset(learner_state(t->learner), 0, learner_state_floats(t->learner) * sizeof(float));
    learner_set_steps(t->learner, 0);
    t->best = (double)NAN; /* that of the first training does not count */
    t->trains_again = 1;
    tell(t);
    return STATUS_OK;
}

double trainer_rate(const trainer *t, int64_t iteration) {
    schedule schedule = t->schedule;
    if (!t->first_training) return schedule_rate(&schedule, pace_position(&t->pace, iteration));
    const int again = iteration >= t->first_training;
    schedule.length = (double)(again ? t->total - t->first_training : t->first_training);
    return schedule_rate(&schedule, (double)(again ? iteration - t->first_training : iteration));
}
