/*
 * Batch and instance normalisation with the activation that follows. Parameters: 0 weight, 1 bias; for batch
 * normalisation 2 running mean, 3 running variance.
 *
 * A group is what is normalised together: the batch, or one sample. Its rows are cut into chunks that only the shape
 * decides; each is summed by one thread, and the chunks are joined in order, in double.
 */
#include "nn/graph_inside.h"

#include <math.h>
#include <string.h>

enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VARIANCE, CHUNK_ROWS = 256, MAX_CHUNKS = 256 };

static const char *const SUFFIXES[] = {"weight", "bias", "running_mean", "running_var"};

typedef struct grouping {
    int groups, channels, chunks;
    size_t rows; /* of one group */
    size_t row_bytes;
} grouping;

static grouping grouping_of(const graph *g, const op *o) {
    const shape *s = &g->nodes[o->inputs[0]].shape;
    grouping k = {.groups = o->norm.kind == NORM_INSTANCE ? s->samples : 1, .channels = s->channels};
    k.rows = shape_rows(s) / (size_t)k.groups;
    k.chunks = (int)((k.rows + CHUNK_ROWS - 1) / CHUNK_ROWS);
    if (k.chunks > MAX_CHUNKS) k.chunks = MAX_CHUNKS;
    k.row_bytes = (size_t)s->channels * graph_number(g);
    return k;
}

/* What forward keeps, per group: mean, 1 / deviation, scale, shift; and three more for backward. */
enum { MEAN, INVERSE, SCALE, SHIFT, BY_GRADIENT, BY_VALUE, CONSTANT, KEPT };
static float *kept(const graph *g, const op *o, const grouping *k, int group, int what) {
    return state_of(g, o) + ((size_t)group * KEPT + (size_t)what) * (size_t)k->channels;
}

/* Two numbers per channel of each chunk. */
static float *chunk_sums(const graph *g, const grouping *k, int item, int which) {
    return (float *)(void *)g->scratch + ((size_t)item * 2 + (size_t)which) * (size_t)k->channels;
}

static size_t chunk_start(const grouping *k, int item) {
    const int group = item / k->chunks, chunk = item % k->chunks;
    return (size_t)group * k->rows + share_start(k->rows, (share){chunk, k->chunks});
}
static size_t chunk_rows(const grouping *k, int item) {
    const share own = {item % k->chunks, k->chunks};
    return share_end(k->rows, own) - share_start(k->rows, own);
}

static void set_scale(graph *g, op *o, const grouping *k, int group) {
    const float *weight = parameter_values(g, o, WEIGHT), *bias = parameter_values(g, o, BIAS);
    const float *mean = kept(g, o, k, group, MEAN), *inverse = kept(g, o, k, group, INVERSE);
    float *scale = kept(g, o, k, group, SCALE), *shift = kept(g, o, k, group, SHIFT);
    for (int c = 0; c < k->channels; c++) {
        scale[c] = weight[c] * inverse[c];
        shift[c] = bias[c] - mean[c] * scale[c];
    }
}

static void update_running(graph *g, op *o, const grouping *k, int c, double mean, double variance) {
    if (o->norm.kind != NORM_BATCH) return;
    float *running_mean = g->running + g->parameters[o->parameters[RUNNING_MEAN]].offset;
    float *running_variance = g->running + g->parameters[o->parameters[RUNNING_VARIANCE]].offset;
    const double rows = (double)k->rows, momentum = o->norm.momentum;
    const double unbiased = k->rows > 1 ? variance * rows / (rows - 1) : variance;
    running_mean[c] = (float)((1 - momentum) * running_mean[c] + momentum * mean);
    running_variance[c] = (float)((1 - momentum) * running_variance[c] + momentum * unbiased);
}

/* The moments of the chunks, joined as Chan, Golub and LeVeque do. */
static void join_moments(graph *g, op *o, const grouping *k, int group) {
    for (int c = 0; c < k->channels; c++) {
        double mean = 0, deviation = 0, rows = 0;
        for (int chunk = 0; chunk < k->chunks; chunk++) {
            const int item = group * k->chunks + chunk;
            const double more = (double)chunk_rows(k, item), all = rows + more;
            const double off = (double)chunk_sums(g, k, item, 0)[c] - mean;
            deviation += (double)chunk_sums(g, k, item, 1)[c] + off * off * rows * more / all;
            mean += off * more / all;
            rows = all;
        }
        const double variance = deviation / rows;
        kept(g, o, k, group, MEAN)[c] = (float)mean;
        kept(g, o, k, group, INVERSE)[c] = (float)(1 / sqrt(variance + o->norm.epsilon));
        update_running(g, o, k, c, mean, variance);
    }
}

