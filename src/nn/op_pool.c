/* Maximum and mean over windows, and the mean over all positions. */
#include "nn/graph_inside.h"
#include "nn/team.h"

#include <string.h>

/* The rows of floats that a thread needs for itself. */
enum { ROWS = 2, MOST_TAPS = 256 };

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

/* One output of a window: from which inputs, as far as they exist. */
typedef struct pool_window {
    int sample, first[3]; /* the first input's place, which may be negative */
} pool_window;

static pool_window window_at(const op *o, const shape *out, size_t row) {
    pool_window w;
    int at[3];
    w.sample = place_of(out, row, at);
    for (int axis = 0; axis < 3; axis++) w.first[axis] = at[axis] * o->stride[axis] - o->padding[axis];
    return w;
}

/* The input under a tap; returns 0 if it lies outside. */
static int input_under(const op *o, const shape *in, const pool_window *w, int tap, size_t *row) {
    const int from[3] = {w->first[0] + tap / (o->window[1] * o->window[2]),
                         w->first[1] + tap / o->window[2] % o->window[1], w->first[2] + tap % o->window[2]};
    for (int axis = 0; axis < 3; axis++)
        if (from[axis] < 0 || from[axis] >= in->size[axis]) return 0;
    *row = row_index(in, w->sample, from);
    return 1;
}

static int taps_of(const op *o) { return o->window[0] * o->window[1] * o->window[2]; }

/* Which tap each maximum came from, for the backward pass: [output row][channel]; NULL if there is none. */
static uint8_t *chosen_taps(const graph *g, const op *o) { return o->state_floats ? (uint8_t *)state_of(g, o) : 0; }

static void max_forward(graph *g, op *o, int training) {
    (void)training;
    const kernels *kernels = graph_kernels(g);
    const shape in = g->nodes[o->inputs[0]].shape, out = g->nodes[o->output].shape;
    const size_t channels = (size_t)in.channels, bytes = channels * graph_number(g);
    const char *x = value_of(g, o->inputs[0]);
    char *y = value_of(g, o->output);
    uint8_t *chosen = chosen_taps(g, o);
#pragma omp parallel for num_threads(team_size(g->options.threads)) schedule(static)
    for (size_t row = 0; row < shape_rows(&out); row++) {
        float *best = own_rows(g, ROWS, in.channels);
        uint8_t *where = chosen ? chosen + row * channels : 0;
        const pool_window window = window_at(o, &out, row);
        size_t from;
        int found = 0;
        for (int tap = 0; tap < taps_of(o); tap++) {
            if (!input_under(o, &in, &window, tap, &from)) continue;
            if (found) kernels->take_larger(x + from * bytes, in.channels, (uint8_t)tap, best, where);
            else kernels->to_f32(x + from * bytes, channels, best);
            if (!found && where) memset(where, tap, channels);
            found = 1;
        }
        kernels->from_f32(best, channels, y + row * bytes);
    }
}

/* Adds to `sums` the gradients of all windows whose maximum this input is. */
static void add_gradients(const graph *g, const op *o, size_t row, float *sums) {
    const kernels *kernels = graph_kernels(g);
    const shape *in = &g->nodes[o->inputs[0]].shape, *out = &g->nodes[o->output].shape;
    const size_t channels = (size_t)in->channels, bytes = channels * graph_number(g);
    const char *dy = gradient_of(g, o->output);
    const uint8_t *chosen = chosen_taps(g, o);
    int at[3], first[3], last[3], window[3];
    const int sample = place_of(in, row, at);
    for (int axis = 0; axis < 3; axis++) {
        const int padded = at[axis] + o->padding[axis];
        first[axis] = larger(0, (padded - o->window[axis] + o->stride[axis]) / o->stride[axis]);
        last[axis] = smaller(out->size[axis] - 1, padded / o->stride[axis]);
    }
    for (window[0] = first[0]; window[0] <= last[0]; window[0]++)
        for (window[1] = first[1]; window[1] <= last[1]; window[1]++)
            for (window[2] = first[2]; window[2] <= last[2]; window[2]++) {
                const size_t from = row_index(out, sample, window);
                int tap = 0;
                for (int axis = 0; axis < 3; axis++)
                    tap = tap * o->window[axis] + at[axis] + o->padding[axis] - window[axis] * o->stride[axis];
                kernels->add_where(dy + from * bytes, chosen + from * channels, in->channels, (uint8_t)tap, sums);
            }
}

