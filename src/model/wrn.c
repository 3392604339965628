/* The pre-activation wide residual network of Zagoruyko and Komodakis (2016): WRN-depth-width. */
#include "model/model.h"

#include <math.h>
#include <stdio.h>

static tensor norm_relu(graph *g, const char *name, const char *suffix, tensor x) {
    char full[64];
    snprintf(full, sizeof full, "%s%s", name, suffix);
    return graph_norm(g, full, x, &(norm_options){.kind = NORM_BATCH, .slope = 0});
}

/*
 * Weights begin with the deviation of PyTorch's default, a sixth of He's variance. Batch normalisation
 * makes the network indifferent to the scale of its weights but not the learning rate: the smaller they
 * are, the faster they turn.
 */
static void begin_small(graph *g, tensor made) { graph_begin_he(g, made, sqrt(5)); }

typedef struct square_filter {
    int features, size, stride;
} square_filter;

static tensor convolve(graph *g, const char *name, const char *suffix, tensor x, square_filter filter, tensor addend) {
    char full[64];
    snprintf(full, sizeof full, "%s%s", name, suffix);
    x = graph_convolution(g, full, x,
                          &(convolution_options){.features = filter.features,
                                                 .kernel = {1, filter.size, filter.size},
                                                 .stride = {1, filter.stride, filter.stride},
                                                 .addend = addend,
                                                 .has_addend = addend != NO_TENSOR});
    begin_small(g, x);
    return x;
}

/* Where the number of channels or the size changes, the shortcut is a 1x1 convolution of the activated input. */
static tensor residual(graph *g, const char *name, tensor x, int features, int stride, int changes) {
    const tensor active = norm_relu(g, name, ".norm1", x);
    const tensor shortcut =
        changes ? convolve(g, name, ".shortcut", active, (square_filter){features, 1, stride}, NO_TENSOR) : x;
    tensor branch = convolve(g, name, ".conv1", active, (square_filter){features, 3, stride}, NO_TENSOR);
    branch = norm_relu(g, name, ".norm2", branch);
    return convolve(g, name, ".conv2", branch, (square_filter){features, 3, 1}, shortcut);
}

void wrn_build(graph *g, const model_options *options, tensor x) {
    const int blocks = (options->wrn_depth - 4) / 6, k = options->wrn_width;
    const int features[3] = {16 * k, 32 * k, 64 * k};
    x = convolve(g, "conv", "", x, (square_filter){16, 3, 1}, NO_TENSOR);
    int channels = 16;
    for (int group = 0; group < 3; group++)
        for (int block = 0; block < blocks; block++) {
            char name[32];
            snprintf(name, sizeof name, "blocks.%d", group * blocks + block);
            const int stride = group > 0 && block == 0 ? 2 : 1;
            x = residual(g, name, x, features[group], stride, channels != features[group] || stride != 1);
            channels = features[group];
        }
    x = graph_dropout(g, graph_mean(g, norm_relu(g, "norm", "", x)), options->dropout);
    x = graph_fully_connected(g, "classifier", x, options->classes, 1);
    begin_small(g, x);
    graph_output(g, x);
}
