#include "statistics/paired.h"

#include <math.h>
#include <stdlib.h>

/* The pairs without NaN: by how much they differ, and whose they are. */
typedef struct differences {
    double *values, *means, *zeros; /* `means`: of each patient */
    int *whose;
    clusters patients;
} differences;

static status_code differences_open(differences *d, size_t count, failure *failure) {
    *d = (differences){.values = malloc((2 * count + 1) * sizeof *d->values),
                       .zeros = calloc(count + 1, sizeof *d->zeros),
                       .whose = malloc((count + 1) * sizeof *d->whose)};
    if (!d->values || !d->zeros || !d->whose) return fail_memory(failure, "a comparison");
    d->means = d->values + count;
    return STATUS_OK;
}

static void differences_close(differences *d) {
    free(d->values);
    free(d->zeros);
    free(d->whose);
    clusters_close(&d->patients);
}

/* Numbers that are equal on paper may differ in their last bits: for the test, what is closer
   together than this is equal. */
static double unit_of(const double *a, const double *b, size_t count) {
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(b[i] - a[i])) largest = fmax(largest, fmax(fabs(a[i]), fabs(b[i])));
    return ldexp(largest, -40);
}

static double mean_of(const differences *d, const int64_t *members, int64_t count) {
    double sum = 0;
    for (int64_t k = 0; k < count; k++) sum += d->values[members[k]];
    return sum / (double)count;
}

static status_code fill_mean(const differences *d, const statistics_options *options, paired *result,
                             failure *failure) {
    double sum = 0;
    for (size_t i = 0; i < result->count; i++) sum += d->values[i];
    if (result->count > 0) result->mean = sum / (double)result->count;
    if (result->patients < STATISTICS_INTERVAL_CASES || !(options->confidence > 0)) return STATUS_OK;
    return bootstrap_mean(d->values, &d->patients, options, &result->ci, failure);
}

static status_code test(const differences *d, double unit, paired *result, failure *failure) {
    const int64_t *starts = d->patients.starts;
    for (int64_t p = 0; p < d->patients.count; p++) {
        const double mean = mean_of(d, d->patients.members + starts[p], starts[p + 1] - starts[p]);
        d->means[p] = unit > 0 ? nearbyint(mean / unit) : mean;
    }
    const status_code status = wilcoxon_test(d->zeros, d->means, result->patients, &result->test, failure);
    if (result->test.better + result->test.worse < PAIRED_TEST_CASES) result->test.p = (double)NAN;
    result->holm = result->test.p;
    return status;
}

status_code paired_of(const double *a, const double *b, size_t count, const statistics_options *options, paired *result,
                      failure *failure) {
    const double none = (double)NAN;
    *result = (paired){.mean = none, .ci = {none, none}, .holm = none};
    differences d;
    status_code status = differences_open(&d, count, failure);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        if (isnan(b[i] - a[i])) continue;
        d.whose[result->count] = options->patients ? options->patients[i] : -1;
        d.values[result->count++] = b[i] - a[i];
    }
    if (status == STATUS_OK) status = clusters_open(&d.patients, d.whose, NULL, (int64_t)result->count, failure);
    if (status == STATUS_OK) {
        result->patients = (size_t)d.patients.count;
        status = fill_mean(&d, options, result, failure);
    }
    if (status == STATUS_OK) status = test(&d, unit_of(a, b, count), result, failure);
    differences_close(&d);
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
