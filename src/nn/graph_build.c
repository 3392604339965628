#include "core/memory.h"

#include "core/array.h"
#include "nn/graph_inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

graph *graph_open(const graph_options *options) {
    graph *g = calloc(1, sizeof *g);
    if (!g) return 0;
    g->options = *options;
    if (g->options.threads < 1) g->options.threads = 1;
    return g;
}

void graph_close(graph **graph) {
    if (!graph || !*graph) return;
    struct graph *g = *graph;
    memory_close(g->own_values);
    memory_close(g->gradients);
    memory_close(g->running);
    memory_close(g->states);
    memory_close(g->arena);
    memory_close(g->scratch);
    memory_close(g->joined);
    memory_close(g->io);
    free(g->recompute_first);
    free(g->nodes);
    free(g->ops);
    free(g->parameters);
    free(g);
    *graph = 0;
}

int graph_fails(graph *g, const char *format, ...) {
    if (g->failure.status != STATUS_OK) return NOWHERE;
    g->failure.status = STATUS_BAD_INPUT;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(g->failure.message, sizeof g->failure.message, format, arguments);
    va_end(arguments);
    return NOWHERE;
}

/* As array_grow; the graph remembers that there was no memory. */
static void *grow(graph *g, void *array, int count, size_t *capacity, size_t size) {
    void *grown = array_grow(array, (size_t)count, capacity, size);
    if (!grown && g->failure.status == STATUS_OK) fail_memory(&g->failure, "a network's graph");
    return grown;
}

node *node_of(graph *g, tensor t) {
    if (g->failure.status != STATUS_OK) return 0;
    if (t < 0 || t >= g->node_count) {
        graph_fails(g, "tensor %d is not one of this graph", t);
        return 0;
    }
    return &g->nodes[t];
}

static tensor new_node(graph *g, shape s, int producer) {
    node *nodes = grow(g, g->nodes, g->node_count, &g->node_capacity, sizeof *nodes);
    if (!nodes) return NO_TENSOR;
    g->nodes = nodes;
    g->nodes[g->node_count] = (node){.shape = s,
                                     .producer = producer,
                                     .needs_gradient = producer != NOWHERE,
                                     .gradient_root = g->node_count,
                                     .value = {0, 0, 1, 0},
                                     .recomputed = {0, 0, 1, 0},
                                     .gradient = {0, 0, 1, 0},
                                     .only_consumer = NOWHERE};
    return g->node_count++;
}

op *graph_new_op(graph *g, const op_kind *kind, const char *name, const tensor *inputs, int input_count, shape output) {
    if (g->failure.status != STATUS_OK) return 0;
    if (g->planned) return graph_fails(g, "'%s' was added after graph_plan", name), (op *)0;
    op *ops = grow(g, g->ops, g->op_count, &g->op_capacity, sizeof *ops);
    if (!ops) return 0;
    g->ops = ops;
    op *o = &ops[g->op_count];
    memset(o, 0, sizeof *o);
    o->kind = kind;
    o->input_count = input_count;
    o->addend = NOWHERE;
    for (int i = 0; i < OP_PARAMETERS; i++) o->parameters[i] = NOWHERE;
    snprintf(o->name, sizeof o->name, "%s", name);
    for (int i = 0; i < input_count; i++) {
        o->inputs[i] = inputs[i];
        g->nodes[inputs[i]].consumers++;
        g->nodes[inputs[i]].only_consumer = g->op_count;
    }
    o->output = new_node(g, output, g->op_count);
    if (o->output == NO_TENSOR) return 0;
    g->op_count++;
    return o;
}

int graph_new_parameter(graph *g, const char *name, const char *suffix, const parameter *like) {
    if (g->failure.status != STATUS_OK) return NOWHERE;
    parameter *parameters = grow(g, g->parameters, g->parameter_count, &g->parameter_capacity, sizeof *parameters);
    if (!parameters) return NOWHERE;
    g->parameters = parameters;
    parameter *p = &parameters[g->parameter_count];
    *p = *like;
    if ((size_t)snprintf(p->name, sizeof p->name, "%s.%s", name, suffix) >= sizeof p->name)
        return graph_fails(g, "the name '%s' is too long", name);
    for (int i = 0; i < g->parameter_count; i++)
        if (strcmp(g->parameters[i].name, p->name) == 0)
            return graph_fails(g, "there are two parameters '%s'", p->name);
    p->offset = 0;
    p->count = 1;
    for (int i = 0; i < p->rank; i++) p->count *= (size_t)p->shape[i];
    return g->parameter_count++;
}

tensor graph_input(graph *g, shape s) {
    if (g->failure.status != STATUS_OK) return NO_TENSOR;
    if (g->node_count) return graph_fails(g, "a graph has one input, and it comes first");
    if (s.samples < 1 || s.size[0] < 1 || s.size[1] < 1 || s.size[2] < 1 || s.channels < 1)
        return graph_fails(g, "an input of %d samples of %dx%dx%d with %d channels is empty", s.samples, s.size[0],
                           s.size[1], s.size[2], s.channels);
    if ((double)s.samples * s.size[0] * s.size[1] * s.size[2] * s.channels > 1e12)
        return graph_fails(g, "an input of %d samples of %dx%dx%d with %d channels is too large", s.samples, s.size[0],
                           s.size[1], s.size[2], s.channels);
    return new_node(g, s, NOWHERE);
}

void graph_output(graph *g, tensor t) {
    if (!node_of(g, t)) return;
    if (g->output_count == MAX_OUTPUTS) {
        graph_fails(g, "a graph has at most %d outputs", MAX_OUTPUTS);
        return;
    }
    g->outputs[g->output_count++] = t;
}

int graph_parameter_count(const graph *g) { return g->parameter_count; }
const parameter *graph_parameter(const graph *g, int index) { return &g->parameters[index]; }
size_t graph_trained_floats(const graph *g) { return g->trained_floats; }
size_t graph_running_floats(const graph *g) { return g->running_floats; }
float *graph_values(graph *g) { return g->values; }
void graph_use_values(graph *g, float *values) { g->values = values ? values : g->own_values; }
float *graph_gradients(graph *g) { return g->gradients; }
float *graph_running(graph *g) { return g->running; }
shape graph_input_shape(const graph *g) { return g->nodes[0].shape; }
float *graph_input_values(graph *g) { return g->io; }
int graph_output_count(const graph *g) { return g->output_count; }
shape graph_output_shape(const graph *g, int index) { return g->nodes[g->outputs[index]].shape; }
