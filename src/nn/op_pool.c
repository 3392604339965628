/* Maximum over windows, and the mean over all positions. */
#include "nn/graph_inside.h"

#include <math.h>
#include <string.h>

/* The rows of floats that a thread needs for itself. */
enum { ROWS = 3 };

static size_t row_index(const shape *s, int sample, const int at[3]) {
    size_t row = (size_t)sample;
    for (int axis = 0; axis < 3; axis++) row = row * (size_t)s->size[axis] + (size_t)at[axis];
    return row;
}

static int place_of(const shape *s, size_t row, int at[3]) {
    for (int axis = 2; axis >= 0; axis--) {
        at[axis] = (int)(row % (size_t)s->size[axis]);
        row /= (size_t)s->size[axis];
    }
    return (int)row;
}

static int larger_or_nan(float a, float than) { return a > than || isnan(a); }

static void max_forward(graph *g, op *o, int training) {
    (void)training;
    const kernels *kernels = graph_kernels(g);
    const shape in = g->nodes[o->inputs[0]].shape, out = g->nodes[o->output].shape;
    const int channels = in.channels;
    const size_t bytes = (size_t)channels * graph_number(g);
    const char *x = value_of(g, o->inputs[0]);
    char *y = value_of(g, o->output);
#pragma omp parallel for num_threads(g->options.threads) schedule(static)
    for (size_t row = 0; row < shape_rows(&out); row++) {
        float *best = own_rows(g, ROWS, channels), *candidate = best + channels;
        int at[3], from[3];
        const int sample = place_of(&out, row, at);
        for (int tap = 0; tap < o->window[0] * o->window[1] * o->window[2]; tap++) {
            from[0] = at[0] * o->stride[0] + tap / (o->window[1] * o->window[2]);
            from[1] = at[1] * o->stride[1] + tap / o->window[2] % o->window[1];
            from[2] = at[2] * o->stride[2] + tap % o->window[2];
            kernels->to_f32(x + row_index(&in, sample, from) * bytes, (size_t)channels, tap ? candidate : best);
            for (int c = 0; tap && c < channels; c++)
                if (larger_or_nan(candidate[c], best[c])) best[c] = candidate[c];
        }
        kernels->from_f32(best, (size_t)channels, y + row * bytes);
    }
}

/* One position of the input: its values, the sum of its gradients, and memory for the maxima of a window. */
typedef struct pool_input {
    int sample, at[3];
    float *value, *sum, *candidate; /* rows of channels */
} pool_input;

/* Adds the gradient of a window's output where this input is the window's first maximum. */
static void add_if_maximum(const graph *g, const op *o, const pool_input *input, const int window[3]) {
    const kernels *kernels = graph_kernels(g);
    const shape *in = &g->nodes[o->inputs[0]].shape, *out = &g->nodes[o->output].shape;
    const float *value = input->value;
    float *candidate = input->candidate, *sum = input->sum;
    const int channels = in->channels, sample = input->sample;
    const size_t bytes = (size_t)channels * graph_number(g), number = graph_number(g);
    const char *x = value_of(g, o->inputs[0]);
    const size_t out_row = row_index(out, sample, window);
    const char *dy = gradient_of(g, o->output) + out_row * bytes, *y = value_of(g, o->output) + out_row * bytes;
    const size_t own = row_index(in, sample, input->at);
    kernels->to_f32(y, (size_t)channels, candidate);
    for (int c = 0; c < channels; c++) {
        if (!(value[c] == candidate[c] || (isnan(value[c]) && isnan(candidate[c])))) continue;
        int first = 1;
        for (int tap = 0; tap < o->window[0] * o->window[1] * o->window[2] && first; tap++) {
            const int from[3] = {window[0] * o->stride[0] + tap / (o->window[1] * o->window[2]),
                                 window[1] * o->stride[1] + tap / o->window[2] % o->window[1],
                                 window[2] * o->stride[2] + tap % o->window[2]};
            const size_t row = row_index(in, sample, from);
            if (row == own) break;
            float earlier;
            kernels->to_f32(x + row * bytes + (size_t)c * number, 1, &earlier);
            if (earlier == candidate[c]) first = 0;
        }
        float gradient;
        kernels->to_f32(dy + (size_t)c * number, 1, &gradient);
        if (first) sum[c] += gradient;
    }
}

