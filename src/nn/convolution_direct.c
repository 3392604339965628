/*
 * The direct algorithm: for up to KERNEL_ROWS neighbouring outputs of a line, one kernel call sums over all taps and
 * input channels. Inputs outside the image are rows of zeros.
 */
#include "nn/convolution_inside.h"

#include <string.h>

enum {
    /* Above this size of packed weights, one panel of them serves all lines before the next one is touched. */
    PANEL_MAJOR_BYTES = 256 << 10,
    /* Positions of a weight gradient that are worked on together: their operands stay in the first-level cache, or in
       the second when the gradient itself is too large for that. */
    CHUNK_BYTES = 24 << 10,
    LARGE_CHUNK_BYTES = 512 << 10,
    /* Gradients above this size are large ones. */
    LARGE_GRADIENT_BYTES = 256 << 10
};

typedef struct direct_memory {
    const float *packed;
    const void *zeros;
} direct_memory;

/* The weights seen from the output: [panel][tap][input channel][PANEL], zeros behind the last channel. */
static void pack_forward(const convolution *c, const float *weights, float *packed) {
    const int rows = convolution_taps(c) * c->in.channels, features = c->features;
#pragma omp parallel for num_threads(c->threads) schedule(static)
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
#pragma omp parallel for collapse(2) num_threads(c->threads) schedule(static)
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

static size_t zeros_bytes(const convolution *c) {
    return aligned_bytes((size_t)larger(c->in.channels, c->features) * sizeof(float));
}

/* Of a weight gradient that several chunks add to, and a row group of it for each thread. */
static size_t gradient_bytes(const convolution *c) { return aligned_bytes(c->weight_count * sizeof(float)); }
static size_t group_bytes(const convolution *c) {
    return aligned_bytes((size_t)KERNEL_ROWS * (size_t)c->features * sizeof(float));
}

size_t direct_scratch(const convolution *c) {
    const size_t data = zeros_bytes(c) + aligned_bytes(packed_floats(c) * sizeof(float));
    const size_t weights = gradient_bytes(c) + (size_t)c->threads * group_bytes(c);
    return data > weights ? data : weights;
}

/* Where the numbers of one line go, which panels of channels of them, and what is added to them. */
typedef struct line_output {
    const kernels *kernels;
    const float *bias;
    const char *addend;
    char *image;
    size_t point_bytes, number_bytes;
    int channels, accumulate;
    int first_panel, end_panel;
} line_output;

/* A group of neighbouring points of a line from `point` on, for all its panels, whose weights are `panel_floats` apart. */
static void multiply_group(const line_output *out, const kernel_rows *group, size_t panel_floats, int point) {
    float sums[KERNEL_ROWS * KERNEL_PANEL];
    for (int panel = out->first_panel; panel < out->end_panel; panel++) {
        out->kernels->multiply_rows(group, (ptrdiff_t)((size_t)panel * panel_floats), sums, KERNEL_PANEL);
        const int channel = panel * KERNEL_PANEL, width = smaller(KERNEL_PANEL, out->channels - channel);
        for (int r = 0; r < group->rows; r++) {
            const size_t at = (size_t)(point + r) * out->point_bytes + (size_t)channel * out->number_bytes;
            out->kernels->store_row(sums + r * KERNEL_PANEL, width, out->bias ? out->bias + channel : 0,
                                    out->addend ? out->addend + at : 0, out->accumulate, out->image + at);
        }
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

/* The lines of one input that the taps of one output line read: one entry per pair of depth and height taps. */
typedef struct tap_line {
    const char *line;
    int first_tap;
} tap_line;

static int lines_read(const convolution *c, const char *image, int channels, line_place at, tap_line *lines) {
    const size_t bytes = precision_bytes(c->precision) * (size_t)channels;
    int count = 0;
    for (int i = 0; i < c->kernel[0]; i++) {
        const int z = at.depth * c->stride[0] + i - c->padding[0];
        if (z < 0 || z >= c->in.size[0]) continue;
        for (int j = 0; j < c->kernel[1]; j++) {
            const int y = at.height * c->stride[1] + j - c->padding[1];
            if (y < 0 || y >= c->in.size[1]) continue;
            const size_t line =
                ((size_t)at.sample * (size_t)c->in.size[0] + (size_t)z) * (size_t)c->in.size[1] + (size_t)y;
            lines[count].line = image + line * (size_t)c->in.size[2] * bytes;
            lines[count++].first_tap = (i * c->kernel[1] + j) * c->kernel[2];
        }
    }
    return count;
}

enum { MAX_LIST = 2 * CONVOLUTION_MAX_TAPS };

/* Of an image of few channels, the taps of a line are one row of numbers and one tap, for groups of outputs that lie
   far enough from its ends. Sums are the same, in the same order. */
static int taps_join(const convolution *c, int start, int rows) {
    const int first = start * c->stride[2] - c->padding[2];
    const int last = (start + rows - 1) * c->stride[2] - c->padding[2] + c->kernel[2];
    return c->inputs == 1 && c->in.channels < KERNEL_PANEL && c->kernel[2] > 1 && first >= 0 && last <= c->in.size[2];
}

static void join_taps(const convolution *c, kernel_rows *group, kernel_tap *joined, const void **a) {
    const int width = c->kernel[2], rows = group->rows, lines = group->taps / width;
    for (int k = 0; k < lines; k++) {
        joined[k] = (kernel_tap){group->tap[k * width].b, width * c->in.channels};
        for (int r = 0; r < rows; r++) a[k * rows + r] = a[k * width * rows + r];
    }
    group->taps = lines;
    group->tap = joined;
}

static void forward_line(const convolution *c, const direct_memory *memory, const void *const inputs[2], size_t line,
                         const line_output *out) {
    const line_place at = place_of(&c->out, line);
    const size_t number = precision_bytes(c->precision);
    kernel_tap tap[MAX_LIST];
    const char *origin[MAX_LIST];
    int channels[MAX_LIST], offset[MAX_LIST], taps = 0, first_channel = 0;
    for (int i = 0; i < c->inputs; i++) {
        tap_line lines[CONVOLUTION_MAX_TAPS];
        const int count = lines_read(c, inputs[i], c->input_channels[i], at, lines);
        for (int k = 0; k < count; k++)
            for (int x = 0; x < c->kernel[2]; x++, taps++) {
                const size_t row = (size_t)(lines[k].first_tap + x) * (size_t)c->in.channels + (size_t)first_channel;
                tap[taps] = (kernel_tap){memory->packed + row * KERNEL_PANEL, c->input_channels[i]};
                origin[taps] = lines[k].line;
                channels[taps] = c->input_channels[i];
                offset[taps] = x - c->padding[2];
            }
        first_channel += c->input_channels[i];
    }
    const size_t panel_floats = (size_t)convolution_taps(c) * (size_t)c->in.channels * KERNEL_PANEL;
    const int width = c->out.size[2];
    for (int group = 0; group < row_groups(width); group++) {
        const int start = row_group_start(width, group), rows = row_group_start(width, group + 1) - start;
        const void *a[MAX_LIST * KERNEL_ROWS];
        for (int t = 0; t < taps; t++)
            for (int r = 0; r < rows; r++) {
                const int x = (start + r) * c->stride[2] + offset[t];
                a[t * rows + r] =
                    x >= 0 && x < c->in.size[2] ? origin[t] + (size_t)x * (size_t)channels[t] * number : memory->zeros;
            }
        kernel_rows rows_of = {rows, taps, tap, a};
        kernel_tap joined[CONVOLUTION_MAX_TAPS];
        if (taps_join(c, start, rows)) join_taps(c, &rows_of, joined, a);
        multiply_group(out, &rows_of, panel_floats, start);
    }
}

static direct_memory lay_out(const convolution *c, char *scratch) {
    memset(scratch, 0, zeros_bytes(c));
    return (direct_memory){(const float *)(scratch + zeros_bytes(c)), scratch};
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
    const direct_memory memory = lay_out(c, scratch);
    pack_forward(c, filter.weights, (float *)(scratch + zeros_bytes(c)));
    const size_t number = precision_bytes(c->precision), point = (size_t)c->features * number;
    const size_t line_bytes = (size_t)c->out.size[2] * point;
    const line_items items = items_of(c, &c->out, c->features);
#pragma omp parallel for num_threads(c->threads) schedule(static)
    for (size_t item = 0; item < items.count; item++) {
        const size_t line = item_line(&items, item);
        const line_output out = {.kernels = kernels_for(c->precision),
                                 .bias = filter.bias,
                                 .addend = addend ? (const char *)addend + line * line_bytes : 0,
                                 .image = (char *)output + line * line_bytes,
                                 .point_bytes = point,
                                 .number_bytes = number,
                                 .channels = c->features,
                                 .first_panel = item_first_panel(&items, item),
                                 .end_panel = item_end_panel(&items, item)};
        forward_line(c, &memory, inputs, line, &out);
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

/* The points first, first + stride, ... of one line of an input: the same taps reach them all. */
static void backward_points(const convolution *c, const direct_memory *memory, const char *gradient, line_place at,
                            int first, const line_output *out) {
    int tap_z[CONVOLUTION_MAX_TAPS], tap_y[CONVOLUTION_MAX_TAPS], z[CONVOLUTION_MAX_TAPS], y[CONVOLUTION_MAX_TAPS];
    const int depths = taps_reaching(c, 0, at.depth, tap_z, z), heights = taps_reaching(c, 1, at.height, tap_y, y);
    const int stride = c->stride[2], points = (c->in.size[2] - first + stride - 1) / stride;
    const size_t bytes = precision_bytes(c->precision) * (size_t)c->features;
    kernel_tap tap[CONVOLUTION_MAX_TAPS];
    const char *origin[CONVOLUTION_MAX_TAPS];
    int offset[CONVOLUTION_MAX_TAPS], taps = 0;
    for (int i = 0; i < depths; i++)
        for (int j = 0; j < heights; j++)
            for (int x = 0; x < c->kernel[2]; x++) {
                if ((first + c->padding[2] - x) % stride) continue;
                const size_t row = (size_t)((tap_z[i] * c->kernel[1] + tap_y[j]) * c->kernel[2] + x);
                const size_t line =
                    ((size_t)at.sample * (size_t)c->out.size[0] + (size_t)z[i]) * (size_t)c->out.size[1] + (size_t)y[j];
                tap[taps] = (kernel_tap){memory->packed + row * (size_t)c->features * KERNEL_PANEL, c->features};
                origin[taps] = gradient + line * (size_t)c->out.size[2] * bytes;
                offset[taps++] = (first + c->padding[2] - x) / stride;
            }
    const size_t panel_floats = (size_t)convolution_taps(c) * (size_t)c->features * KERNEL_PANEL;
    for (int group = 0; group < row_groups(points); group++) {
        const int start = row_group_start(points, group), rows = row_group_start(points, group + 1) - start;
        const void *a[CONVOLUTION_MAX_TAPS * KERNEL_ROWS];
        for (int t = 0; t < taps; t++)
            for (int r = 0; r < rows; r++) {
                const int x = start + r + offset[t];
                a[t * rows + r] = x >= 0 && x < c->out.size[2] ? origin[t] + (size_t)x * bytes : memory->zeros;
            }
        multiply_group(out, &(kernel_rows){rows, taps, tap, a}, panel_floats, start);
    }
}

static void backward_line(const convolution *c, const direct_memory *memory, const void *gradient, size_t line,
                          line_output out) {
    const line_place at = place_of(&c->in, line);
    const size_t point = out.point_bytes;
    char *image = out.image;
    out.point_bytes = point * (size_t)c->stride[2];
    for (int first = 0; first < c->stride[2] && first < c->in.size[2]; first++) {
        out.image = image + (size_t)first * point;
        backward_points(c, memory, gradient, at, first, &out);
    }
}

void direct_backward_data(const convolution *c, convolution_filter filter, const void *gradient,
                          const int accumulate[2], void *const input_gradients[2], char *scratch) {
    const direct_memory memory = lay_out(c, scratch);
    const size_t number = precision_bytes(c->precision);
    for (int i = 0, channel = 0; i < c->inputs; channel += c->input_channels[i++]) {
        if (!input_gradients[i]) continue;
        pack_backward(c, filter.weights, channel, c->input_channels[i], (float *)(scratch + zeros_bytes(c)));
        const size_t point = (size_t)c->input_channels[i] * number, line_bytes = (size_t)c->in.size[2] * point;
        const line_items items = items_of(c, &c->in, c->input_channels[i]);
#pragma omp parallel for num_threads(c->threads) schedule(static)
        for (size_t item = 0; item < items.count; item++) {
            const size_t line = item_line(&items, item);
            const line_output out = {.kernels = kernels_for(c->precision),
                                     .bias = filter.bias ? filter.bias + channel : 0,
                                     .image = (char *)input_gradients[i] + line * line_bytes,
                                     .point_bytes = point,
                                     .number_bytes = number,
                                     .channels = c->input_channels[i],
                                     .accumulate = accumulate[i],
                                     .first_panel = item_first_panel(&items, item),
                                     .end_panel = item_end_panel(&items, item)};
            backward_line(c, &memory, gradient, line, out);
        }
    }
}

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
    ptrdiff_t a = chunk->sample, b = chunk->sample;
    for (int axis = 0; axis < 3; axis++) {
        a = a * c->in.size[axis] + first[axis] * c->stride[axis] + tap[axis] - c->padding[axis];
        b = b * c->out.size[axis] + first[axis];
    }
    const ptrdiff_t number = (ptrdiff_t)precision_bytes(c->precision);
    const kernels *kernels = kernels_for(c->precision);
    input += (a * a_row + rows->channel) * number;
    gradient += b * b_row * number;
    int feature = 0;
    for (; feature + KERNEL_PANEL <= c->features; feature += KERNEL_PANEL)
        kernels->outer(rows->count, &field, input, gradient + feature * number, out + feature, c->features);
    if (feature == c->features) return;
    float rest[KERNEL_ROWS * KERNEL_PANEL] = {0};
    kernels->outer(rows->count, &field, input, gradient + feature * number, rest, KERNEL_PANEL);
    for (int r = 0; r < rows->count; r++)
        for (int i = 0; feature + i < c->features; i++)
            out[r * c->features + feature + i] += rest[r * KERNEL_PANEL + i];
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

static int piece_groups(const convolution *c) {
    int groups = 0;
    for (int i = 0; i < c->inputs; i++) groups += row_groups(c->input_channels[i]);
    return groups;
}

static gradient_piece piece_at(const convolution *c, size_t item) {
    const int groups = piece_groups(c), flat = (int)(item / (size_t)groups);
    int group = (int)(item % (size_t)groups), input = 0, before = 0;
    if (group >= row_groups(c->input_channels[0])) {
        group -= row_groups(c->input_channels[0]);
        before = c->input_channels[0];
        input = 1;
    }
    const int channels = c->input_channels[input], start = row_group_start(channels, group);
    return (gradient_piece){
        {{flat / (c->kernel[1] * c->kernel[2]), flat / c->kernel[2] % c->kernel[1], flat % c->kernel[2]},
         input,
         start,
         row_group_start(channels, group + 1) - start},
        ((size_t)flat * (size_t)c->in.channels + (size_t)(before + start)) * (size_t)c->features};
}

static void add_floats(size_t count, const float *restrict from, float *restrict to) {
    for (size_t i = 0; i < count; i++) to[i] += from[i];
}

/*
 * What one thread adds: its share of the pieces. Each is summed from zero, over all chunks, and then added to what is there;
 * with a single chunk the sum need not leave the thread's own rows.
 */
static void add_pieces(const convolution *c, const void *const inputs[2], const void *gradient, float *sums,
                       float *weight_gradients) {
    const chunking k = chunking_of(c);
    const share own = thread_share();
    const int chunks = chunk_count(c, &k);
    const size_t items = (size_t)convolution_taps(c) * (size_t)piece_groups(c);
    float *own_rows = (float *)(void *)((char *)sums + gradient_bytes(c) + (size_t)own.index * group_bytes(c));
    for (int index = 0; index < chunks; index++) {
        const chunk chunk = chunk_at(c, &k, index);
        for (size_t item = share_start(items, own); item < share_end(items, own); item++) {
            const gradient_piece piece = piece_at(c, item);
            const size_t floats = (size_t)piece.rows.count * (size_t)c->features;
            float *sum = chunks == 1 ? own_rows : sums + piece.offset;
            if (index == 0) memset(sum, 0, floats * sizeof *sum);
            add_outer(c, &chunk, &piece.rows, inputs[piece.rows.input], gradient, sum);
            if (index == chunks - 1) add_floats(floats, sum, weight_gradients + piece.offset);
        }
    }
}

void direct_backward_weights(const convolution *c, const void *const inputs[2], const void *gradient,
                             part_gradients weight_gradients, char *scratch) {
#pragma omp parallel num_threads(c->threads)
    for (int part = 0; part < convolution_parts(c); part++) {
        const convolution_piece piece = convolution_piece_at(c, inputs, gradient, part);
        add_pieces(&piece.convolution, piece.inputs, piece.gradient, (float *)(void *)scratch,
                   weight_gradients.first + (size_t)part * weight_gradients.stride);
    }
}
