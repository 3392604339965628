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
    for (int i = 0; i < g->node_count; i++)
        g->nodes[i].current = g->nodes[i].scaled_on_reading ? NULL : g->arena + g->nodes[i].value.offset;
    graph_kernels(g)->from_f32(g->io, shape_count(&g->nodes[0].shape), g->nodes[0].current);
    g->idle = g->options.batch.idle && training;
    for (int o = 0; o < g->op_count; o++)
        if (!g->idle || g->ops[o].kind->joins) g->ops[o].kind->forward(g, &g->ops[o], training);
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

/* Parameters lie in the order of the operations, so those of the operations behind are complete, too. */
static void tell_ready(const graph *g, const op *o) {
    const graph_batch *batch = &g->options.batch;
    if (!batch->ready || !has_parameter(o, 0)) return;
    size_t first = g->parameters[o->parameters[0]].offset;
    for (int k = 1; k < OP_PARAMETERS; k++)
        if (has_parameter(o, k) && !g->parameters[o->parameters[k]].running &&
            g->parameters[o->parameters[k]].offset < first)
            first = g->parameters[o->parameters[k]].offset;
    batch->ready(batch->context, first);
}

void graph_backward_late(graph *g) {
    if (g->late == NOWHERE) return;
    op *o = &g->ops[g->late];
    g->late = NOWHERE;
    o->kind->backward_parameters(g, o);
    tell_ready(g, o);
}

/* Whether an operation has something to wait for, and calls graph_backward_late itself meanwhile. What is computed
   again for it may lie where the operation behind still has its inputs. */
static int waits(const graph *g, const op *o) {
    return o->kind->joins && g->options.batch.join && !g->options.recompute;
}

static void backward(graph *g, op *o) {
    if (!waits(g, o)) graph_backward_late(g);
    if (!g->idle) recompute(g, o);
    o->kind->backward(g, o);
    if (o->kind->backward_parameters) g->late = (int)(o - g->ops);
    else tell_ready(g, o);
}

void graph_backward(graph *g) {
    if (g->options.precision != PRECISION_F32)
        for (int i = 0; i < g->output_count; i++)
            graph_kernels(g)->from_f32(g->io + g->output_gradients[i], shape_count(&g->nodes[g->outputs[i]].shape),
                                       gradient_of(g, g->outputs[i]));
    g->late = NOWHERE;
    for (int o = g->op_count - 1; o >= 0; o--)
        if (!g->idle || g->ops[o].kind->joins) backward(g, &g->ops[o]);
    graph_backward_late(g);
}

int graph_parts(const graph *g) {
    return g->options.batch.idle ? 0 : (g->nodes[0].shape.samples + part_size(g) - 1) / part_size(g);
}

void graph_gradients_by_part(graph *g, float *first, size_t stride) {
    g->part_gradients = first;
    g->part_stride = stride;
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
        const int written = snprintf(length < size ? text + length : 0, length < size ? size - length : 0,
                                     "%s: %d to %d channels, kernel %dx%dx%d, stride %dx%dx%d, on %dx%dx%dx%d: %s\n",
                                     g->ops[o].name, c->in.channels, c->features, c->kernel[0], c->kernel[1],
                                     c->kernel[2], c->stride[0], c->stride[1], c->stride[2], c->in.samples,
                                     c->in.size[0], c->in.size[1], c->in.size[2], convolution_algorithm_name(c));
        if (written > 0) length += (size_t)written;
    }
    return length;
}

const convolution *graph_next_convolution(const graph *g, int *place) {
    while (*place < g->op_count) {
        const convolution *c = &g->ops[(*place)++].convolution;
        if (c->weight_count) return c;
    }
    return NULL;
}
