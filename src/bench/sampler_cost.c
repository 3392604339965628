#include "bench/sampler_cost.h"

#include "core/clock.h"
#include "train/sampler_status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Normal numbers for losses; their quality does not matter here, their cost does. */
enum { POOL = SAMPLER_COST_MAX_BATCH + 1, RUNS = 5 };

static const double MEAN = 1, DEVIATION = 0.1;

typedef struct workload {
    int64_t n, batch;
    double drift;
    int64_t visits; /* the fewest examples that a run updates */
    float *pool, *initial;
    int64_t *indices;
    float *losses;
} workload;

static void fill_pool(float *pool) {
    uint64_t state = 1;
    for (int i = 0; i < POOL; i++) {
        double sum = -6;
        for (int k = 0; k < 12; k++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            sum += (double)(state >> 11) * 0x1p-53;
        }
        pool[i] = (float)(MEAN + DEVIATION * sum);
    }
}

/* A standard normal number. */
static float normal(const workload *w, uint64_t number) { return (float)((w->pool[number % POOL] - MEAN) / DEVIATION); }

/* With a drift losses are spread over orders of magnitude, as those of a training are: -ln(u), u in even steps. */
static void fill_losses(const workload *w) {
    for (int64_t i = 0; i < w->n; i++) {
        const uint64_t number = (uint64_t)i * UINT64_C(2654435761);
        const float u = ((float)(uint32_t)number + 0.5F) * 0x1p-32F;
        w->initial[i] = w->drift > 0 ? -logf(u) : w->pool[number % POOL];
    }
}

/* What comes back for the batch in hand. */
static hws_status next_losses(hws_sampler *sampler, const workload *w, int64_t t) {
    const uint64_t first = (uint64_t)t * (uint64_t)w->batch % (uint64_t)(POOL - w->batch);
    for (int64_t j = 0; j < w->batch; j++) {
        w->losses[j] = w->pool[first + (uint64_t)j];
        if (w->drift == 0) continue;
        float loss;
        const hws_status status = hws_sampler_get_losses(sampler, w->indices[j], 1, &loss);
        if (status != HWS_OK) return status;
        w->losses[j] = loss * expf(-(float)w->drift * (1 + normal(w, first + (uint64_t)j)));
    }
    return HWS_OK;
}

static hws_status iterate(hws_sampler *sampler, const workload *w, int64_t count, double *seconds) {
    /* Losses that fall in each run would in the end all be 0. */
    if (w->drift > 0 && hws_sampler_updates_made(sampler) > 0) {
        const hws_status status = hws_sampler_set_losses(sampler, 0, w->n, w->initial);
        if (status != HWS_OK) return status;
    }
    const double start = clock_seconds();
    for (int64_t t = 0; t < count; t++) {
        hws_status status = hws_sampler_draw(sampler, w->batch, w->indices);
        if (status == HWS_OK) status = next_losses(sampler, w, t);
        if (status == HWS_OK) status = hws_sampler_update(sampler, w->batch, w->indices, w->losses);
        if (status != HWS_OK) return status;
    }
    *seconds = clock_seconds() - start;
    return HWS_OK;
}

/* Repeats until a run is long enough to be timed. */
static hws_status time_iterations(hws_sampler *sampler, const workload *w, timing *result) {
    int64_t count = w->visits / w->batch + 1;
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

static status_code measure(workload *w, const hws_options *options, sampler_cost *cost, failure *failure) {
    hws_sampler *sampler = NULL;
    hws_error error;
    const double start = clock_seconds();
    char what[40];
    snprintf(what, sizeof what, "n = %lld", (long long)w->n);
    hws_status status = hws_sampler_open(&sampler, w->n, w->initial, options, &error);
    cost->opening_seconds = clock_seconds() - start;
    if (w->drift == 0) free(w->initial), w->initial = NULL;
    if (status == HWS_OK) status = time_iterations(sampler, w, &cost->iteration);
    if (status == HWS_OK) cost->bytes = (double)hws_sampler_memory(sampler);
    const status_code result = sampler_status(sampler ? hws_sampler_error(sampler) : &error, status, what, failure);
    hws_sampler_close(&sampler);
    return result;
}

status_code sampler_cost_measure(const sampler_work *work, const hws_options *options, sampler_cost *cost,
                                 failure *failure) {
    const size_t batch = (size_t)work->batch;
    workload w = {.n = work->n, .batch = work->batch, .drift = work->drift};
    /* Beta is renewed once in a while: a run must see some of it. */
    w.visits = options->tail > 0 ? work->n / 4 : 0;
    w.pool = malloc(POOL * sizeof *w.pool);
    w.initial = malloc((size_t)work->n * sizeof *w.initial);
    w.indices = malloc(batch * sizeof *w.indices);
    w.losses = malloc(batch * sizeof *w.losses);
    const int good = w.pool && w.initial && w.indices && w.losses;
    status_code status = good ? STATUS_OK : fail_memory(failure, "the losses of a benchmark");
    if (status == STATUS_OK) {
        fill_pool(w.pool);
        fill_losses(&w);
        status = measure(&w, options, cost, failure);
    }
    free(w.pool);
    free(w.initial);
    free(w.indices);
    free(w.losses);
    return status;
}
