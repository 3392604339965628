/*
 * The direct algorithm, forward and backward through the data: for neighbouring outputs of a line, one kernel call sums over all
 * taps and input channels.
 *
 * Kernels read lines of f32 with zeros before and behind, so that rows of outputs are evenly spaced under every tap, also at
 * the borders. Lines that do not look like that are copied, which costs little beside the many times that they are read.
 */
#include "nn/convolution_inside.h"
#include "nn/team.h"

#include <string.h>

/* Above this size of packed weights, one panel of them serves all lines before the next one is touched. */
enum { PANEL_MAJOR_BYTES = 256 << 10, MAX_LIST = 2 * CONVOLUTION_MAX_TAPS };

/* The weights seen from the output: [panel][tap][input channel][PANEL], zeros behind the last channel. */
static void pack_forward(const convolution *c, const float *weights, float *packed) {
    const int rows = convolution_taps(c) * c->in.channels, features = c->features;
#pragma omp parallel for num_threads(team_size(c->threads)) schedule(static)
    for (int panel = 0; panel < panels_of(features); panel++) {
        const int first = panel * KERNEL_PANEL, width = smaller(KERNEL_PANEL, features - first);
        for (int row = 0; row < rows; row++) {
            float *to = packed + ((size_t)panel * (size_t)rows + (size_t)row) * KERNEL_PANEL;
            const float *from = weights + (size_t)row * (size_t)features + first;
            for (int i = 0; i < KERNEL_PANEL; i++) to[i] = i < width ? from[i] : 0;
        }
    }
}

/* The weights of one input seen from its gradient: [panel of its channels][tap][output channel][PANEL]. */
static void pack_backward(const convolution *c, const float *weights, int first_channel, int channels, float *packed) {
    const int taps = convolution_taps(c), features = c->features;
#pragma omp parallel for collapse(2) num_threads(team_size(c->threads)) schedule(static)
    for (int panel = 0; panel < panels_of(channels); panel++)
        for (int tap = 0; tap < taps; tap++) {
            float *to = packed + ((size_t)panel * (size_t)taps + (size_t)tap) * (size_t)features * KERNEL_PANEL;
            for (int i = 0; i < KERNEL_PANEL; i++) {
                const int channel = panel * KERNEL_PANEL + i;
                const float *from =
                    weights +
                    ((size_t)tap * (size_t)c->in.channels + (size_t)(first_channel + channel)) * (size_t)features;
                for (int f = 0; f < features; f++)
                    to[(size_t)f * KERNEL_PANEL + (size_t)i] = channel < channels ? from[f] : 0;
            }
        }
}

static size_t packed_floats(const convolution *c) {
    const size_t taps = (size_t)convolution_taps(c);
    size_t forward = (size_t)panels_of(c->features) * KERNEL_PANEL * taps * (size_t)c->in.channels, backward = 0;
    for (int i = 0; i < c->inputs; i++) {
        const size_t floats = (size_t)panels_of(c->input_channels[i]) * KERNEL_PANEL * taps * (size_t)c->features;
        if (floats > backward) backward = floats;
    }
    return forward > backward ? forward : backward;
}

/* Zeros before and behind a line, in points. */
typedef struct margins {
    int before, behind;
} margins;

static margins forward_margins(const convolution *c) {
    const int last = (c->out.size[2] - 1) * c->stride[2] + c->kernel[2] - c->padding[2];
    return (margins){c->padding[2], larger(0, last - c->in.size[2])};
}

static margins backward_margins(const convolution *c) {
    const int stride = c->stride[2], before = c->kernel[2] - 1 - c->padding[2];
    return (margins){(before + stride - 1) / stride,
                     larger(0, (c->in.size[2] - 1 + c->padding[2]) / stride - (c->out.size[2] - 1))};
}

/* A thread's copies of the lines that the taps of one line read. */
static size_t lines_bytes(const convolution *c) {
    const margins there = forward_margins(c), back = backward_margins(c);
    const size_t forward = (size_t)(there.before + c->in.size[2] + there.behind) * (size_t)c->in.channels;
    const size_t backward = (size_t)(back.before + c->out.size[2] + back.behind) * (size_t)c->features;
    const size_t lines = (size_t)(c->kernel[0] * c->kernel[1]);
    return aligned_bytes(lines * (forward > backward ? forward : backward) * sizeof(float));
}

