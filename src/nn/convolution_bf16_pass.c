#include "nn/convolution_bf16.h"

#include <string.h>

static pass_axis axis_forward(const convolution *c, int axis) {
    const int stride = c->stride[axis], kernel = c->kernel[axis];
    pass_axis a = {.count = c->out.size[axis],
                   .step = 1,
                   .size = c->in.size[axis],
                   .pace = stride,
                   .origin = -c->padding[axis],
                   .phases = smaller(stride, kernel),
                   .reach = (kernel - 1) / stride};
    for (int phase = 0; phase < a.phases; phase++)
        for (int tap = phase; tap < kernel; tap += stride, a.taps++) {
            a.tap[a.taps] = (int16_t)tap;
            a.shift[a.taps] = (int16_t)(tap / stride);
            a.phase[a.taps] = (int16_t)phase;
        }
    return a;
}

/* The inputs at `first`, first + stride, ..., which tap k reaches from the output at (input + padding - k) / stride. */
static pass_axis axis_backward(const convolution *c, int axis, int first) {
    const int stride = c->stride[axis], last = c->kernel[axis] - 1;
    pass_axis a = {.count = (c->in.size[axis] - first + stride - 1) / stride,
                   .first = first,
                   .step = stride,
                   .size = c->out.size[axis],
                   .pace = 1,
                   .phases = 1};
    for (int tap = last; tap >= 0; tap--) {
        if ((first + c->padding[axis] - tap) % stride) continue;
        const int output = (first + c->padding[axis] - tap) / stride;
        if (!a.taps) a.origin = output;
        a.tap[a.taps] = (int16_t)tap;
        a.shift[a.taps++] = (int16_t)(output - a.origin);
        a.reach = output - a.origin;
    }
    return a;
}

pass pass_forward(const convolution *c) {
    pass p = {.samples = c->in.samples,
              .sources = c->inputs,
              .source_channels = {c->input_channels[0], c->input_channels[1]},
              .channels = c->features};
    for (int axis = 0; axis < 3; axis++) p.axis[axis] = axis_forward(c, axis);
    return p;
}

static int kinds_of(const convolution *c, int axis) { return smaller(c->stride[axis], c->in.size[axis]); }

int passes_backward(const convolution *c) { return kinds_of(c, 0) * kinds_of(c, 1) * kinds_of(c, 2); }

pass pass_backward(const convolution *c, int input, int index) {
    const int y = kinds_of(c, 1), x = kinds_of(c, 2);
    pass p = {.samples = c->in.samples,
              .sources = 1,
              .source_channels = {c->features, 0},
              .backward = 1,
              .channels = c->input_channels[input],
              .first_channel = input ? c->input_channels[0] : 0};
    p.axis[0] = axis_backward(c, 0, index / x / y);
    p.axis[1] = axis_backward(c, 1, index / x % y);
    p.axis[2] = axis_backward(c, 2, index % x);
    return p;
}

/* Weights are packed in pairs: backward, where the pairs are taken within a tap, an odd one must be the last. */
int tap_groups(const pass *p, tap_group groups[CONVOLUTION_MAX_TAPS]) {
    const pass_axis *x = &p->axis[2];
    const int together = !p->backward || p->source_channels[0] % 2 == 0;
    int count = 0;
    for (int k = 0; k < x->taps; k++) {
        const int beside = k > 0 && x->phase[k] == x->phase[k - 1] && x->shift[k] == x->shift[k - 1] + 1;
        if (together && beside) groups[count - 1].count++;
        else groups[count++] = (tap_group){k, 1};
    }
    return count;
}

pass_copy pass_copy_of(const pass *p, int planes, int lines) {
    const pass_axis *z = &p->axis[0], *y = &p->axis[1], *x = &p->axis[2];
    pass_copy copy = {.pitch = x->count + x->reach, .lines = lines + y->reach};
    copy.plane = (ptrdiff_t)y->phases * x->phases * copy.lines * copy.pitch;
    copy.points = (ptrdiff_t)z->phases * (planes + z->reach) * copy.plane;
    return copy;
}

ptrdiff_t pass_copy_tap(const pass *p, const pass_block *b, int z, int y, int x) {
    const pass_copy copy = pass_copy_of(p, b->planes, b->lines);
    const pass_axis *az = &p->axis[0], *ay = &p->axis[1], *ax = &p->axis[2];
    const ptrdiff_t plane = az->phase[z] * (b->planes + az->reach) + az->shift[z];
    const ptrdiff_t line = (ay->phase[y] * ax->phases + ax->phase[x]) * copy.lines + ay->shift[y];
    return plane * copy.plane + line * copy.pitch + ax->shift[x];
}

size_t pass_copy_numbers(const pass_copy *copy, int channels) {
    return (size_t)(copy->points + COPY_SLACK_POINTS) * (size_t)channels + BF16_STEP;
}

static size_t copy_bytes(const pass *p, int planes, int lines, int channels) {
    const pass_copy copy = pass_copy_of(p, planes, lines);
    return pass_copy_numbers(&copy, channels) * sizeof(uint16_t);
}

