/*
 * Convolutions with a single tap, and fully connected layers: products of matrices whose rows are the positions of the result,
 * of all lines together, since the lines alone are often shorter than what the kernels work on at a time.
 *
 * Of strided ones the inputs that are read are copied side by side; on the way back, rows are spread among zeros.
 */
#include "nn/convolution_inside.h"
#include "nn/team.h"

#include <string.h>

enum {
    /* Positions that are worked on together, at most: so many, or so many numbers. */
    PIECE_POSITIONS = 240,
    PIECE_FLOATS = 64 << 10,
    /* For weight gradients: numbers that all threads copy together; positions of two panels, and numbers of few channels,
       that stay in the first-level cache. */
    BLOCK_FLOATS = 256 << 10,
    CHUNK_POSITIONS = 256,
    CHUNK_FLOATS = 6 << 10,
    IN_PLACE_CHANNELS = 192,
    PIECES_PER_THREAD = 4,
    /* Sums that are worked on at a time. */
    ROWS = KERNEL_PANEL,
    COLUMNS = 2 * KERNEL_PANEL,
    SUMS = ROWS * COLUMNS
};

int pointwise_possible(const convolution *c) { return convolution_taps(c) == 1 && c->inputs == 1; }

static int is_strided(const convolution *c) { return c->stride[0] > 1 || c->stride[1] > 1 || c->stride[2] > 1; }

/* Positions of the result, [first, end). */
typedef struct span {
    size_t first, end;
} span;

/* Positions are divided at the ends of lines where inputs are skipped, and anywhere else. */
static size_t unit_of(const convolution *c) { return is_strided(c) ? (size_t)c->out.size[2] : 1; }
static size_t units_of(const convolution *c) { return shape_rows(&c->out) / unit_of(c); }

/* How many units hold about so many positions. */
static size_t units_together(const convolution *c, size_t positions) {
    return positions > unit_of(c) ? positions / unit_of(c) : 1;
}

static span span_of(const convolution *c, size_t first_unit, size_t units) {
    const size_t end = first_unit + units < units_of(c) ? first_unit + units : units_of(c);
    return (span){first_unit * unit_of(c), end * unit_of(c)};
}

static line_place line_of(const convolution *c, size_t position) {
    const size_t line = position / (size_t)c->out.size[2], plane = line / (size_t)c->out.size[1];
    const size_t depths = (size_t)c->out.size[0];
    return (line_place){(int)(plane / depths), (int)(plane % depths), (int)(line % (size_t)c->out.size[1])};
}

/* The first input position of a line, by its place in the input. */
static size_t input_line(const convolution *c, line_place at) {
    const size_t plane = (size_t)at.sample * (size_t)c->in.size[0] + (size_t)at.depth;
    return (plane * (size_t)c->in.size[1] + (size_t)at.height) * (size_t)c->in.size[2];
}

/* Copies the inputs of some positions. */
static void gather_inputs(const convolution *c, const char *input, span s, kernel_copy how, float *to) {
    const size_t channels = (size_t)c->in.channels, number = precision_bytes(c->precision);
    const kernels *kernels = kernels_for(c->precision);
    how.channels = c->in.channels;
    how.from_stride = (ptrdiff_t)c->stride[2] * c->in.channels;
    if (!is_strided(c)) {
        kernels->gather_rows(&how, s.end - s.first, input + s.first * channels * number, to);
        return;
    }
    for (; s.first < s.end; s.first += unit_of(c), to += (ptrdiff_t)unit_of(c) * how.row_stride) {
        line_place at = line_of(c, s.first);
        at.depth *= c->stride[0];
        at.height *= c->stride[1];
        kernels->gather_rows(&how, unit_of(c), input + input_line(c, at) * channels * number, to);
    }
}

