#include "nn/graph_layers.h"

#include "nn/graph_inside.h"

#include <string.h>

_Static_assert((int)LAYER_PARAMETERS == (int)OP_PARAMETERS, "a layer shows all parameters of an operation");

int graph_layer_count(const graph *g) { return g->op_count; }
tensor graph_output_tensor(const graph *g, int index) { return g->outputs[index]; }

static void describe_window(const op *o, graph_layer *layer) {
    const int convolves = layer->kind == LAYER_CONVOLUTION || layer->kind == LAYER_TRANSPOSED_CONVOLUTION;
    memcpy(layer->window, convolves ? o->convolution.kernel : o->window, sizeof layer->window);
    memcpy(layer->stride, convolves ? o->convolution.stride : o->stride, sizeof layer->stride);
    memcpy(layer->padding, convolves ? o->convolution.padding : o->padding, sizeof layer->padding);
}

graph_layer graph_layer_at(const graph *g, int index) {
    const op *o = &g->ops[index];
    graph_layer layer = {.kind = o->samples_in_line ? LAYER_FULLY_CONNECTED : o->kind->layer,
                         .name = o->name,
                         .addend = NO_TENSOR,
                         .output = o->output,
                         .norm = o->norm,
                         .slope = o->slope};
    for (int k = 0; k < o->input_count; k++)
        if (k == o->addend) layer.addend = o->inputs[k];
        else layer.inputs[layer.input_count++] = o->inputs[k];
    for (int k = 0; k < OP_PARAMETERS; k++)
        layer.parameters[k] = o->parameters[k] == NOWHERE ? 0 : &g->parameters[o->parameters[k]];
    describe_window(o, &layer);
    return layer;
}
