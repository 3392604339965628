/*
 * The networks, each written as calls that build a graph.
 *
 *     model_options options;
 *     model_parse("wrn-16-1", &options, &failure);
 *     options.input = (shape){64, {1, 28, 28}, 1};
 *     options.classes = 10;
 *     status = model_open(&options, &graph_options, &graph, &failure);
 *
 * Names of parameters are those of the PyTorch modules in python/hws/models.py, which load the weights.
 */
#ifndef HWS_MODEL_MODEL_H
#define HWS_MODEL_MODEL_H

#include "nn/graph.h"

typedef enum model_kind { MODEL_MLP, MODEL_WRN, MODEL_UNET, MODEL_RESNET } model_kind;

enum { MODEL_MAX_LEVELS = 12 };

typedef struct model_options {
    model_kind kind;
    shape input; /* samples are those that are worked on together */
    int classes;
    double dropout; /* of classifiers: the share of the values before the last layer (of a fully connected network
                       behind every hidden layer) that is left out in training */

    int mlp_layers, mlp_nodes; /* hidden layers beside the first (L of the paper's Assumption 1), nodes of each */
    int wrn_depth, wrn_width;  /* depth 6n + 4 */
    int resnet_depth;          /* 18, 34 or 50 */

    /* A U-Net. Level 0 is the finest; stride l leads from level l - 1 to level l (stride 0 is not used). */
    int unet_levels;                      /* 4 */
    int unet_base, unet_cap;              /* 32 features, doubled from level to level up to 320 */
    int unet_features[MODEL_MAX_LEVELS];  /* of each level where they differ from that; 0: they do not */
    int unet_kernel[MODEL_MAX_LEVELS][3]; /* 3x3x3, or 1x3x3 for pictures */
    int unet_stride[MODEL_MAX_LEVELS][3]; /* 2x2x2, or 1x2x2 */
    int unet_max_pool;                    /* 0: the first convolution of a level has its stride; 1: max pooling */
    int unet_bias;                     /* 0: no bias in transposed convolutions and heads (nnU-Net v1); 1: bias (v2) */
    int unet_heads;                    /* outputs, finest first; 0 stands for one per level but the coarsest */
    int unet_blocks[MODEL_MAX_LEVELS]; /* residual blocks of each level on the way down (then one convolution on the
                                          way up); 0: two plain convolutions on both ways */
} model_options;

/*
 * "mlp-L-m", "wrn-D-k", "resnet-D", "unet" or "resenc", with the defaults above. "resenc" is nnU-Net's U-Net with a
 * residual encoder: 1, 3, 4, then 6 blocks in each level, and biases. A U-Net's kernels and strides depend on the
 * number of dimensions: set `input` first, then model_unet_defaults, then change what differs.
 */
status_code model_parse(const char *text, model_options *options, failure *failure);
void model_unet_defaults(model_options *options, int dimensions);

/* The name, as model_parse reads it. */
void model_name(const model_options *options, char *name, size_t size);

status_code model_check(const model_options *options, failure *failure);

/* Builds and plans the graph; graph_close frees it. Parameters are all zero until graph_initialise or an import. */
status_code model_open(const model_options *options, const graph_options *graph_options, graph **graph,
                       failure *failure);

/* What each file of this folder does: builds its network on `input` and names its outputs. */
void mlp_build(graph *graph, const model_options *options, tensor input);
void wrn_build(graph *graph, const model_options *options, tensor input);
void resnet_build(graph *graph, const model_options *options, tensor input);
void unet_build(graph *graph, const model_options *options, tensor input);

/* The residual encoder's part of unet_build: the stem, and the blocks of a level. */
tensor residual_encoder_stem(graph *graph, const model_options *options, tensor input);
tensor residual_encoder_level(graph *graph, const model_options *options, int level, tensor input);

/* What U-Nets are made of: a convolution with its bias, an instance norm and the leaky ReLU of slope 0.01. */
typedef struct unet_layer {
    const char *name;  /* NAME.conv and NAME.norm */
    int level;         /* whose features and kernel it has */
    const int *stride; /* NULL: 1 */
    tensor second;     /* concatenated behind the input, or NO_TENSOR */
    tensor residual;   /* added before the activation, or NO_TENSOR; then the norm's weights begin at 0 */
} unet_layer;

tensor unet_convolve(graph *graph, const model_options *options, const unet_layer *layer, tensor input);
int unet_level_features(const model_options *options, int level);
#define UNET_SLOPE 0.01

#endif
