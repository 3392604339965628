/* What the sampler costs: an iteration draws a batch without replacement and writes its new losses back, on one thread.
   The losses are normal with mean 1 and standard deviation 0.1. */
#ifndef HWS_BENCH_SAMPLER_COST_H
#define HWS_BENCH_SAMPLER_COST_H

#include "bench/timings.h"
#include "hws.h"

enum { SAMPLER_COST_MAX_BATCH = 65535 };

typedef struct sampler_cost {
    timing iteration; /* of five runs */
    double opening_seconds;
    double bytes;
} sampler_cost;

/* Of a sampler of n examples with these options; `batch` is from 1 to SAMPLER_COST_MAX_BATCH. */
status_code sampler_cost_measure(int64_t n, int64_t batch, const hws_options *options, sampler_cost *cost,
                                 failure *failure);

#endif
