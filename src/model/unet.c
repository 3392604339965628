/*
 * nnU-Net's U-Nets: two blocks of convolution, instance norm and leaky ReLU per level, or a residual encoder; strided
 * convolutions (or max pooling) down, transposed convolutions up; one head per level but the coarsest.
 */
#include "model/model.h"

#include <stdio.h>
#include <string.h>

int unet_level_features(const model_options *options, int level) {
    if (options->unet_features[level]) return options->unet_features[level];
    int features = options->unet_base;
    for (int l = 0; l < level && features < options->unet_cap; l++) features *= 2;
    return features < options->unet_cap ? features : options->unet_cap;
}

tensor unet_convolve(graph *g, const model_options *options, const unet_layer *layer, tensor x) {
    char name[64];
    convolution_options convolution = {.features = unet_level_features(options, layer->level),
                                       .bias = 1,
                                       .second = layer->second,
                                       .has_second = layer->second != NO_TENSOR};
    for (int axis = 0; axis < 3; axis++) {
        convolution.kernel[axis] = options->unet_kernel[layer->level][axis];
        convolution.stride[axis] = layer->stride ? layer->stride[axis] : 1;
    }
    snprintf(name, sizeof name, "%s.conv", layer->name);
    x = graph_convolution(g, name, x, &convolution);
    graph_begin_he(g, x, UNET_SLOPE);
    const int adds = layer->residual != NO_TENSOR;
    snprintf(name, sizeof name, "%s.norm", layer->name);
    return graph_norm(g, name, x,
                      &(norm_options){.kind = NORM_INSTANCE,
                                      .slope = (float)UNET_SLOPE,
                                      .addend = layer->residual,
                                      .has_addend = adds,
                                      .begins_at_zero = adds});
}

/* Block `index` of a level on the way down ("encoder") or up ("decoder"); a stride of NULL is 1. */
static tensor block(graph *g, const model_options *options, const char *path, unet_layer at, int index, tensor x) {
    char name[48];
    snprintf(name, sizeof name, "%s.%d.%d", path, at.level, index);
    at.name = name;
    at.residual = NO_TENSOR;
    return unet_convolve(g, options, &at, x);
}

static tensor pool(graph *g, tensor x, const int stride[3]) {
    pool_options pool = {.padding = {0, 0, 0}};
    memcpy(pool.window, stride, sizeof pool.window);
    memcpy(pool.stride, stride, sizeof pool.stride);
    return graph_max_pool(g, x, &pool);
}

static tensor encode(graph *g, const model_options *options, int level, tensor x) {
    if (options->unet_blocks[level]) return residual_encoder_level(g, options, level, x);
    const int *stride = level ? options->unet_stride[level] : 0;
    if (stride && options->unet_max_pool) {
        x = pool(g, x, stride);
        stride = 0;
    }
    x = block(g, options, "encoder", (unet_layer){.level = level, .stride = stride, .second = NO_TENSOR}, 0, x);
    return block(g, options, "encoder", (unet_layer){.level = level, .second = NO_TENSOR}, 1, x);
}

/* The skip is concatenated behind the upsampled tensor. */
static tensor decode(graph *g, const model_options *options, int level, tensor x, tensor skip) {
    char name[32];
    snprintf(name, sizeof name, "up.%d", level);
    x = graph_transposed_convolution(g, name, x, unet_level_features(options, level), options->unet_stride[level + 1],
                                     options->unet_bias);
    graph_begin_he(g, x, UNET_SLOPE);
    x = block(g, options, "decoder", (unet_layer){.level = level, .second = skip}, 0, x);
    if (options->unet_blocks[level]) return x;
    return block(g, options, "decoder", (unet_layer){.level = level, .second = NO_TENSOR}, 1, x);
}

void unet_build(graph *g, const model_options *options, tensor x) {
    const int levels = options->unet_levels, heads = options->unet_heads ? options->unet_heads : levels - 1;
    tensor skips[MODEL_MAX_LEVELS], head[MODEL_MAX_LEVELS];
    if (options->unet_blocks[0]) x = residual_encoder_stem(g, options, x);
    for (int level = 0; level < levels; level++) x = skips[level] = encode(g, options, level, x);
    for (int level = levels - 2; level >= 0; level--) {
        x = decode(g, options, level, x, skips[level]);
        if (level >= heads) continue;
        char name[32];
        snprintf(name, sizeof name, "heads.%d", level);
        head[level] = graph_convolution(
            g, name, x,
            &(convolution_options){.features = options->classes, .kernel = {1, 1, 1}, .bias = options->unet_bias});
        graph_begin_he(g, head[level], UNET_SLOPE);
    }
    for (int level = 0; level < heads; level++) graph_output(g, head[level]);
}
