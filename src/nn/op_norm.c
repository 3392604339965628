/*
 * Batch and instance normalisation with the activation that follows. Parameters: 0 weight, 1 bias; for batch
 * normalisation 2 running mean, 3 running variance.
 *
 * A group is what is normalised together: the batch, or one sample. It is made of segments: the parts of the batch, or
 * that one sample. A segment's rows are cut into chunks that only the shape decides; each is summed by one thread, the
 * chunks are joined to segments and the segments to groups, in order, in double. Segments of the batch may be those of
 * other processes (graph_batch).
 */
#include "nn/graph_inside.h"
#include "nn/team.h"

#include <math.h>
#include <string.h>

enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VARIANCE, CHUNK_ROWS = 256, MAX_CHUNKS = 256 };

static const char *const SUFFIXES[] = {"weight", "bias", "running_mean", "running_var"};

typedef struct grouping {
    int groups, channels, batch; /* batch: 1 for batch normalisation */
    int segments, first_segment; /* here, and which is the first of them */
    int all_segments;            /* of the batch; instance normalisation knows only those that are here */
    int chunks, last_chunks;     /* of each segment, and of the last one here */
    size_t rows, last_rows;      /* of each segment, and of the last one here */
    size_t all_rows, row_bytes;  /* all_rows: of a group */
} grouping;

static int chunks_of(size_t rows) {
    const size_t chunks = (rows + CHUNK_ROWS - 1) / CHUNK_ROWS;
    return chunks > MAX_CHUNKS ? MAX_CHUNKS : (int)chunks;
}

static grouping grouping_of(const graph *g, const op *o) {
    const shape *s = &g->nodes[o->inputs[0]].shape;
    const size_t positions = shape_positions(s);
    grouping k = {.channels = s->channels, .row_bytes = (size_t)s->channels * graph_number(g)};
    k.batch = o->norm.kind == NORM_BATCH;
    k.segments = g->idle ? 0 : k.batch ? (s->samples + part_size(g) - 1) / part_size(g) : s->samples;
    k.groups = k.batch ? 1 : k.segments;
    k.first_segment = k.batch ? g->options.batch.first_part : 0;
    k.all_segments = k.batch ? batch_parts(g) : k.segments;
    k.rows = (size_t)(k.batch ? part_size(g) : 1) * positions;
    k.last_rows = k.segments ? shape_rows(s) - (size_t)(k.segments - 1) * k.rows : 0;
    k.all_rows = (size_t)(k.batch ? batch_samples(g) : 1) * positions;
    k.chunks = chunks_of(k.rows);
    k.last_chunks = chunks_of(k.last_rows);
    return k;
}

/* A chunk of a segment. */
typedef struct item {
    int segment, group, chunk, chunks;
    size_t start, rows;
} item;

static int item_count(const grouping *k) { return k->segments ? (k->segments - 1) * k->chunks + k->last_chunks : 0; }

static item item_at(const grouping *k, int index) {
    item i = {.segment = smaller(index / k->chunks, k->segments - 1)};
    const int is_last = i.segment == k->segments - 1;
    const size_t rows = is_last ? k->last_rows : k->rows;
    i.group = k->batch ? 0 : i.segment;
    i.chunk = index - i.segment * k->chunks;
    i.chunks = is_last ? k->last_chunks : k->chunks;
    const share own = {i.chunk, i.chunks};
    i.start = (size_t)i.segment * k->rows + share_start(rows, own);
    i.rows = share_end(rows, own) - share_start(rows, own);
    return i;
}

/* What forward keeps, per group: mean, 1 / deviation, scale, shift; and three more for backward. */
enum { MEAN, INVERSE, SCALE, SHIFT, BY_GRADIENT, BY_VALUE, CONSTANT, KEPT };
static float *kept(const graph *g, const op *o, const grouping *k, int group, int what) {
    return state_of(g, o) + ((size_t)group * KEPT + (size_t)what) * (size_t)k->channels;
}

/* Two numbers per channel of each segment, of all there are, and of each chunk. */
static double *segment_sums(const graph *g, const grouping *k, int segment, int which) {
    return g->joined + ((size_t)segment * 2 + (size_t)which) * (size_t)k->channels;
}
static float *chunk_sums(const graph *g, const grouping *k, int index, int which) {
    return (float *)(void *)g->scratch + ((size_t)index * 2 + (size_t)which) * (size_t)k->channels;
}

