/*
 * How a U-Net goes down: strides, kernels and features of its stages, by nnU-Net's rules.
 *
 * An axis is halved while it has 8 voxels or more and its spacing is below twice the finest of such axes; an axis on
 * its own needs 12. Kernels are 1 along an axis until its spacing is below twice the finest, then 3, and 3 at the
 * bottom. Three numbers are depth, height, width.
 */
#ifndef HWS_PLAN_TOPOLOGY_H
#define HWS_PLAN_TOPOLOGY_H

enum { TOPOLOGY_MAX_STAGES = 8, TOPOLOGY_BASE_FEATURES = 32, TOPOLOGY_MAX_FEATURES = 320 };

typedef struct topology_stage {
    int features;
    int kernel[3];
    int stride[3]; /* from the stage before; 1 in the first */
} topology_stage;

typedef struct topology {
    int count;
    topology_stage stages[TOPOLOGY_MAX_STAGES];
} topology;

/* The stages for a patch of about this size, which need not be whole. */
topology topology_of(const double spacing[3], const double size[3]);

/* What a patch's size must be a multiple of. */
void topology_multiple(const topology *topology, int multiple[3]);

/* The numbers that all convolutions of the network put out for one patch: nnU-Net's measure of its memory. */
double topology_feature_maps(const topology *topology, const int patch[3], int classes);

double topology_parameters(const topology *topology, int channels, int classes);

#endif
