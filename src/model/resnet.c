/*
 * The residual networks of He, Zhang, Ren and Sun (2016) as torchvision has them: a 7x7 stem of stride 2,
 * max pooling, four groups of blocks, the mean over all positions. ResNet-50 has bottlenecks, whose stride
 * is in their 3x3 convolution.
 */
#include "model/model.h"

#include <math.h>
#include <stdio.h>

enum { GROUPS = 4, STEM_FEATURES = 64, EXPANSION = 4 };

typedef struct square_filter {
    int features, size, stride;
} square_filter;

/* A layer by its name and the number behind it: PATH.conv1, PATH.bn1. */
typedef struct layer_place {
    const char *path; /* "layer1.0.", or "" for the stem */
    int index;
} layer_place;

/* He's deviation for the outputs of a filter, as torchvision begins. */
static tensor convolve(graph *g, const char *name, tensor x, square_filter filter) {
    x = graph_convolution(g, name, x,
                          &(convolution_options){.features = filter.features,
                                                 .kernel = {1, filter.size, filter.size},
                                                 .stride = {1, filter.stride, filter.stride}});
    graph_begin_with(g, x, sqrt(2.0 / ((double)filter.features * filter.size * filter.size)));
    return x;
}

/* Convolution, batch norm and, where there is one, the residual; then ReLU. */
static tensor layer(graph *g, layer_place at, tensor x, square_filter filter, tensor residual) {
    char name[64];
    snprintf(name, sizeof name, "%sconv%d", at.path, at.index);
    x = convolve(g, name, x, filter);
    snprintf(name, sizeof name, "%sbn%d", at.path, at.index);
    return graph_norm(
        g, name, x,
        &(norm_options){.kind = NORM_BATCH, .slope = 0, .addend = residual, .has_addend = residual != NO_TENSOR});
}

/* What a block is added to: its input, projected where its size or its channels change. */
static tensor shortcut(graph *g, const char *path, tensor x, square_filter filter, int changes) {
    char name[64];
    if (!changes) return x;
    snprintf(name, sizeof name, "%sdownsample.0", path);
    x = convolve(g, name, x, filter);
    snprintf(name, sizeof name, "%sdownsample.1", path);
    return graph_norm(g, name, x, &(norm_options){.kind = NORM_BATCH, .slope = 1});
}

typedef struct block_shape {
    int inputs, features, outputs, stride;
} block_shape;

static tensor block(graph *g, const char *path, tensor x, block_shape shape) {
    const int features = shape.features, outputs = shape.outputs, stride = shape.stride;
    const tensor residual =
        shortcut(g, path, x, (square_filter){outputs, 1, stride}, stride != 1 || shape.inputs != outputs);
    if (features == outputs) {
        x = layer(g, (layer_place){path, 1}, x, (square_filter){features, 3, stride}, NO_TENSOR);
        return layer(g, (layer_place){path, 2}, x, (square_filter){features, 3, 1}, residual);
    }
    x = layer(g, (layer_place){path, 1}, x, (square_filter){features, 1, 1}, NO_TENSOR);
    x = layer(g, (layer_place){path, 2}, x, (square_filter){features, 3, stride}, NO_TENSOR);
    return layer(g, (layer_place){path, 3}, x, (square_filter){outputs, 1, 1}, residual);
}

void resnet_build(graph *g, const model_options *options, tensor x) {
    static const int DEEP[GROUPS] = {3, 4, 6, 3};
    const int bottleneck = options->resnet_depth >= 50;
    x = layer(g, (layer_place){"", 1}, x, (square_filter){STEM_FEATURES, 7, 2}, NO_TENSOR);
    x = graph_max_pool(g, x, &(pool_options){.window = {1, 3, 3}, .stride = {1, 2, 2}, .padding = {0, 1, 1}});
    int channels = STEM_FEATURES;
    for (int group = 0; group < GROUPS; group++)
        for (int index = 0; index < (options->resnet_depth == 18 ? 2 : DEEP[group]); index++) {
            char path[32];
            const int features = STEM_FEATURES << group, outputs = bottleneck ? EXPANSION * features : features;
            const int stride = group > 0 && index == 0 ? 2 : 1;
            snprintf(path, sizeof path, "layer%d.%d.", group + 1, index);
            x = block(g, path, x, (block_shape){channels, features, outputs, stride});
            channels = outputs;
        }
    x = graph_dropout(g, graph_mean(g, x), options->dropout);
    x = graph_fully_connected(g, "fc", x, options->classes, 1);
    graph_begin_he(g, x, sqrt(5));
    graph_output(g, x);
}
