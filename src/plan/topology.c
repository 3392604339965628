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

static int blocks_of(int stage) {
    static const int FIRST[] = {1, 3, 4};
    return stage < 3 ? FIRST[stage] : 6;
}

static void choose_widths(const topology_rules *rules, topology *topology) {
    const double most = rules->slices >= 0 ? TOPOLOGY_MAX_FEATURES_SLICES : TOPOLOGY_MAX_FEATURES;
    for (int k = 0; k < topology->count; k++) {
        topology->stages[k].features = (int)fmin(ldexp(TOPOLOGY_BASE_FEATURES, k), most);
        topology->stages[k].blocks = rules->residual ? blocks_of(k) : 0;
    }
}

topology topology_of(const topology_rules *rules, const double spacing[3], const double size[3]) {
    descent at = {.kernel = {1, 1, 1}};
    memcpy(at.spacing, spacing, sizeof at.spacing);
    memcpy(at.size, size, sizeof at.size);
    if (rules->slices >= 0) at.spacing[rules->slices] = INFINITY; /* never among the finest: it stays as it is */
    topology topology = {.count = 1};
    int stride[3];
    memcpy(topology.stages[0].stride, ((const int[3]){1, 1, 1}), sizeof stride);
    while (topology.count < TOPOLOGY_MAX_STAGES && next_stride(&at, stride)) {
        widen_kernel(&at);
        memcpy(topology.stages[topology.count - 1].kernel, at.kernel, sizeof at.kernel);
        memcpy(topology.stages[topology.count++].stride, stride, sizeof stride);
        go_down(&at, stride);
    }
    int *bottom = topology.stages[topology.count - 1].kernel;
    for (int k = 0; k < 3; k++) bottom[k] = k == rules->slices ? 1 : 3;
    choose_widths(rules, &topology);
    return topology;
}

void topology_multiple(const topology *topology, int multiple[3]) {
    for (int k = 0; k < 3; k++) {
        multiple[k] = 1;
        for (int stage = 0; stage < topology->count; stage++) multiple[k] *= topology->stages[stage].stride[k];
    }
}

/* Convolutions of a stage, as nnU-Net counts them: two per plain stage or residual block, the stem, and for each other
   residual stage its skip. On the way up one or two and the transposed one. */
static int convolutions_down(const topology_stage *stage) { return stage->blocks ? 2 * stage->blocks + 1 : 2; }
static int convolutions_up(const topology_stage *stage) { return stage->blocks ? 1 : 2; }

double topology_feature_maps(const topology *topology, const int patch[3], int classes) {
    double voxels = (double)patch[0] * patch[1] * patch[2], sum = voxels * classes;
    for (int k = 0; k < topology->count; k++) {
        const topology_stage *stage = &topology->stages[k];
        const int up = k < topology->count - 1 ? convolutions_up(stage) + 1 : 0;
        voxels /= stage->stride[0] * stage->stride[1] * stage->stride[2];
        sum += voxels * stage->features * (convolutions_down(stage) + up);
    }
    return sum;
}

static double volume_of(const int edges[3]) { return (double)edges[0] * edges[1] * edges[2]; }

/* A convolution's weights, its bias and the two numbers of its norm. */
static double layer(double kernel, double inputs, double features) { return kernel * inputs * features + 3 * features; }

static double parameters_down(const topology_stage *stage, double below, int first) {
    const double features = stage->features, kernel = volume_of(stage->kernel);
    if (!stage->blocks) return layer(kernel, below, features) + layer(kernel, features, features);
    const double stem = first ? layer(kernel, below, features) : 0, inputs = first ? features : below;
    const double skip = inputs != features ? layer(1, inputs, features) : 0;
    return stem + skip + layer(kernel, inputs, features) + (2 * stage->blocks - 1) * layer(kernel, features, features);
}

double topology_parameters(const topology *topology, int channels, int classes) {
    double sum = 0;
    int below = channels;
    for (int k = 0; k < topology->count; k++) {
        const topology_stage *stage = &topology->stages[k];
        const double features = stage->features, kernel = volume_of(stage->kernel);
        sum += parameters_down(stage, below, k == 0);
        if (k < topology->count - 1) { /* the way up: the first convolution is over the skip, too; and a head */
            const topology_stage *next = &topology->stages[k + 1];
            sum += layer(kernel, 2 * features, features) + (features + 1) * classes;
            sum += (convolutions_up(stage) - 1) * layer(kernel, features, features);
            sum += volume_of(next->stride) * next->features * features + features;
        }
        below = stage->features;
    }
    return sum;
}
