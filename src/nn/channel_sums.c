/* Sums over rows in chunks that only the number of rows decides; the chunks are added in order, in double. */
#include "nn/convolution.h"
#include "nn/convolution_inside.h"
#include "nn/team.h"

enum { CHUNKS = 64, SPAN = 64 };

void channel_sums(precision precision, int threads, const void *values, size_t rows, int channels, float *sums) {
    const kernels *kernels = kernels_for(precision);
    const size_t row_bytes = (size_t)channels * precision_bytes(precision);
    for (int first = 0; first < channels; first += SPAN) {
        const int span = smaller(SPAN, channels - first);
        float partial[CHUNKS][SPAN];
#pragma omp parallel for num_threads(team_size(threads)) schedule(static)
        for (int chunk = 0; chunk < CHUNKS; chunk++) {
            const share own = {chunk, CHUNKS};
            const size_t start = share_start(rows, own), end = share_end(rows, own);
            const char *from = (const char *)values + start * row_bytes + (size_t)first * precision_bytes(precision);
            kernels->sum_rows(from, end - start, channels, span, partial[chunk]);
        }
        for (int c = 0; c < span; c++) {
            double sum = 0;
            for (int chunk = 0; chunk < CHUNKS; chunk++) sum += (double)partial[chunk][c];
            sums[first + c] += (float)sum;
        }
    }
}
