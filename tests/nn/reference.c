#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int output_size(const window *w, int axis) {
    return (w->in.size[axis] + 2 * w->padding[axis] - w->kernel[axis]) / w->stride[axis] + 1;
}

shape window_output(const window *w) {
    return (shape){w->in.samples, {output_size(w, 0), output_size(w, 1), output_size(w, 2)}, w->features};
}

static size_t row_of(const shape *s, int sample, const int at[3]) {
    size_t row = (size_t)sample;
    for (int axis = 0; axis < 3; axis++) row = row * (size_t)s->size[axis] + (size_t)at[axis];
    return row;
}

/* Counts `at` through all places of `size`; returns 0 behind the last one. */
static int next_place(const int size[3], int at[3]) {
    for (int axis = 2; axis >= 0; axis--) {
        if (++at[axis] < size[axis]) return 1;
        at[axis] = 0;
    }
    return 0;
}

static size_t tap_index(const int kernel[3], const int tap[3]) {
    return (size_t)((tap[0] * kernel[1] + tap[1]) * kernel[2] + tap[2]);
}

static int inside(const shape *s, const int at[3]) {
    for (int axis = 0; axis < 3; axis++)
        if (at[axis] < 0 || at[axis] >= s->size[axis]) return 0;
    return 1;
}

/* Which input reaches which output through which tap. */
typedef struct link {
    size_t in, out, tap;
} link;

typedef struct links {
    link *link;
    size_t count;
} links;

static links find_links(const window *w) {
    const shape out = window_output(w);
    links all = {0};
    all.link = malloc(shape_rows(&out) * (size_t)(w->kernel[0] * w->kernel[1] * w->kernel[2]) * sizeof *all.link);
    for (int sample = 0; sample < out.samples; sample++) {
        int place[3] = {0, 0, 0};
        do {
            int tap[3] = {0, 0, 0};
            do {
                int from[3];
                for (int axis = 0; axis < 3; axis++)
                    from[axis] = place[axis] * w->stride[axis] + tap[axis] - w->padding[axis];
                if (inside(&w->in, from))
                    all.link[all.count++] =
                        (link){row_of(&w->in, sample, from), row_of(&out, sample, place), tap_index(w->kernel, tap)};
            } while (next_place(w->kernel, tap));
        } while (next_place(out.size, place));
    }
    return all;
}

void reference_convolution(const window *w, const double *weights, const double *bias, const double *input,
                           double *output) {
    const size_t channels = (size_t)w->in.channels, features = (size_t)w->features;
    const shape out = window_output(w);
    for (size_t i = 0; i < shape_count(&out); i++) output[i] = bias ? bias[i % features] : 0;
    links all = find_links(w);
    for (const link *l = all.link; l < all.link + all.count; l++)
        for (size_t c = 0; c < channels; c++) {
            const double factor = input[l->in * channels + c];
            const double *restrict row = weights + (l->tap * channels + c) * features;
            double *restrict to = output + l->out * features;
            for (size_t f = 0; f < features; f++) to[f] += factor * row[f];
        }
    free(all.link);
}

void reference_convolution_data(const window *w, const double *weights, const double *output_gradient,
                                double *input_gradient) {
    const size_t channels = (size_t)w->in.channels, features = (size_t)w->features;
    memset(input_gradient, 0, shape_count(&w->in) * sizeof *input_gradient);
    links all = find_links(w);
    for (const link *l = all.link; l < all.link + all.count; l++)
        for (size_t c = 0; c < channels; c++)
            for (size_t f = 0; f < features; f++)
                input_gradient[l->in * channels + c] +=
                    output_gradient[l->out * features + f] * weights[(l->tap * channels + c) * features + f];
    free(all.link);
}

void reference_convolution_weights(const window *w, const double *input, const double *output_gradient,
                                   double *weight_gradient) {
    const size_t channels = (size_t)w->in.channels, features = (size_t)w->features;
    const size_t taps = (size_t)(w->kernel[0] * w->kernel[1] * w->kernel[2]);
    memset(weight_gradient, 0, taps * channels * features * sizeof *weight_gradient);
    links all = find_links(w);
    for (const link *l = all.link; l < all.link + all.count; l++)
        for (size_t c = 0; c < channels; c++)
            for (size_t f = 0; f < features; f++)
                weight_gradient[(l->tap * channels + c) * features + f] +=
                    input[l->in * channels + c] * output_gradient[l->out * features + f];
    free(all.link);
}

static void add_transposed(const double *weights, const double *from, size_t inputs, double *to, size_t outputs) {
    for (size_t o = 0; o < outputs; o++)
        for (size_t i = 0; i < inputs; i++) to[o] += from[i] * weights[o * inputs + i];
}

