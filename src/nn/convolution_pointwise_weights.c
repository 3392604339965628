/*
 * The gradient of the weights of a single tap: sums of outer products over positions. The numbers of the channels of
 * one side, the rows, are multiplied one by one with vectors of those of the other. The side that leaves fewer lanes
 * empty gives the vectors.
 */
#include "nn/convolution_pointwise.h"
#include "nn/team.h"

#include <string.h>

enum {
    /* Numbers that all threads copy together; positions of two panels, and numbers of few channels, that stay in the
       first-level cache. */
    BLOCK_FLOATS = 256 << 10,
    CHUNK_POSITIONS = 256,
    CHUNK_FLOATS = 6 << 10,
    IN_PLACE_CHANNELS = 192,
    /* Sums that are worked on at a time. */
    ROWS = KERNEL_PANEL,
    COLUMNS = 2 * KERNEL_PANEL,
    SUMS = ROWS * COLUMNS
};

typedef struct gradient_product {
    int rows, columns, row_groups, column_groups;
    int swapped;  /* rows are features */
    int in_place; /* operands are read where they are; else groups of both are copied, [group][position][channel] */
    size_t units, positions; /* of a block, which all threads copy together */
} gradient_product;

static gradient_product gradient_product_of(const convolution *c) {
    const int inputs = c->in.channels, features = c->features;
    gradient_product g = {.rows = inputs, .columns = features};
    g.swapped = features * panels_of(inputs) < inputs * panels_of(features);
    if (g.swapped) {
        g.rows = features;
        g.columns = inputs;
    }
    g.row_groups = (g.rows + ROWS - 1) / ROWS;
    g.column_groups = (g.columns + COLUMNS - 1) / COLUMNS;
    g.in_place = !is_strided(c) && g.columns % KERNEL_PANEL == 0 && g.rows + g.columns <= IN_PLACE_CHANNELS;
    g.units = units_of(c);
    if (!g.in_place) {
        const int floats = g.row_groups * ROWS + g.column_groups * COLUMNS;
        const size_t together = units_together(c, (size_t)larger(CHUNK_POSITIONS, BLOCK_FLOATS / floats));
        if (together < g.units) g.units = together;
    }
    g.positions = g.units * unit_of(c);
    return g;
}

static size_t pairs_of(const gradient_product *g) { return (size_t)g->row_groups * (size_t)g->column_groups; }

static size_t gradient_floats(const gradient_product *g) {
    const size_t channels = (size_t)(g->row_groups * ROWS + g->column_groups * COLUMNS);
    return 2 * pairs_of(g) * SUMS + (g->in_place ? 0 : channels * g->positions);
}

/* Numbers of one side of a block, and how far apart its positions and groups are. */
typedef struct side {
    const char *values;
    ptrdiff_t point, group;
} side;

typedef struct block {
    span span;
    precision precision;
    side rows, columns;
} block;

static block block_in_place(const gradient_product *g, const convolution_piece *piece, span s) {
    const convolution *c = &piece->convolution;
    const size_t inputs = (size_t)c->in.channels, features = (size_t)c->features,
                 number = precision_bytes(c->precision);
    const char *const values = (const char *)piece->inputs[0] + s.first * inputs * number;
    const char *const gradients = (const char *)piece->gradient + s.first * features * number;
    return (block){s,
                   c->precision,
                   {g->swapped ? gradients : values, g->rows, ROWS},
                   {g->swapped ? values : gradients, g->columns, COLUMNS}};
}

/* Copies this thread's share of the positions to the groups of both sides. */
static block block_copied(const gradient_product *g, const convolution_piece *piece, span whole, float *copies) {
    const convolution *c = &piece->convolution;
    const size_t units = (whole.end - whole.first) / unit_of(c);
    const share own = thread_share();
    const size_t first = share_start(units, own) * unit_of(c), end = share_end(units, own) * unit_of(c);
    const kernel_copy rows = {.together = ROWS, .group_stride = (ptrdiff_t)g->positions * ROWS, .row_stride = ROWS};
    const kernel_copy columns = {
        .together = COLUMNS, .group_stride = (ptrdiff_t)g->positions * COLUMNS, .row_stride = COLUMNS};
    float *const others = copies + g->row_groups * rows.group_stride;
    if (first < end) {
        const span s = {whole.first + first, whole.first + end};
        float *const row = copies + first * ROWS, *const column = others + first * COLUMNS;
        pointwise_gather_inputs(c, piece->inputs[0], s, g->swapped ? columns : rows, g->swapped ? column : row);
        pointwise_gather_results(c, piece->gradient, s, g->swapped ? rows : columns, g->swapped ? row : column);
    }
    return (block){whole,
                   PRECISION_F32,
                   {(const char *)copies, rows.row_stride, rows.group_stride},
                   {(const char *)others, columns.row_stride, columns.group_stride}};
}

static const char *at_side(const side *s, size_t position, int group, size_t number) {
    return s->values + ((ptrdiff_t)position * s->point + group * s->group) * (ptrdiff_t)number;
}

/* The sums of all pairs of groups: of the chain that is being summed, so long so far, and of those before. */
typedef struct pair_sums {
    float *chain, *total;
    size_t length;
} pair_sums;

