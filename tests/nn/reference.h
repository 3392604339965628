/*
 * The engine's operations as plain loops in double, from their definitions. Activations are channels-last, weights are
 * [depth tap][height tap][width tap][input channel][output channel], as in nn/convolution.h.
 *
 * Run on absolute values, a linear operation gives the sum of the absolute values of what it sums: the unit in which
 * its rounding error is measured.
 */
#ifndef HWS_TESTS_REFERENCE_H
#define HWS_TESTS_REFERENCE_H

#include "nn/shape.h"

/* Two inputs of a convolution are here one, of all their channels. */
typedef struct window {
    shape in;
    int features, kernel[3], stride[3], padding[3];
} window;

shape window_output(const window *w);

/* output = the convolution; bias may be NULL. */
void reference_convolution(const window *w, const double *weights, const double *bias, const double *input,
                           double *output);
/* What a gradient of the output gives: written, not added. */
void reference_convolution_data(const window *w, const double *weights, const double *output_gradient,
                                double *input_gradient);
void reference_convolution_weights(const window *w, const double *input, const double *output_gradient,
                                   double *weight_gradient);

/*
 * The transposed convolution of PyTorch: each input is multiplied by all taps and added at its stride times its place,
 * less the padding. `in` and `out` are what it reads and writes; weights are [taps][output channel][input channel],
 * those of the convolution that leads from out to in.
 */
void reference_transposed(shape in, shape out, const int kernel[3], const int stride[3], const int padding[3],
                          const double *weights, const double *bias, const double *input, double *output);

/*
 * y = leaky((x - mean) / sqrt(variance + epsilon) * scale + shift) over each group of rows: all of them in batch norm,
 * those of a sample in instance norm. leaky(z) is z above zero and slope * z elsewhere. scale and shift may be NULL.
 * mean and variance (the biased one), if not NULL, receive [group][channel].
 */
void reference_norm(int groups, size_t rows_of_group, int channels, const double *x, const double *scale,
                    const double *shift, double epsilon, double slope, double *y, double *mean, double *variance);
/* Its gradients, from the chain rule through mean and variance; scale_gradient and shift_gradient may be NULL. */
void reference_norm_backward(int groups, size_t rows_of_group, int channels, const double *x, const double *scale,
                             const double *shift, double epsilon, double slope, const double *dy, double *dx,
                             double *scale_gradient, double *shift_gradient);

/* Of `features` = channels; `chosen` (may be NULL) receives the input that each output came
   from, the first of equals. */
void reference_max_pool(const window *w, const double *input, double *output, size_t *chosen);

/* The mean over each window, whose padding counts for nothing. */
void reference_average_pool(const window *w, const double *input, double *output);

/* Means over the positions of each sample: [sample][channel]. */
void reference_global_mean(shape in, const double *input, double *output);

#endif