static void gather_results(const convolution *c, const char *result, span s, kernel_copy how, float *to) {
    how.channels = c->features;
    how.from_stride = c->features;
    kernels_for(c->precision)
        ->gather_rows(&how, s.end - s.first, result + s.first * (size_t)c->features * precision_bytes(c->precision),
                      to);
}

/* ---- forward and backward through the data --------------------------------------------------------------------- */

/* Rows of `depth` numbers by a matrix of as many rows and `channels` columns, whose numbers are so far apart. */
typedef struct product {
    int depth, channels;
    ptrdiff_t row_stride, column_stride;
} product;

static product forward_product(const convolution *c) { return (product){c->in.channels, c->features, c->features, 1}; }
static product backward_product(const convolution *c) { return (product){c->features, c->in.channels, 1, c->features}; }

/* Where lanes over the channels would mostly be empty, they are better used for what is summed. */
static int lanes_are_depth(const product *p) {
    return p->depth % KERNEL_PANEL == 0 && p->channels <= KERNEL_MOST_DOTS &&
           p->channels * (p->depth / KERNEL_PANEL + 4) < p->depth;
}

static size_t packed_floats(const product *p) {
    return (size_t)p->depth * (size_t)panels_of(p->channels) * KERNEL_PANEL;
}

/* One panel of columns whose rows lie together. What stands behind the last column reaches only lanes that are dropped: as long as
   there is something in the matrix, it is copied along. */
static void pack_rows(const product *p, const float *weights, int first, float *to) {
    const ptrdiff_t numbers = (ptrdiff_t)p->depth * p->row_stride;
    for (ptrdiff_t at = first; at < numbers; at += p->row_stride, to += KERNEL_PANEL) {
        if (at + KERNEL_PANEL <= numbers) {
            memcpy(to, weights + at, KERNEL_PANEL * sizeof *to);
            continue;
        }
        for (int i = 0; i < KERNEL_PANEL; i++) to[i] = first + i < p->channels ? weights[at + i] : 0;
    }
}

/* One panel of columns each of which lies together. */
static void pack_columns(const product *p, const float *weights, int first, float *to) {
    const float *from = weights + first * p->column_stride;
    const int columns = smaller(KERNEL_PANEL, p->channels - first);
    int row = 0;
    for (; columns == KERNEL_PANEL && row + KERNEL_PANEL <= p->depth; row += KERNEL_PANEL)
        kernels_for(PRECISION_F32)->transpose_panel(from + row, p->column_stride, to + row * KERNEL_PANEL);
    for (; row < p->depth; row++)
        for (int i = 0; i < KERNEL_PANEL; i++)
            to[row * KERNEL_PANEL + i] = i < columns ? from[i * p->column_stride + row] : 0;
}

/* [panel][row][PANEL], or [column][row]. */
static void pack(const product *p, const float *weights, int threads, float *packed) {
    const int dots = lanes_are_depth(p), width = dots ? 1 : KERNEL_PANEL;
#pragma omp parallel for num_threads(team_size(threads)) schedule(static)
    for (int first = 0; first < p->channels; first += width) {
        float *to = packed + (ptrdiff_t)first * p->depth;
        if (!dots) (p->row_stride == 1 ? pack_columns : pack_rows)(p, weights, first, to);
        for (int row = 0; row < p->depth && dots; row++)
            to[row] = weights[row * p->row_stride + first * p->column_stride];
    }
}

/* Some rows by the panels [first, end). */
static void multiply_rows(const product *p, const kernel_tap *tap, int rows, const int panels[2], precision precision,
                          const kernel_results *to) {
    const kernels *kernels = kernels_for(precision);
    const int first = panels[0] * KERNEL_PANEL, end = smaller(panels[1] * KERNEL_PANEL, p->channels);
    const size_t at = (size_t)first * precision_bytes(precision);
    if (lanes_are_depth(p)) {
        kernels->dot_taps(&(kernel_taps){rows, 1, tap, p->depth}, to);
        return;
    }
    kernel_tap own = *tap;
    own.b += (ptrdiff_t)first * p->depth;
    kernel_results some = *to;
    some.channels = end - first;
    some.image = (char *)to->image + at;
    if (to->addends.bias) some.addends.bias += first;
    if (to->addends.addend) some.addends.addend = (const char *)to->addends.addend + at;
    kernels->multiply_taps(&(kernel_taps){rows, 1, &own, (ptrdiff_t)p->depth * KERNEL_PANEL}, &some);
}

