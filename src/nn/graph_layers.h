/*
 * A graph layer by layer, for those who write it down in another form.
 *
 *     for (int k = 0; k < graph_layer_count(graph); k++) { const graph_layer layer = graph_layer_at(graph, k); ... }
 *
 * Layers come in an order in which each finds its inputs computed. Tensor 0 is the graph's input.
 */
#ifndef HWS_NN_GRAPH_LAYERS_H
#define HWS_NN_GRAPH_LAYERS_H

#include "nn/graph.h"

typedef enum layer_kind {
    LAYER_CONVOLUTION,
    LAYER_TRANSPOSED_CONVOLUTION, /* kernel = stride, no padding */
    LAYER_FULLY_CONNECTED,
    LAYER_NORM, /* with its activation */
    LAYER_ACTIVATION,
    LAYER_MAX_POOL,
    LAYER_AVERAGE_POOL,
    LAYER_MEAN,
    LAYER_DROPOUT
} layer_kind;

enum { LAYER_INPUTS = 2, LAYER_PARAMETERS = 4 };

typedef struct graph_layer {
    layer_kind kind;
    const char *name; /* of layers with parameters, theirs without .weight */
    tensor inputs[LAYER_INPUTS];
    int input_count; /* two of a convolution stand for their concatenation */
    tensor addend;   /* added to a convolution's result, or to a norm's before its activation; NO_TENSOR for none */
    tensor output;
    int window[3], stride[3], padding[3]; /* of convolutions and pools */
    norm_options norm;
    float slope;                                   /* of activations */
    const parameter *parameters[LAYER_PARAMETERS]; /* weight, bias, running mean, running variance; NULL for none */
} graph_layer;

int graph_layer_count(const graph *graph);
graph_layer graph_layer_at(const graph *graph, int index);
tensor graph_output_tensor(const graph *graph, int index);

#endif
