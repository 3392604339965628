/*
 * Convolutions of images with few channels, a network's first: all taps of a line lie side by side and are one run of numbers.
 * Lines are copied for a band of lines of the result at a time, with zeros around, so that every tap reads all of its
 * positions at even distances.
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

/* Floats of a copied line, zeros included. */
static size_t line_floats(const convolution *c) {
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
    const size_t line = line_floats(c) * (size_t)c->kernel[0], row = (size_t)c->out.size[2] * KERNEL_PANEL;
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

static void copy_line(const convolution *c, const char *image, band at, int z, int y, float *to) {
    const size_t points = (size_t)c->in.size[2] * (size_t)c->in.channels, floats = line_floats(c);
    const size_t before = (size_t)c->padding[2] * (size_t)c->in.channels;
    if (z < 0 || z >= c->in.size[0] || y < 0 || y >= c->in.size[1]) {
        memset(to, 0, floats * sizeof *to);
        return;
    }
    const size_t plane = (size_t)at.sample * (size_t)c->in.size[0] + (size_t)z;
    const size_t first = (plane * (size_t)c->in.size[1] + (size_t)y) * points;
    memset(to, 0, before * sizeof *to);
    kernels_for(c->precision)->to_f32(image + first * precision_bytes(c->precision), points, to + before);
    memset(to + before + points, 0, (floats - before - points) * sizeof *to);
}

/* All lines that a band reads: those of one plane of taps behind those of another. */
static void copy_band(const convolution *c, const char *image, band at, float *to) {
    const int lines = lines_read(c, at.lines);
    for (int k = 0; k < c->kernel[0]; k++)
        for (int j = 0; j < lines; j++, to += line_floats(c))
            copy_line(c, image, at, at.depth * c->stride[0] + k - c->padding[0],
                      at.height * c->stride[1] + j - c->padding[1], to);
}

/* ---- forward ------------------------------------------------------------------------------------------------------- */

/* [panel][row][PANEL], zeros behind the last channel. */
static void pack(const convolution *c, const float *weights, float *packed) {
    const int rows = tap_lines(c) * run_of(c);
#pragma omp parallel for num_threads(team_size(c->threads)) schedule(static)
    for (int first = 0; first < c->features; first += KERNEL_PANEL) {
        const int width = smaller(KERNEL_PANEL, c->features - first);
        float *to = packed + (ptrdiff_t)first * rows;
        for (int row = 0; row < rows; row++, to += KERNEL_PANEL)
            for (int i = 0; i < KERNEL_PANEL; i++)
                to[i] = i < width ? weights[(ptrdiff_t)row * c->features + first + i] : 0;
    }
}

static size_t packed_floats(const convolution *c) {
    return (size_t)(tap_lines(c) * run_of(c)) * (size_t)panels_of(c->features) * KERNEL_PANEL;
}

/* One line of the result from the copies of the lines that it reads. */
static void forward_line(const convolution *c, const float *packed, const float *lines, int band_lines,
                         const kernel_results *to) {
    const kernels *kernels = kernels_for(c->precision);
    const int run = run_of(c);
    kernel_tap tap[CONVOLUTION_MAX_TAPS];
    for (int t = 0; t < tap_lines(c); t++) {
        const int line = t / c->kernel[1] * lines_read(c, band_lines) + t % c->kernel[1];
        tap[t] = (kernel_tap){lines + (size_t)line * line_floats(c), packed + (ptrdiff_t)t * run * KERNEL_PANEL,
                              (ptrdiff_t)c->stride[2] * c->in.channels, run};
    }
    for (int channel = 0; channel < c->features; channel += KERNEL_PANEL) {
        const size_t at = (size_t)channel * precision_bytes(c->precision);
        kernel_results some = *to;
        some.channels = smaller(KERNEL_PANEL, c->features - channel);
        some.image = (char *)to->image + at;
        if (to->addends.bias) some.addends.bias += channel;
        if (to->addends.addend) some.addends.addend = (const char *)to->addends.addend + at;
        kernels->multiply_taps(&(kernel_taps){c->out.size[2], tap_lines(c), tap},
                               (ptrdiff_t)channel * tap_lines(c) * run, &some);
    }
}

static size_t result_line(const convolution *c, band at) {
    const size_t plane = (size_t)at.sample * (size_t)c->out.size[0] + (size_t)at.depth;
    return plane * (size_t)c->out.size[1] + (size_t)at.height;
}

void few_forward(const convolution *c, convolution_filter filter, const void *const inputs[2], const void *addend,
                 void *output, char *scratch) {
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
        copy_band(c, inputs[0], at, copy);
        for (int y = 0; y < at.lines; y++) {
            const size_t first = (result_line(c, at) + (size_t)y) * line_bytes;
            const kernel_results to = {{filter.bias, addend ? (const char *)addend + first : 0, 0},
                                       c->features,
                                       c->features,
                                       (char *)output + first};
            forward_line(c, packed, copy + (size_t)(y * c->stride[1]) * line_floats(c), at.lines, &to);
        }
    }
}

/* ---- the gradient of the weights --------------------------------------------------------------------------------- */

/* The sums of one part for one panel of features and some lines of taps: [tap line][number of the run][PANEL]. */
typedef struct gradient_item {
    int part, panel, first_line, end_line;
} gradient_item;

/* Lines of taps are divided where there are fewer parts and panels than the threads want. */
static int splits_of(const convolution *c) {
    const int items = convolution_parts(c) * panels_of(c->features), wanted = c->threads * SPLITS_PER_THREAD;
    return c->threads > 1 && items < wanted ? smaller(c->kernel[0], (wanted + items - 1) / items) : 1;
}

