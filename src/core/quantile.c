#include "core/quantile.h"

#include <math.h>
#include <stdlib.h>

static int compare_numbers(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int compare_floats(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void sort_numbers(double *numbers, size_t count) {
    if (count > 1) qsort(numbers, count, sizeof *numbers, compare_numbers);
}

void sort_floats(float *numbers, size_t count) {
    if (count > 1) qsort(numbers, count, sizeof *numbers, compare_floats);
}

/* Where a quantile lies: behind how many numbers, and how far on the way to the next. */
typedef struct place {
    size_t below;
    double beyond;
} place;

static place place_of(size_t count, double share) {
    const double position = share * (double)(count - 1);
    const size_t below = (size_t)position;
    return below + 1 < count ? (place){below, position - (double)below} : (place){count - 1, 0};
}

double quantile_of_sorted(const double *sorted, size_t count, double share) {
    if (count == 0) return (double)NAN;
    const place at = place_of(count, share);
    if (at.beyond <= 0) return sorted[at.below];
    return sorted[at.below] + at.beyond * (sorted[at.below + 1] - sorted[at.below]);
}

double quantile_of_sorted_floats(const float *sorted, size_t count, double share) {
    if (count == 0) return (double)NAN;
    const place at = place_of(count, share);
    if (at.beyond <= 0) return (double)sorted[at.below];
    const double low = (double)sorted[at.below], high = (double)sorted[at.below + 1];
    return low + at.beyond * (high - low);
}
