/* What the sampler costs: an iteration draws a batch without replacement and writes its new losses back, on one thread.
   The losses are normal with mean 1 and standard deviation 0.1; so are new ones, whatever an example's loss was. With a
   drift they move as in a training: a run begins with exponential losses (mean 1), and a drawn example's loss is
   multiplied by exp(-drift (1 + z)), z being a standard normal number. */
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

typedef struct sampler_work {
    int64_t n, batch; /* the latter is from 1 to SAMPLER_COST_MAX_BATCH */
    double drift;     /* 0: none */
} sampler_work;

/* Of a sampler with these options. With a tail a run updates at least n / 4 examples. */
status_code sampler_cost_measure(const sampler_work *work, const hws_options *options, sampler_cost *cost,
                                 failure *failure);

#endif