static void max_backward(graph *g, op *o) {
    const kernels *kernels = graph_kernels(g);
    const shape in = g->nodes[o->inputs[0]].shape;
    const size_t bytes = (size_t)in.channels * graph_number(g);
    char *dx = gradient_of(g, o->inputs[0]);
    if (!dx) return;
#pragma omp parallel for num_threads(team_size(g->options.threads)) schedule(static)
    for (size_t row = 0; row < shape_rows(&in); row++) {
        float *sums = own_rows(g, ROWS, in.channels);
        memset(sums, 0, (size_t)in.channels * sizeof *sums);
        add_gradients(g, o, row, sums);
        kernels->store_row(sums, in.channels, 0, 0, o->accumulate[0], dx + row * bytes);
    }
}

static const op_kind op_max_pool = {
    .name = "max pool", .layer = LAYER_MAX_POOL, .forward = max_forward, .backward = max_backward};

/* The size that a pool leaves; 0, and a mistake, if its window does not fit. */
static int pooled_size(graph *g, const pool_options *options, int axis, int size) {
    const int window = options->window[axis], stride = options->stride[axis], padding = options->padding[axis];
    if (window < 1 || stride < 1 || padding < 0 || padding > window / 2 || window > size + 2 * padding)
        graph_fails(g, "a pool of window %d, stride %d and padding %d does not fit a size of %d", window, stride,
                    padding, size);
    return g->failure.status == STATUS_OK ? (size + 2 * padding - window) / stride + 1 : 0;
}

static op *new_pool(graph *g, const op_kind *kind, tensor input, const pool_options *options) {
    const node *n = node_of(g, input);
    if (!n) return 0;
    shape out = n->shape;
    for (int axis = 0; axis < 3; axis++) out.size[axis] = pooled_size(g, options, axis, out.size[axis]);
    op *o = graph_new_op(g, kind, kind->name, &input, 1, out);
    if (!o) return 0;
    memcpy(o->window, options->window, sizeof o->window);
    memcpy(o->stride, options->stride, sizeof o->stride);
    memcpy(o->padding, options->padding, sizeof o->padding);
    o->scratch_bytes = (size_t)g->options.threads * ROWS * (size_t)out.channels * sizeof(float);
    return o;
}

tensor graph_max_pool(graph *g, tensor input, const pool_options *options) {
    op *o = new_pool(g, &op_max_pool, input, options);
    if (!o) return NO_TENSOR;
    if (taps_of(o) > MOST_TAPS)
        return graph_fails(g, "a window of %d positions is larger than %d", taps_of(o), MOST_TAPS);
    const shape *out = &g->nodes[o->output].shape;
    if (!g->options.inference) o->state_floats = (shape_count(out) + sizeof(float) - 1) / sizeof(float);
    return o->output;
}

/* ---- means ------------------------------------------------------------------------------------------------------ */

static void average_forward(graph *g, op *o, int training) {
    (void)training;
    const kernels *kernels = graph_kernels(g);
    const shape in = g->nodes[o->inputs[0]].shape, out = g->nodes[o->output].shape;
    const size_t bytes = (size_t)in.channels * graph_number(g);
    const float share = 1 / (float)taps_of(o);
    const char *x = value_of(g, o->inputs[0]);
    char *y = value_of(g, o->output);
#pragma omp parallel for num_threads(team_size(g->options.threads)) schedule(static)
    for (size_t row = 0; row < shape_rows(&out); row++) {
        float *sums = own_rows(g, ROWS, in.channels), *one = sums + in.channels;
        const pool_window window = window_at(o, &out, row);
        memset(sums, 0, (size_t)in.channels * sizeof *sums);
        for (int tap = 0; tap < taps_of(o); tap++) {
            size_t from;
            if (!input_under(o, &in, &window, tap, &from)) continue;
            kernels->to_f32(x + from * bytes, (size_t)in.channels, one);
            for (int c = 0; c < in.channels; c++) sums[c] += one[c];
        }
        for (int c = 0; c < in.channels; c++) sums[c] *= share;
        kernels->from_f32(sums, (size_t)in.channels, y + row * bytes);
    }
}

