#include "evaluate/evaluation_age.h"

#include "core/csv.h"

#include <stdio.h>
#include <string.h>

status_code evaluation_iteration(const char *run, double *iteration, failure *failure) {
    char path[PATH_SIZE];
    csv history;
    *iteration = -1;
    status_code status = run_path(path, run, RUN_HISTORY, failure);
    if (status != STATUS_OK || !path_exists(path)) return status;
    status = csv_read(&history, path, CSV_STRICT, failure);
    const long column = csv_column(&history, "iteration");
    if (column >= 0 && history.rows) *iteration = csv_number(&history, history.rows - 1, (size_t)column);
    csv_close(&history);
    return status;
}

/* After how many iterations; -1: there is no strata.csv, or it does not say, as those of earlier versions. */
static double evaluated_at(const char *folder) {
    char path[PATH_SIZE];
    csv strata;
    double iteration = -1;
    if (run_path(path, folder, RUN_STRATA, NULL) != STATUS_OK || !path_exists(path)) return -1;
    const status_code status = csv_read(&strata, path, CSV_STRICT, NULL);
    const long column = csv_column(&strata, "iteration");
    if (status == STATUS_OK && column >= 0 && strata.rows) iteration = csv_number(&strata, 0, (size_t)column);
    csv_close(&strata);
    return iteration;
}

/* The weights that hws evaluate takes by itself. */
static int has_newer_weights(const char *folder) {
    char weights[PATH_SIZE], summary[PATH_SIZE];
    return run_path(weights, folder, RUN_BEST, NULL) == STATUS_OK &&
           run_path(summary, folder, RUN_SUMMARY, NULL) == STATUS_OK && path_is_newer(weights, summary);
}

static int is_old(const char *folder) {
    double now;
    const double then = evaluated_at(folder);
    if (!run_exists(folder)) return 0;
    if (then >= 0) return evaluation_iteration(folder, &now, NULL) == STATUS_OK && then < now;
    return has_newer_weights(folder);
}

void evaluation_tell_old(const char *path, const char *name, const listener *listener) {
    char folder[PATH_SIZE], notice[400];
    snprintf(folder, sizeof folder, "%s", path);
    if (!path_is_folder(path)) {
        char *slash = strrchr(folder, '/');
        if (slash) *slash = 0;
        else snprintf(folder, sizeof folder, ".");
    }
    if (!is_old(folder)) return;
    snprintf(
        notice, sizeof notice,
        "%.150s was trained further after it was evaluated: what the evaluation found may be of older weights. Run hws "
        "evaluate again",
        name);
    listener_notice(listener, notice);
}
