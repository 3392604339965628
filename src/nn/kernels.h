/*
 * The hot loops, compiled once per instruction set and once per kind of stored number (f32 and bf16; arithmetic is
 * always f32). kernels() gives the best table for this machine.
 *
 * Activations are channels-last. Matrices of weights come in panels of PANEL output channels: [panel][row][PANEL].
 */
#ifndef HWS_NN_KERNELS_H
#define HWS_NN_KERNELS_H

#include <stddef.h>
#include <stdint.h>

typedef enum precision { PRECISION_F32, PRECISION_BF16 } precision;

static inline size_t precision_bytes(precision precision) { return precision == PRECISION_F32 ? 4 : 2; }

enum { KERNEL_PANEL = 16, KERNEL_ROWS = 6, WINOGRAD_TILE = 4, WINOGRAD_EDGE = 6, WINOGRAD_POINTS = 36 };

/* What one tap of a filter adds: `depth` rows of a panel of weights. */
typedef struct kernel_tap {
    const float *b;
    int depth;
} kernel_tap;

/* Positions in planes, lines and points, and how many numbers apart they are in the two operands. */
typedef struct kernel_field {
    int planes, lines, points;
    ptrdiff_t a_plane, a_line, a_point, b_plane, b_line, b_point;
} kernel_field;

typedef struct kernels {
    /*
     * out[r][0..PANEL) = sum over taps t and k < tap[t].depth of a(t, r)[k] * tap[t].b[b_offset + k * PANEL ...], for
     * `rows` (1 to KERNEL_ROWS) rows, `out_stride` floats apart. The rows of a are given one by one: a[t * rows + r].
     */
    void (*multiply_rows)(int rows, int taps, const kernel_tap *tap, const void *const *a, ptrdiff_t b_offset,
                          float *out, ptrdiff_t out_stride);

    /* The same for any number of rows, `row_stride` numbers apart, with taps `tap_stride` apart. Only in the table for
       f32. */
    void (*multiply_even)(int rows, int taps, int depth, const float *a, ptrdiff_t row_stride, ptrdiff_t tap_stride,
                          const float *b, float *out, ptrdiff_t out_stride);

    /* out[r][0..PANEL) += sum over the positions of `field` of a[r] * b[0..PANEL): a weight gradient. */
    void (*outer)(int rows, const kernel_field *field, const void *a, const void *b, float *out, ptrdiff_t out_stride);

    /*
     * Winograd F(4x4, 3x3). A tile is given by its upper left corner in an image of height x width x channels; what
     * lies outside counts as zero and is not written. Points of a tile are `point_stride` floats apart.
     */
    void (*winograd_input)(const void *image, int height, int width, int channels, int top, int left, float *points,
                           ptrdiff_t point_stride);
    void (*winograd_gradient)(const void *image, int height, int width, int channels, int top, int left, float *points,
                              ptrdiff_t point_stride);
    /* image[...] = or += the tile of `channels` (a multiple of LANES) + bias (may be NULL) + addend (may be NULL). */
    void (*winograd_output)(const float *points, ptrdiff_t point_stride, int height, int width, int channels, int top,
                            int left, const float *bias, const void *addend, int accumulate, void *image);
    /* 3x3 weights to points, and gradients of points added to those of weights: PANEL channels, taps `tap_stride` floats
       apart. Only in the table for f32. */
    void (*winograd_weights)(const float *taps, ptrdiff_t tap_stride, float *points, ptrdiff_t point_stride);
    void (*winograd_weights_gradient)(const float *points, ptrdiff_t point_stride, float *taps, ptrdiff_t tap_stride);

    /* Rows of `channels`: image = or += values + bias + addend, `channels` of any number. */
    void (*store_row)(const float *values, int channels, const float *bias, const void *addend, int accumulate,
                      void *image);

    /* The sums of the first `channels` numbers of rows that are `stride` numbers apart. */
    void (*sum_rows)(const void *x, size_t rows, ptrdiff_t stride, int channels, float *sums);

    /* Normalisation over `rows` rows of `channels`. mean and square (of deviations) of the chunk, in f32. */
    void (*moments)(const void *x, size_t rows, int channels, float *mean, float *deviation);
    /* y = bend(x * scale + shift), where bend(z) is z above zero and slope * z elsewhere: 1 leaves z, 0 is ReLU. */
    void (*scale_rows)(const void *x, size_t rows, int channels, const float *scale, const float *shift, float slope,
                       void *y);
    /* With z = x * scale + shift and g = dy * bend'(z): sums of g and of g * (x - mean). */
    void (*scale_sums)(const void *x, const void *dy, size_t rows, int channels, const float *scale, const float *shift,
                       const float *mean, float slope, float *sum, float *sum_deviation);
    /* dx = or += g * a + (x - mean) * b + c */
    void (*scale_backward)(const void *x, const void *dy, size_t rows, int channels, const float *scale,
                           const float *shift, const float *mean, float slope, const float *a, const float *b,
                           const float *c, int accumulate, void *dx);

    /* Independent multiply-adds, `rounds` times; returns how many floating-point operations they were. */
    double (*multiply_adds)(long rounds);

    /* Any count of numbers. y = bend(x); dx = or += dy * bend'(x). */
    void (*bend)(const void *x, size_t count, float slope, void *y);
    void (*bend_backward)(const void *x, const void *dy, size_t count, float slope, int accumulate, void *dx);
    void (*to_f32)(const void *from, size_t count, float *to);
    void (*from_f32)(const float *from, size_t count, void *to);
    /* to = or += from */
    void (*add)(const void *from, size_t count, int accumulate, void *to);
} kernels;

const kernels *kernels_for(precision precision);

/* "avx512", "avx2" or "generic": what kernels_for chooses here. HWS_KERNELS in the environment can ask for less. */
const char *kernels_name(void);

#endif
