#include "evaluate/statistics.h"

#include "core/quantile.h"
#include "core/random.h"
#include "evaluate/purposes.h"
#include "evaluate/tolerance.h"

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

static double mean_of_resample(const double *values, size_t n, uint64_t seed, uint32_t number) {
    random_stream stream;
    random_start(&stream, seed, RANDOM_BOOTSTRAP, number, 0);
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += values[random_below(&stream, n)];
    return sum / (double)n;
}

status_code bootstrap_mean(const double *values, size_t n, const statistics_options *options, interval *result,
                           failure *failure) {
    const uint32_t resamples = options->resamples;
    double *means = malloc(resamples * sizeof *means);
    if (!means) return fail_memory(failure, "a bootstrap");
    for (uint32_t k = 0; k < resamples; k++) means[k] = mean_of_resample(values, n, options->seed, k);
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

/* Keeps the numbers, in order, and finds the worst one. */
static status_code gather(const double *values, size_t count, int lower_is_better, double *numbers, statistics *result,
                          failure *failure) {
    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i])) continue;
        if (isinf(values[i])) return fail(failure, STATUS_NOT_FINITE, "score %zu is infinite", i + 1);
        const int worse = lower_is_better ? values[i] > result->worst_value : values[i] < result->worst_value;
        if (result->count == 0 || worse) {
            result->worst = i;
            result->worst_value = values[i];
        }
        numbers[result->count++] = values[i];
    }
    result->missing = count - result->count;
    return STATUS_OK;
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

static status_code fill(double *numbers, const statistics_options *options, statistics *result, failure *failure) {
    const size_t n = result->count;
    status_code status = STATUS_OK;
    if (n > 0) {
        result->mean = mean_of(numbers, n);
        result->std = deviation_of(numbers, n, result->mean);
        if (options->confidence > 0 && n >= STATISTICS_INTERVAL_CASES)
            status = bootstrap_mean(numbers, n, options, &result->ci, failure);
    }
    sort_numbers(numbers, n);
    fill_quantiles(numbers, result);
    result->tolerance = tolerance_of_sorted(numbers, n, options->lower_is_better);
    return status;
}

status_code statistics_of(const double *values, size_t count, const statistics_options *options, statistics *result,
                          failure *failure) {
    const double none = (double)NAN;
    *result = (statistics){.mean = none, .std = none, .ci = {none, none}, .tolerance = none, .worst_value = none};
    double *numbers = malloc((count ? count : 1) * sizeof *numbers);
    if (!numbers) return fail_memory(failure, "statistics");
    status_code status = gather(values, count, options->lower_is_better, numbers, result, failure);
    if (status == STATUS_OK) status = fill(numbers, options, result, failure);
    free(numbers);
    return status;
}