/* How the work is cut: spans of positions, and where these are fewer than what the threads want, groups of panels. */
typedef struct cut {
    size_t units, spans, groups;
    int panels;
} cut;

static size_t piece_units(const convolution *c) {
    const int widest = larger(c->in.channels, c->features);
    return units_together(c, (size_t)larger(KERNEL_PANEL, smaller(PIECE_POSITIONS, PIECE_FLOATS / widest)));
}

static cut cut_of(const convolution *c, const product *p, int whole_rows) {
    cut k = {.units = piece_units(c), .panels = panels_of(p->channels), .groups = 1};
    k.spans = (units_of(c) + k.units - 1) / k.units;
    const size_t wanted = (size_t)c->threads * PIECES_PER_THREAD;
    if (c->threads > 1 && !whole_rows && !lanes_are_depth(p) && k.spans < wanted)
        k.groups = (wanted + k.spans - 1) / k.spans;
    if (k.groups > (size_t)k.panels) k.groups = (size_t)k.panels;
    return k;
}

static span cut_span(const convolution *c, const cut *k, size_t item) {
    return span_of(c, item / k->groups * k->units, k->units);
}

static void cut_panels(const cut *k, size_t item, int panels[2]) {
    const share s = {(int)(item % k->groups), (int)k->groups};
    panels[0] = (int)share_start((size_t)k->panels, s);
    panels[1] = (int)share_end((size_t)k->panels, s);
}

/* A row as it is copied. */
static size_t copied_row(int channels) { return (size_t)panels_of(channels) * KERNEL_PANEL; }
static kernel_copy rows_together(int channels) {
    return (kernel_copy){.together = (int)copied_row(channels), .row_stride = (ptrdiff_t)copied_row(channels)};
}

/* What one thread keeps: copies of rows, and of strided ones the rows of the way back. */
static size_t own_floats(const convolution *c) {
    return piece_units(c) * unit_of(c) * (copied_row(c->in.channels) + copied_row(c->features));
}

static kernel_tap input_rows(const convolution *c, const float *packed, const char *input, span s, float *copy) {
    const float *direct = (const float *)(const void *)input + s.first * (size_t)c->in.channels;
    if (c->precision == PRECISION_F32 && !is_strided(c))
        return (kernel_tap){direct, packed, c->in.channels, c->in.channels};
    const kernel_copy how = rows_together(c->in.channels);
    gather_inputs(c, input, s, how, copy);
    return (kernel_tap){copy, packed, how.row_stride, c->in.channels};
}

static kernel_tap result_rows(const convolution *c, const float *packed, const char *result, span s, float *copy) {
    const float *direct = (const float *)(const void *)result + s.first * (size_t)c->features;
    if (c->precision == PRECISION_F32) return (kernel_tap){direct, packed, c->features, c->features};
    const kernel_copy how = rows_together(c->features);
    gather_results(c, result, s, how, copy);
    return (kernel_tap){copy, packed, how.row_stride, c->features};
}

