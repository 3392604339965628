/*
 * The direct algorithm, forward and backward through the data: for neighbouring outputs of a line, one kernel call sums
 * over all taps and input channels.
 *
 * Kernels read lines of f32 with zeros before and behind, so that rows of outputs are evenly spaced under every
 * tap, also at the borders. Lines that do not look like that are copied, which costs little beside the many
 * times that they are read.
 */
#include "nn/convolution_inside.h"
#include "nn/team.h"

#include <string.h>

enum {
    /* Of weights, above which a group of so many panels serves all lines before the next one does. */
    PANEL_MAJOR_BYTES = 256 << 10,
    GROUP_PANELS = 2,
    MAX_LIST = 2 * CONVOLUTION_MAX_TAPS
};

/* Panels of channels [first, end). */
typedef struct panel_range {
    int first, end;
} panel_range;

static int is_panel_major(const convolution *c) { return c->weight_count * sizeof(float) > PANEL_MAJOR_BYTES; }

/* How many of `panels` are packed at a time: all, or a group for each thread, which then stays in its cache. */
static int packed_panels(const convolution *c, int panels) {
    return is_panel_major(c) ? smaller(panels, GROUP_PANELS * c->threads) : panels;
}

/* Some panels of the weights seen from the output: [panel][tap][input channel][PANEL], zeros behind the last channel.
   Rows are read as whole as can be. */
static void pack_forward(const convolution *c, const float *weights, panel_range panels, float *packed) {
    const size_t rows = (size_t)convolution_taps(c) * (size_t)c->in.channels, features = (size_t)c->features;
    const size_t blocks = (rows + KERNEL_PANEL - 1) / KERNEL_PANEL, bytes = KERNEL_PANEL * sizeof *packed;
#pragma omp parallel for num_threads(team_size(c->threads)) schedule(static)
    for (size_t block = 0; block < blocks; block++)
        for (int panel = panels.first; panel < panels.end; panel++)
            for (size_t row = block * KERNEL_PANEL; row < rows && row < (block + 1) * KERNEL_PANEL; row++) {
                const size_t first = (size_t)panel * KERNEL_PANEL;
                float *to = packed + ((size_t)(panel - panels.first) * rows + row) * KERNEL_PANEL;
                const float *from = weights + row * features + first;
                if (first + KERNEL_PANEL <= features) {
                    memcpy(to, from, bytes);
                    continue;
                }
                memset(to, 0, bytes);
                memcpy(to, from, (features - first) * sizeof *to);
            }
}

/* Columns of a panel of rows of weights, `features` apart, of which there are `rows`, side by side;
   zeros behind the last row. */
static void turn_rows(const float *from, int rows, int features, float *to) {
    const kernels *f32 = kernels_for(PRECISION_F32);
    int f = 0;
    for (; rows == KERNEL_PANEL && f + KERNEL_PANEL <= features; f += KERNEL_PANEL)
        f32->transpose_panel(from + f, features, to + f * KERNEL_PANEL);
    for (; f < features; f++)
        for (int i = 0; i < KERNEL_PANEL; i++) to[f * KERNEL_PANEL + i] = i < rows ? from[i * features + f] : 0;
}

/* The channels of one input among those of all. */
typedef struct channel_range {
    int first, count;
} channel_range;

/* Some panels of the weights of one input seen from its gradient: [panel of its
   channels][tap][output channel][PANEL]. */
static void pack_backward(const convolution *c, const float *weights, channel_range channels, panel_range panels,
                          float *packed) {
    const int taps = convolution_taps(c), features = c->features;
#pragma omp parallel for collapse(2) num_threads(team_size(c->threads)) schedule(static)
    for (int panel = panels.first; panel < panels.end; panel++)
        for (int tap = 0; tap < taps; tap++) {
            const int channel = panel * KERNEL_PANEL;
            const size_t row = (size_t)tap * (size_t)c->in.channels + (size_t)(channels.first + channel);
            const size_t at = (size_t)(panel - panels.first) * (size_t)taps + (size_t)tap;
            turn_rows(weights + row * (size_t)features, smaller(KERNEL_PANEL, channels.count - channel), features,
                      packed + at * (size_t)features * KERNEL_PANEL);
        }
}