static size_t packed_bytes(const convolution *c) { return aligned_bytes(packed_floats(c) * sizeof(float)); }

convolution_scratch direct_scratch(const convolution *c) {
    const size_t data = packed_bytes(c), weights = direct_weights_scratch(c);
    return (convolution_scratch){data > weights ? data : weights, lines_bytes(c)};
}

/* What a line is made of: the packed weights, and where this thread copies lines to. */
typedef struct direct_memory {
    const float *packed;
    float *lines;
} direct_memory;

static direct_memory memory_of(const convolution *c, char *scratch) {
    return (direct_memory){(const float *)(void *)scratch, (float *)(void *)own_memory(c, scratch)};
}

/* The line as the kernels read it: itself, or its copy at `*free`, which moves behind it. Returns where it begins, zeros
   included. */
static const float *readable_line(precision precision, const char *line, size_t points, size_t channels, margins m,
                                  float **free) {
    if (precision == PRECISION_F32 && !m.before && !m.behind) return (const float *)(const void *)line;
    float *copy = *free, *const inside = copy + (size_t)m.before * channels, *const end = inside + points * channels;
    memset(copy, 0, (size_t)m.before * channels * sizeof *copy);
    if (precision == PRECISION_F32) memcpy(inside, line, points * channels * sizeof *copy);
    else kernels_for(precision)->to_f32(line, points * channels, inside);
    memset(end, 0, (size_t)m.behind * channels * sizeof *copy);
    *free = end + (size_t)m.behind * channels;
    return copy;
}

/* Where the numbers of one line go, which panels of channels of them, and what is added to them. */
typedef struct line_output {
    const kernels *kernels;
    const float *bias;
    const char *addend;
    char *image;
    ptrdiff_t point_stride; /* numbers */
    size_t number_bytes;
    int channels, accumulate;
    int first_panel, end_panel;
} line_output;

/* Neighbouring points of a line for all its panels, whose weights are `panel_floats` apart. */
static void multiply_points(const line_output *out, const kernel_taps *taps, size_t panel_floats) {
    for (int panel = out->first_panel; panel < out->end_panel; panel++) {
        const int channel = panel * KERNEL_PANEL;
        const size_t at = (size_t)channel * out->number_bytes;
        const kernel_results results = {
            {out->bias ? out->bias + channel : 0, out->addend ? out->addend + at : 0, out->accumulate},
            smaller(KERNEL_PANEL, out->channels - channel),
            out->point_stride,
            out->image + at};
        out->kernels->multiply_taps(taps, (ptrdiff_t)((size_t)panel * panel_floats), &results);
    }
}

/* A line of an image by its coordinates. */
typedef struct line_place {
    int sample, depth, height;
} line_place;

static line_place place_of(const shape *s, size_t line) {
    const int plane = (int)(line / (size_t)s->size[1]);
    return (line_place){plane / s->size[0], plane % s->size[0], (int)(line % (size_t)s->size[1])};
}

/* The taps of one line of one input, whose channels begin at `first_channel` among all. Taps that lie side by side in the
   line, and so do their weights, are one. Returns how many taps there are now. */
static int add_line_taps(const convolution *c, const float *line, int input, int first_channel, const float *weights,
                         kernel_tap *tap) {
    const int channels = c->input_channels[input], joined = c->inputs == 1;
    for (int x = 0; x < (joined ? 1 : c->kernel[2]); x++)
        tap[x] = (kernel_tap){line + x * channels, weights + (x * c->in.channels + first_channel) * KERNEL_PANEL,
                              (ptrdiff_t)c->stride[2] * channels, joined ? c->kernel[2] * channels : channels};
    return joined ? 1 : c->kernel[2];
}

