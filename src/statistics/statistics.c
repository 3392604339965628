#include "statistics/statistics.h"

#include "core/quantile.h"
#include "core/random.h"
#include "statistics/purposes.h"
#include "statistics/tolerance.h"

#include <math.h>
#include <stdlib.h>

statistics_options statistics_options_default(void) {
    return (statistics_options){.confidence = 0.95, .resamples = 10000, .seed = 0};
}

static double mean_of(const double *values, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += values[i];
    return sum / (double)n;
}

static double deviation_of(const double *values, size_t n, double mean) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (values[i] - mean) * (values[i] - mean);
    return n > 1 ? sqrt(sum / (double)(n - 1)) : (double)NAN;
}

static double mean_of_resample(const double *values, const clusters *patients, uint64_t seed, uint32_t number) {
    random_stream stream;
    random_start(&stream, seed, RANDOM_BOOTSTRAP, number, 0);
    double sum = 0;
    int64_t drawn = 0;
    for (int64_t i = 0; i < patients->count; i++) {
        const int64_t *own = patients->starts + random_below(&stream, (uint64_t)patients->count);
        for (int64_t k = own[0]; k < own[1]; k++) sum += values[patients->members[k]];
        drawn += own[1] - own[0];
    }
    return sum / (double)drawn;
}

status_code bootstrap_mean(const double *values, const clusters *patients, const statistics_options *options,
                           interval *result, failure *failure) {
    const uint32_t resamples = options->resamples;
    double *means = malloc(resamples * sizeof *means);
    if (!means) return fail_memory(failure, "a bootstrap");
    for (uint32_t k = 0; k < resamples; k++) means[k] = mean_of_resample(values, patients, options->seed, k);
    sort_numbers(means, resamples);
    result->low = quantile_of_sorted(means, resamples, (1 - options->confidence) / 2);
    result->high = quantile_of_sorted(means, resamples, (1 + options->confidence) / 2);
    free(means);
    return STATUS_OK;
}

interval bootstrap_interval(double *values, size_t count) {
    size_t known = 0;
    for (size_t k = 0; k < count; k++)
        if (!isnan(values[k])) values[known++] = values[k];
    sort_numbers(values, known);
    return (interval){quantile_of_sorted(values, known, 0.025), quantile_of_sorted(values, known, 0.975)};
}

/* What is left of the values without NaN, and whose it is: nobody's where patients are not known. */
typedef struct known_numbers {
    double *values, *worst; /* `worst`: of each patient */
    int *whose;
    clusters patients;
} known_numbers;

static status_code numbers_open(known_numbers *numbers, size_t count, failure *failure) {
    *numbers = (known_numbers){.values = malloc((2 * count + 1) * sizeof *numbers->values),
                               .whose = malloc((count + 1) * sizeof *numbers->whose)};
    if (!numbers->values || !numbers->whose) return fail_memory(failure, "statistics");
    numbers->worst = numbers->values + count;
    return STATUS_OK;
}

static void numbers_close(known_numbers *numbers) {
    free(numbers->values);
    free(numbers->whose);
    clusters_close(&numbers->patients);
}

static int is_worse(double a, double b, int lower_is_better) { return lower_is_better ? a > b : a < b; }

/* Keeps the numbers, in order, and finds the worst one. */
static status_code gather(const double *values, size_t count, const statistics_options *options, known_numbers *numbers,
                          statistics *result, failure *failure) {
    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i])) continue;
        if (isinf(values[i])) return fail(failure, STATUS_NOT_FINITE, "score %zu is infinite", i + 1);
        if (result->count == 0 || is_worse(values[i], result->worst_value, options->lower_is_better)) {
            result->worst = i;
            result->worst_value = values[i];
        }
        numbers->whose[result->count] = options->patients ? options->patients[i] : -1;
        numbers->values[result->count++] = values[i];
    }
    result->missing = count - result->count;
    const status_code status = clusters_open(&numbers->patients, numbers->whose, NULL, (int64_t)result->count, failure);
    result->patients = (size_t)numbers->patients.count;
    return status;
}

/* What is true of patients' worst cases is true of all of theirs. */
static double tolerance_of(known_numbers *numbers, int lower_is_better) {
    const clusters *patients = &numbers->patients;
    for (int64_t p = 0; p < patients->count; p++) {
        double *worst = &numbers->worst[p];
        *worst = numbers->values[patients->members[patients->starts[p]]];
        for (int64_t k = patients->starts[p] + 1; k < patients->starts[p + 1]; k++) {
            const double value = numbers->values[patients->members[k]];
            if (is_worse(value, *worst, lower_is_better)) *worst = value;
        }
    }
    sort_numbers(numbers->worst, (size_t)patients->count);
    return tolerance_of_sorted(numbers->worst, (size_t)patients->count, lower_is_better);
}

static void fill_quantiles(const double *sorted, statistics *result) {
    const size_t n = result->count;
    result->p5 = quantile_of_sorted(sorted, n, 0.05);
    result->p10 = quantile_of_sorted(sorted, n, 0.1);
    result->p25 = quantile_of_sorted(sorted, n, 0.25);
    result->median = quantile_of_sorted(sorted, n, 0.5);
    result->p75 = quantile_of_sorted(sorted, n, 0.75);
    result->p90 = quantile_of_sorted(sorted, n, 0.9);
    result->p95 = quantile_of_sorted(sorted, n, 0.95);
    result->iqr = result->p75 - result->p25;
}

static status_code fill(known_numbers *numbers, const statistics_options *options, statistics *result,
                        failure *failure) {
    const size_t n = result->count;
    status_code status = STATUS_OK;
    if (n > 0) {
        result->mean = mean_of(numbers->values, n);
        result->std = deviation_of(numbers->values, n, result->mean);
        if (options->confidence > 0 && result->patients >= STATISTICS_INTERVAL_CASES)
            status = bootstrap_mean(numbers->values, &numbers->patients, options, &result->ci, failure);
    }
    result->tolerance = tolerance_of(numbers, options->lower_is_better);
    sort_numbers(numbers->values, n);
    fill_quantiles(numbers->values, result);
    return status;
}

status_code statistics_of(const double *values, size_t count, const statistics_options *options, statistics *result,
                          failure *failure) {
    const double none = (double)NAN;
    *result = (statistics){.mean = none, .std = none, .ci = {none, none}, .tolerance = none, .worst_value = none};
    known_numbers numbers;
    status_code status = numbers_open(&numbers, count, failure);
    if (status == STATUS_OK) status = gather(values, count, options, &numbers, result, failure);
    if (status == STATUS_OK) status = fill(&numbers, options, result, failure);
    numbers_close(&numbers);
    return status;
}
