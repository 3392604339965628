/* What hws inspect, hws triage and the page say of the training examples of a run, as numbers. */
#ifndef HWS_REPORT_RUN_EXAMPLES_H
#define HWS_REPORT_RUN_EXAMPLES_H

#include "report/run_results.h"

/* ---- labels in doubt: triage.csv --------------------------------------------------------------------------------- */

/* From here on a label is in doubt. */
#define RUN_IN_DOUBT 0.5

int run_is_in_doubt(const run *run, size_t row);

typedef struct group_doubts {
    const char *name; /* of the group; it belongs to the run */
    size_t examples, doubts;
} group_doubts;

/* Of all examples; they have no name. */
group_doubts run_doubts(const run *run);

/* Of each group, in their natural order: `count` of them, which the caller frees. NULL without
   groups, or without memory. */
group_doubts *run_doubts_by_group(const run *run, size_t *count);

/* ---- stale losses: losses.csv ------------------------------------------------------------------------------------ */

double run_stale_loss(const run *run, size_t row);

typedef struct loss_summary {
    size_t examples, never_drawn;       /* of all examples, also those without a loss */
    double mean, median, high, largest; /* `high`: what a twentieth of the examples reaches */
} loss_summary;

/* `rows` are those of run_hardest, at least one. */
loss_summary run_loss_summary(const run *run, const size_t *rows, size_t count);

typedef struct group_losses {
    const char *name; /* it belongs to the run */
    size_t examples;  /* that have a loss; where there are none, the means are NaN */
    size_t hardest;   /* of these examples are among the hardest twentieth of all */
    double mean_loss, mean_draws;
} group_losses;

/* Of each group, in their natural order: `groups` of them, which the caller frees. NULL without
   groups, or without memory. */
group_losses *run_losses_by_group(const run *run, const size_t *rows, size_t count, size_t *groups);

/* What the network said of an example at the end: hardest.csv knows it of the hardest ones, of others it is empty. */
const char *run_prediction(const run *run, const char *example);

#endif