/* The taps of all lines of one input that an output line reads. */
static int add_input_taps(const convolution *c, direct_memory *memory, const char *image, int input, line_place at,
                          kernel_tap *tap) {
    const size_t channels = (size_t)c->input_channels[input], points = (size_t)c->in.size[2];
    const size_t line_bytes = points * channels * precision_bytes(c->precision);
    int taps = 0;
    for (int i = 0; i < c->kernel[0]; i++) {
        const int z = at.depth * c->stride[0] + i - c->padding[0];
        if (z < 0 || z >= c->in.size[0]) continue;
        for (int j = 0; j < c->kernel[1]; j++) {
            const int y = at.height * c->stride[1] + j - c->padding[1];
            if (y < 0 || y >= c->in.size[1]) continue;
            const size_t line =
                ((size_t)at.sample * (size_t)c->in.size[0] + (size_t)z) * (size_t)c->in.size[1] + (size_t)y;
            const size_t row = (size_t)((i * c->kernel[1] + j) * c->kernel[2]) * (size_t)c->in.channels;
            const float *values = readable_line(c->precision, image + line * line_bytes, points, channels,
                                                forward_margins(c), &memory->lines);
            taps += add_line_taps(c, values, input, input ? c->input_channels[0] : 0,
                                  memory->packed + row * KERNEL_PANEL, tap + taps);
        }
    }
    return taps;
}

static void forward_line(const convolution *c, direct_memory memory, const void *const inputs[2], size_t line,
                         const line_output *out) {
    kernel_tap tap[MAX_LIST];
    int taps = 0;
    for (int i = 0; i < c->inputs; i++)
        taps += add_input_taps(c, &memory, inputs[i], i, place_of(&c->out, line), tap + taps);
    multiply_points(out, &(kernel_taps){c->out.size[2], taps, tap},
                    (size_t)convolution_taps(c) * (size_t)c->in.channels * KERNEL_PANEL);
}

/* What the threads share: lines, each with all panels of channels; or, where the filters are too large to stay in the
   cache, panel after panel, each with all lines. */
typedef struct line_items {
    size_t lines, count;
    int panels, panel_major;
} line_items;

static line_items items_of(const convolution *c, const shape *image, int channels) {
    const size_t lines = (size_t)image->samples * (size_t)image->size[0] * (size_t)image->size[1];
    const int panels = panels_of(channels), panel_major = c->weight_count * sizeof(float) > PANEL_MAJOR_BYTES;
    return (line_items){lines, panel_major ? lines * (size_t)panels : lines, panels, panel_major};
}

static size_t item_line(const line_items *items, size_t item) {
    return items->panel_major ? item % items->lines : item;
}

static int item_first_panel(const line_items *items, size_t item) {
    return items->panel_major ? (int)(item / items->lines) : 0;
}

static int item_end_panel(const line_items *items, size_t item) {
    return items->panel_major ? (int)(item / items->lines) + 1 : items->panels;
}

void direct_forward(const convolution *c, convolution_filter filter, const void *const inputs[2], const void *addend,
                    void *output, char *scratch) {
    pack_forward(c, filter.weights, (float *)(void *)scratch);
    const size_t number = precision_bytes(c->precision);
    const size_t line_bytes = (size_t)c->out.size[2] * (size_t)c->features * number;
    const line_items items = items_of(c, &c->out, c->features);
    work all;
    work_divide_turned(&all, items.count, c->threads);
#pragma omp parallel num_threads(all.threads)
    for (size_t item; work_take(&all, &item);) {
        const size_t line = item_line(&items, item);
        const line_output out = {.kernels = kernels_for(c->precision),
                                 .bias = filter.bias,
                                 .addend = addend ? (const char *)addend + line * line_bytes : 0,
                                 .image = (char *)output + line * line_bytes,
                                 .point_stride = c->features,
                                 .number_bytes = number,
                                 .channels = c->features,
                                 .first_panel = item_first_panel(&items, item),
                                 .end_panel = item_end_panel(&items, item)};
        forward_line(c, memory_of(c, scratch), inputs, line, &out);
    }
}

/* The taps of one axis through which the input at `position` reaches an output, and the output that it reaches. */
static int taps_reaching(const convolution *c, int axis, int position, int *taps, int *outputs) {
    int count = 0;
    for (int k = 0; k < c->kernel[axis]; k++) {
        const int shifted = position + c->padding[axis] - k;
        if (shifted < 0 || shifted % c->stride[axis] || shifted / c->stride[axis] >= c->out.size[axis]) continue;
        taps[count] = k;
        outputs[count++] = shifted / c->stride[axis];
    }
    return count;
}

/* A line of output gradients that reaches a line of an input, and the taps of depth and height through which it does. */
typedef struct reaching_line {
    const float *values;
    int first_tap;
} reaching_line;

