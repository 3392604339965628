/*
 * Convolutions of images with few channels, a network's first: all taps of a line lie side by side and are one run of
 * numbers. Lines are copied for a band of lines of the result at a time, with zeros around, so that every tap reads all
 * of its positions at even distances.
 *
 * The way back to the image, which is seldom asked for, is the general one.
 */
#include "nn/convolution_inside.h"
#include "nn/team.h"

#include <string.h>

enum { BAND_BYTES = 24 << 10, SPLITS_PER_THREAD = 2 };

int few_possible(const convolution *c) { return c->inputs == 1 && c->in.channels < KERNEL_PANEL && c->kernel[2] > 1; }

static int run_of(const convolution *c) { return c->kernel[2] * c->in.channels; }
static int tap_lines(const convolution *c) { return c->kernel[0] * c->kernel[1]; }

/* Numbers of a copied line, zeros included. */
static size_t line_numbers(const convolution *c) {
    const int last = (c->out.size[2] - 1) * c->stride[2] + c->kernel[2];
    return (size_t)larger(last, c->in.size[2] + c->padding[2]) * (size_t)c->in.channels;
}

/* Lines that the taps of one plane of the kernel read for so many lines of the result. */
static int lines_read(const convolution *c, int lines) { return (lines - 1) * c->stride[1] + c->kernel[1]; }

/* Bands, and how many lines of the result each has. */
typedef struct banding {
    int lines, of_plane; /* bands of a plane */
    size_t copy_floats, gradient_floats;
} banding;

static banding banding_of(const convolution *c) {
    const size_t line = line_numbers(c) * (size_t)c->kernel[0],
                 row = (size_t)c->out.size[2] * (size_t)(panels_of(c->features) * KERNEL_PANEL);
    banding b = {.lines = 1};
    while (b.lines < c->out.size[1] &&
           ((size_t)lines_read(c, b.lines + 1) * line + (size_t)(b.lines + 1) * row) * sizeof(float) <= BAND_BYTES)
        b.lines++;
    b.of_plane = (c->out.size[1] + b.lines - 1) / b.lines;
    b.copy_floats = (size_t)lines_read(c, b.lines) * line;
    b.gradient_floats = (size_t)b.lines * row;
    return b;
}

typedef struct band {
    int sample, depth, height, lines;
} band;

static band band_at(const convolution *c, const banding *b, size_t index) {
    const size_t plane = index / (size_t)b->of_plane, depths = (size_t)c->out.size[0];
    const int height = (int)(index % (size_t)b->of_plane) * b->lines;
    return (band){(int)(plane / depths), (int)(plane % depths), height, smaller(b->lines, c->out.size[1] - height)};
}

static size_t band_count(const convolution *c, const banding *b) {
    return (size_t)c->in.samples * (size_t)c->out.size[0] * (size_t)b->of_plane;
}

/* As numbers of f32, or as they are. */
static void copy_line(const convolution *c, const char *image, line_place at, precision precision, char *to) {
    const size_t points = (size_t)c->in.size[2] * (size_t)c->in.channels, number = precision_bytes(precision);
    const size_t before = (size_t)(c->padding[2] * c->in.channels) * number, bytes = line_numbers(c) * number;
    if (at.depth < 0 || at.depth >= c->in.size[0] || at.height < 0 || at.height >= c->in.size[1]) {
        memset(to, 0, bytes);
        return;
    }
    const size_t plane = (size_t)at.sample * (size_t)c->in.size[0] + (size_t)at.depth;
    const char *from =
        image + (plane * (size_t)c->in.size[1] + (size_t)at.height) * points * precision_bytes(c->precision);
    memset(to, 0, before);
    if (precision == c->precision) memcpy(to + before, from, points * number);
    else kernels_for(c->precision)->to_f32(from, points, (float *)(void *)(to + before));
    memset(to + before + points * number, 0, bytes - before - points * number);
}

