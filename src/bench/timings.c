#include "bench/timings.h"

#include "core/quantile.h"

#include <stdlib.h>

status_code timings_add(timings *t, double seconds, failure *failure) {
    if (t->count == t->capacity) {
        const size_t capacity = t->capacity ? 2 * t->capacity : 64;
        double *larger = realloc(t->seconds, capacity * sizeof *larger);
        if (!larger) return fail_memory(failure, "the times of a benchmark");
        t->seconds = larger;
        t->capacity = capacity;
    }
    t->seconds[t->count++] = seconds;
    return STATUS_OK;
}

void timings_end(timings *t, timing *result) {
    if (result) {
        if (t->count) sort_numbers(t->seconds, t->count);
        *result = (timing){.median = quantile_of_sorted(t->seconds, t->count, 0.5),
                           .least = quantile_of_sorted(t->seconds, t->count, 0),
                           .low = quantile_of_sorted(t->seconds, t->count, 0.25),
                           .high = quantile_of_sorted(t->seconds, t->count, 0.75)};
    }
    free(t->seconds);
    *t = (timings){0};
}
