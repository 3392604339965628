/*
 * The direct algorithm for the gradient of the weights: each tap's gradient is a sum of outer products of input and
 * output gradient over all positions, in chunks of them that stay in the cache.
 */
#include "nn/convolution_inside.h"
#include "nn/team.h"

#include <string.h>

enum {
    /* Positions that are worked on together: their operands stay in the first-level cache, or in the second when the
       gradient itself is too large for that. */
    CHUNK_BYTES = 24 << 10,
    LARGE_CHUNK_BYTES = 512 << 10,
    /* Gradients above this size are large ones. */
    LARGE_GRADIENT_BYTES = 256 << 10,
    PIECE_ROWS = 28 /* of a piece of the gradient, at most: two of the largest blocks */
};

/* A gradient that several chunks add to, one for the sum of several chains, and behind them a
   piece of one for each thread. */
static size_t gradient_bytes(const convolution *c) { return aligned_bytes(c->weight_count * sizeof(float)); }
static size_t sums_bytes(const convolution *c) { return (convolution_has_chains(c) ? 2 : 1) * gradient_bytes(c); }
static size_t piece_bytes(const convolution *c) {
    return aligned_bytes(PIECE_ROWS * (size_t)c->features * sizeof(float));
}
size_t direct_weights_scratch(const convolution *c) { return sums_bytes(c) + (size_t)c->threads * piece_bytes(c); }

/* Output positions of a weight gradient that are worked on together. */
typedef struct chunk {
    int sample, first_plane, end_plane, first_line, end_line;
} chunk;

/* Narrows [first, end) of an axis of outputs to those whose input under `tap` lies inside. */
static void clip_axis(const convolution *c, int axis, int tap, int *first, int *end) {
    const int shift = tap - c->padding[axis], stride = c->stride[axis];
    if (*first * stride + shift < 0) *first = (-shift + stride - 1) / stride;
    while (*end > *first && (*end - 1) * stride + shift >= c->in.size[axis]) --*end;
    if (*end < *first) *end = *first;
}

/* Rows of the gradient of one tap: the channels [channel, channel + count) of one input. */
typedef struct gradient_rows {
    int tap[3], input, channel, count;
} gradient_rows;

/* The features from `feature` on, which do not fill a panel: summed by themselves and then added. */
static void add_rest(const convolution *c, const kernel_field *field, int rows, int feature, const char *input,
                     const char *gradient, float *out) {
    float rest[PIECE_ROWS * KERNEL_PANEL] = {0};
    const kernel_sums to = {rest, KERNEL_PANEL, rows, 1};
    kernels_for(c->precision)->outer(field, input, gradient, &to);
    for (int r = 0; r < rows; r++)
        for (int i = 0; feature + i < c->features; i++)
            out[r * c->features + feature + i] += rest[r * KERNEL_PANEL + i];
}

static void add_outer(const convolution *c, const chunk *chunk, const gradient_rows *rows, const char *input,
                      const char *gradient, float *out) {
    const int *tap = rows->tap;
    int first[3] = {chunk->first_plane, chunk->first_line, 0},
        end[3] = {chunk->end_plane, chunk->end_line, c->out.size[2]};
    for (int axis = 0; axis < 3; axis++) {
        clip_axis(c, axis, tap[axis], &first[axis], &end[axis]);
        if (first[axis] >= end[axis]) return;
    }
    const ptrdiff_t a_row = c->input_channels[rows->input], b_row = c->features;
    const kernel_field field = {end[0] - first[0],
                                end[1] - first[1],
                                end[2] - first[2],
                                a_row * c->in.size[2] * c->in.size[1] * c->stride[0],
                                a_row * c->in.size[2] * c->stride[1],
                                a_row * c->stride[2],
                                b_row * c->out.size[2] * c->out.size[1],
                                b_row * c->out.size[2],
                                b_row};
    ptrdiff_t a = chunk->sample, b = a;
    for (int axis = 0; axis < 3; axis++) {
        a = a * c->in.size[axis] + first[axis] * c->stride[axis] + tap[axis] - c->padding[axis];
        b = b * c->out.size[axis] + first[axis];
    }
    const ptrdiff_t number = (ptrdiff_t)precision_bytes(c->precision);
    input += (a * a_row + rows->channel) * number;
    gradient += b * b_row * number;
    const kernel_sums to = {out, c->features, rows->count, c->features / KERNEL_PANEL};
    const int feature = to.panels * KERNEL_PANEL;
    kernels_for(c->precision)->outer(&field, input, gradient, &to);
    if (feature < c->features) add_rest(c, &field, rows->count, feature, input, gradient + feature * number, out);
}

/* How the outputs are cut into chunks. */
typedef struct chunking {
    int line_step, plane_step, line_chunks, plane_chunks;
} chunking;

static chunking chunking_of(const convolution *c) {
    const int planes = c->out.size[0], lines = c->out.size[1];
    const size_t line_bytes = (size_t)c->out.size[2] * (size_t)(c->in.channels + c->features) * sizeof(float);
    const int large = c->weight_count * sizeof(float) > LARGE_GRADIENT_BYTES;
    const int lines_fit = larger(1, (int)((large ? LARGE_CHUNK_BYTES : CHUNK_BYTES) / line_bytes));
    chunking k = {.line_step = smaller(lines_fit, lines), .plane_step = larger(1, smaller(planes, lines_fit / lines))};
    k.line_chunks = (lines + k.line_step - 1) / k.line_step;
    k.plane_chunks = (planes + k.plane_step - 1) / k.plane_step;
    return k;
}

