#include "nn/graph_inside.h"

#include <stdio.h>
#include <string.h>

const float *graph_output_values(graph *g, int index) {
    if (g->options.precision != PRECISION_F32) return g->io + g->output_values[index];
    return (const float *)value_of(g, g->outputs[index]);
}

float *graph_output_gradients(graph *g, int index) {
    if (g->options.precision != PRECISION_F32) return g->io + g->output_gradients[index];
    return (float *)gradient_of(g, g->outputs[index]);
}

void graph_forward(graph *g, int training) {
    for (int i = 0; i < g->node_count; i++) g->nodes[i].current = g->arena + g->nodes[i].value.offset;
    graph_kernels(g)->from_f32(g->io, shape_count(&g->nodes[0].shape), g->nodes[0].current);
    for (int o = 0; o < g->op_count; o++) g->ops[o].kind->forward(g, &g->ops[o], training);
    if (g->options.precision == PRECISION_F32) return;
    for (int i = 0; i < g->output_count; i++)
        graph_kernels(g)->to_f32(value_of(g, g->outputs[i]), shape_count(&g->nodes[g->outputs[i]].shape),
                                 g->io + g->output_values[i]);
}

static void recompute(graph *g, const op *reader) {
    for (int i = 0; i < reader->input_count; i++) {
        node *n = &g->nodes[reader->inputs[i]];
        if (g->recompute_first[reader->inputs[i]] != (int)(reader - g->ops)) continue;
        n->current = g->arena + n->recomputed.offset;
        op *producer = &g->ops[n->producer];
        producer->kind->recompute(g, producer);
    }
}

void graph_backward(graph *g) {
    if (g->options.precision != PRECISION_F32)
        for (int i = 0; i < g->output_count; i++)
            graph_kernels(g)->from_f32(g->io + g->output_gradients[i], shape_count(&g->nodes[g->outputs[i]].shape),
                                       gradient_of(g, g->outputs[i]));
    for (int o = g->op_count - 1; o >= 0; o--) {
        recompute(g, &g->ops[o]);
        g->ops[o].kind->backward(g, &g->ops[o]);
    }
}

void graph_clear_gradients(graph *g) { memset(g->gradients, 0, g->trained_floats * sizeof *g->gradients); }

/* A convolution forward, its data gradient (but for the input's) and its weight gradient. */
double graph_flops(const graph *g) {
    double flops = 0;
    for (int o = 0; o < g->op_count; o++) {
        if (!g->ops[o].convolution.weight_count) continue;
        const int passes = g->options.inference ? 1 : 2 + g->nodes[g->ops[o].inputs[0]].needs_gradient;
        flops += passes * convolution_flops(&g->ops[o].convolution);
    }
    return flops;
}

size_t graph_describe(const graph *g, char *text, size_t size) {
    size_t length = 0;
    for (int o = 0; o < g->op_count; o++) {
        const convolution *c = &g->ops[o].convolution;
        if (!c->weight_count) continue;
        const int written =
            snprintf(length < size ? text + length : 0, length < size ? size - length : 0,
                     "%s: %d to %d channels, kernel %dx%dx%d, stride %dx%dx%d, on %dx%dx%dx%d: %s\n", g->ops[o].name,
                     c->in.channels, c->features, c->kernel[0], c->kernel[1], c->kernel[2], c->stride[0], c->stride[1],
                     c->stride[2], c->in.samples, c->in.size[0], c->in.size[1], c->in.size[2],
                     c->algorithm == CONVOLUTION_WINOGRAD ? "winograd" : "direct");
        if (written > 0) length += (size_t)written;
    }
    return length;
}