static void clear_pairs(const gradient_product *g, float *sums) {
    const size_t first = share_start(pairs_of(g), thread_share()), end = share_end(pairs_of(g), thread_share());
    memset(sums + first * SUMS, 0, (end - first) * SUMS * sizeof *sums);
}

static void end_chain(const gradient_product *g, pair_sums *sums) {
    const share own = thread_share();
    const size_t first = share_start(pairs_of(g), own) * SUMS, end = share_end(pairs_of(g), own) * SUMS;
    for (size_t i = first; i < end; i++) sums->total[i] += sums->chain[i];
    clear_pairs(g, sums->chain);
    sums->length = 0;
}

/* Adds the products of a block to the sums of this thread's share of pairs of groups. */
static void multiply_block(const gradient_product *g, const block *b, pair_sums *sums) {
    const size_t positions = b->span.end - b->span.first, number = precision_bytes(b->precision);
    const size_t floats = (size_t)(b->rows.point + b->columns.point);
    const size_t chunk = g->in_place ? CHUNK_FLOATS / floats : CHUNK_POSITIONS;
    const share own = thread_share();
    for (size_t first = 0; first < positions; first += chunk) {
        const int points = positions - first < chunk ? (int)(positions - first) : (int)chunk;
        const kernel_field field = {1, 1, points, 0, 0, b->rows.point, 0, 0, b->columns.point};
        for (size_t pair = share_start(pairs_of(g), own); pair < share_end(pairs_of(g), own); pair++) {
            const int row = (int)(pair / (size_t)g->column_groups), column = (int)(pair % (size_t)g->column_groups);
            const kernel_sums to = {sums->chain + pair * SUMS, COLUMNS, smaller(ROWS, g->rows - row * ROWS),
                                    panels_of(smaller(COLUMNS, g->columns - column * COLUMNS))};
            kernels_for(b->precision)
                ->outer(&field, at_side(&b->rows, first, row, number), at_side(&b->columns, first, column, number),
                        &to);
        }
        sums->length += (size_t)points;
        if (sums->length >= LONGEST_CHAIN) end_chain(g, sums);
    }
}

/* One row of sums to where it belongs; swapped, that is one feature of many inputs. */
static void add_row(const gradient_product *g, const float *restrict from, int count, int features,
                    float *restrict to) {
    if (g->swapped)
        for (int i = 0; i < count; i++) to[i * features] += from[i];
    else
        for (int i = 0; i < count; i++) to[i] += from[i];
}

static void add_pairs(const gradient_product *g, const float *sums, int features, float *weight_gradients) {
    const share own = thread_share();
    for (size_t pair = share_start(pairs_of(g), own); pair < share_end(pairs_of(g), own); pair++) {
        const int row = (int)(pair / (size_t)g->column_groups) * ROWS;
        const int column = (int)(pair % (size_t)g->column_groups) * COLUMNS;
        const ptrdiff_t first = g->swapped ? (ptrdiff_t)column * features + row : (ptrdiff_t)row * features + column;
        for (int r = 0; r < smaller(ROWS, g->rows - row); r++)
            add_row(g, sums + pair * SUMS + r * COLUMNS, smaller(COLUMNS, g->columns - column), features,
                    weight_gradients + first + (g->swapped ? r : (ptrdiff_t)r * features));
    }
}

/* One part, by all threads. */
static void add_part(const gradient_product *g, const convolution_piece *piece, float *sums, float *weight_gradients) {
    const convolution *c = &piece->convolution;
    float *const copies = sums + 2 * pairs_of(g) * SUMS;
    pair_sums pairs = {sums, sums + pairs_of(g) * SUMS, 0};
    clear_pairs(g, pairs.chain);
    clear_pairs(g, pairs.total);
    for (size_t unit = 0; unit < units_of(c); unit += g->units) {
        const span s = span_of(c, unit, g->units);
        if (g->in_place) {
            const block b = block_in_place(g, piece, s);
            multiply_block(g, &b, &pairs);
            continue;
        }
        const block b = block_copied(g, piece, s, copies);
#pragma omp barrier
        multiply_block(g, &b, &pairs);
#pragma omp barrier
    }
    end_chain(g, &pairs);
    add_pairs(g, pairs.total, c->features, weight_gradients);
}

/* The general way reads strided lines where they are, which is better as long as the sums stay
   in the first-level cache. */
static int lines_are_better(const convolution *c) {
    return is_strided(c) && c->in.channels + c->features <= IN_PLACE_CHANNELS;
}

void pointwise_backward_weights(const convolution *c, const void *const inputs[2], const void *gradient,
                                part_gradients weight_gradients, char *scratch) {
    if (lines_are_better(c)) {
        direct_backward_weights(c, inputs, gradient, weight_gradients, scratch);
        return;
    }
    const gradient_product g = gradient_product_of(c);
#pragma omp parallel num_threads(team_size(c->threads))
    for (int part = 0; part < convolution_parts(c); part++) {
        const convolution_piece piece = convolution_piece_at(c, inputs, gradient, part);
        add_part(&g, &piece, (float *)(void *)scratch, weight_gradients.first + (size_t)part * weight_gradients.stride);
    }
}

size_t pointwise_weights_scratch(const convolution *c) {
    const gradient_product g = gradient_product_of(c);
    return lines_are_better(c) ? direct_weights_scratch(c) : gradient_floats(&g) * sizeof(float);
}