/* The segments of the others: asks for them, and waits until they are there. */
static int asks_others(const graph *g, const grouping *k) { return k->batch && g->options.batch.join; }
static void ask_for_segments(const graph *g, const grouping *k) {
    const graph_batch *batch = &g->options.batch;
    if (asks_others(g, k)) batch->join(batch->context, segment_sums(g, k, 0, 0), 2 * (size_t)k->channels);
}
static void wait_for_segments(const graph *g, const grouping *k) {
    const graph_batch *batch = &g->options.batch;
    if (asks_others(g, k) && batch->joined) batch->joined(batch->context);
}

/* The segments of a group, from `first` on. */
static int group_first(const grouping *k, int group) { return k->batch ? 0 : group; }
static int group_end(const grouping *k, int group) { return k->batch ? k->all_segments : group + 1; }
static double segment_rows(const grouping *k, int segment) {
    const size_t before = (size_t)segment * k->rows;
    const size_t rest = k->batch ? k->all_rows - before : k->rows;
    return (double)(rest < k->rows ? rest : k->rows);
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
    const double rows = (double)k->all_rows, momentum = o->norm.momentum;
    const double unbiased = k->all_rows > 1 ? variance * rows / (rows - 1) : variance;
    running_mean[c] = (float)((1 - momentum) * running_mean[c] + momentum * mean);
    running_variance[c] = (float)((1 - momentum) * running_variance[c] + momentum * unbiased);
}

/* Moments of some rows, and those of others joined to them as Chan, Golub and LeVeque do. */
typedef struct moments {
    double mean, deviation, rows;
} moments;

static void join_moments(moments *of, double mean, double deviation, double more) {
    const double all = of->rows + more, off = mean - of->mean;
    of->deviation += deviation + off * off * of->rows * more / all;
    of->mean += off * more / all;
    of->rows = all;
}

/* Those of a segment's chunks, from chunk `index` on. */
static void join_segment_moments(const graph *g, const grouping *k, int index, int chunks, double *mean,
                                 double *deviation) {
    double rows = 0;
    memset(mean, 0, (size_t)k->channels * sizeof *mean);
    memset(deviation, 0, (size_t)k->channels * sizeof *deviation);
    for (int chunk = index; chunk < index + chunks; chunk++) {
        const double more = (double)item_at(k, chunk).rows;
        const float *means = chunk_sums(g, k, chunk, 0), *deviations = chunk_sums(g, k, chunk, 1);
        for (int c = 0; c < k->channels; c++) {
            moments of = {mean[c], deviation[c], rows};
            join_moments(&of, (double)means[c], (double)deviations[c], more);
            mean[c] = of.mean;
            deviation[c] = of.deviation;
        }
        rows += more;
    }
}

static void join_chunk_moments(const graph *g, const grouping *k) {
    const int items = item_count(k);
    for (int index = 0, chunks; index < items; index += chunks) {
        const item first = item_at(k, index);
        const int segment = k->first_segment + first.segment;
        chunks = first.chunks;
        join_segment_moments(g, k, index, chunks, segment_sums(g, k, segment, 0), segment_sums(g, k, segment, 1));
    }
}