void pointwise_forward(const convolution *c, convolution_filter filter, const void *const inputs[2], const void *addend,
                       void *output, char *scratch) {
    const product p = forward_product(c);
    float *const packed = (float *)(void *)scratch;
    const cut k = cut_of(c, &p, 0);
    const size_t row_bytes = (size_t)c->features * precision_bytes(c->precision);
    pack(&p, filter.weights, c->threads, packed);
    work all;
    work_divide(&all, k.spans * k.groups, c->threads);
#pragma omp parallel num_threads(all.threads)
    for (size_t item; work_take(&all, &item);) {
        const span s = cut_span(c, &k, item);
        int panels[2];
        cut_panels(&k, item, panels);
        const kernel_tap tap = input_rows(c, packed, inputs[0], s, (float *)(void *)own_memory(c, scratch));
        const kernel_results to = {{filter.bias, addend ? (const char *)addend + s.first * row_bytes : 0, 0},
                                   c->features,
                                   c->features,
                                   (char *)output + s.first * row_bytes};
        multiply_rows(&p, &tap, (int)(s.end - s.first), panels, c->precision, &to);
    }
}

/* Rows that lie side by side, one for each position, to the lines of the input that these positions come from. */
static void spread_lines(const convolution *c, const kernel_spread *how, span s, const float *rows, char *image) {
    const kernels *kernels = kernels_for(c->precision);
    const size_t row_bytes = (size_t)c->in.channels * precision_bytes(c->precision);
    for (; s.first < s.end; s.first += unit_of(c), rows += unit_of(c) * (size_t)c->in.channels) {
        const line_place at = line_of(c, s.first);
        const int depth = at.depth * c->stride[0], height = at.height * c->stride[1];
        for (int z = depth; z < smaller(depth + c->stride[0], c->in.size[0]); z++)
            for (int y = height; y < smaller(height + c->stride[1], c->in.size[1]); y++)
                kernels->spread_rows(how, z == depth && y == height ? rows : 0,
                                     image + input_line(c, (line_place){at.sample, z, y}) * row_bytes);
    }
}

/* One span of the way back. `memory` has room for the rows of both sides. */
static void backward_span(const convolution *c, const kernel_tap *tap, span s, const int panels[2], float *memory,
                          const kernel_results *to) {
    const product p = backward_product(c);
    const int rows = (int)(s.end - s.first);
    if (!is_strided(c)) {
        kernel_results here = *to;
        here.image = (char *)to->image + s.first * (size_t)c->in.channels * precision_bytes(c->precision);
        multiply_rows(&p, tap, rows, panels, c->precision, &here);
        return;
    }
    multiply_rows(&p, tap, rows, panels, PRECISION_F32,
                  &(kernel_results){{0, 0, 0}, c->in.channels, c->in.channels, memory});
    const kernel_spread how = {c->in.size[2], c->stride[2], c->in.channels, to->addends.bias, to->addends.accumulate};
    spread_lines(c, &how, s, memory, to->image);
}

void pointwise_backward_data(const convolution *c, convolution_filter filter, const void *gradient,
                             const int accumulate[2], void *const input_gradients[2], char *scratch) {
    if (!input_gradients[0]) return;
    const product p = backward_product(c);
    float *const packed = (float *)(void *)scratch;
    const cut k = cut_of(c, &p, is_strided(c));
    pack(&p, filter.weights, c->threads, packed);
    const kernel_results to = {{filter.bias, 0, accumulate[0]}, c->in.channels, c->in.channels, input_gradients[0]};
    work all;
    work_divide(&all, k.spans * k.groups, c->threads);
#pragma omp parallel num_threads(all.threads)
    for (size_t item; work_take(&all, &item);) {
        const span s = cut_span(c, &k, item);
        int panels[2];
        cut_panels(&k, item, panels);
        float *const copy = (float *)(void *)own_memory(c, scratch);
        float *const memory = copy + piece_units(c) * unit_of(c) * copied_row(c->features);
        const kernel_tap tap = result_rows(c, packed, gradient, s, copy);
        backward_span(c, &tap, s, panels, memory, &to);
    }
}

/* ---- the gradient of the weights --------------------------------------------------------------------------------- */