static gradient_item item_at(const convolution *c, size_t index, int splits) {
    const int flat = (int)(index / (size_t)splits), panels = panels_of(c->features);
    const share s = {(int)(index % (size_t)splits), splits};
    return (gradient_item){flat / panels, flat % panels, (int)share_start((size_t)c->kernel[0], s) * c->kernel[1],
                           (int)share_end((size_t)c->kernel[0], s) * c->kernel[1]};
}

static size_t panel_sums(const convolution *c) { return (size_t)(tap_lines(c) * run_of(c)) * KERNEL_PANEL; }

static float *item_sums(const convolution *c, const gradient_item *item, float *sums) {
    return sums + (size_t)(item->part * panels_of(c->features) + item->panel) * panel_sums(c);
}

/* One panel of the gradient at the positions of a band. */
static void copy_gradient(const convolution *c, const char *gradient, band at, int panel, float *to) {
    const size_t points = (size_t)c->out.size[2], features = (size_t)c->features;
    const size_t first = result_line(c, at) * points * features + (size_t)panel * KERNEL_PANEL;
    const kernel_copy how = {smaller(KERNEL_PANEL, c->features - panel * KERNEL_PANEL), c->features, 0, KERNEL_PANEL};
    kernels_for(c->precision)
        ->gather_rows(&how, (size_t)at.lines * points, gradient + first * precision_bytes(c->precision), to);
}

/* Adds the products of a band, of which lines and gradient have been copied, to the sums of an item. */
static void add_band(const convolution *c, const gradient_item *item, band at, const float *lines,
                     const float *gradient, float *sums) {
    const ptrdiff_t line = (ptrdiff_t)line_floats(c), points = c->out.size[2];
    const kernel_field field = {1,
                                at.lines,
                                c->out.size[2],
                                0,
                                line * c->stride[1],
                                (ptrdiff_t)c->stride[2] * c->in.channels,
                                0,
                                points * KERNEL_PANEL,
                                KERNEL_PANEL};
    const kernel_runs runs = {c->kernel[1], run_of(c), line};
    for (int first = item->first_line; first < item->end_line; first += c->kernel[1])
        kernels_for(PRECISION_F32)
            ->outer_runs(&runs, &field, lines + first / c->kernel[1] * lines_read(c, at.lines) * line, gradient,
                         sums + (ptrdiff_t)first * run_of(c) * KERNEL_PANEL);
}

static void sum_item(const convolution *c, const gradient_item *item, const convolution_piece *piece, float *memory,
                     float *sums) {
    const convolution *own = &piece->convolution;
    const banding b = banding_of(c);
    const size_t run = (size_t)run_of(c) * KERNEL_PANEL;
    float *const gradient = memory + b.copy_floats;
    memset(sums + (size_t)item->first_line * run, 0, (size_t)(item->end_line - item->first_line) * run * sizeof *sums);
    for (size_t k = 0; k < band_count(own, &b); k++) {
        const band at = band_at(own, &b, k);
        copy_band(own, piece->inputs[0], at, memory);
        copy_gradient(own, piece->gradient, at, item->panel, gradient);
        add_band(own, item, at, memory, gradient, sums);
    }
}

/* The sums of all parts, in order, for this thread's share of the rows. */
static void add_parts(const convolution *c, const float *sums, part_gradients to) {
    const size_t rows = (size_t)(tap_lines(c) * run_of(c)), features = (size_t)c->features;
    const share own = thread_share();
    for (int part = 0; part < convolution_parts(c); part++)
        for (size_t row = share_start(rows, own); row < share_end(rows, own); row++)
            for (size_t f = 0; f < features; f++) {
                const size_t panel = (size_t)part * (size_t)panels_of(c->features) + f / KERNEL_PANEL;
                to.first[(size_t)part * to.stride + row * features + f] +=
                    sums[panel * panel_sums(c) + row * KERNEL_PANEL + f % KERNEL_PANEL];
            }
}

void few_backward_weights(const convolution *c, const void *const inputs[2], const void *gradient,
                          part_gradients weight_gradients, char *scratch) {
    float *const sums = (float *)(void *)scratch;
    const int splits = splits_of(c);
    work all;
    work_divide(&all, (size_t)(convolution_parts(c) * panels_of(c->features) * splits), c->threads);
#pragma omp parallel num_threads(all.threads)
    {
        for (size_t index; work_take(&all, &index);) {
            const gradient_item item = item_at(c, index, splits);
            const convolution_piece piece = convolution_piece_at(c, inputs, gradient, item.part);
            sum_item(c, &item, &piece, (float *)(void *)own_memory(c, scratch), item_sums(c, &item, sums));
        }
#pragma omp barrier
        add_parts(c, sums, weight_gradients);
    }
}

convolution_scratch few_scratch(const convolution *c) {
    const banding b = banding_of(c);
    const size_t sums = (size_t)(convolution_parts(c) * panels_of(c->features)) * panel_sums(c);
    const size_t floats = sums > packed_floats(c) ? sums : packed_floats(c);
    const convolution_scratch back = direct_scratch(c);
    const size_t common = aligned_bytes(floats * sizeof(float));
    const size_t own = aligned_bytes((b.copy_floats + b.gradient_floats) * sizeof(float));
    return (convolution_scratch){common > back.common ? common : back.common, own > back.own ? own : back.own};
}
