/*
 * The hot loops, compiled once per instruction set and once per kind of stored number (f32 and bf16; arithmetic is
 * always f32). kernels_for gives the table that serves here (see kernel_set.h).
 *
 * Kernels are called by the million, and what they need stands in structs that a caller fills once for many calls. They
 * read those into locals before their loops, so that the numbers they write cannot be taken for fields of a struct.
 *
 * Activations are channels-last. Matrices of weights come in panels of PANEL output channels: [panel][row][PANEL].
 */
#ifndef HWS_NN_KERNELS_H
#define HWS_NN_KERNELS_H

#include <stddef.h>
#include <stdint.h>

typedef enum precision { PRECISION_F32, PRECISION_BF16 } precision;

static inline size_t precision_bytes(precision precision) { return precision == PRECISION_F32 ? 4 : 2; }

enum { KERNEL_PANEL = 16, KERNEL_MOST_DOTS = 4, WINOGRAD_TILE = 4, WINOGRAD_EDGE = 6, WINOGRAD_POINTS = 36 };

/* What one tap of a filter adds: row r is the `depth` numbers at a + r * row_stride, which meet as many
   rows of a panel of weights. */
typedef struct kernel_tap {
    const float *a, *b;
    ptrdiff_t row_stride;
    int depth;
} kernel_tap;

/* Rows to be multiplied by taps, any number of both. Of neighbouring panels of weights, `b` is in the first one. */
typedef struct kernel_taps {
    int rows, taps;
    const kernel_tap *tap;
    ptrdiff_t panel_stride; /* floats from one panel to the next */
} kernel_taps;

/* Positions in planes, lines and points, and how many numbers apart they are in the two operands. */
typedef struct kernel_field {
    int planes, lines, points;
    ptrdiff_t a_plane, a_line, a_point, b_plane, b_line, b_point;
} kernel_field;

/* Rows of the sums of a weight gradient, over some panels of channels side by side. */
typedef struct kernel_sums {
    float *sums;
    ptrdiff_t row_stride;
    int rows, panels;
} kernel_sums;

/* What numbers become as they are read: the leaky ReLU of x * scale + shift, both per channel. A
   scale of NULL: they stay. */
typedef struct kernel_scaling {
    const float *scale, *shift;
    float slope;
} kernel_scaling;

/* Tiles side by side in an image of height x width x channels, by the first one's upper left corner; what
   lies outside counts as zero and is not written. Their points are `point_stride` floats apart, those of
   neighbours `tile_stride`. */
typedef struct winograd_tiles {
    int height, width, channels, top, left, count;
    ptrdiff_t tile_stride, point_stride;
    kernel_scaling scaling; /* of f32 inputs alone; what lies outside is zero behind it */
} winograd_tiles;

/* What is added to a result before it is stored: a number per channel and an image, both may be NULL, and what is there
   already. */
typedef struct kernel_addends {
    const float *bias;
    const void *addend;
    int accumulate;
} kernel_addends;

/* Where rows of results go, `row_stride` numbers apart: any number of channels, of as many panels as that takes. */
typedef struct kernel_results {
    kernel_addends addends;
    int channels;
    ptrdiff_t row_stride;
    void *image;
} kernel_results;

/* Runs of numbers that lie `distance` apart. */
typedef struct kernel_runs {
    int count, length;
    ptrdiff_t distance;
} kernel_runs;

/* Rows of channels to be copied as f32, `from_stride` numbers apart: so many channels of a row together, a multiple of
   PANEL; the next ones are `group_stride` further, the next row `row_stride`. Zeros fill the last panel. */
typedef struct kernel_copy {
    int channels, together;
    ptrdiff_t from_stride, group_stride, row_stride;
} kernel_copy;

/* A line of an image, of which every `stride`-th point from the first on gets a row of values. */
typedef struct kernel_spread {
    int points, stride, channels;
    const float *bias; /* of all points, may be NULL */
    int accumulate;
} kernel_spread;

/* Rows of channels that are normalised, z = x * scale + shift + addend, and activated by the leaky ReLU: z above zero,
   slope * z elsewhere; a slope of 1 leaves z, 0 is ReLU. Backward needs the mean as well. */
typedef struct kernel_norm {
    size_t rows;
    int channels;
    const float *scale, *shift, *mean;
    float slope;
    const void *addend; /* rows like x, or NULL: none */
    const void *output; /* for backward if there is an addend: the rows y, which have z's sign */
} kernel_norm;

/* The gradient of a normalisation, per channel; see scale_backward. */
typedef struct kernel_norm_gradient {
    const float *by_gradient, *by_value, *constant;
} kernel_norm_gradient;

