/* Dropout: in training each value is left out with a chance, and the others grow so that the mean stays. */
#include "core/random.h"
#include "nn/graph_inside.h"
#include "nn/purposes.h"
#include "nn/team.h"
#include "nn/vector.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* A stream's slot has room for both: the layer and the sample. */
enum { SAMPLE_BITS = 20, LAYERS_MAX = 1 << (32 - SAMPLE_BITS) };

void graph_set_dropout(graph *g, uint64_t seed, int64_t iteration, int first) {
    g->dropout_seed = seed;
    g->dropout_iteration = (uint64_t)iteration;
    g->dropout_first = (uint32_t)first;
}

/* to = from times 0 or 1 / (1 - share), or added to it: the values of one sample. The backward
   pass draws the same again. */
typedef struct sample_values {
    const char *from;
    char *to;
    size_t count;
    int accumulate;
} sample_values;

static float number_at(const graph *g, const char *numbers, size_t i) {
    return g->options.precision == PRECISION_F32 ? ((const float *)(const void *)numbers)[i]
                                                 : float_from_bf16(((const uint16_t *)(const void *)numbers)[i]);
}

static void set_number(const graph *g, char *numbers, size_t i, float value) {
    if (g->options.precision == PRECISION_F32) ((float *)(void *)numbers)[i] = value;
    else ((uint16_t *)(void *)numbers)[i] = float_to_bf16(value);
}

static void leave_out(const graph *g, const op *o, int sample, const sample_values *v) {
    random_stream stream;
    const uint32_t slot = (uint32_t)o->layer << SAMPLE_BITS | (g->dropout_first + (uint32_t)sample);
    random_start(&stream, g->dropout_seed, RANDOM_DROPOUT, g->dropout_iteration, slot);
    const uint64_t bound = (uint64_t)(ldexp(o->share, 32));
    const float scale = (float)(1 / (1 - o->share));
    for (size_t i = 0; i < v->count; i++) {
        const float kept = random_bits(&stream, 32) < bound ? 0 : scale * number_at(g, v->from, i);
        set_number(g, v->to, i, v->accumulate ? number_at(g, v->to, i) + kept : kept);
    }
}

static void each_sample(const graph *g, const op *o, const char *from, int accumulate, char *to) {
    const shape *s = &g->nodes[o->output].shape;
    const size_t count = shape_count(s) / (size_t)s->samples, bytes = count * graph_number(g);
#pragma omp parallel for num_threads(team_size(g->options.threads)) schedule(static)
    for (int k = 0; k < s->samples; k++)
        leave_out(g, o, k, &(sample_values){from + (size_t)k * bytes, to + (size_t)k * bytes, count, accumulate});
}

static void dropout_forward(graph *g, op *o, int training) {
    const char *x = value_of(g, o->inputs[0]);
    if (training) each_sample(g, o, x, 0, value_of(g, o->output));
    else memcpy(value_of(g, o->output), x, shape_count(&g->nodes[o->output].shape) * graph_number(g));
}

static void dropout_backward(graph *g, op *o) {
    char *dx = gradient_of(g, o->inputs[0]);
    const char *dy = gradient_of(g, o->output);
    if (!dx) return;
    assert(dy); /* what depends on an input that needs its gradient needs its own */
    each_sample(g, o, dy, o->accumulate[0], dx);
}

static const op_kind op_dropout = {.name = "dropout",
                                   .layer = LAYER_DROPOUT,
                                   .forward = dropout_forward,
                                   .backward = dropout_backward,
                                   .gradient_in_place = 1};

tensor graph_dropout(graph *g, tensor input, double share) {
    const node *n = node_of(g, input);
    if (!n) return NO_TENSOR;
    if (!(share >= 0 && share < 1)) return graph_fails(g, "a share of %g cannot be left out: 0 to below 1 can", share);
    if (share == 0 || g->options.inference) return input;
    if (g->dropout_layers == LAYERS_MAX) return graph_fails(g, "more than %d layers with dropout", LAYERS_MAX);
    op *o = graph_new_op(g, &op_dropout, "dropout", &input, 1, n->shape);
    if (!o) return NO_TENSOR;
    o->share = share;
    o->layer = g->dropout_layers++;
    return o->output;
}
