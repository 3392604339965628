/* A run that keeps to the time of its --budget: what of the trainer follows the pace, and the
   clock that it is set by. */
#include "core/clock.h"
#include "train/records.h"
#include "train/trainer_inside.h"

#include <math.h>
#include <stdio.h>

static const double WORTH_TELLING = 0.05;

/* When the time was over before this process began there is nothing to enforce: the run still gets its end. */
static int is_enforced(const trainer *t) { return t->pace.deadline > t->started; }

void trainer_watch(trainer *t, const trainer_time *time) {
    pace_watch(&t->pace, time->deadline, time->step, time->validation, time->end, clock_seconds());
}

double trainer_time_share(const trainer *t, double share) {
    const double now = clock_seconds();
    if (!is_enforced(t)) return HUGE_VAL;
    return now + share * fmax(0, t->pace.deadline - pace_reserve(&t->pace) - now);
}

int trainer_is_late(const trainer *t) {
    return is_enforced(t) && clock_seconds() > t->pace.deadline - pace_reserve(&t->pace);
}

/* The batches up to `drawn` have been drawn already. */
static void move_warm_up(trainer *t, const length_change *change) {
    const int64_t drawn = change->at + t->settings.look_ahead;
    const double planned = (double)t->pace.planned, position = pace_position(&t->pace, change->at);
    const double wanted = floor(t->settings.warm_up * planned);
    if (t->warm_up <= drawn || position >= planned) return;
    const double steps = (wanted - position) * (double)(change->total - change->at) / (planned - position);
    const int64_t moved = change->at + (int64_t)ceil(fmax(0, steps));
    t->warm_up = t->batches.options.warm_up = moved > drawn ? moved : drawn;
}

void trainer_follow_lengths(trainer *t) {
    while (t->followed < t->pace.count && t->pace.changes[t->followed].at <= t->iteration) {
        const length_change *change = &t->pace.changes[t->followed++];
        t->total = change->total;
        if (t->warm_up > 0) move_warm_up(t, change);
    }
}

static void tell(trainer *t, double before) {
    const double after = (double)t->total;
    if (fabs(after - before) < WORTH_TELLING * before) return;
    trainer_notice(
        t, "budget %.40s: an iteration takes %.3g s now, so that the run will have %.0f iterations instead of %.0f",
        t->settings.budget, t->pace.step, after, before);
}

/* Recorded before it has any effect: whoever resumes the run finds it. */
static status_code record(trainer *t, failure *failure) {
    text_close(&t->lengths);
    pace_record(&t->pace, &t->lengths);
    if (t->lengths.failed) return fail_memory(failure, "the changes of the run's length");
    t->settings.budget_lengths = text_string(&t->lengths);
    const status_code status = write_config(t, failure);
    pace_skip(&t->pace, clock_seconds());
    return status;
}

status_code trainer_keep_time(trainer *t, failure *failure) {
    const double now = clock_seconds(), before = (double)t->total;
    const pace_moment moment = {t->iteration, t->epoch_iterations, t->first_training ? t->first_training + 1 : 0, now};
    pace_measure_step(&t->pace, now);
    const int decided = pace_decide(&t->pace, &moment);
    const status_code status = decided < 0   ? fail_memory(failure, "the changes of the run's length")
                               : decided > 0 ? record(t, failure)
                                             : STATUS_OK;
    if (status != STATUS_OK) return status;
    trainer_follow_lengths(t);
    if (decided > 0) tell(t, before);
    return STATUS_OK;
}

/* A validation, or a pass through all examples, was cut short: the run ends with the best weights so far, or with
   the last if there are none. */
status_code trainer_end_late(trainer *t, failure *failure) {
    trainer_notice(t, "budget %.40s: the time was over before the run was; %s", t->settings.budget,
                   isfinite(t->best) ? "the best weights are those of the validations before"
                                     : "the last weights are kept as the best");
    const status_code status = isfinite(t->best) ? STATUS_OK : checkpoint_write_best(t, failure);
    return status == STATUS_OK ? checkpoint_write(t, failure) : status;
}