static int chunk_count(const convolution *c, const chunking *k) {
    return c->in.samples * k->plane_chunks * k->line_chunks;
}

static chunk chunk_at(const convolution *c, const chunking *k, int index) {
    const int line = index % k->line_chunks * k->line_step,
              plane = index / k->line_chunks % k->plane_chunks * k->plane_step;
    return (chunk){index / k->line_chunks / k->plane_chunks, plane, smaller(plane + k->plane_step, c->out.size[0]),
                   line, smaller(line + k->line_step, c->out.size[1])};
}

/* A piece of the gradient: the rows of one tap and a group of input channels, which lie together. */
typedef struct gradient_piece {
    gradient_rows rows;
    size_t offset;
} gradient_piece;

/* Groups of channels of one input, of nearly equal size. */
static int groups_of(const convolution *c, int input) {
    return (c->input_channels[input] + PIECE_ROWS - 1) / PIECE_ROWS;
}
static int group_start(const convolution *c, int input, int group) {
    return (int)((long long)c->input_channels[input] * group / groups_of(c, input));
}
static int piece_groups(const convolution *c) {
    int groups = 0;
    for (int i = 0; i < c->inputs; i++) groups += groups_of(c, i);
    return groups;
}

static gradient_piece piece_at(const convolution *c, size_t item) {
    const int groups = piece_groups(c), flat = (int)(item / (size_t)groups);
    int group = (int)(item % (size_t)groups), input = 0, before = 0;
    if (group >= groups_of(c, 0)) {
        group -= groups_of(c, 0);
        before = c->input_channels[0];
        input = 1;
    }
    const int start = group_start(c, input, group);
    return (gradient_piece){
        {{flat / (c->kernel[1] * c->kernel[2]), flat / c->kernel[2] % c->kernel[1], flat % c->kernel[2]},
         input,
         start,
         group_start(c, input, group + 1) - start},
        ((size_t)flat * (size_t)c->in.channels + (size_t)(before + start)) * (size_t)c->features};
}

static void add_floats(size_t count, const float *restrict from, float *restrict to) {
    for (size_t i = 0; i < count; i++) to[i] += from[i];
}

/* Where the sums of all pieces are: of the chain that is being summed, and, where there are
   several, of those before. */
typedef struct gradient_sums {
    float *chain, *total; /* total: NULL where there is one chain */
    float *own;           /* a thread's own piece */
} gradient_sums;

static gradient_sums sums_at(const convolution *c, char *memory) {
    return (gradient_sums){(float *)(void *)memory,
                           convolution_has_chains(c) ? (float *)(void *)(memory + gradient_bytes(c)) : 0,
                           (float *)(void *)(memory + sums_bytes(c) + (size_t)thread_share().index * piece_bytes(c))};
}

static int positions_of(const convolution *c, const chunk *k) {
    return (k->end_plane - k->first_plane) * (k->end_line - k->first_line) * c->out.size[2];
}

/* What happens around a chunk: a chain begins with it or ends with it, the first or the last one. */
typedef struct chain_place {
    int begins, ends, first, last;
} chain_place;

/* A piece's chain has ended: its sum goes to those before, and in the end all to the gradient. */
static void end_chain(const chain_place *at, size_t floats, const float *chain, float *total, float *gradient) {
    if (at->first && total) memcpy(total, chain, floats * sizeof *total);
    else if (total) add_floats(floats, chain, total);
    if (at->last) add_floats(floats, total ? total : chain, gradient);
}

/* What one thread adds: its share of the pieces, each summed from zero over all chunks. With a single chunk the sum
   need not leave the thread's own rows. */
static void add_pieces(const convolution *c, const void *const inputs[2], const void *gradient, char *memory,
                       float *weight_gradients) {
    const chunking k = chunking_of(c);
    const share own = thread_share();
    const gradient_sums sums = sums_at(c, memory);
    const int chunks = chunk_count(c, &k);
    const size_t items = (size_t)convolution_taps(c) * (size_t)piece_groups(c);
    chain_place at = {.first = 1};
    for (int index = 0, length = 0; index < chunks; index++) {
        const chunk chunk = chunk_at(c, &k, index);
        at.begins = length == 0;
        length += positions_of(c, &chunk);
        at.last = index == chunks - 1;
        at.ends = at.last || length >= LONGEST_CHAIN;
        for (size_t item = share_start(items, own); item < share_end(items, own); item++) {
            const gradient_piece piece = piece_at(c, item);
            const size_t floats = (size_t)piece.rows.count * (size_t)c->features;
            float *const chain = chunks == 1 ? sums.own : sums.chain + piece.offset;
            if (at.begins) memset(chain, 0, floats * sizeof *chain);
            add_outer(c, &chunk, &piece.rows, inputs[piece.rows.input], gradient, chain);
            if (at.ends)
                end_chain(&at, floats, chain, sums.total ? sums.total + piece.offset : 0,
                          weight_gradients + piece.offset);
        }
        if (!at.ends) continue;
        at.first = 0;
        length = 0;
    }
}

void direct_backward_weights(const convolution *c, const void *const inputs[2], const void *gradient,
                             part_gradients weight_gradients, char *scratch) {
#pragma omp parallel num_threads(team_size(c->threads))
    for (int part = 0; part < convolution_parts(c); part++) {
        const convolution_piece piece = convolution_piece_at(c, inputs, gradient, part);
        add_pieces(&piece.convolution, piece.inputs, piece.gradient, scratch,
                   weight_gradients.first + (size_t)part * weight_gradients.stride);
    }
}