/* Of the blocks that are small enough, those that copy least. */
pass_blocks pass_blocks_within(const pass *p, int channels, size_t bytes) {
    const int planes = p->axis[0].count, lines = p->axis[1].count;
    pass_blocks best = {0, 0, 0, 0};
    size_t least = 0;
    for (int parts = 1, high = 1; parts <= lines; parts++) {
        const int some = (lines + parts - 1) / parts;
        while (high < planes && copy_bytes(p, high + 1, some, channels) <= bytes) high++;
        if (copy_bytes(p, high, some, channels) > bytes && parts < lines) continue;
        const pass_blocks b = {high, some, (planes + high - 1) / high, (lines + some - 1) / some};
        const size_t copied = (size_t)b.plane_blocks * (size_t)b.line_blocks * copy_bytes(p, high, some, channels);
        if (best.lines && copied >= least) continue;
        best = b;
        least = copied;
    }
    best.planes = (planes + best.plane_blocks - 1) / best.plane_blocks;
    return best;
}

pass_block pass_block_at(const pass *p, const pass_blocks *b, size_t index) {
    const size_t lines = (size_t)b->line_blocks, planes = (size_t)b->plane_blocks;
    const int line = (int)(index % lines) * b->lines, plane = (int)(index / lines % planes) * b->planes;
    return (pass_block){(int)(index / lines / planes), plane, smaller(b->planes, p->axis[0].count - plane), line,
                        smaller(b->lines, p->axis[1].count - line)};
}

void copy_points(const uint16_t *from, size_t pace, size_t points, size_t channels, uint16_t *to) {
    enum { TOGETHER = KERNEL_PANEL };
    const size_t whole = channels / TOGETHER * TOGETHER, rest = channels - whole;
    for (; points > 0; points--, from += pace, to += channels) {
        for (size_t c = 0; c < whole; c += TOGETHER) memcpy(to + c, from + c, TOGETHER * sizeof *to);
        for (size_t c = 0; c < rest; c++) to[whole + c] = from[whole + c];
    }
}

/* The places of a copy's axis whose source lies inside: [first, end). */
typedef struct inside {
    int first, end;
} inside;

static inside places_inside(const pass_axis *a, int phase, int places) {
    const int begin = -(phase + a->origin), last = a->size - 1 - (phase + a->origin);
    const int first = begin <= 0 ? 0 : (begin + a->pace - 1) / a->pace, end = last < 0 ? 0 : last / a->pace + 1;
    return (inside){smaller(first, places), larger(smaller(first, places), smaller(end, places))};
}

static int source_place(const pass_axis *a, int place, int phase) {
    const int source = place * a->pace + phase + a->origin;
    return source >= 0 && source < a->size ? source : -1;
}

static void fill_line(const pass_axis *x, int phase, int pitch, const uint16_t *line, size_t channels, uint16_t *to) {
    const inside in = places_inside(x, phase, pitch);
    const size_t point = channels * sizeof *to, pace = (size_t)x->pace;
    memset(to, 0, (size_t)in.first * point);
    if (in.end > in.first) {
        const uint16_t *from = line + (size_t)source_place(x, in.first, phase) * channels;
        uint16_t *into = to + (size_t)in.first * channels;
        const size_t points = (size_t)(in.end - in.first);
        if (pace == 1) memcpy(into, from, points * point);
        else copy_points(from, pace * channels, points, channels, into);
    }
    memset(to + (size_t)in.end * channels, 0, (size_t)(pitch - in.end) * point);
}

static void fill_plane(const pass *p, const pass_block *b, const pass_copy *copy, const uint16_t *plane,
                       size_t channels, uint16_t *to) {
    const pass_axis *y = &p->axis[1], *x = &p->axis[2];
    const size_t line = (size_t)x->size * channels, copied = (size_t)copy->pitch * channels;
    for (int phase = 0; phase < y->phases * x->phases; phase++)
        for (int k = 0; k < copy->lines; k++, to += copied) {
            const int source = source_place(y, b->line + k, phase / x->phases);
            if (source < 0) memset(to, 0, copied * sizeof *to);
            else fill_line(x, phase % x->phases, copy->pitch, plane + (size_t)source * line, channels, to);
        }
}

void pass_copy_fill(const pass *p, const pass_block *b, const uint16_t *image, int channels, uint16_t *copy) {
    const pass_axis *z = &p->axis[0];
    const pass_copy c = pass_copy_of(p, b->planes, b->lines);
    const size_t point = (size_t)channels, copied = (size_t)c.plane * point;
    const size_t plane = (size_t)p->axis[1].size * (size_t)p->axis[2].size * point;
    image += (size_t)b->sample * (size_t)z->size * plane;
    for (int phase = 0; phase < z->phases; phase++)
        for (int k = 0; k < b->planes + z->reach; k++, copy += copied) {
            const int source = source_place(z, b->plane + k, phase);
            if (source < 0) memset(copy, 0, copied * sizeof *copy);
            else fill_plane(p, b, &c, image + (size_t)source * plane, point, copy);
        }
    memset(copy, 0, (COPY_SLACK_POINTS * point + BF16_STEP) * sizeof *copy);
}
