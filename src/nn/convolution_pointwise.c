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
    /* The same for weight gradients: what all threads copy together, and what stays in the first-level cache. */
    BLOCK_FLOATS = 256 << 10,
    CHUNK_POSITIONS = 256,
    PIECES_PER_THREAD = 4,
    SUMS = KERNEL_PANEL * KERNEL_PANEL
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

/* [panel][row][PANEL], zeros behind the last column; or [column][row]. */
static void pack(const product *p, const float *weights, int threads, float *packed) {
    const int dots = lanes_are_depth(p), width = dots ? 1 : KERNEL_PANEL;
#pragma omp parallel for num_threads(team_size(threads)) schedule(static)
    for (int first = 0; first < p->channels; first += width) {
        float *to = packed + (ptrdiff_t)first * p->depth;
        const int columns = smaller(width, p->channels - first);
        for (int row = 0; row < p->depth; row++, to += width) {
            const float *from = weights + row * p->row_stride + first * p->column_stride;
            for (int i = 0; i < columns; i++) to[i] = from[i * p->column_stride];
            for (int i = columns; i < width; i++) to[i] = 0;
        }
    }
}

/* Some rows by the panels [first, end). */
static void multiply_rows(const product *p, const kernel_tap *tap, int rows, const int panels[2], precision precision,
                          const kernel_results *to) {
    const kernels *kernels = kernels_for(precision);
    if (lanes_are_depth(p)) {
        kernels->dot_taps(&(kernel_taps){rows, 1, tap}, p->depth, to);
        return;
    }
    for (int panel = panels[0]; panel < panels[1]; panel++) {
        const int channel = panel * KERNEL_PANEL;
        const size_t at = (size_t)channel * precision_bytes(precision);
        kernel_results some = *to;
        some.channels = smaller(KERNEL_PANEL, p->channels - channel);
        some.image = (char *)to->image + at;
        if (to->addends.bias) some.addends.bias += channel;
        if (to->addends.addend) some.addends.addend = (const char *)to->addends.addend + at;
        kernels->multiply_taps(&(kernel_taps){rows, 1, tap}, (ptrdiff_t)channel * p->depth, &some);
    }
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
    return (kernel_copy){.panel_stride = KERNEL_PANEL, .row_stride = (ptrdiff_t)copied_row(channels)};
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
 * Products of panels, [panel][position][PANEL], of both sides: the numbers of one side are multiplied one by one with the
 * vectors of the other. The side that leaves fewer lanes empty gives the vectors.
 */
typedef struct gradient_product {
    int rows, columns; /* channels on either side */
    int row_panels, column_panels;
    int swapped;             /* rows are features */
    size_t units, positions; /* of a block */
} gradient_product;

static gradient_product gradient_product_of(const convolution *c) {
    const int inputs = c->in.channels, features = c->features;
    gradient_product g = {.rows = inputs, .columns = features};
    g.swapped = features * panels_of(inputs) < inputs * panels_of(features);
    if (g.swapped) {
        g.rows = features;
        g.columns = inputs;
    }
    g.row_panels = panels_of(g.rows);
    g.column_panels = panels_of(g.columns);
    const int floats = (g.row_panels + g.column_panels) * KERNEL_PANEL;
    g.units = units_together(c, (size_t)larger(CHUNK_POSITIONS, BLOCK_FLOATS / floats));
    if (g.units > units_of(c)) g.units = units_of(c);
    g.positions = g.units * unit_of(c);
    return g;
}

static size_t gradient_floats(const gradient_product *g) {
    const size_t panels = (size_t)g->row_panels, others = (size_t)g->column_panels;
    return panels * others * SUMS + (panels + others) * g->positions * KERNEL_PANEL;
}

/* A share of the positions of a block to the panels of both sides. */
static void copy_block(const gradient_product *g, const convolution_piece *piece, span block, float *rows,
                       float *columns) {
    const convolution *c = &piece->convolution;
    const size_t units = (block.end - block.first) / unit_of(c);
    const share own = thread_share();
    const size_t first = share_start(units, own) * unit_of(c), end = share_end(units, own) * unit_of(c);
    if (first == end) return;
    const span s = {block.first + first, block.first + end};
    const kernel_copy how = {.panel_stride = (ptrdiff_t)g->positions * KERNEL_PANEL, .row_stride = KERNEL_PANEL};
    gather_inputs(c, piece->inputs[0], s, how, (g->swapped ? columns : rows) + first * KERNEL_PANEL);
    gather_results(c, piece->gradient, s, how, (g->swapped ? rows : columns) + first * KERNEL_PANEL);
}

/* Adds the products of a block to the sums of this thread's share of pairs of panels. */
static void multiply_block(const gradient_product *g, size_t positions, const float *rows, const float *columns,
                           float *sums) {
    const kernels *kernels = kernels_for(PRECISION_F32);
    const share own = thread_share();
    const size_t pairs = (size_t)g->row_panels * (size_t)g->column_panels, panel = g->positions * KERNEL_PANEL;
    for (size_t first = 0; first < positions; first += CHUNK_POSITIONS) {
        const int points = positions - first < CHUNK_POSITIONS ? (int)(positions - first) : CHUNK_POSITIONS;
        const kernel_field field = {1, 1, points, 0, 0, KERNEL_PANEL, 0, 0, KERNEL_PANEL};
        for (size_t pair = share_start(pairs, own); pair < share_end(pairs, own); pair++) {
            const size_t row = pair / (size_t)g->column_panels, column = pair % (size_t)g->column_panels;
            kernels->outer(smaller(KERNEL_PANEL, g->rows - (int)row * KERNEL_PANEL), &field,
                           rows + row * panel + first * KERNEL_PANEL, columns + column * panel + first * KERNEL_PANEL,
                           sums + pair * SUMS, KERNEL_PANEL);
        }
    }
}

/* The sums of this thread's pairs to where they belong. */
static void add_pairs(const gradient_product *g, const float *sums, int features, float *weight_gradients) {
    const share own = thread_share();
    const size_t pairs = (size_t)g->row_panels * (size_t)g->column_panels;
    for (size_t pair = share_start(pairs, own); pair < share_end(pairs, own); pair++) {
        const int row = (int)(pair / (size_t)g->column_panels) * KERNEL_PANEL;
        const int column = (int)(pair % (size_t)g->column_panels) * KERNEL_PANEL;
        const float *from = sums + pair * SUMS;
        for (int r = 0; r < KERNEL_PANEL && row + r < g->rows; r++)
            for (int i = 0; i < KERNEL_PANEL && column + i < g->columns; i++) {
                const int input = g->swapped ? column + i : row + r, feature = g->swapped ? row + r : column + i;
                weight_gradients[(ptrdiff_t)input * features + feature] += from[r * KERNEL_PANEL + i];
            }
    }
}

static void clear_pairs(const gradient_product *g, float *sums) {
    const share own = thread_share();
    const size_t pairs = (size_t)g->row_panels * (size_t)g->column_panels;
    const size_t first = share_start(pairs, own), end = share_end(pairs, own);
    memset(sums + first * SUMS, 0, (end - first) * SUMS * sizeof *sums);
}

/* One part, by all threads. */
static void add_part(const gradient_product *g, const convolution_piece *piece, float *sums, float *weight_gradients) {
    const convolution *c = &piece->convolution;
    float *const rows = sums + (size_t)g->row_panels * (size_t)g->column_panels * SUMS;
    float *const columns = rows + (size_t)g->row_panels * g->positions * KERNEL_PANEL;
    clear_pairs(g, sums);
    for (size_t unit = 0; unit < units_of(c); unit += g->units) {
        const span block = span_of(c, unit, g->units);
        copy_block(g, piece, block, rows, columns);
#pragma omp barrier
        multiply_block(g, block.end - block.first, rows, columns, sums);
#pragma omp barrier
    }
    add_pairs(g, sums, c->features, weight_gradients);
}

void pointwise_backward_weights(const convolution *c, const void *const inputs[2], const void *gradient,
                                part_gradients weight_gradients, char *scratch) {
    const gradient_product g = gradient_product_of(c);
#pragma omp parallel num_threads(team_size(c->threads))
    for (int part = 0; part < convolution_parts(c); part++) {
        const convolution_piece piece = convolution_piece_at(c, inputs, gradient, part);
        add_part(&g, &piece, (float *)(void *)scratch, weight_gradients.first + (size_t)part * weight_gradients.stride);
    }
}

convolution_scratch pointwise_scratch(const convolution *c) {
    const product there = forward_product(c), back = backward_product(c);
    const gradient_product g = gradient_product_of(c);
    size_t common = gradient_floats(&g);
    if (packed_floats(&there) > common) common = packed_floats(&there);
    if (packed_floats(&back) > common) common = packed_floats(&back);
    return (convolution_scratch){aligned_bytes(common * sizeof(float)), aligned_bytes(own_floats(c) * sizeof(float))};
}