/* All lines that a band reads: those of one plane of taps behind those of another. */
static void copy_band(const convolution *c, const char *image, band at, precision precision, void *copy) {
    const int lines = lines_read(c, at.lines);
    char *to = copy;
    for (int k = 0; k < c->kernel[0]; k++)
        for (int j = 0; j < lines; j++, to += line_numbers(c) * precision_bytes(precision))
            copy_line(c, image,
                      (line_place){at.sample, at.depth * c->stride[0] + k - c->padding[0],
                                   at.height * c->stride[1] + j - c->padding[1]},
                      precision, to);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* [panel][row][PANEL], zeros behind the last channel. */
static void pack(const convolution *c, const float *weights, float *packed) {
    const int rows = tap_lines(c) * run_of(c);
#pragma omp parallel for num_threads(team_size(c->threads)) schedule(static)
    for (int first = 0; first < c->features; first += KERNEL_PANEL) {
        const int width = smaller(KERNEL_PANEL, c->features - first);
        float *to = packed + (ptrdiff_t)first * rows;
        for (int row = 0; row < rows; row++, to += KERNEL_PANEL) {
            memcpy(to, weights + (ptrdiff_t)row * c->features + first, (size_t)width * sizeof *to);
            memset(to + width, 0, (size_t)(KERNEL_PANEL - width) * sizeof *to);
        }
    }
}

static size_t packed_floats(const convolution *c) {
    return (size_t)(tap_lines(c) * run_of(c)) * (size_t)panels_of(c->features) * KERNEL_PANEL;
}

/* One line of the result from the copies of the lines that it reads. */
static void forward_line(const convolution *c, const float *packed, const float *lines, int band_lines,
                         const kernel_results *to) {
    const int run = run_of(c);
    kernel_tap tap[CONVOLUTION_MAX_TAPS];
    for (int t = 0; t < tap_lines(c); t++) {
        const int line = t / c->kernel[1] * lines_read(c, band_lines) + t % c->kernel[1];
        tap[t] = (kernel_tap){lines + (size_t)line * line_numbers(c), packed + (ptrdiff_t)t * run * KERNEL_PANEL,
                              (ptrdiff_t)c->stride[2] * c->in.channels, run};
    }
    kernels_for(c->precision)
        ->multiply_taps(&(kernel_taps){c->out.size[2], tap_lines(c), tap, (ptrdiff_t)tap_lines(c) * run * KERNEL_PANEL},
                        to);
}

static size_t result_line(const convolution *c, band at) {
    const size_t plane = (size_t)at.sample * (size_t)c->out.size[0] + (size_t)at.depth;
    return plane * (size_t)c->out.size[1] + (size_t)at.height;
}

static void few_forward(const convolution *c, convolution_filter filter, const void *const inputs[2],
                        const void *addend, void *output, char *scratch) {
    float *const packed = (float *)(void *)scratch;
    const banding b = banding_of(c);
    const size_t line_bytes = (size_t)c->out.size[2] * (size_t)c->features * precision_bytes(c->precision);
    pack(c, filter.weights, packed);
    work all;
    work_divide(&all, band_count(c, &b), c->threads);
#pragma omp parallel num_threads(all.threads)
    for (size_t item; work_take(&all, &item);) {
        const band at = band_at(c, &b, item);
        float *const copy = (float *)(void *)own_memory(c, scratch);
        copy_band(c, inputs[0], at, PRECISION_F32, copy);
        for (int y = 0; y < at.lines; y++) {
            const size_t first = (result_line(c, at) + (size_t)y) * line_bytes;
            const kernel_results to = {{filter.bias, addend ? (const char *)addend + first : 0, 0},
                                       c->features,
                                       c->features,
                                       (char *)output + first};
            forward_line(c, packed, copy + (size_t)(y * c->stride[1]) * line_numbers(c), at.lines, &to);
        }
    }
}

/* ---- the gradient of the weights --------------------------------------------------------------------------------- */

/* The sums of one part for some panels of features and some planes of taps. */
typedef struct gradient_item {
    int part, first_panel, end_panel, first_plane, end_plane;
} gradient_item;

/* Panels and planes are divided where there are fewer parts than the threads want. */
typedef struct splitting {
    int panels, planes;
} splitting;

static splitting splitting_of(const convolution *c) {
    const int parts = convolution_parts(c), wanted = c->threads > 1 ? c->threads * SPLITS_PER_THREAD : 1;
    const int panels = smaller(panels_of(c->features), (wanted + parts - 1) / parts);
    return (splitting){panels, smaller(c->kernel[0], (wanted + parts * panels - 1) / (parts * panels))};
}

static gradient_item item_at(const convolution *c, size_t index, splitting split) {
    const int flat = (int)(index / (size_t)split.planes);
    const share panels = {flat % split.panels, split.panels},
                planes = {(int)(index % (size_t)split.planes), split.planes};
    const size_t all = (size_t)panels_of(c->features), taps = (size_t)c->kernel[0];
    return (gradient_item){flat / split.panels, (int)share_start(all, panels), (int)share_end(all, panels),
                           (int)share_start(taps, planes), (int)share_end(taps, planes)};
}

/* Of one part: [tap line][number of the run][feature], with whole panels. */
static ptrdiff_t sum_row(const convolution *c) { return (ptrdiff_t)panels_of(c->features) * KERNEL_PANEL; }
static size_t part_sums(const convolution *c) { return (size_t)(tap_lines(c) * run_of(c)) * (size_t)sum_row(c); }
/* The chain that is being summed, and behind it the sum of those before. */
static float *chain_of(const convolution *c, float *sums, int part) { return sums + 2 * (size_t)part * part_sums(c); }
static float *total_of(const convolution *c, float *sums, int part) { return chain_of(c, sums, part) + part_sums(c); }

/* Where the gradient at some positions is read, and how far apart positions are. */
typedef struct gradient_rows {
    const char *values;
    ptrdiff_t point;
} gradient_rows;

/* The gradient of a band from an item's first panel on: where it is, or, where features do not
   fill their panel, its copy. */
static gradient_rows gradient_of(const convolution *c, const gradient_item *item, const char *gradient, band at,
                                 float *copy) {
    const size_t positions = (size_t)at.lines * (size_t)c->out.size[2], number = precision_bytes(c->precision);
    const size_t first = result_line(c, at) * (size_t)c->out.size[2] * (size_t)c->features;
    const ptrdiff_t panel = (ptrdiff_t)item->first_panel * KERNEL_PANEL;
    const char *from = gradient + first * number;
    if (c->features % KERNEL_PANEL == 0) return (gradient_rows){from + panel * (ptrdiff_t)number, c->features};
    const kernel_copy how = {c->features, (int)sum_row(c), c->features, 0, sum_row(c)};
    kernels_for(c->precision)->gather_rows(&how, positions, from, copy);
    return (gradient_rows){(const char *)(copy + panel), sum_row(c)};
}

/* Numbers are read as they are where that is possible on both sides. */
static precision read_as(const convolution *c) {
    return c->features % KERNEL_PANEL == 0 ? c->precision : PRECISION_F32;
}

/* Adds the products of a band, of which the lines have been copied, to the sums of a part. */
static void add_band(const convolution *c, const gradient_item *item, band at, const char *lines, gradient_rows rows,
                     float *sums) {
    const ptrdiff_t line = (ptrdiff_t)line_numbers(c), points = c->out.size[2];
    const kernel_field field = {.planes = 1,
                                .lines = at.lines,
                                .points = c->out.size[2],
                                .a_line = line * c->stride[1],
                                .a_point = (ptrdiff_t)c->stride[2] * c->in.channels,
                                .b_line = points * rows.point,
                                .b_point = rows.point};
    const kernel_runs runs = {c->kernel[1], run_of(c), line};
    const ptrdiff_t plane_lines = lines_read(c, at.lines), plane_rows = (ptrdiff_t)c->kernel[1] * run_of(c);
    for (int plane = item->first_plane; plane < item->end_plane; plane++) {
        const kernel_sums to = {sums + plane * plane_rows * sum_row(c) + item->first_panel * KERNEL_PANEL, sum_row(c),
                                (int)plane_rows, item->end_panel - item->first_panel};
        kernels_for(read_as(c))
            ->outer_runs(&runs, &field, lines + plane * plane_lines * line * (ptrdiff_t)precision_bytes(read_as(c)),
                         rows.values, &to);
    }
}

static void clear_item(const convolution *c, const gradient_item *item, float *sums) {
    const ptrdiff_t plane_rows = (ptrdiff_t)c->kernel[1] * run_of(c);
    const size_t bytes = (size_t)((item->end_panel - item->first_panel) * KERNEL_PANEL) * sizeof *sums;
    for (ptrdiff_t row = item->first_plane * plane_rows; row < item->end_plane * plane_rows; row++)
        memset(sums + row * sum_row(c) + item->first_panel * KERNEL_PANEL, 0, bytes);
}

/* The chain has ended, and the next one begins. */
static void end_chain(const convolution *c, const gradient_item *item, float *chain, float *total) {
    const ptrdiff_t plane_rows = (ptrdiff_t)c->kernel[1] * run_of(c), first = item->first_panel * KERNEL_PANEL;
    const int numbers = (item->end_panel - item->first_panel) * KERNEL_PANEL;
    for (ptrdiff_t row = item->first_plane * plane_rows; row < item->end_plane * plane_rows; row++)
        for (int i = 0; i < numbers; i++) total[row * sum_row(c) + first + i] += chain[row * sum_row(c) + first + i];
    clear_item(c, item, chain);
}

static void sum_item(const convolution *c, const gradient_item *item, const convolution_piece *piece, float *memory,
                     float *sums) {
    const convolution *own = &piece->convolution;
    const banding b = banding_of(c);
    float *const chain = chain_of(c, sums, item->part), *const total = total_of(c, sums, item->part);
    int length = 0;
    clear_item(c, item, chain);
    clear_item(c, item, total);
    for (size_t k = 0; k < band_count(own, &b); k++) {
        const band at = band_at(own, &b, k);
        copy_band(own, piece->inputs[0], at, read_as(c), memory);
        const gradient_rows rows = gradient_of(own, item, piece->gradient, at, memory + b.copy_floats);
        add_band(own, item, at, (const char *)memory, rows, chain);
        length += at.lines * own->out.size[2];
        if (length < LONGEST_CHAIN && k + 1 < band_count(own, &b)) continue;
        end_chain(c, item, chain, total);
        length = 0;
    }
}

/* The sums of all parts, in order, for this thread's share of the rows. */
static void add_parts(const convolution *c, float *sums, part_gradients to) {
    const size_t rows = (size_t)(tap_lines(c) * run_of(c)), features = (size_t)c->features;
    const share own = thread_share();
    for (int part = 0; part < convolution_parts(c); part++)
        for (size_t row = share_start(rows, own); row < share_end(rows, own); row++) {
            const float *from = total_of(c, sums, part) + row * (size_t)sum_row(c);
            float *const gradients = to.first + (size_t)part * to.stride + row * features;
            for (size_t f = 0; f < features; f++) gradients[f] += from[f];
        }
}

static void few_backward_weights(const convolution *c, const void *const inputs[2], const void *gradient,
                                 part_gradients weight_gradients, char *scratch) {
    float *const sums = (float *)(void *)scratch;
    const splitting split = splitting_of(c);
    work all;
    work_divide(&all, (size_t)(convolution_parts(c) * split.panels * split.planes), c->threads);
#pragma omp parallel num_threads(all.threads)
    {
        for (size_t index; work_take(&all, &index);) {
            const gradient_item item = item_at(c, index, split);
            const convolution_piece piece = convolution_piece_at(c, inputs, gradient, item.part);
            sum_item(c, &item, &piece, (float *)(void *)own_memory(c, scratch), sums);
        }
#pragma omp barrier
        add_parts(c, sums, weight_gradients);
    }
}

static convolution_scratch few_scratch(const convolution *c) {
    const banding b = banding_of(c);
    const size_t sums = 2 * (size_t)convolution_parts(c) * part_sums(c);
    const size_t floats = sums > packed_floats(c) ? sums : packed_floats(c);
    const convolution_scratch back = direct_data_scratch(c);
    const size_t common = aligned_bytes(floats * sizeof(float));
    const size_t own = aligned_bytes((b.copy_floats + b.gradient_floats) * sizeof(float));
    return (convolution_scratch){common > back.common ? common : back.common, own > back.own ? own : back.own};
}

const convolution_path few_path = {"few", few_scratch, few_forward, direct_backward_data, few_backward_weights};
