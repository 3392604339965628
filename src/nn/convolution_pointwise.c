/*
 * Convolutions with a single tap, and fully connected layers: products of matrices whose rows are the positions of the
 * result, of all lines together, since the lines alone are often shorter than what the kernels work on at a time.
 *
 * Of strided ones the inputs that are read are copied side by side; on the way back, rows are spread among zeros.
 */
#include "nn/convolution_pointwise.h"
#include "nn/team.h"

#include <string.h>

/* Positions that are worked on together, at most: so many, or so many numbers. */
enum { PIECE_POSITIONS = 240, PIECE_FLOATS = 64 << 10, PIECES_PER_THREAD = 4 };

int pointwise_possible(const convolution *c) { return convolution_taps(c) == 1 && c->inputs == 1; }

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

void pointwise_gather_inputs(const convolution *c, const char *input, span s, kernel_copy how, float *to) {
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

void pointwise_gather_results(const convolution *c, const char *result, span s, kernel_copy how, float *to) {
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

/* One panel of columns whose rows lie together. What stands behind the last column reaches only lanes that are dropped:
   as long as there is something in the matrix, it is copied along. */
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
    pointwise_gather_inputs(c, input, s, how, copy);
    return (kernel_tap){copy, packed, how.row_stride, c->in.channels};
}

static kernel_tap result_rows(const convolution *c, const float *packed, const char *result, span s, float *copy) {
    const float *direct = (const float *)(const void *)result + s.first * (size_t)c->features;
    if (c->precision == PRECISION_F32) return (kernel_tap){direct, packed, c->features, c->features};
    const kernel_copy how = rows_together(c->features);
    pointwise_gather_results(c, result, s, how, copy);
    return (kernel_tap){copy, packed, how.row_stride, c->features};
}

static void pointwise_forward(const convolution *c, convolution_filter filter, const void *const inputs[2],
                              const void *addend, void *output, char *scratch) {
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

static void pointwise_backward_data(const convolution *c, convolution_filter filter, const void *gradient,
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

static size_t larger_size(size_t a, size_t b) { return a > b ? a : b; }

static convolution_scratch pointwise_scratch(const convolution *c) {
    const product there = forward_product(c), back = backward_product(c);
    const size_t floats = larger_size(packed_floats(&there), packed_floats(&back));
    return (convolution_scratch){aligned_bytes(larger_size(floats * sizeof(float), pointwise_weights_scratch(c))),
                                 aligned_bytes(own_floats(c) * sizeof(float))};
}

const convolution_path pointwise_path = {"pointwise", pointwise_scratch, pointwise_forward, pointwise_backward_data,
                                         pointwise_backward_weights};