static void take_running(graph *g, op *o, const grouping *k) {
    const float *mean = g->running + g->parameters[o->parameters[RUNNING_MEAN]].offset;
    const float *variance = g->running + g->parameters[o->parameters[RUNNING_VARIANCE]].offset;
    for (int c = 0; c < k->channels; c++) {
        kept(g, o, k, 0, MEAN)[c] = mean[c];
        kept(g, o, k, 0, INVERSE)[c] = (float)(1 / sqrt((double)variance[c] + o->norm.epsilon));
    }
}

/* A chunk of rows as the kernels take it. */
static kernel_norm chunk_norm(const graph *g, const op *o, const grouping *k, int item) {
    const int group = item / k->chunks;
    return (kernel_norm){.rows = chunk_rows(k, item),
                         .channels = k->channels,
                         .scale = kept(g, o, k, group, SCALE),
                         .shift = kept(g, o, k, group, SHIFT),
                         .mean = kept(g, o, k, group, MEAN),
                         .slope = o->norm.slope};
}

static void scale_all(graph *g, op *o) {
    const grouping k = grouping_of(g, o);
    const kernels *kernels = graph_kernels(g);
    const char *x = value_of(g, o->inputs[0]);
    const char *addend = o->addend == NOWHERE ? 0 : value_of(g, o->inputs[o->addend]);
    char *y = value_of(g, o->output);
#pragma omp parallel for num_threads(g->options.threads) schedule(static)
    for (int item = 0; item < k.groups * k.chunks; item++) {
        const size_t start = chunk_start(&k, item) * k.row_bytes;
        kernel_norm norm = chunk_norm(g, o, &k, item);
        norm.addend = addend ? addend + start : 0;
        kernels->scale_rows(&norm, x + start, y + start);
    }
}

static void forward(graph *g, op *o, int training) {
    const grouping k = grouping_of(g, o);
    const kernels *kernels = graph_kernels(g);
    const char *x = value_of(g, o->inputs[0]);
    if (o->norm.kind == NORM_BATCH && !training) {
        take_running(g, o, &k);
    } else {
#pragma omp parallel for num_threads(g->options.threads) schedule(static)
        for (int item = 0; item < k.groups * k.chunks; item++)
            kernels->moments(x + chunk_start(&k, item) * k.row_bytes, chunk_rows(&k, item), k.channels,
                             chunk_sums(g, &k, item, 0), chunk_sums(g, &k, item, 1));
        for (int group = 0; group < k.groups; group++) join_moments(g, o, &k, group);
    }
    for (int group = 0; group < k.groups; group++) set_scale(g, o, &k, group);
    scale_all(g, o);
}

/* With g the gradient behind the activation: dx = w/s (g - mean(g) - (x - m)/s^2 mean(g (x - m))). */
static void join_sums(graph *g, op *o, const grouping *k, int group) {
    const float *weight = parameter_values(g, o, WEIGHT), *inverse = kept(g, o, k, group, INVERSE);
    float *weight_gradient = parameter_gradients(g, o, WEIGHT), *bias_gradient = parameter_gradients(g, o, BIAS);
    for (int c = 0; c < k->channels; c++) {
        double sum = 0, sum_deviation = 0;
        for (int chunk = 0; chunk < k->chunks; chunk++) {
            sum += (double)chunk_sums(g, k, group * k->chunks + chunk, 0)[c];
            sum_deviation += (double)chunk_sums(g, k, group * k->chunks + chunk, 1)[c];
        }
        const double scale = (double)weight[c] * inverse[c], rows = (double)k->rows;
        weight_gradient[c] += (float)(sum_deviation * inverse[c]);
        bias_gradient[c] += (float)sum;
        kept(g, o, k, group, BY_GRADIENT)[c] = (float)scale;
        kept(g, o, k, group, BY_VALUE)[c] = (float)(-scale * inverse[c] * inverse[c] * sum_deviation / rows);
        kept(g, o, k, group, CONSTANT)[c] = (float)(-scale * sum / rows);
    }
}

static kernel_norm backward_norm(const graph *g, const op *o, const grouping *k, int item) {
    kernel_norm norm = chunk_norm(g, o, k, item);
    if (o->addend != NOWHERE) norm.output = value_of(g, o->output) + chunk_start(k, item) * k->row_bytes;
    return norm;
}

/* The addend's gradient is the one before the activation. It may take the place of the output's where the planner let
   them share it: then it comes last, and first where the input's gradient does. */
