/* Activations that do not follow a normalisation, which has its own. */
#include "nn/graph_inside.h"
#include "nn/team.h"

enum { CHUNK = 4096 };

static int chunk_count(size_t count) { return (int)((count + CHUNK - 1) / CHUNK); }
static size_t chunk_length(size_t count, int chunk) {
    const size_t start = (size_t)chunk * CHUNK;
    return count - start < CHUNK ? count - start : CHUNK;
}

static void activation_forward(graph *g, op *o, int training) {
    (void)training;
    const kernels *kernels = graph_kernels(g);
    const size_t count = shape_count(&g->nodes[o->output].shape), number = graph_number(g);
    const char *x = value_of(g, o->inputs[0]);
    char *y = value_of(g, o->output);
#pragma omp parallel for num_threads(team_size(g->options.threads)) schedule(static)
    for (int chunk = 0; chunk < chunk_count(count); chunk++) {
        const size_t at = (size_t)chunk * CHUNK * number;
        kernels->leaky_relu(x + at, chunk_length(count, chunk), o->slope, y + at);
    }
}

static void activation_backward(graph *g, op *o) {
    char *dx = gradient_of(g, o->inputs[0]);
    if (!dx) return;
    const kernels *kernels = graph_kernels(g);
    const size_t count = shape_count(&g->nodes[o->output].shape), number = graph_number(g);
    const char *x = value_of(g, o->inputs[0]), *dy = gradient_of(g, o->output);
#pragma omp parallel for num_threads(team_size(g->options.threads)) schedule(static)
    for (int chunk = 0; chunk < chunk_count(count); chunk++) {
        const size_t at = (size_t)chunk * CHUNK * number;
        kernels->leaky_relu_backward(x + at, dy + at, chunk_length(count, chunk), o->slope, o->accumulate[0], dx + at);
    }
}

static const op_kind op_activation = {.name = "activation",
                                      .layer = LAYER_ACTIVATION,
                                      .forward = activation_forward,
                                      .backward = activation_backward,
                                      .backward_reads_inputs = 1,
                                      .gradient_in_place = 1};

tensor graph_activation(graph *g, tensor input, float slope) {
    const node *n = node_of(g, input);
    if (!n) return NO_TENSOR;
    op *o = graph_new_op(g, &op_activation, "activation", &input, 1, n->shape);
    if (!o) return NO_TENSOR;
    o->slope = slope;
    return o->output;
}