static size_t forward_panel_floats(const convolution *c) {
    return (size_t)convolution_taps(c) * (size_t)c->in.channels * KERNEL_PANEL;
}
static size_t backward_panel_floats(const convolution *c) {
    return (size_t)convolution_taps(c) * (size_t)c->features * KERNEL_PANEL;
}

static size_t packed_floats(const convolution *c) {
    const size_t forward = (size_t)packed_panels(c, panels_of(c->features)) * forward_panel_floats(c);
    const int most = larger(c->input_channels[0], c->inputs > 1 ? c->input_channels[1] : 0);
    const size_t backward = (size_t)packed_panels(c, panels_of(most)) * backward_panel_floats(c);
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

convolution_scratch direct_data_scratch(const convolution *c) {
    return (convolution_scratch){packed_bytes(c), lines_bytes(c)};
}

static convolution_scratch direct_scratch(const convolution *c) {
    const size_t data = packed_bytes(c), weights = direct_weights_scratch(c);
    return (convolution_scratch){data > weights ? data : weights, lines_bytes(c)};
}

/* What a line is made of: the packed weights, and where this thread copies lines to. */
typedef struct direct_memory {
    const float *packed;
    float *lines;
} direct_memory;

/* Whose packed weights begin at some float of those that are there. */
static direct_memory memory_of(const convolution *c, char *scratch, size_t first) {
    return (direct_memory){(const float *)(void *)scratch + first, (float *)(void *)own_memory(c, scratch)};
}

/* The line as the kernels read it: itself, or its copy at `*free`, which moves behind it. Returns where
   it begins, zeros included. */
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

/* Where the numbers of lines go, and what is added to them. */
typedef struct line_output {
    const kernels *kernels;
    kernel_results results;
    size_t line_bytes, number_bytes;
} line_output;

/* One line and some of its panels, of what is there for all. */
static line_output output_at(line_output out, size_t line, panel_range panels) {
    const int channel = panels.first * KERNEL_PANEL;
    const size_t bytes = line * out.line_bytes + (size_t)channel * out.number_bytes;
    kernel_results *to = &out.results;
    if (to->addends.bias) to->addends.bias += channel;
    if (to->addends.addend) to->addends.addend = (const char *)to->addends.addend + bytes;
    to->image = (char *)to->image + bytes;
    to->channels = smaller(panels.end * KERNEL_PANEL, to->channels) - channel;
    return out;
}

static line_place place_of(const shape *s, size_t line) {
    const int plane = (int)(line / (size_t)s->size[1]);
    return (line_place){plane / s->size[0], plane % s->size[0], (int)(line % (size_t)s->size[1])};
}

/* The taps of one line of one input, whose channels begin at `first_channel` among all. Taps that lie side by side in
   the line, and so do their weights, are one. Returns how many taps there are now. */
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
    out->kernels->multiply_taps(&(kernel_taps){c->out.size[2], taps, tap, (ptrdiff_t)forward_panel_floats(c)},
                                &out->results);
}

/* What the threads share while some panels are packed: lines, each with all of these panels; or, where the filters are
   too large to stay in the cache, group after group of them, each with all lines. */
typedef struct line_items {
    size_t lines, count;
    panel_range panels;
    int group;
} line_items;

static line_items items_of(const convolution *c, const shape *image, panel_range panels) {
    const size_t lines = (size_t)image->samples * (size_t)image->size[0] * (size_t)image->size[1];
    const int count = panels.end - panels.first, group = is_panel_major(c) ? GROUP_PANELS : count;
    return (line_items){lines, lines * (size_t)((count + group - 1) / group), panels, group};
}

static size_t item_line(const line_items *items, size_t item) { return item % items->lines; }

static panel_range item_panels(const line_items *items, size_t item) {
    const int first = items->panels.first + (int)(item / items->lines) * items->group;
    return (panel_range){first, smaller(items->panels.end, first + items->group)};
}

/* The panels from `first` on that are packed at a time. */
static panel_range next_panels(const convolution *c, int first, int panels) {
    return (panel_range){first, smaller(panels, first + packed_panels(c, panels))};
}

