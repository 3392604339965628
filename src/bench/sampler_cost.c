#include "bench/sampler_cost.h"

#include "core/clock.h"
#include "train/sampler_status.h"

#include <stdio.h>
#include <stdlib.h>

/* Normal numbers for losses; their quality does not matter here, their cost does. */
enum { POOL = SAMPLER_COST_MAX_BATCH + 1, RUNS = 5 };

typedef struct workload {
    int64_t batch;
    float *pool;
    int64_t *indices;
} workload;

static void fill_pool(float *pool) {
    uint64_t state = 1;
    for (int i = 0; i < POOL; i++) {
        double sum = -6;
        for (int k = 0; k < 12; k++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            sum += (double)(state >> 11) * 0x1p-53;
        }
        pool[i] = (float)(1 + 0.1 * sum);
    }
}

static hws_status open_filled(hws_sampler **sampler, int64_t n, const float *pool, const hws_options *options,
                              hws_error *error) {
    float *losses = malloc((size_t)n * sizeof *losses);
    *error = (hws_error){.status = HWS_ERROR_MEMORY, .message = "out of memory"};
    if (!losses) return error->status;
    for (int64_t i = 0; i < n; i++) losses[i] = pool[(uint64_t)i * UINT64_C(2654435761) % POOL];
    const hws_status status = hws_sampler_open(sampler, n, losses, options, error);
    free(losses);
    return status;
}

static hws_status iterate(hws_sampler *sampler, const workload *w, int64_t count, double *seconds) {
    const double start = clock_seconds();
    for (int64_t t = 0; t < count; t++) {
        hws_status status = hws_sampler_draw(sampler, w->batch, w->indices);
        const float *losses = w->pool + (uint64_t)t * (uint64_t)w->batch % (uint64_t)(POOL - w->batch);
        if (status == HWS_OK) status = hws_sampler_update(sampler, w->batch, w->indices, losses);
        if (status != HWS_OK) return status;
    }
    *seconds = clock_seconds() - start;
    return HWS_OK;
}

/* Repeats until a run is long enough to be timed. */
static hws_status time_iterations(hws_sampler *sampler, const workload *w, timing *result) {
    int64_t count = 1;
    double run = 0;
    timings runs = {0};
    hws_status status = iterate(sampler, w, count, &run);
    while (status == HWS_OK && run <= 0.05) status = iterate(sampler, w, count *= 2, &run);
    for (int k = 0; k < RUNS && status == HWS_OK; k++) {
        status = iterate(sampler, w, count, &run);
        if (status == HWS_OK && timings_add(&runs, run / (double)count, NULL) != STATUS_OK) status = HWS_ERROR_MEMORY;
    }
    timings_end(&runs, result);
    return status;
}

static status_code measure(int64_t n, const workload *w, const hws_options *options, sampler_cost *cost,
                           failure *failure) {
    hws_sampler *sampler = NULL;
    hws_error error;
    const double start = clock_seconds();
    char what[40];
    snprintf(what, sizeof what, "n = %lld", (long long)n);
    hws_status status = open_filled(&sampler, n, w->pool, options, &error);
    cost->opening_seconds = clock_seconds() - start;
    if (status == HWS_OK) status = time_iterations(sampler, w, &cost->iteration);
    if (status == HWS_OK) cost->bytes = (double)hws_sampler_memory(sampler);
    const status_code result = sampler_status(sampler ? hws_sampler_error(sampler) : &error, status, what, failure);
    hws_sampler_close(&sampler);
    return result;
}

status_code sampler_cost_measure(int64_t n, int64_t batch, const hws_options *options, sampler_cost *cost,
                                 failure *failure) {
    const workload w = {batch, malloc(POOL * sizeof(float)), malloc((size_t)batch * sizeof(int64_t))};
    status_code status = w.pool && w.indices ? STATUS_OK : fail_memory(failure, "the losses of a benchmark");
    if (status == STATUS_OK) {
        fill_pool(w.pool);
        status = measure(n, &w, options, cost, failure);
    }
    free(w.pool);
    free(w.indices);
    return status;
}
