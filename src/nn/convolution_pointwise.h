/*
 * What the passes of convolutions with a single tap share: positions of the result, and copies of what they read.
 *
 * Included by convolution_pointwise*.c.
 */
#ifndef HWS_NN_CONVOLUTION_POINTWISE_H
#define HWS_NN_CONVOLUTION_POINTWISE_H

#include "nn/convolution_inside.h"

static inline int is_strided(const convolution *c) { return c->stride[0] > 1 || c->stride[1] > 1 || c->stride[2] > 1; }

/* Positions of the result, [first, end). */
typedef struct span {
    size_t first, end;
} span;

/* Positions are divided at the ends of lines where inputs are skipped, and anywhere else. */
static inline size_t unit_of(const convolution *c) { return is_strided(c) ? (size_t)c->out.size[2] : 1; }
static inline size_t units_of(const convolution *c) { return shape_rows(&c->out) / unit_of(c); }

/* How many units hold about so many positions. */
static inline size_t units_together(const convolution *c, size_t positions) {
    return positions > unit_of(c) ? positions / unit_of(c) : 1;
}

static inline span span_of(const convolution *c, size_t first_unit, size_t units) {
    const size_t end = first_unit + units < units_of(c) ? first_unit + units : units_of(c);
    return (span){first_unit * unit_of(c), end * unit_of(c)};
}

/* Copies the inputs of some positions, or the results of some. */
void pointwise_gather_inputs(const convolution *c, const char *input, span s, kernel_copy how, float *to);
void pointwise_gather_results(const convolution *c, const char *result, span s, kernel_copy how, float *to);

size_t pointwise_weights_scratch(const convolution *c);
void pointwise_backward_weights(const convolution *c, const void *const inputs[2], const void *gradient,
                                part_gradients weight_gradients, char *scratch);

#endif
