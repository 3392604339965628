#include "nn/optimizer.h"

#include <math.h>

/* At most so many chunks, of at least so many values, each a multiple of the lanes. */
enum { CHUNKS = 1024, CHUNK = 4096, LANES = 8 };

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

double gradient_norm(size_t count, const float *gradients) {
    double partial[CHUNKS], sum = 0;
    const size_t chunk = (count / ((size_t)CHUNKS * CHUNK) + 1) * CHUNK;
    const size_t chunks = (count + chunk - 1) / chunk;
#pragma omp parallel for schedule(static) if (chunks > 4)
    for (size_t k = 0; k < chunks; k++) {
        const size_t start = k * chunk, rest = count - start;
        partial[k] = sum_of_squares(rest < chunk ? rest : chunk, gradients + start);
    }
    for (size_t k = 0; k < chunks; k++) sum += partial[k];
    return sqrt(sum);
}