static void forward_panels(const convolution *c, const void *const inputs[2], const line_output *all,
                           panel_range panels, char *scratch) {
    const line_items items = items_of(c, &c->out, panels);
    work items_left;
    work_divide_turned(&items_left, items.count, c->threads);
#pragma omp parallel num_threads(items_left.threads)
    for (size_t item; work_take(&items_left, &item);) {
        const panel_range some = item_panels(&items, item);
        const size_t line = item_line(&items, item), before = (size_t)(some.first - panels.first);
        const line_output out = output_at(*all, line, some);
        forward_line(c, memory_of(c, scratch, before * forward_panel_floats(c)), inputs, line, &out);
    }
}

static void direct_forward(const convolution *c, convolution_filter filter, const void *const inputs[2],
                           const void *addend, void *output, char *scratch) {
    const size_t number = precision_bytes(c->precision), channels = (size_t)c->features;
    const line_output all = {kernels_for(c->precision),
                             {{filter.bias, addend, 0}, c->features, c->features, output},
                             (size_t)c->out.size[2] * channels * number,
                             number};
    for (panel_range some = {0, 0}; some.end < panels_of(c->features);) {
        some = next_panels(c, some.end, panels_of(c->features));
        pack_forward(c, filter.weights, some, (float *)(void *)scratch);
        forward_panels(c, inputs, &all, some, scratch);
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

/* A line of output gradients that reaches a line of an input, and the taps of depth and height
   through which it does. */
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
    out->kernels->multiply_taps(&(kernel_taps){points, taps, tap, (ptrdiff_t)backward_panel_floats(c)}, &out->results);
}

static void backward_line(const convolution *c, direct_memory memory, const void *gradient, size_t line,
                          line_output out) {
    reaching_line lines[CONVOLUTION_MAX_TAPS];
    const int count = lines_reaching(c, &memory, gradient, place_of(&c->in, line), lines);
    kernel_results *const to = &out.results;
    const size_t point_bytes = (size_t)to->row_stride * out.number_bytes;
    char *const image = to->image;
    to->row_stride *= c->stride[2];
    for (int first = 0; first < c->stride[2] && first < c->in.size[2]; first++) {
        to->image = image + (size_t)first * point_bytes;
        backward_points(c, &memory, lines, count, first, &out);
    }
}

static void backward_panels(const convolution *c, const void *gradient, const line_output *all, panel_range panels,
                            char *scratch) {
    const line_items items = items_of(c, &c->in, panels);
    work items_left;
    work_divide_turned(&items_left, items.count, c->threads);
#pragma omp parallel num_threads(items_left.threads)
    for (size_t item; work_take(&items_left, &item);) {
        const panel_range some = item_panels(&items, item);
        const size_t line = item_line(&items, item), before = (size_t)(some.first - panels.first);
        backward_line(c, memory_of(c, scratch, before * backward_panel_floats(c)), gradient, line,
                      output_at(*all, line, some));
    }
}

void direct_backward_data(const convolution *c, convolution_filter filter, const void *gradient,
                          const int accumulate[2], void *const input_gradients[2], char *scratch) {
    const size_t number = precision_bytes(c->precision);
    for (int i = 0, channel = 0; i < c->inputs; channel += c->input_channels[i++]) {
        if (!input_gradients[i]) continue;
        const int channels = c->input_channels[i];
        const kernel_addends addends = {filter.bias ? filter.bias + channel : 0, 0, accumulate[i]};
        const line_output all = {kernels_for(c->precision),
                                 {addends, channels, channels, input_gradients[i]},
                                 (size_t)c->in.size[2] * (size_t)channels * number,
                                 number};
        for (panel_range some = {0, 0}; some.end < panels_of(channels);) {
            some = next_panels(c, some.end, panels_of(channels));
            pack_backward(c, filter.weights, (channel_range){channel, channels}, some, (float *)(void *)scratch);
            backward_panels(c, gradient, &all, some, scratch);
        }
    }
}

const convolution_path direct_path = {"direct", direct_scratch, direct_forward, direct_backward_data,
                                      direct_backward_weights};
