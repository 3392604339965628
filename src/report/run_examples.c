#include "report/run_examples.h"

#include <stdlib.h>
#include <string.h>

static int is_in_group(const run_table *table, size_t row, const char *group) {
    return strcmp(run_cell(table, row, "group"), group) == 0;
}

/* ---- labels in doubt --------------------------------------------------------------------------------------------- */

int run_is_in_doubt(const run *run, size_t row) { return run_number(&run->triage, row, "doubt") >= RUN_IN_DOUBT; }

/* Of one group, or without a name of all. */
static group_doubts doubts_of(const run *run, const char *group) {
    group_doubts found = {.name = group};
    for (size_t row = 0; row < run->triage.data.rows; row++) {
        if (group && !is_in_group(&run->triage, row, group)) continue;
        found.examples++;
        found.doubts += (size_t)run_is_in_doubt(run, row);
    }
    return found;
}

group_doubts run_doubts(const run *run) { return doubts_of(run, NULL); }

group_doubts *run_doubts_by_group(const run *run, size_t *count) {
    const char **names = run_values(&run->triage, "group", count);
    group_doubts *groups = *count ? malloc(*count * sizeof *groups) : NULL;
    if (!groups) *count = 0;
    for (size_t g = 0; g < *count; g++) groups[g] = doubts_of(run, names[g]);
    free(names);
    return groups;
}

/* ---- stale losses ------------------------------------------------------------------------------------------------ */

/* Of so many examples, how many are the hardest of which a group's share is told. */
static size_t hardest_of(size_t count) { return (count + 19) / 20; }

double run_stale_loss(const run *run, size_t row) { return run_number(&run->losses, row, "stale_loss"); }

loss_summary run_loss_summary(const run *run, const size_t *rows, size_t count) {
    loss_summary told = {.examples = run->losses.data.rows, .largest = run_stale_loss(run, rows[0])};
    double sum = 0;
    for (size_t row = 0; row < told.examples; row++) told.never_drawn += run_number(&run->losses, row, "draws") == 0;
    for (size_t k = 0; k < count; k++) sum += run_stale_loss(run, rows[k]);
    told.mean = sum / (double)count;
    /* The largest come first; of an even number there are two middle ones. */
    told.median = (run_stale_loss(run, rows[(count - 1) / 2]) + run_stale_loss(run, rows[count / 2])) / 2;
    told.high = run_stale_loss(run, rows[count / 20]);
    return told;
}

static group_losses losses_of(const run *run, const char *group, const size_t *rows, size_t count) {
    group_losses found = {.name = group};
    double sum = 0, draws = 0;
    for (size_t k = 0; k < count; k++) {
        if (!is_in_group(&run->losses, rows[k], group)) continue;
        sum += run_stale_loss(run, rows[k]);
        draws += run_number(&run->losses, rows[k], "draws");
        found.hardest += k < hardest_of(count);
        found.examples++;
    }
    found.mean_loss = sum / (double)found.examples;
    found.mean_draws = draws / (double)found.examples;
    return found;
}

group_losses *run_losses_by_group(const run *run, const size_t *rows, size_t count, size_t *groups) {
    const char **names = run_values(&run->losses, "group", groups);
    group_losses *found = *groups ? malloc(*groups * sizeof *found) : NULL;
    if (!found) *groups = 0;
    for (size_t g = 0; g < *groups; g++) found[g] = losses_of(run, names[g], rows, count);
    free(names);
    return found;
}

const char *run_prediction(const run *run, const char *example) {
    for (size_t row = 0; row < run->hardest.data.rows; row++)
        if (strcmp(run_cell(&run->hardest, row, "example"), example) == 0)
            return run_cell(&run->hardest, row, "prediction");
    return "";
}
