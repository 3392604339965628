/*
 * How a U-Net goes down: strides, kernels, features and residual blocks of its stages, by nnU-Net's rules.
 *
 * An axis is halved while it has 8 voxels or more and its spacing is below twice the finest of such axes; an axis on
 * its own needs 12. Kernels are 1 along an axis until its spacing is below twice the finest, then 3, and 3 at the
 * bottom. A network for slices leaves the axis across them alone. Three numbers are depth, height, width.
 */
#ifndef HWS_PLAN_TOPOLOGY_H
#define HWS_PLAN_TOPOLOGY_H

enum {
    TOPOLOGY_MAX_STAGES = 12,
    TOPOLOGY_BASE_FEATURES = 32,
    TOPOLOGY_MAX_FEATURES = 320,       /* in 3D */
    TOPOLOGY_MAX_FEATURES_SLICES = 512 /* in 2D */
};

typedef struct topology_stage {
    int features;
    int blocks; /* residual blocks on the way down; 0: two plain convolutions */
    int kernel[3];
    int stride[3]; /* from the stage before; 1 in the first */
} topology_stage;

typedef struct topology {
    int count;
    topology_stage stages[TOPOLOGY_MAX_STAGES];
} topology;

typedef struct topology_rules {
    int slices;   /* the axis across the slices of a network in 2D, along which patches have size 1; -1: in 3D */
    int residual; /* whether the encoder has residual blocks: 1, 3, 4, then 6 in each stage */
} topology_rules;

/* The stages for a patch of about this size, which need not be whole. */
topology topology_of(const topology_rules *rules, const double spacing[3], const double size[3]);

/* What a patch's size must be a multiple of. */
void topology_multiple(const topology *topology, int multiple[3]);

/* The numbers that all convolutions of the network put out for one patch: nnU-Net's measure of its memory. */
double topology_feature_maps(const topology *topology, const int patch[3], int classes);

double topology_parameters(const topology *topology, int channels, int classes);

#endif