/*
 * Sums of outer products over positions: the numbers of the channels of one side, the rows, are multiplied one by one with
 * vectors of those of the other. The side that leaves fewer lanes empty gives the vectors.
 */
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
    return pairs_of(g) * SUMS + (g->in_place ? 0 : channels * g->positions);
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
        gather_inputs(c, piece->inputs[0], s, g->swapped ? columns : rows, g->swapped ? column : row);
        gather_results(c, piece->gradient, s, g->swapped ? rows : columns, g->swapped ? row : column);
    }
    return (block){whole,
                   PRECISION_F32,
                   {(const char *)copies, rows.row_stride, rows.group_stride},
                   {(const char *)others, columns.row_stride, columns.group_stride}};
}

static const char *at_side(const side *s, size_t position, int group, size_t number) {
    return s->values + ((ptrdiff_t)position * s->point + group * s->group) * (ptrdiff_t)number;
}

/* Adds the products of a block to the sums of this thread's share of pairs of groups. */
static void multiply_block(const gradient_product *g, const block *b, float *sums) {
    const size_t positions = b->span.end - b->span.first, number = precision_bytes(b->precision);
    const size_t floats = (size_t)(b->rows.point + b->columns.point);
    const size_t chunk = g->in_place ? CHUNK_FLOATS / floats : CHUNK_POSITIONS;
    const share own = thread_share();
    for (size_t first = 0; first < positions; first += chunk) {
        const int points = positions - first < chunk ? (int)(positions - first) : (int)chunk;
        const kernel_field field = {1, 1, points, 0, 0, b->rows.point, 0, 0, b->columns.point};
        for (size_t pair = share_start(pairs_of(g), own); pair < share_end(pairs_of(g), own); pair++) {
            const int row = (int)(pair / (size_t)g->column_groups), column = (int)(pair % (size_t)g->column_groups);
            const kernel_sums to = {sums + pair * SUMS, COLUMNS, smaller(ROWS, g->rows - row * ROWS),
                                    panels_of(smaller(COLUMNS, g->columns - column * COLUMNS))};
            kernels_for(b->precision)
                ->outer(&field, at_side(&b->rows, first, row, number), at_side(&b->columns, first, column, number),
                        &to);
        }
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

static void clear_pairs(const gradient_product *g, float *sums) {
    const size_t first = share_start(pairs_of(g), thread_share()), end = share_end(pairs_of(g), thread_share());
    memset(sums + first * SUMS, 0, (end - first) * SUMS * sizeof *sums);
}

/* One part, by all threads. */
static void add_part(const gradient_product *g, const convolution_piece *piece, float *sums, float *weight_gradients) {
    const convolution *c = &piece->convolution;
    float *const copies = sums + pairs_of(g) * SUMS;
    clear_pairs(g, sums);
    for (size_t unit = 0; unit < units_of(c); unit += g->units) {
        const span s = span_of(c, unit, g->units);
        if (g->in_place) {
            const block b = block_in_place(g, piece, s);
            multiply_block(g, &b, sums);
            continue;
        }
        const block b = block_copied(g, piece, s, copies);
#pragma omp barrier
        multiply_block(g, &b, sums);
#pragma omp barrier
    }
    add_pairs(g, sums, c->features, weight_gradients);
}

/* The general way reads strided lines where they are, which is better as long as the sums stay in the first-level cache. */
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

static size_t weights_scratch(const convolution *c) {
    const gradient_product g = gradient_product_of(c);
    return lines_are_better(c) ? direct_weights_scratch(c) : gradient_floats(&g) * sizeof(float);
}

static size_t larger_size(size_t a, size_t b) { return a > b ? a : b; }

convolution_scratch pointwise_scratch(const convolution *c) {
    const product there = forward_product(c), back = backward_product(c);
    const size_t floats = larger_size(packed_floats(&there), packed_floats(&back));
    return (convolution_scratch){aligned_bytes(larger_size(floats * sizeof(float), weights_scratch(c))),
                                 aligned_bytes(own_floats(c) * sizeof(float))};
}