static int lines_reaching(const convolution *c, direct_memory *memory, const char *gradient, line_place at,
                          reaching_line *lines) {
    int tap_z[CONVOLUTION_MAX_TAPS], tap_y[CONVOLUTION_MAX_TAPS], z[CONVOLUTION_MAX_TAPS], y[CONVOLUTION_MAX_TAPS];
    const int depths = taps_reaching(c, 0, at.depth, tap_z, z), heights = taps_reaching(c, 1, at.height, tap_y, y);
    const size_t points = (size_t)c->out.size[2], features = (size_t)c->features;
    const size_t line_bytes = points * features * precision_bytes(c->precision);
    int count = 0;
    for (int i = 0; i < depths; i++)
        for (int j = 0; j < heights; j++) {
            const size_t line =
                ((size_t)at.sample * (size_t)c->out.size[0] + (size_t)z[i]) * (size_t)c->out.size[1] + (size_t)y[j];
            lines[count].values = readable_line(c->precision, gradient + line * line_bytes, points, features,
                                                backward_margins(c), &memory->lines);
            lines[count++].first_tap = (tap_z[i] * c->kernel[1] + tap_y[j]) * c->kernel[2];
        }
    return count;
}

/* The points first, first + stride, ... of one line of an input: the same taps reach them all. */
static void backward_points(const convolution *c, const direct_memory *memory, const reaching_line *lines, int count,
                            int first, const line_output *out) {
    const int stride = c->stride[2], features = c->features, before = backward_margins(c).before;
    const size_t tap_floats = (size_t)features * KERNEL_PANEL;
    kernel_tap tap[CONVOLUTION_MAX_TAPS];
    int taps = 0;
    for (int k = 0; k < count; k++)
        for (int x = 0; x < c->kernel[2]; x++) {
            if ((first + c->padding[2] - x) % stride) continue;
            const int offset = before + (first + c->padding[2] - x) / stride;
            tap[taps++] =
                (kernel_tap){lines[k].values + (ptrdiff_t)offset * features,
                             memory->packed + (size_t)(lines[k].first_tap + x) * tap_floats, features, features};
        }
    const int points = (c->in.size[2] - first + stride - 1) / stride;
    multiply_points(out, &(kernel_taps){points, taps, tap}, (size_t)convolution_taps(c) * tap_floats);
}

static void backward_line(const convolution *c, direct_memory memory, const void *gradient, size_t line,
                          line_output out) {
    reaching_line lines[CONVOLUTION_MAX_TAPS];
    const int count = lines_reaching(c, &memory, gradient, place_of(&c->in, line), lines);
    const size_t point_bytes = (size_t)out.point_stride * out.number_bytes;
    char *image = out.image;
    out.point_stride *= c->stride[2];
    for (int first = 0; first < c->stride[2] && first < c->in.size[2]; first++) {
        out.image = image + (size_t)first * point_bytes;
        backward_points(c, &memory, lines, count, first, &out);
    }
}

void direct_backward_data(const convolution *c, convolution_filter filter, const void *gradient,
                          const int accumulate[2], void *const input_gradients[2], char *scratch) {
    const size_t number = precision_bytes(c->precision);
    for (int i = 0, channel = 0; i < c->inputs; channel += c->input_channels[i++]) {
        if (!input_gradients[i]) continue;
        pack_backward(c, filter.weights, channel, c->input_channels[i], (float *)(void *)scratch);
        const size_t line_bytes = (size_t)c->in.size[2] * (size_t)c->input_channels[i] * number;
        const line_items items = items_of(c, &c->in, c->input_channels[i]);
        work all;
        work_divide_turned(&all, items.count, c->threads);
#pragma omp parallel num_threads(all.threads)
        for (size_t item; work_take(&all, &item);) {
            const size_t line = item_line(&items, item);
            const line_output out = {.kernels = kernels_for(c->precision),
                                     .bias = filter.bias ? filter.bias + channel : 0,
                                     .image = (char *)input_gradients[i] + line * line_bytes,
                                     .point_stride = c->input_channels[i],
                                     .number_bytes = number,
                                     .channels = c->input_channels[i],
                                     .accumulate = accumulate[i],
                                     .first_panel = item_first_panel(&items, item),
                                     .end_panel = item_end_panel(&items, item)};
            backward_line(c, memory_of(c, scratch), gradient, line, out);
        }
    }
}
