#include "plan/topology.h"

#include <math.h>
#include <string.h>

enum { SMALLEST_EDGE = 4 };

typedef struct descent {
    double spacing[3], size[3];
    int kernel[3];
} descent;

static double finest(const double spacing[3]) { return fmin(fmin(spacing[0], spacing[1]), spacing[2]); }

/* Fills 1 or 2 per axis and returns whether there is anything left to halve. */
static int next_stride(const descent *at, int stride[3]) {
    double finest_valid = INFINITY;
    for (int k = 0; k < 3; k++)
        if (at->size[k] >= 2 * SMALLEST_EDGE) finest_valid = fmin(finest_valid, at->spacing[k]);
    int count = 0, last = -1;
    for (int k = 0; k < 3; k++) {
        const int halve = at->size[k] >= 2 * SMALLEST_EDGE && at->spacing[k] / finest_valid < 2;
        stride[k] = halve ? 2 : 1;
        if (halve) count++, last = k;
    }
    return count > 1 || (count == 1 && at->size[last] >= 3 * SMALLEST_EDGE);
}

static void widen_kernel(descent *at) {
    for (int k = 0; k < 3; k++)
        if (at->spacing[k] / finest(at->spacing) < 2) at->kernel[k] = 3;
}

static void go_down(descent *at, const int stride[3]) {
    for (int k = 0; k < 3; k++)
        if (stride[k] == 2) {
            at->spacing[k] *= 2;
            at->size[k] = ceil(at->size[k] / 2);
        }
}

topology topology_of(const double spacing[3], const double size[3]) {
    descent at = {.kernel = {1, 1, 1}};
    memcpy(at.spacing, spacing, sizeof at.spacing);
    memcpy(at.size, size, sizeof at.size);
    topology topology = {.count = 1};
    int stride[3];
    memcpy(topology.stages[0].stride, ((const int[3]){1, 1, 1}), sizeof stride);
    while (topology.count < TOPOLOGY_MAX_STAGES && next_stride(&at, stride)) {
        widen_kernel(&at);
        memcpy(topology.stages[topology.count - 1].kernel, at.kernel, sizeof at.kernel);
        memcpy(topology.stages[topology.count++].stride, stride, sizeof stride);
        go_down(&at, stride);
    }
    memcpy(topology.stages[topology.count - 1].kernel, ((const int[3]){3, 3, 3}), sizeof at.kernel);
    for (int k = 0; k < topology.count; k++)
        topology.stages[k].features = (int)fmin(ldexp(TOPOLOGY_BASE_FEATURES, k), TOPOLOGY_MAX_FEATURES);
    return topology;
}

void topology_multiple(const topology *topology, int multiple[3]) {
    for (int k = 0; k < 3; k++) {
        multiple[k] = 1;
        for (int stage = 0; stage < topology->count; stage++) multiple[k] *= topology->stages[stage].stride[k];
    }
}

/* Two convolutions per stage on the way down; two, the transposed one and, at the top, the head on the way up. */
double topology_feature_maps(const topology *topology, const int patch[3], int classes) {
    double voxels = (double)patch[0] * patch[1] * patch[2], sum = voxels * classes;
    for (int k = 0; k < topology->count; k++) {
        const topology_stage *stage = &topology->stages[k];
        voxels /= stage->stride[0] * stage->stride[1] * stage->stride[2];
        sum += voxels * stage->features * (k < topology->count - 1 ? 5 : 2);
    }
    return sum;
}

static double volume_of(const int edges[3]) { return (double)edges[0] * edges[1] * edges[2]; }

double topology_parameters(const topology *topology, int channels, int classes) {
    double sum = 0;
    int below = channels;
    for (int k = 0; k < topology->count; k++) {
        const topology_stage *stage = &topology->stages[k];
        const double features = stage->features, kernel = volume_of(stage->kernel);
        sum += kernel * features * (below + features) + 6 * features;
        if (k < topology->count - 1) { /* the way up: two convolutions, the first over the skip, too, and a head */
            const topology_stage *next = &topology->stages[k + 1];
            sum += kernel * features * 3 * features + 6 * features + (features + 1) * classes;
            sum += volume_of(next->stride) * next->features * features + features;
        }
        below = stage->features;
    }
    return sum;
}
