#include "evaluate/paired.h"

#include <math.h>
#include <stdlib.h>

static status_code fill_difference(const double *differences, const statistics_options *options, paired *result,
                                   failure *failure) {
    double sum = 0;
    for (size_t i = 0; i < result->count; i++) sum += differences[i];
    if (result->count > 0) result->mean = sum / (double)result->count;
    if (result->count < STATISTICS_INTERVAL_CASES || !(options->confidence > 0)) return STATUS_OK;
    return bootstrap_mean(differences, result->count, options, &result->ci, failure);
}

status_code paired_of(const double *a, const double *b, size_t count, const statistics_options *options, paired *result,
                      failure *failure) {
    const double none = (double)NAN;
    *result = (paired){.mean = none, .ci = {none, none}, .holm = none};
    double *differences = malloc((count ? count : 1) * sizeof *differences);
    if (!differences) return fail_memory(failure, "a comparison");
    for (size_t i = 0; i < count; i++)
        if (!isnan(b[i] - a[i])) differences[result->count++] = b[i] - a[i];
    status_code status = fill_difference(differences, options, result, failure);
    free(differences);
    if (status == STATUS_OK) status = wilcoxon_test(a, b, count, &result->test, failure);
    if (result->test.better + result->test.worse < PAIRED_TEST_CASES) result->test.p = none;
    result->holm = result->test.p;
    return status;
}

static int by_value(const void *a, const void *b) {
    const double x = **(const double *const *)a, y = **(const double *const *)b;
    return (x > y) - (x < y);
}

status_code holm_correct(double *p, size_t count, failure *failure) {
    double **order = malloc((count ? count : 1) * sizeof *order), largest = 0;
    size_t tests = 0;
    if (!order) return fail_memory(failure, "a correction");
    for (size_t k = 0; k < count; k++)
        if (!isnan(p[k])) order[tests++] = &p[k];
    qsort(order, tests, sizeof *order, by_value);
    for (size_t k = 0; k < tests; k++) {
        largest = fmax(largest, fmin(1, (double)(tests - k) * *order[k]));
        *order[k] = largest;
    }
    free(order);
    return STATUS_OK;
}