static void backward_addend(const graph *g, const op *o, const kernel_norm *norm, size_t start, int in_place) {
    char *dy = gradient_of(g, o->output), *to = o->addend == NOWHERE ? 0 : gradient_of(g, o->inputs[o->addend]);
    if (to && (to == dy) == in_place)
        graph_kernels(g)->leaky_relu_backward(norm->output, dy + start, norm->rows * (size_t)norm->channels,
                                              norm->slope, o->accumulate[o->addend], to + start);
}

static void backward(graph *g, op *o) {
    const grouping k = grouping_of(g, o);
    const kernels *kernels = graph_kernels(g);
    const char *x = value_of(g, o->inputs[0]), *dy = gradient_of(g, o->output);
    char *dx = gradient_of(g, o->inputs[0]);
#pragma omp parallel for num_threads(g->options.threads) schedule(static)
    for (int item = 0; item < k.groups * k.chunks; item++) {
        const size_t start = chunk_start(&k, item) * k.row_bytes;
        const kernel_norm norm = backward_norm(g, o, &k, item);
        kernels->scale_sums(&norm, x + start, dy + start, chunk_sums(g, &k, item, 0), chunk_sums(g, &k, item, 1));
    }
    for (int group = 0; group < k.groups; group++) join_sums(g, o, &k, group);
#pragma omp parallel for num_threads(g->options.threads) schedule(static)
    for (int item = 0; item < k.groups * k.chunks; item++) {
        const size_t start = chunk_start(&k, item) * k.row_bytes;
        const int group = item / k.chunks;
        const kernel_norm norm = backward_norm(g, o, &k, item);
        const kernel_norm_gradient gradient = {kept(g, o, &k, group, BY_GRADIENT), kept(g, o, &k, group, BY_VALUE),
                                               kept(g, o, &k, group, CONSTANT)};
        backward_addend(g, o, &norm, start, 0);
        if (dx) kernels->scale_backward(&norm, &gradient, x + start, dy + start, o->accumulate[0], dx + start);
        backward_addend(g, o, &norm, start, 1);
    }
}

extern const op_kind op_norm, op_residual_norm;
const op_kind op_norm = {.name = "norm",
                         .forward = forward,
                         .backward = backward,
                         .backward_reads_inputs = 1,
                         .gradient_in_place = 1,
                         .recompute = scale_all};
/* With an addend. It is not computed a second time, since the addend would have to be kept for that; and its backward pass
   learns from the output on which side of zero it was. */
const op_kind op_residual_norm = {.name = "norm",
                                  .forward = forward,
                                  .backward = backward,
                                  .backward_reads_inputs = 1,
                                  .backward_reads_output = 1,
                                  .gradient_in_place = 1};

static op *new_norm(graph *g, const char *name, tensor input, const norm_options *options) {
    const shape s = g->nodes[input].shape;
    if (!options->has_addend) return graph_new_op(g, &op_norm, name, &input, 1, s);
    const node *addend = node_of(g, options->addend);
    if (!addend) return 0;
    if (memcmp(&addend->shape, &s, sizeof s) != 0)
        return graph_fails(g, "'%s': the addend has another size", name), (op *)0;
    const tensor inputs[2] = {input, options->addend};
    op *o = graph_new_op(g, &op_residual_norm, name, inputs, 2, s);
    if (o) o->addend = 1;
    return o;
}

tensor graph_norm(graph *g, const char *name, tensor input, const norm_options *options) {
    const node *n = node_of(g, input);
    if (!n) return NO_TENSOR;
    const shape s = n->shape;
    if (options->kind == NORM_INSTANCE && shape_positions(&s) < 2)
        return graph_fails(g,
                           "'%s': instance normalisation needs more than one position; take fewer levels or a larger "
                           "patch",
                           name);
    op *o = new_norm(g, name, input, options);
    if (!o) return NO_TENSOR;
    o->norm = *options;
    if (o->norm.epsilon == 0) o->norm.epsilon = 1e-5;
    if (o->norm.momentum == 0) o->norm.momentum = 0.1;
    for (int k = 0; k < (options->kind == NORM_BATCH ? 4 : 2); k++) {
        const parameter p = {.shape = {s.channels},
                             .rank = 1,
                             .start = (k == WEIGHT && !options->begins_at_zero) || k == RUNNING_VARIANCE,
                             .running = k == RUNNING_MEAN || k == RUNNING_VARIANCE};
        o->parameters[k] = graph_new_parameter(g, name, SUFFIXES[k], &p);
    }
    if (g->failure.status != STATUS_OK) return NO_TENSOR;
    const grouping k = grouping_of(g, o);
    o->state_floats = (size_t)k.groups * KEPT * (size_t)k.channels;
    o->scratch_bytes = (size_t)(k.groups * k.chunks) * 2 * (size_t)k.channels * sizeof(float);
    return o->output;
}
