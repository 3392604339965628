#include "augment/intensity.h"
#include "plan/plan.h"

#include <math.h>
#include <string.h>

enum { MAX_RADIUS = 4 * GAUSSIAN_MAX + 1, MAX_ROW = PLAN_MAX_EDGE + 2 * MAX_RADIUS };

typedef struct kernel {
    int radius;
    float weight[MAX_RADIUS + 1];
} kernel;

static kernel kernel_of(double deviation) {
    kernel kernel = {.radius = (int)(4 * deviation + 0.5)};
    double weights[MAX_RADIUS + 1], sum = 0;
    for (int k = 0; k <= kernel.radius; k++) {
        weights[k] = exp(-0.5 * k * k / (deviation * deviation));
        sum += k == 0 ? weights[k] : 2 * weights[k];
    }
    for (int k = 0; k <= kernel.radius; k++) kernel.weight[k] = (float)(weights[k] / sum);
    return kernel;
}

/* d c b a | a b c d | d c b a */
static int reflected(int place, int size) {
    const int period = 2 * size;
    place = (place % period + period) % period;
    return place < size ? place : period - 1 - place;
}

/* Rows of `length` numbers are added with weights: any axis but the fastest. */
static void blur_rows(const kernel *kernel, const float *from, float *to, int count, size_t length) {
    for (int i = 0; i < count; i++) {
        float *target = to + (size_t)i * length;
        const float *middle = from + (size_t)i * length;
        for (size_t x = 0; x < length; x++) target[x] = kernel->weight[0] * middle[x];
        for (int k = 1; k <= kernel->radius; k++) {
            const float *before = from + (size_t)reflected(i - k, count) * length;
            const float *after = from + (size_t)reflected(i + k, count) * length;
            const float weight = kernel->weight[k];
            for (size_t x = 0; x < length; x++) target[x] += weight * (before[x] + after[x]);
        }
    }
}

/* Along the fastest axis: one row, with its reflections put beside it. */
static void blur_row(const kernel *kernel, const float *from, float *to, int count) {
    float padded[MAX_ROW], *row = padded + kernel->radius;
    memcpy(row, from, (size_t)count * sizeof *row);
    for (int k = 1; k <= kernel->radius; k++) {
        row[-k] = from[reflected(-k, count)];
        row[count - 1 + k] = from[reflected(count - 1 + k, count)];
    }
    for (int x = 0; x < count; x++) to[x] = kernel->weight[0] * row[x];
    for (int k = 1; k <= kernel->radius; k++)
        for (int x = 0; x < count; x++) to[x] += kernel->weight[k] * (row[x - k] + row[x + k]);
}

void gaussian_blur(float *voxels, const int size[3], double deviation, float *scratch) {
    const kernel kernel = kernel_of(deviation);
    const size_t row = (size_t)size[2], slice = (size_t)size[1] * row;
    blur_rows(&kernel, voxels, scratch, size[0], slice);
    for (size_t z = 0; z < (size_t)size[0]; z++)
        blur_rows(&kernel, scratch + z * slice, voxels + z * slice, size[1], row);
    for (size_t y = 0; y < (size_t)size[0] * (size_t)size[1]; y++) {
        memcpy(scratch, voxels + y * row, row * sizeof *scratch);
        blur_row(&kernel, scratch, voxels + y * row, size[2]);
    }
}