/* Windows lie side by side: an input belongs to one, or behind the last to none. */
static void average_backward(graph *g, op *o) {
    const kernels *kernels = graph_kernels(g);
    const shape in = g->nodes[o->inputs[0]].shape, out = g->nodes[o->output].shape;
    const size_t bytes = (size_t)in.channels * graph_number(g);
    const float share = 1 / (float)taps_of(o);
    const char *dy = gradient_of(g, o->output);
    char *dx = gradient_of(g, o->inputs[0]);
    if (!dx) return;
#pragma omp parallel for num_threads(team_size(g->options.threads)) schedule(static)
    for (size_t row = 0; row < shape_rows(&in); row++) {
        float *gradient = own_rows(g, ROWS, in.channels);
        int at[3], inside = 1;
        const int sample = place_of(&in, row, at);
        for (int axis = 0; axis < 3; axis++) {
            at[axis] /= o->stride[axis];
            inside &= at[axis] < out.size[axis];
        }
        if (inside) kernels->to_f32(dy + row_index(&out, sample, at) * bytes, (size_t)in.channels, gradient);
        for (int c = 0; c < in.channels; c++) gradient[c] = inside ? gradient[c] * share : 0;
        kernels->store_row(gradient, in.channels, 0, 0, o->accumulate[0], dx + row * bytes);
    }
}

static const op_kind op_average_pool = {
    .name = "average pool", .layer = LAYER_AVERAGE_POOL, .forward = average_forward, .backward = average_backward};

tensor graph_average_pool(graph *g, tensor input, const int window[3]) {
    pool_options options = {.padding = {0, 0, 0}};
    memcpy(options.window, window, sizeof options.window);
    memcpy(options.stride, window, sizeof options.stride);
    const op *o = new_pool(g, &op_average_pool, input, &options);
    return o ? o->output : NO_TENSOR;
}

static void mean_forward(graph *g, op *o, int training) {
    (void)training;
    const kernels *kernels = graph_kernels(g);
    const shape in = g->nodes[o->inputs[0]].shape;
    const size_t positions = shape_positions(&in), row_bytes = (size_t)in.channels * graph_number(g);
    const char *x = value_of(g, o->inputs[0]);
    char *y = value_of(g, o->output);
#pragma omp parallel for num_threads(team_size(g->options.threads)) schedule(static)
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
#pragma omp parallel for num_threads(team_size(g->options.threads)) schedule(static)
    for (int sample = 0; sample < in.samples; sample++) {
        float *share = own_rows(g, ROWS, in.channels);
        kernels->to_f32(dy + (size_t)sample * row_bytes, (size_t)in.channels, share);
        for (int c = 0; c < in.channels; c++) share[c] /= (float)positions;
        for (size_t p = 0; p < positions; p++)
            kernels->store_row(share, in.channels, 0, 0, o->accumulate[0],
                               dx + ((size_t)sample * positions + p) * row_bytes);
    }
}

static const op_kind op_mean = {
    .name = "mean", .layer = LAYER_MEAN, .forward = mean_forward, .backward = mean_backward};

tensor graph_mean(graph *g, tensor input) {
    const node *n = node_of(g, input);
    if (!n) return NO_TENSOR;
    const shape out = {n->shape.samples, {1, 1, 1}, n->shape.channels};
    op *o = graph_new_op(g, &op_mean, "mean", &input, 1, out);
    if (!o) return NO_TENSOR;
    o->scratch_bytes = (size_t)g->options.threads * ROWS * (size_t)out.channels * sizeof(float);
    return o->output;
}
