/* Activation, addition and concatenation. */
#include "nn/graph_inside.h"
#include "nn/team.h"

#include <string.h>

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

static void copy_chunks(graph *g, const char *from, size_t count, int accumulate, char *to) {
    const kernels *kernels = graph_kernels(g);
    const size_t number = graph_number(g);
#pragma omp parallel for num_threads(team_size(g->options.threads)) schedule(static)
    for (int chunk = 0; chunk < chunk_count(count); chunk++) {
        const size_t at = (size_t)chunk * CHUNK * number;
        kernels->add(from + at, chunk_length(count, chunk), accumulate, to + at);
    }
}

static void add_forward(graph *g, op *o, int training) {
    (void)training;
    const size_t count = shape_count(&g->nodes[o->output].shape);
    copy_chunks(g, value_of(g, o->inputs[0]), count, 0, value_of(g, o->output));
    copy_chunks(g, value_of(g, o->inputs[1]), count, 1, value_of(g, o->output));
}

static void add_backward(graph *g, op *o) {
    const size_t count = shape_count(&g->nodes[o->output].shape);
    const char *dy = gradient_of(g, o->output);
    for (int i = 0; i < 2; i++)
        if (gradient_of(g, o->inputs[i])) copy_chunks(g, dy, count, o->accumulate[i], gradient_of(g, o->inputs[i]));
}

static const op_kind op_add = {.name = "add", .layer = LAYER_ADD, .forward = add_forward, .backward = add_backward};

static int same_places(const shape *a, const shape *b) {
    return a->samples == b->samples && memcmp(a->size, b->size, sizeof a->size) == 0;
}

tensor graph_add(graph *g, tensor a, tensor b) {
    const node *left = node_of(g, a), *right = node_of(g, b);
    if (!left || !right) return NO_TENSOR;
    if (!same_places(&left->shape, &right->shape) || left->shape.channels != right->shape.channels)
        return graph_fails(g, "tensors of different sizes cannot be added");
    const tensor inputs[2] = {a, b};
    op *o = graph_new_op(g, &op_add, "add", inputs, 2, left->shape);
    return o ? o->output : NO_TENSOR;
}

static void concat_forward(graph *g, op *o, int training) {
    (void)training;
    const size_t rows = shape_rows(&g->nodes[o->output].shape), number = graph_number(g);
    const size_t bytes[2] = {(size_t)g->nodes[o->inputs[0]].shape.channels * number,
                             (size_t)g->nodes[o->inputs[1]].shape.channels * number};
    const char *from[2] = {value_of(g, o->inputs[0]), value_of(g, o->inputs[1])};
    char *to = value_of(g, o->output);
#pragma omp parallel for num_threads(team_size(g->options.threads)) schedule(static)
    for (size_t row = 0; row < rows; row++) {
        memcpy(to + row * (bytes[0] + bytes[1]), from[0] + row * bytes[0], bytes[0]);
        memcpy(to + row * (bytes[0] + bytes[1]) + bytes[0], from[1] + row * bytes[1], bytes[1]);
    }
}

static void concat_backward(graph *g, op *o) {
    const kernels *kernels = graph_kernels(g);
    const size_t rows = shape_rows(&g->nodes[o->output].shape), number = graph_number(g);
    const char *dy = gradient_of(g, o->output);
    const size_t row_bytes = (size_t)g->nodes[o->output].shape.channels * number;
    for (int i = 0; i < 2; i++) {
        char *dx = gradient_of(g, o->inputs[i]);
        const size_t channels = (size_t)g->nodes[o->inputs[i]].shape.channels;
        const size_t before = i ? (size_t)g->nodes[o->inputs[0]].shape.channels * number : 0;
        if (!dx) continue;
#pragma omp parallel for num_threads(team_size(g->options.threads)) schedule(static)
        for (size_t row = 0; row < rows; row++)
            kernels->add(dy + row * row_bytes + before, channels, o->accumulate[i], dx + row * channels * number);
    }
}

static const op_kind op_concat = {
    .name = "concat", .layer = LAYER_CONCAT, .forward = concat_forward, .backward = concat_backward};

tensor graph_concat(graph *g, tensor a, tensor b) {
    const node *left = node_of(g, a), *right = node_of(g, b);
    if (!left || !right) return NO_TENSOR;
    if (!same_places(&left->shape, &right->shape))
        return graph_fails(g, "tensors of different sizes cannot be concatenated");
    const tensor inputs[2] = {a, b};
    shape joined = left->shape;
    joined.channels += right->shape.channels;
    op *o = graph_new_op(g, &op_concat, "concat", inputs, 2, joined);
    return o ? o->output : NO_TENSOR;
}
