/* Enlarging by whole factors: each output is a weighted sum of up to two inputs per axis. */
#include "nn/graph_inside.h"
#include "nn/team.h"

#include <string.h>

enum { ROWS = 2 };

/* The inputs of output `at` along one axis and their weights. Linear: centres lie at (at + 1/2) / factor - 1/2. */
typedef struct blend {
    int from[2];
    float weight[2];
} blend;

static blend blend_at(upsampling kind, int size, int factor, int at) {
    if (kind == UPSAMPLING_NEAREST || factor == 1) return (blend){{at / factor, at / factor}, {1, 0}};
    const float centre = ((float)at + 0.5f) / (float)factor - 0.5f;
    if (centre <= 0) return (blend){{0, 0}, {1, 0}};
    const int low = (int)centre, high = smaller(low + 1, size - 1);
    const float share = centre - (float)low;
    return (blend){{low, high}, {1 - share, share}};
}

static void forward_row(const graph *g, const op *o, size_t row, float *sum, float *term) {
    const kernels *kernels = graph_kernels(g);
    const shape *in = &g->nodes[o->inputs[0]].shape, *out = &g->nodes[o->output].shape;
    const int channels = in->channels;
    const size_t bytes = (size_t)channels * graph_number(g);
    size_t rest = row;
    blend axes[3];
    for (int axis = 2; axis >= 0; axis--) {
        axes[axis] = blend_at(o->upsampling, in->size[axis], o->stride[axis], (int)(rest % (size_t)out->size[axis]));
        rest /= (size_t)out->size[axis];
    }
    memset(sum, 0, (size_t)channels * sizeof *sum);
    for (int corner = 0; corner < 8; corner++) {
        float weight = 1;
        size_t from = rest;
        for (int axis = 0; axis < 3; axis++) {
            const int side = corner >> axis & 1;
            weight *= axes[axis].weight[side];
            from = from * (size_t)in->size[axis] + (size_t)axes[axis].from[side];
        }
        if (weight == 0) continue;
        kernels->to_f32(value_of(g, o->inputs[0]) + from * bytes, (size_t)channels, term);
        for (int c = 0; c < channels; c++) sum[c] += weight * term[c];
    }
    kernels->from_f32(sum, (size_t)channels, value_of(g, o->output) + row * bytes);
}

static void forward(graph *g, op *o, int training) {
    (void)training;
    const shape in = g->nodes[o->inputs[0]].shape, out = g->nodes[o->output].shape;
#pragma omp parallel for num_threads(team_size(g->options.threads)) schedule(static)
    for (size_t row = 0; row < shape_rows(&out); row++) {
        float *sum = own_rows(g, ROWS, in.channels);
        forward_row(g, o, row, sum, sum + in.channels);
    }
}

/* How much output `at` takes from input `from` along one axis. */
static float share_of(upsampling kind, int size, int factor, int at, int from) {
    const blend b = blend_at(kind, size, factor, at);
    return (b.from[0] == from ? b.weight[0] : 0) + (b.from[1] == from && b.weight[1] != 0 ? b.weight[1] : 0);
}

/* Gathers, for one input, from all outputs that can take from it, so that each gradient is written by one thread. */
static void backward_row(const graph *g, const op *o, size_t row, float *sum, float *term) {
    const kernels *kernels = graph_kernels(g);
    const shape *in = &g->nodes[o->inputs[0]].shape, *out = &g->nodes[o->output].shape;
    const int channels = in->channels;
    const size_t bytes = (size_t)channels * graph_number(g);
    size_t rest = row;
    int at[3], first[3], end[3], k[3];
    for (int axis = 2; axis >= 0; axis--) {
        at[axis] = (int)(rest % (size_t)in->size[axis]);
        rest /= (size_t)in->size[axis];
        first[axis] = larger(0, (at[axis] - 1) * o->stride[axis]);
        end[axis] = smaller(out->size[axis], (at[axis] + 2) * o->stride[axis]);
    }
    memset(sum, 0, (size_t)channels * sizeof *sum);
    for (k[0] = first[0]; k[0] < end[0]; k[0]++)
        for (k[1] = first[1]; k[1] < end[1]; k[1]++)
            for (k[2] = first[2]; k[2] < end[2]; k[2]++) {
                float weight = 1;
                size_t from = rest;
                for (int axis = 0; axis < 3; axis++) {
                    weight *= share_of(o->upsampling, in->size[axis], o->stride[axis], k[axis], at[axis]);
                    from = from * (size_t)out->size[axis] + (size_t)k[axis];
                }
                if (weight == 0) continue;
                kernels->to_f32(gradient_of(g, o->output) + from * bytes, (size_t)channels, term);
                for (int c = 0; c < channels; c++) sum[c] += weight * term[c];
            }
    kernels->store_row(sum, channels, 0, 0, o->accumulate[0], gradient_of(g, o->inputs[0]) + row * bytes);
}

static void backward(graph *g, op *o) {
    if (!gradient_of(g, o->inputs[0])) return;
    const shape in = g->nodes[o->inputs[0]].shape;
#pragma omp parallel for num_threads(team_size(g->options.threads)) schedule(static)
    for (size_t row = 0; row < shape_rows(&in); row++) {
        float *sum = own_rows(g, ROWS, in.channels);
        backward_row(g, o, row, sum, sum + in.channels);
    }
}

static const op_kind op_upsample = {
    .name = "upsample", .layer = LAYER_UPSAMPLE, .forward = forward, .backward = backward};

tensor graph_upsample(graph *g, tensor input, const int factor[3], upsampling kind) {
    const node *n = node_of(g, input);
    if (!n) return NO_TENSOR;
    shape out = n->shape;
    for (int axis = 0; axis < 3; axis++) {
        if (factor[axis] < 1) return graph_fails(g, "an upsampling factor of %d is not positive", factor[axis]);
        out.size[axis] *= factor[axis];
    }
    op *o = graph_new_op(g, &op_upsample, "upsample", &input, 1, out);
    if (!o) return NO_TENSOR;
    memcpy(o->stride, factor, sizeof o->stride);
    o->upsampling = kind;
    o->scratch_bytes = (size_t)g->options.threads * ROWS * (size_t)out.channels * sizeof(float);
    return o->output;
}
