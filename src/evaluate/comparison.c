#include "evaluate/comparison.h"

#include "evaluate/stratified.h"

#include <math.h>
#include <stdlib.h>

size_t comparison_regions(const comparison *comparison) { return comparison->methods.scores[0].regions.count; }

static compared_row *row_at(const comparison *comparison, size_t stratum, size_t region, size_t method) {
    return &comparison->rows[(stratum * comparison_regions(comparison) + region) * comparison->methods.count + method];
}

const compared_row *comparison_at(const comparison *comparison, size_t stratum, size_t region, size_t method) {
    return row_at(comparison, stratum, region, method);
}

/* Whether some method has a score and all others would be right without one. */
static int is_right_without(const comparison *comparison, const stratum *group, size_t k, size_t region,
                            const double *values) {
    int scored = 0, right = !isnan(metric_when_right(comparison->metric));
    for (size_t m = 0; m < comparison->methods.count; m++) {
        if (!isnan(values[m * group->count + k])) scored = 1;
        else right &= scores_is_empty(&comparison->methods.scores[m], group->cases[k], region);
    }
    return scored && right;
}

/* Where one method predicted a label that is not there, those that rightly predicted nothing have no score: left out,
   the case would hide the error. */
static void count_as_right(comparison *comparison, size_t stratum, size_t region, double *values) {
    const struct stratum *group = &comparison->strata->list[stratum];
    for (size_t k = 0; k < group->count; k++) {
        if (!is_right_without(comparison, group, k, region, values)) continue;
        for (size_t m = 0; m < comparison->methods.count; m++) {
            double *value = &values[m * group->count + k];
            if (!isnan(*value)) continue;
            *value = metric_when_right(comparison->metric);
            row_at(comparison, stratum, region, m)->rightly_empty++;
        }
    }
}

/* A case without a score by one method counts for none. */
static void leave_out_incomplete(double *values, size_t methods, size_t cases) {
    for (size_t k = 0; k < cases; k++) {
        int whole = 1;
        for (size_t m = 0; m < methods; m++) whole = whole && !isnan(values[m * cases + k]);
        for (size_t m = 0; m < methods && !whole; m++) values[m * cases + k] = (double)NAN;
    }
}

static status_code fill_method(const double *values, size_t method, const stratum *group,
                               const statistics_options *options, compared_row *row, failure *failure) {
    const double *own = values + method * group->count;
    status_code status = statistics_of(own, group->count, options, &row->numbers, failure);
    if (status == STATUS_OK && row->numbers.count > 0) row->numbers.worst = group->cases[row->numbers.worst];
    return status == STATUS_OK ? paired_of(values, own, group->count, options, &row->difference, failure) : status;
}

static status_code fill_region(comparison *comparison, size_t stratum, size_t region, failure *failure) {
    const struct stratum *group = &comparison->strata->list[stratum];
    const size_t methods = comparison->methods.count;
    double *values = malloc((methods * group->count + 1) * sizeof *values);
    if (!values) return fail_memory(failure, "a comparison");
    for (size_t m = 0; m < methods; m++)
        stratum_values(&(score_column){&comparison->methods.scores[m], region, comparison->metric}, group,
                       values + m * group->count);
    count_as_right(comparison, stratum, region, values);
    leave_out_incomplete(values, methods, group->count);
    statistics_options options = statistics_options_default();
    options.lower_is_better = metric_lower_is_better(comparison->metric);
    options.patients = group->whose;
    status_code status = STATUS_OK;
    for (size_t m = 0; m < methods && status == STATUS_OK; m++)
        status = fill_method(values, m, group, &options, row_at(comparison, stratum, region, m), failure);
    free(values);
    return status;
}

static status_code correct_all(comparison *comparison, failure *failure) {
    const size_t methods = comparison->methods.count;
    const size_t rows = comparison->strata->count * comparison_regions(comparison) * methods;
    double *p = malloc((rows ? rows : 1) * sizeof *p);
    if (!p) return fail_memory(failure, "a comparison");
    for (size_t k = 0; k < rows; k++) p[k] = k % methods ? comparison->rows[k].difference.test.p : (double)NAN;
    const status_code status = holm_correct(p, rows, failure);
    for (size_t k = 0; k < rows && status == STATUS_OK; k++) comparison->rows[k].difference.holm = p[k];
    free(p);
    return status;
}

static status_code check_metric(const comparison *comparison, failure *failure) {
    const metric metric = comparison->metric;
    for (size_t m = 0; m < comparison->methods.count; m++)
        if (!comparison->methods.scores[m].measured[metric])
            return fail(failure, STATUS_BAD_INPUT, "%s has no %s; evaluate it again with that metric",
                        comparison->methods.names[m], metric_name(metric));
    return STATUS_OK;
}

status_code comparison_open(comparison *comparison, const compared_methods *methods, const strata *strata,
                            metric metric, failure *failure) {
    *comparison = (struct comparison){.methods = *methods, .strata = strata, .metric = metric};
    status_code status = check_metric(comparison, failure);
    if (status != STATUS_OK) return status;
    const size_t regions = comparison_regions(comparison), rows = strata->count * regions * methods->count;
    comparison->rows = calloc(rows ? rows : 1, sizeof *comparison->rows);
    if (!comparison->rows) return fail_memory(failure, "a comparison");
    for (size_t k = 0; k < strata->count * regions && status == STATUS_OK; k++)
        status = fill_region(comparison, k / regions, k % regions, failure);
    return status == STATUS_OK ? correct_all(comparison, failure) : status;
}

void comparison_close(comparison *comparison) {
    free(comparison->rows);
    comparison->rows = NULL;
}