typedef struct kernels {
    /* Row r of the results is, for each panel p, the sum over taps t and k < tap[t].depth of
       a(t, r)[k] * tap[t].b[p * panel_stride + k * PANEL ...], in the order of t and k. */
    void (*multiply_taps)(const kernel_taps *taps, const kernel_results *results);

    /* Row r of the sums += the sum over the positions of `field` of a[r] * b[0..panels * PANEL). */
    void (*outer)(const kernel_field *field, const void *a, const void *b, const kernel_sums *sums);

    /* The same for results of few channels, at most KERNEL_MOST_DOTS: of tap t for channel c there is
       a(t, r)[k] * tap[t].b[c * panel_stride + k], and depths are multiples of PANEL. */
    void (*dot_taps)(const kernel_taps *taps, const kernel_results *results);

    /* The same as outer: row k * length + i of the sums meets number i of run k. */
    void (*outer_runs)(const kernel_runs *runs, const kernel_field *field, const void *a, const void *b,
                       const kernel_sums *sums);

    void (*gather_rows)(const kernel_copy *copy, size_t rows, const void *from, float *to);
    /* image = or += values (NULL: none) and zeros between them + bias */
    void (*spread_rows)(const kernel_spread *spread, const float *values, void *image);

    /* Winograd F(4x4, 3x3): inputs and output gradients to points, and points to outputs. `channels` is a multiple of
       PANEL. */
    void (*winograd_input)(const winograd_tiles *tiles, const void *image, float *points);
    void (*winograd_gradient)(const winograd_tiles *tiles, const void *image, float *points);
    void (*winograd_output)(const winograd_tiles *tiles, const float *points, const kernel_addends *addends,
                            void *image);
    /* 3x3 weights to points, and gradients of points added to those of weights: PANEL channels, taps `tap_stride`
       floats apart. Only in the table for f32. */
    void (*winograd_weights)(const float *taps, ptrdiff_t tap_stride, float *points, ptrdiff_t point_stride);
    void (*winograd_weights_gradient)(const float *points, ptrdiff_t point_stride, float *taps, ptrdiff_t tap_stride);

    /* to[k * PANEL + r] = from[r * from_stride + k] of PANEL x PANEL weights. Only in the table for f32. */
    void (*transpose_panel)(const float *from, ptrdiff_t from_stride, float *to);

    /* One row of any number of channels: image = or += values + bias + addend. */
    void (*store_row)(const float *values, int channels, const float *bias, const void *addend, int accumulate,
                      void *image);

    /* The sums of the first `channels` numbers of rows that are `stride` numbers apart. */
    void (*sum_rows)(const void *x, size_t rows, ptrdiff_t stride, int channels, float *sums);

    /* One tap of a maximum over windows: where a row of x is larger than `best`, or NaN, it takes its place, and
       `where` (may be NULL) gets the tap. Its gradient: sums += dy where `where` is the tap. */
    void (*take_larger)(const void *x, int channels, uint8_t tap, float *best, uint8_t *where);
    void (*add_where)(const void *dy, const uint8_t *where, int channels, uint8_t tap, float *sums);

    /* Per channel of `rows` rows: the mean, and the sum of squared deviations from it, in f32. */
    void (*moments)(const void *x, size_t rows, int channels, float *mean, float *deviation);
    /* y = leaky ReLU(x * scale + shift + addend) */
    void (*scale_rows)(const kernel_norm *norm, const void *x, void *y);
    /* With g = dy * the leaky ReLU's derivative at z: sums of g and of g * (x - mean). */
    void (*scale_sums)(const kernel_norm *norm, const void *x, const void *dy, float *sum, float *sum_deviation);
    /* dx = or += g * by_gradient + (x - mean) * by_value + constant */
    void (*scale_backward)(const kernel_norm *norm, const kernel_norm_gradient *gradient, const void *x, const void *dy,
                           int accumulate, void *dx);

    /* Independent multiply-adds, `rounds` times; returns how many floating-point operations they were. */
    double (*multiply_adds)(long rounds);

    /* Any count of numbers. y = leaky ReLU(x); dx = or += dy * its derivative at x. */
    void (*leaky_relu)(const void *x, size_t count, float slope, void *y);
    void (*leaky_relu_backward)(const void *x, const void *dy, size_t count, float slope, int accumulate, void *dx);
    void (*to_f32)(const void *from, size_t count, float *to);
    void (*from_f32)(const float *from, size_t count, void *to);
    /* to = or += from */
    void (*add)(const void *from, size_t count, int accumulate, void *to);
} kernels;

const kernels *kernels_for(precision precision);

/* The name of the set that kernels_for takes them from (kernel_set.h). */
const char *kernels_name(void);

#endif
