/*
 * hws train --budget 60m: a few steps are measured, and from what they cost follow length, validations, optimiser, rate
 * and batch of a run that ends in time. What was chosen is written into config.json like any other setting, so that a
 * run that is resumed or repeated keeps it; the measuring itself leaves nothing behind. That the run does end in time,
 * whatever becomes of the machine, is the work of pace.h.
 */
#ifndef HWS_TRAIN_BUDGET_H
#define HWS_TRAIN_BUDGET_H

#include "core/listener.h"
#include "run/settings.h"
#include "task/task.h"

/* "90s", "60m", "2h" or "1h30m" in seconds, above 0. */
status_code budget_parse(const char *words, double *seconds, failure *failure);

/* Seconds of one iteration of `batch` examples, of a validation with its records and checkpoint, and of the end. */
typedef struct budget_costs {
    long long batch;
    double step, validation, end;
} budget_costs;

/* As they are kept in a run's settings, and back: of an iteration of this batch. "" is all 0, of an older run. */
enum { BUDGET_COSTS_SIZE = 96 };
void budget_costs_write(const budget_costs *costs, long long batch, char words[BUDGET_COSTS_SIZE]);
status_code budget_costs_read(budget_costs *costs, const char *words, long long batch, failure *failure);

/* Trains and validates with these settings in a temporary folder, for a tenth of the time at most or four steps. The
   pictures of the end get a tenth of the time at most: there may be fewer of them. */
status_code budget_measure(budget_costs *costs, const train_settings *settings, const task *task, double seconds,
                           failure *failure);

/* Which settings the user has chosen, and nobody else may. */
typedef struct budget_fixed {
    int optimizer, lr, schedule, batch, epoch_length, jtt_epochs;
    int64_t examples; /* --epoch-length 0 is a pass over them */
} budget_fixed;

/* Iterations of an epoch whose length was chosen. */
long long budget_epoch_length(const train_settings *settings, const budget_fixed *fixed);

/* Whether any time could suffice, before it is measured. */
status_code budget_check(const train_settings *settings, const budget_fixed *fixed, failure *failure);

/*
 * Fits settings into so many seconds, of which a twentieth is kept back: an eighth goes into validations at most, the
 * rest into iterations. Adam learns most in few iterations; nnU-Net's momentum of 0.99 is made for 250,000. A batch of
 * 2 gives more of them where the plan's would leave less than 2000. With an epoch of a given length the validations
 * take what they take. jtt's first training keeps its share of the epochs, of which there are at least two.
 * STATUS_BAD_INPUT, with what is needed, if the time is too short.
 */
status_code budget_choose(train_settings *settings, const budget_costs *costs, const budget_fixed *fixed,
                          double seconds, failure *failure);

#endif
