#include "nn/optimizer.h"

#include <math.h>

/* At most so many chunks, of at least so many values, each a multiple of the lanes. */
enum { CHUNK = 4096, LANES = 8 };

/* In doubles, which the square of no float overflows. The lanes are what the compiler puts into one vector. */
static double sum_of_squares(size_t count, const float *values) {
    double lanes[LANES] = {0}, sum = 0;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (size_t k = 0; k < LANES; k++) lanes[k] += (double)values[i + k] * (double)values[i + k];
    for (; i < count; i++) sum += (double)values[i] * (double)values[i];
    for (size_t k = 0; k < LANES; k++) sum += lanes[k];
    return sum;
}

size_t gradient_norm_chunk(size_t count) { return (count / ((size_t)GRADIENT_NORM_CHUNKS * CHUNK) + 1) * CHUNK; }

void gradient_norm_partials(size_t count, const float *gradients, size_t first, size_t end, double *partials) {
    const size_t chunk = gradient_norm_chunk(count);
#pragma omp parallel for schedule(static) if (end - first > 4)
    for (size_t k = first; k < end; k++) {
        const size_t start = k * chunk, rest = count - start;
        partials[k] = sum_of_squares(rest < chunk ? rest : chunk, gradients + start);
    }
}

double gradient_norm_join(size_t chunks, const double *partials) {
    double sum = 0;
    for (size_t k = 0; k < chunks; k++) sum += partials[k];
    return sqrt(sum);
}

double gradient_norm(size_t count, const float *gradients) {
    double partials[GRADIENT_NORM_CHUNKS];
    const size_t chunk = gradient_norm_chunk(count), chunks = (count + chunk - 1) / chunk;
    gradient_norm_partials(count, gradients, 0, chunks, partials);
    return gradient_norm_join(chunks, partials);
}
