/*
 * Convolutions of one to three dimensions over one or two inputs, forward and backward.
 *
 * Two inputs stand for their concatenation along the channels, without a copy. Weights are [depth tap][height tap]
 * [width tap][input channel][output channel] in f32, whatever the activations are. Activations are channels-last.
 *
 * Three algorithms: direct; Winograd's F(4x4, 3x3) in the planes with the depth taps summed among the transformed
 * values, which does the work of a 3x3 or 3x3x3 filter with a quarter of the multiplications; and, of bf16 activations,
 * products of bf16 where the processor has them (kernels_bf16.h). Which one serves is a fixed rule on the shape, the
 * precision and the set of kernels (convolution_plan), so that equal runs stay equal to the bit.
 *
 * Each number is computed by one thread in an order that only the shape decides: results do not depend on how many
 * threads there are.
 *
 * A transposed convolution is the backward pass of a convolution, so the same functions serve it.
 */
#ifndef HWS_NN_CONVOLUTION_H
#define HWS_NN_CONVOLUTION_H

#include "core/failure.h"
#include "nn/kernels.h"
#include "nn/shape.h"

typedef enum convolution_algorithm {
    CONVOLUTION_AUTOMATIC, /* the rule decides */
    CONVOLUTION_DIRECT,
    CONVOLUTION_WINOGRAD, /* wherever it can be used at all, also where the rule finds it slower */
    CONVOLUTION_BF16      /* wherever the processor multiplies bf16: weights are rounded to bf16, sums are f32 */
} convolution_algorithm;

/* Memory in bytes that all threads use, and behind it that of each thread. Convolutions that take turns may be given
   the largest of theirs: then each thread finds its own at the same place, and in its own caches. */
typedef struct convolution_scratch {
    size_t common, own;
} convolution_scratch;

/* What becomes of an input as it is read: the leaky ReLU of x * scale + shift, per channel. Those of the next sample
   are `sample_stride` floats further on. A scale of NULL: nothing. */
typedef struct convolution_scaling {
    const float *scale, *shift;
    size_t sample_stride;
    float slope;
} convolution_scaling;

typedef struct convolution {
    /* Set by the caller. in.channels is the sum over the inputs. */
    shape in;
    int inputs, input_channels[2];
    int features; /* output channels */
    int kernel[3], stride[3], padding[3];
    precision precision;
    int threads;
    convolution_algorithm algorithm; /* convolution_plan replaces AUTOMATIC by its choice */
    int batch; /* 0 = in.samples; else these are some samples of a batch of so many, whose algorithm they get */
    convolution_scaling scaling[2]; /* of the inputs; Winograd in f32 alone */
    int part; /* 0: all samples; else weight gradients are those of so many samples each (the last part: fewer) */

    /* Set by convolution_plan. */
    shape out;
    size_t weight_count;
    convolution_scratch scratch; /* what each of the functions below needs, aligned to 64 bytes */
} convolution;

/* Both together, for all threads. */
size_t convolution_scratch_bytes(const convolution *convolution);

status_code convolution_plan(convolution *convolution, failure *failure);

/* What serves: "direct", and "pointwise" and "few" (channels) as its ways for single taps and for images of few
   channels; "winograd"; or "bf16". */
const char *convolution_algorithm_name(const convolution *convolution);

typedef struct convolution_filter {
    const float *weights;
    const float *bias; /* per channel of the result; NULL for none */
} convolution_filter;

/* output = the convolution of the inputs + bias + addend, which may be NULL. */
void convolution_forward(const convolution *convolution, convolution_filter filter, const void *const inputs[2],
                         const void *addend, void *output, void *scratch);

/* input_gradients[i] = or += the gradient (+ bias, for transposed convolutions); where it is NULL nothing is done. */
void convolution_backward_data(const convolution *convolution, convolution_filter filter, const void *output_gradient,
                               const int accumulate[2], void *const input_gradients[2], void *scratch);

/* Where the weight gradients of the parts are: those of part k at first + k * stride. With a stride of 0 all are
   added to the same, in order. */
typedef struct part_gradients {
    float *first;
    size_t stride;
} part_gradients;

/* To the gradients of each part the sum over its samples is added, which is taken by itself first: how it is
   rounded depends on nothing but the part. KERNEL_PANEL - 1 numbers behind the output gradient must be there; what
   they are does not matter. */
void convolution_backward_weights(const convolution *convolution, const void *const inputs[2],
                                  const void *output_gradient, part_gradients weight_gradients, void *scratch);

/* sums[c] += the sum of the channel over all rows: a bias gradient. */
void channel_sums(precision precision, int threads, const void *values, size_t rows, int channels, float *sums);

/* The multiplications and additions of one pass in the direct algorithm. */
double convolution_flops(const convolution *convolution);

#endif
