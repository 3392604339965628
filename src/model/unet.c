/*
 * nnU-Net's U-Net: two blocks of convolution, instance norm and leaky ReLU per level; strided convolutions (or max
 * pooling) down, transposed convolutions up; one head per level but the coarsest.
 */
#include "model/model.h"

#include <math.h>
#include <stdio.h>

#define LEAKY_SLOPE 0.01

static int features_of(const model_options *options, int level) {
    if (options->unet_features[level]) return options->unet_features[level];
    int features = options->unet_base;
    for (int l = 0; l < level && features < options->unet_cap; l++) features *= 2;
    return features < options->unet_cap ? features : options->unet_cap;
}

/* A block by its place in the network; a stride of NULL is 1. */
typedef struct block_place {
    const char *path; /* "encoder" or "decoder" */
    int level, index;
    const int *stride;
} block_place;

/* Convolution, instance norm, leaky ReLU. */
static tensor block(graph *g, const model_options *options, block_place at, tensor x, tensor second) {
    char name[48];
    convolution_options convolution = {
        .features = features_of(options, at.level), .bias = 1, .second = second, .has_second = second != NO_TENSOR};
    for (int axis = 0; axis < 3; axis++) {
        convolution.kernel[axis] = options->unet_kernel[at.level][axis];
        convolution.stride[axis] = at.stride ? at.stride[axis] : 1;
    }
    snprintf(name, sizeof name, "%s.%d.%d.conv", at.path, at.level, at.index);
    x = graph_convolution(g, name, x, &convolution);
    graph_begin_he(g, x, LEAKY_SLOPE);
    snprintf(name, sizeof name, "%s.%d.%d.norm", at.path, at.level, at.index);
    return graph_norm(g, name, x, &(norm_options){.kind = NORM_INSTANCE, .slope = (float)LEAKY_SLOPE});
}

static tensor encode(graph *g, const model_options *options, int level, tensor x) {
    const int *stride = level ? options->unet_stride[level] : 0;
    if (stride && options->unet_max_pool) {
        x = graph_max_pool(g, x, stride, stride);
        stride = 0;
    }
    x = block(g, options, (block_place){"encoder", level, 0, stride}, x, NO_TENSOR);
    return block(g, options, (block_place){"encoder", level, 1, NULL}, x, NO_TENSOR);
}

/* The skip is concatenated behind the upsampled tensor. */
static tensor decode(graph *g, const model_options *options, int level, tensor x, tensor skip) {
    char name[32];
    snprintf(name, sizeof name, "up.%d", level);
    x = graph_transposed_convolution(g, name, x, features_of(options, level), options->unet_stride[level + 1],
                                     options->unet_bias);
    graph_begin_he(g, x, LEAKY_SLOPE);
    x = block(g, options, (block_place){"decoder", level, 0, NULL}, x, skip);
    return block(g, options, (block_place){"decoder", level, 1, NULL}, x, NO_TENSOR);
}

void unet_build(graph *g, const model_options *options, tensor x) {
    const int levels = options->unet_levels, heads = options->unet_heads ? options->unet_heads : levels - 1;
    tensor skips[MODEL_MAX_LEVELS], head[MODEL_MAX_LEVELS];
    for (int level = 0; level < levels; level++) x = skips[level] = encode(g, options, level, x);
    for (int level = levels - 2; level >= 0; level--) {
        x = decode(g, options, level, x, skips[level]);
        if (level >= heads) continue;
        char name[32];
        snprintf(name, sizeof name, "heads.%d", level);
        head[level] = graph_convolution(
            g, name, x,
            &(convolution_options){.features = options->classes, .kernel = {1, 1, 1}, .bias = options->unet_bias});
        graph_begin_he(g, head[level], LEAKY_SLOPE);
    }
    for (int level = 0; level < heads; level++) graph_output(g, head[level]);
}
