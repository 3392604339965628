/*
 * How long runs of the same work took, in seconds: what stands in the middle and how far they spread.
 *
 *     timings t = {0};
 *     while (...) status = timings_add(&t, seconds, &failure);
 *     timings_end(&t, &result);
 *
 * The median is what work costs on the machine as it is. On a shared machine the least is
 * nearer to what it costs alone.
 */
#ifndef HWS_BENCH_TIMINGS_H
#define HWS_BENCH_TIMINGS_H

#include "core/failure.h"

#include <stddef.h>

typedef struct timing {
    double median, least;
    double low, high; /* the middle half of the runs lies between them */
} timing;

typedef struct timings {
    double *seconds;
    size_t count, capacity;
} timings;

status_code timings_add(timings *timings, double seconds, failure *failure);

/* Frees the runs; all NaN if there were none. `result` may be NULL. */
void timings_end(timings *timings, timing *result);

#endif