static void max_backward(graph *g, op *o) {
    const kernels *kernels = graph_kernels(g);
    const shape in = g->nodes[o->inputs[0]].shape, out = g->nodes[o->output].shape;
    const int channels = in.channels;
    const size_t bytes = (size_t)channels * graph_number(g);
    const char *x = value_of(g, o->inputs[0]);
    char *dx = gradient_of(g, o->inputs[0]);
    if (!dx) return;
#pragma omp parallel for num_threads(g->options.threads) schedule(static)
    for (size_t row = 0; row < shape_rows(&in); row++) {
        float *own = own_rows(g, ROWS, channels);
        pool_input input = {.sum = own, .value = own + channels, .candidate = own + 2 * (size_t)channels};
        int first[3], last[3], window[3];
        input.sample = place_of(&in, row, input.at);
        for (int axis = 0; axis < 3; axis++) {
            const int at = input.at[axis];
            first[axis] = larger(0, (at - o->window[axis] + o->stride[axis]) / o->stride[axis]);
            last[axis] = smaller(out.size[axis] - 1, at / o->stride[axis]);
        }
        memset(input.sum, 0, (size_t)channels * sizeof *input.sum);
        kernels->to_f32(x + row * bytes, (size_t)channels, input.value);
        for (window[0] = first[0]; window[0] <= last[0]; window[0]++)
            for (window[1] = first[1]; window[1] <= last[1]; window[1]++)
                for (window[2] = first[2]; window[2] <= last[2]; window[2]++) add_if_maximum(g, o, &input, window);
        kernels->store_row(input.sum, channels, 0, 0, o->accumulate[0], dx + row * bytes);
    }
}

static const op_kind op_max_pool = {.name = "max pool",
                                    .forward = max_forward,
                                    .backward = max_backward,
                                    .backward_reads_inputs = 1,
                                    .backward_reads_output = 1};

tensor graph_max_pool(graph *g, tensor input, const int window[3], const int stride[3]) {
    const node *n = node_of(g, input);
    if (!n) return NO_TENSOR;
    shape out = n->shape;
    for (int axis = 0; axis < 3; axis++) {
        if (window[axis] < 1 || stride[axis] < 1 || window[axis] > out.size[axis])
            return graph_fails(g, "a pool of window %d and stride %d does not fit a size of %d", window[axis],
                               stride[axis], out.size[axis]);
        out.size[axis] = (out.size[axis] - window[axis]) / stride[axis] + 1;
    }
    op *o = graph_new_op(g, &op_max_pool, "max pool", &input, 1, out);
    if (!o) return NO_TENSOR;
    memcpy(o->window, window, sizeof o->window);
    memcpy(o->stride, stride, sizeof o->stride);
    o->scratch_bytes = (size_t)g->options.threads * ROWS * (size_t)out.channels * sizeof(float);
    return o->output;
}

static void mean_forward(graph *g, op *o, int training) {
    (void)training;
    const kernels *kernels = graph_kernels(g);
    const shape in = g->nodes[o->inputs[0]].shape;
    const size_t positions = shape_positions(&in), row_bytes = (size_t)in.channels * graph_number(g);
    const char *x = value_of(g, o->inputs[0]);
    char *y = value_of(g, o->output);
#pragma omp parallel for num_threads(g->options.threads) schedule(static)
    for (int sample = 0; sample < in.samples; sample++) {
        float *sums = own_rows(g, ROWS, in.channels);
        kernels->sum_rows(x + (size_t)sample * positions * row_bytes, positions, in.channels, in.channels, sums);
        for (int c = 0; c < in.channels; c++) sums[c] /= (float)positions;
        kernels->from_f32(sums, (size_t)in.channels, y + (size_t)sample * row_bytes);
    }
}

static void mean_backward(graph *g, op *o) {
    const kernels *kernels = graph_kernels(g);
    const shape in = g->nodes[o->inputs[0]].shape;
    const size_t positions = shape_positions(&in), row_bytes = (size_t)in.channels * graph_number(g);
    const char *dy = gradient_of(g, o->output);
    char *dx = gradient_of(g, o->inputs[0]);
    if (!dx) return;
#pragma omp parallel for num_threads(g->options.threads) schedule(static)
    for (int sample = 0; sample < in.samples; sample++) {
        float *share = own_rows(g, ROWS, in.channels);
        kernels->to_f32(dy + (size_t)sample * row_bytes, (size_t)in.channels, share);
        for (int c = 0; c < in.channels; c++) share[c] /= (float)positions;
        for (size_t p = 0; p < positions; p++)
            kernels->store_row(share, in.channels, 0, 0, o->accumulate[0],
                               dx + ((size_t)sample * positions + p) * row_bytes);
    }
}

static const op_kind op_mean = {.name = "mean", .forward = mean_forward, .backward = mean_backward};

tensor graph_mean(graph *g, tensor input) {
    const node *n = node_of(g, input);
    if (!n) return NO_TENSOR;
    const shape out = {n->shape.samples, {1, 1, 1}, n->shape.channels};
    op *o = graph_new_op(g, &op_mean, "mean", &input, 1, out);
    if (!o) return NO_TENSOR;
    o->scratch_bytes = (size_t)g->options.threads * ROWS * (size_t)out.channels * sizeof(float);
    return o->output;
}