static void join_group_moments(graph *g, op *o, const grouping *k, int group) {
    for (int c = 0; c < k->channels; c++) {
        moments of = {0, 0, 0};
        for (int segment = group_first(k, group); segment < group_end(k, group); segment++)
            join_moments(&of, segment_sums(g, k, segment, 0)[c], segment_sums(g, k, segment, 1)[c],
                         segment_rows(k, segment));
        const double variance = of.deviation / of.rows;
        kept(g, o, k, group, MEAN)[c] = (float)of.mean;
        kept(g, o, k, group, INVERSE)[c] = (float)(1 / sqrt(variance + o->norm.epsilon));
        update_running(g, o, k, c, of.mean, variance);
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
static kernel_norm chunk_norm(const graph *g, const op *o, const grouping *k, const item *i) {
    return (kernel_norm){.rows = i->rows,
                         .channels = k->channels,
                         .scale = kept(g, o, k, i->group, SCALE),
                         .shift = kept(g, o, k, i->group, SHIFT),
                         .mean = kept(g, o, k, i->group, MEAN),
                         .slope = o->norm.slope};
}

static void scale_all(graph *g, op *o) {
    const grouping k = grouping_of(g, o);
    const kernels *kernels = graph_kernels(g);
    const char *x = value_of(g, o->inputs[0]);
    const char *addend = o->addend == NOWHERE ? 0 : value_of(g, o->inputs[o->addend]);
    char *y = value_of(g, o->output);
    work all;
    work_divide_turned(&all, (size_t)item_count(&k), g->options.threads);
#pragma omp parallel num_threads(all.threads)
    for (size_t index; work_take(&all, &index);) {
        const item i = item_at(&k, (int)index);
        const size_t start = i.start * k.row_bytes;
        kernel_norm norm = chunk_norm(g, o, &k, &i);
        norm.addend = addend ? addend + start : 0;
        kernels->scale_rows(&norm, x + start, y + start);
    }
}

convolution_scaling norm_scaling(const graph *g, const op *o) {
    const grouping k = grouping_of(g, o);
    return (convolution_scaling){kept(g, o, &k, 0, SCALE), kept(g, o, &k, 0, SHIFT),
                                 k.batch ? 0 : KEPT * (size_t)k.channels, o->norm.slope};
}

static void measure(graph *g, op *o, const grouping *k) {
    const kernels *kernels = graph_kernels(g);
    const char *x = value_of(g, o->inputs[0]);
    work all;
    work_divide_turned(&all, (size_t)item_count(k), g->options.threads);
#pragma omp parallel num_threads(all.threads)
    for (size_t index; work_take(&all, &index);) {
        const item i = item_at(k, (int)index);
        kernels->moments(x + i.start * k->row_bytes, i.rows, k->channels, chunk_sums(g, k, (int)index, 0),
                         chunk_sums(g, k, (int)index, 1));
    }
    join_chunk_moments(g, k);
    ask_for_segments(g, k);
    wait_for_segments(g, k);
    for (int group = 0; group < k->groups; group++) join_group_moments(g, o, k, group);
}

static void forward(graph *g, op *o, int training) {
    const grouping k = grouping_of(g, o);
    if (k.batch && !training) take_running(g, o, &k);
    else measure(g, o, &k);
    for (int group = 0; group < k.groups; group++) set_scale(g, o, &k, group);
    if (!g->nodes[o->output].scaled_on_reading) scale_all(g, o);
}

static void join_chunk_sums(const graph *g, const grouping *k) {
    const int items = item_count(k);
    for (int index = 0, chunks; index < items; index += chunks) {
        const item first = item_at(k, index);
        chunks = first.chunks;
        for (int which = 0; which < 2; which++) {
            double *sums = segment_sums(g, k, k->first_segment + first.segment, which);
            memset(sums, 0, (size_t)k->channels * sizeof *sums);
            for (int chunk = index; chunk < index + chunks; chunk++)
                for (int c = 0; c < k->channels; c++) sums[c] += (double)chunk_sums(g, k, chunk, which)[c];
        }
    }
}

static double sum_segments(const graph *g, const grouping *k, int first, int end, int which, int c) {
    double sum = 0;
    for (int segment = first; segment < end; segment++) sum += segment_sums(g, k, segment, which)[c];
    return sum;
}

/* With g the gradient behind the activation: dx = w/s (g - mean(g) - (x - m)/s^2 mean(g (x - m))). */
static void set_gradient(graph *g, op *o, const grouping *k, int group) {
    const float *weight = parameter_values(g, o, WEIGHT), *inverse = kept(g, o, k, group, INVERSE);
    const int first = group_first(k, group), end = group_end(k, group);
    const double rows = (double)k->all_rows;
    for (int c = 0; c < k->channels; c++) {
        const double sum = sum_segments(g, k, first, end, 0, c), deviation = sum_segments(g, k, first, end, 1, c);
        const double scale = (double)weight[c] * inverse[c];
        kept(g, o, k, group, BY_GRADIENT)[c] = (float)scale;
        kept(g, o, k, group, BY_VALUE)[c] = (float)(-scale * inverse[c] * inverse[c] * deviation / rows);
        kept(g, o, k, group, CONSTANT)[c] = (float)(-scale * sum / rows);
    }
}

static kernel_norm backward_norm(const graph *g, const op *o, const grouping *k, const item *i) {
    kernel_norm norm = chunk_norm(g, o, k, i);
    if (o->addend != NOWHERE) norm.output = value_of(g, o->output) + i->start * k->row_bytes;
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

/* Those of some segments, for the gradients of a part. */
static void add_parameter_gradients(graph *g, op *o, const grouping *k, int part, share segments) {
    float *weight = parameter_gradients(g, o, WEIGHT, part), *bias = parameter_gradients(g, o, BIAS, part);
    for (int c = 0; c < k->channels; c++) {
        double by_value = 0, sum = 0;
        for (int segment = segments.index; segment < segments.count; segment++) {
            const float inverse = kept(g, o, k, k->batch ? 0 : segment, INVERSE)[c];
            by_value += segment_sums(g, k, segment, 1)[c] * inverse;
            sum += segment_sums(g, k, segment, 0)[c];
        }
        weight[c] += (float)by_value;
        bias[c] += (float)sum;
    }
}

/* Those of batch normalisation count once, in the batch's first part. */
static void add_all_parameter_gradients(graph *g, op *o, const grouping *k) {
    if (k->batch && k->segments && k->first_segment == 0)
        add_parameter_gradients(g, o, k, 0, (share){0, k->all_segments});
    if (k->batch) return;
    for (int part = 0; part < graph_parts(g); part++)
        add_parameter_gradients(g, o, k, part,
                                (share){part_first(g, part), part_first(g, part) + part_samples(g, part)});
}

static void sum_gradients(graph *g, op *o, const grouping *k) {
    const kernels *kernels = graph_kernels(g);
    const char *x = value_of(g, o->inputs[0]), *dy = gradient_of(g, o->output);
    work all;
    work_divide_turned(&all, (size_t)item_count(k), g->options.threads);
#pragma omp parallel num_threads(all.threads)
    for (size_t index; work_take(&all, &index);) {
        const item i = item_at(k, (int)index);
        const size_t start = i.start * k->row_bytes;
        const kernel_norm norm = backward_norm(g, o, k, &i);
        kernels->scale_sums(&norm, x + start, dy + start, chunk_sums(g, k, (int)index, 0),
                            chunk_sums(g, k, (int)index, 1));
    }
    join_chunk_sums(g, k);
    ask_for_segments(g, k);
    graph_backward_late(g);
    wait_for_segments(g, k);
}

static void backward(graph *g, op *o) {
    const grouping k = grouping_of(g, o);
    const kernels *kernels = graph_kernels(g);
    const char *x = value_of(g, o->inputs[0]), *dy = gradient_of(g, o->output);
    char *dx = gradient_of(g, o->inputs[0]);
    sum_gradients(g, o, &k);
    for (int group = 0; group < k.groups; group++) set_gradient(g, o, &k, group);
    add_all_parameter_gradients(g, o, &k);
    work all;
    work_divide_turned(&all, (size_t)item_count(&k), g->options.threads);
#pragma omp parallel num_threads(all.threads)
    for (size_t index; work_take(&all, &index);) {
        const item i = item_at(&k, (int)index);
        const size_t start = i.start * k.row_bytes;
        const kernel_norm norm = backward_norm(g, o, &k, &i);
        const kernel_norm_gradient gradient = {kept(g, o, &k, i.group, BY_GRADIENT), kept(g, o, &k, i.group, BY_VALUE),
                                               kept(g, o, &k, i.group, CONSTANT)};
        backward_addend(g, o, &norm, start, 0);
        if (dx) kernels->scale_backward(&norm, &gradient, x + start, dy + start, o->accumulate[0], dx + start);
        backward_addend(g, o, &norm, start, 1);
    }
}

const op_kind op_norm = {.name = "norm",
                         .layer = LAYER_NORM,
                         .joins = 1,
                         .forward = forward,
                         .backward = backward,
                         .backward_reads_inputs = 1,
                         .gradient_in_place = 1,
                         .recompute = scale_all};
/* With an addend. It is not computed a second time, since the addend would have to be kept for that; and its backward
   pass learns from the output on which side of zero it was. */
const op_kind op_residual_norm = {.name = "norm",
                                  .layer = LAYER_NORM,
                                  .joins = 1,
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
    o->scratch_bytes = 2 * (size_t)k.channels * (size_t)item_count(&k) * sizeof(float);
    o->joined_doubles = 2 * (size_t)k.channels * (size_t)k.all_segments;
    return o->output;
}