void reference_transposed(shape in, shape out, const int kernel[3], const int stride[3], const int padding[3],
                          const double *weights, const double *bias, const double *input, double *output) {
    const size_t inputs = (size_t)in.channels, outputs = (size_t)out.channels;
    for (size_t i = 0; i < shape_count(&out); i++) output[i] = bias ? bias[i % outputs] : 0;
    for (int sample = 0; sample < in.samples; sample++) {
        int place[3] = {0, 0, 0};
        do {
            int tap[3] = {0, 0, 0};
            do {
                int to[3];
                for (int axis = 0; axis < 3; axis++) to[axis] = place[axis] * stride[axis] + tap[axis] - padding[axis];
                if (inside(&out, to))
                    add_transposed(weights + tap_index(kernel, tap) * outputs * inputs,
                                   input + row_of(&in, sample, place) * inputs, inputs,
                                   output + row_of(&out, sample, to) * outputs, outputs);
            } while (next_place(kernel, tap));
        } while (next_place(in.size, place));
    }
}

typedef struct statistics {
    double mean, variance;
} statistics;

static statistics statistics_of(size_t rows, size_t channels, const double *x) {
    statistics s = {0, 0};
    for (size_t r = 0; r < rows; r++) s.mean += x[r * channels] / (double)rows;
    for (size_t r = 0; r < rows; r++)
        s.variance += (x[r * channels] - s.mean) * (x[r * channels] - s.mean) / (double)rows;
    return s;
}

void reference_norm(int groups, size_t rows, int channel_count, const double *x, const double *scale,
                    const double *shift, double epsilon, double slope, double *y, double *mean, double *variance) {
    const size_t channels = (size_t)channel_count;
    for (size_t g = 0; g < (size_t)groups; g++)
        for (size_t c = 0; c < channels; c++) {
            const size_t first = g * rows * channels + c;
            const statistics s = statistics_of(rows, channels, x + first);
            if (mean) mean[g * channels + c] = s.mean;
            if (variance) variance[g * channels + c] = s.variance;
            for (size_t i = first; i < (g + 1) * rows * channels; i += channels) {
                const double z =
                    (x[i] - s.mean) / sqrt(s.variance + epsilon) * (scale ? scale[c] : 1) + (shift ? shift[c] : 0);
                y[i] = z > 0 ? z : slope * z;
            }
        }
}

void reference_norm_backward(int groups, size_t rows, int channel_count, const double *x, const double *scale,
                             const double *shift, double epsilon, double slope, const double *dy, double *dx,
                             double *scale_gradient, double *shift_gradient) {
    const size_t channels = (size_t)channel_count;
    for (size_t c = 0; c < channels; c++) {
        const double factor = scale ? scale[c] : 1, offset = shift ? shift[c] : 0;
        double total_scale = 0, total_shift = 0;
        for (size_t g = 0; g < (size_t)groups; g++) {
            const size_t first = g * rows * channels + c, end = (g + 1) * rows * channels;
            const statistics s = statistics_of(rows, channels, x + first);
            const double deviation = sqrt(s.variance + epsilon);
            double sum = 0, sum_normal = 0;
            for (size_t i = first; i < end; i += channels) {
                const double normal = (x[i] - s.mean) / deviation;
                dx[i] = normal * factor + offset > 0 ? dy[i] : slope * dy[i];
                sum += dx[i];
                sum_normal += dx[i] * normal;
            }
            for (size_t i = first; i < end; i += channels)
                dx[i] = factor / deviation *
                        (dx[i] - sum / (double)rows - (x[i] - s.mean) / deviation * sum_normal / (double)rows);
            total_shift += sum;
            total_scale += sum_normal;
        }
        if (scale_gradient) scale_gradient[c] = total_scale;
        if (shift_gradient) shift_gradient[c] = total_shift;
    }
}

void reference_max_pool(const window *w, const double *input, double *output, size_t *chosen) {
    const size_t channels = (size_t)w->in.channels;
    const shape out = window_output(w);
    for (size_t i = 0; i < shape_count(&out); i++) output[i] = -INFINITY;
    links all = find_links(w);
    for (const link *l = all.link; l < all.link + all.count; l++)
        for (size_t c = 0; c < channels; c++) {
            const size_t from = l->in * channels + c, to = l->out * channels + c;
            if (!(input[from] > output[to])) continue;
            output[to] = input[from];
            if (chosen) chosen[to] = from;
        }
    free(all.link);
}

void reference_average_pool(const window *w, const double *input, double *output) {
    const size_t channels = (size_t)w->in.channels;
    const double share = 1.0 / (w->kernel[0] * w->kernel[1] * w->kernel[2]);
    const shape out = window_output(w);
    memset(output, 0, shape_count(&out) * sizeof *output);
    links all = find_links(w);
    for (const link *l = all.link; l < all.link + all.count; l++)
        for (size_t c = 0; c < channels; c++) output[l->out * channels + c] += share * input[l->in * channels + c];
    free(all.link);
}

void reference_global_mean(shape in, const double *input, double *output) {
    const size_t channels = (size_t)in.channels, positions = shape_positions(&in);
    for (size_t i = 0; i < (size_t)in.samples * channels; i++) {
        double sum = 0;
        for (size_t p = 0; p < positions; p++) sum += input[(i / channels * positions + p) * channels + i % channels];
        output[i] = sum / (double)positions;
    }
}
