#include "nn/convolution.h"
#include "nn/convolution_inside.h"
#include "nn/kernel_set.h"

#include <limits.h>

static status_code check(const convolution *c, failure *failure) {
    if (c->inputs < 1 || c->inputs > 2 || c->features < 1 || c->in.samples < 1 || c->threads < 1)
        return fail(failure, STATUS_BAD_INPUT, "a convolution needs one or two inputs, features, samples and threads");
    int channels = 0;
    for (int i = 0; i < c->inputs; i++) {
        if (c->input_channels[i] < 1 || c->input_channels[i] > c->in.channels - channels)
            return fail(failure, STATUS_BAD_INPUT, "input %d of a convolution cannot have %d channels of %d", i,
                        c->input_channels[i], c->in.channels);
        channels += c->input_channels[i];
    }
    if (channels != c->in.channels)
        return fail(failure, STATUS_BAD_INPUT, "the channels of a convolution's inputs do not add up");
    for (int axis = 0; axis < 3; axis++) {
        if (c->kernel[axis] < 1 || c->stride[axis] < 1 || c->stride[axis] > INT_MAX / 2 || c->padding[axis] < 0 ||
            c->padding[axis] >= c->kernel[axis])
            return fail(failure, STATUS_BAD_INPUT, "kernel %d, stride %d, padding %d is not a convolution",
                        c->kernel[axis], c->stride[axis], c->padding[axis]);
        if (c->kernel[axis] > CONVOLUTION_MAX_TAPS)
            return fail(failure, STATUS_BAD_INPUT, "a kernel of %d is larger than the %d taps that are possible",
                        c->kernel[axis], CONVOLUTION_MAX_TAPS);
        if (c->in.size[axis] < 1 || c->in.size[axis] > INT_MAX / 2 ||
            c->in.size[axis] + 2 * c->padding[axis] < c->kernel[axis])
            return fail(failure, STATUS_BAD_INPUT, "an input of %d does not hold a kernel of %d", c->in.size[axis],
                        c->kernel[axis]);
    }
    if (convolution_taps(c) > CONVOLUTION_MAX_TAPS)
        return fail(failure, STATUS_BAD_INPUT, "a kernel of %d taps is larger than the %d that are possible",
                    convolution_taps(c), CONVOLUTION_MAX_TAPS);
    return STATUS_OK;
}

/*
 * Winograd saves three quarters of the multiplications, less what its tiles of 4x4 waste at the edges. Below half the
 * multiplications saved, and for the largest filters over few tiles, whose transformed weights would have to be read
 * from memory, the direct algorithm is faster (measured; see docs/engine.md).
 */
static int winograd_pays(const convolution *c) {
    const double height = c->in.size[1], width = c->in.size[2];
    const double tiles = (double)((c->in.size[1] + 3) / 4) * ((c->in.size[2] + 3) / 4);
    const double useful = height * width / (16 * tiles);
    const double rows = tiles * c->in.size[0] * (c->batch ? c->batch : c->in.samples);
    return useful >= 0.5 && rows >= 48;
}

static const convolution_path *path_of(const convolution *c) {
    if (c->algorithm == CONVOLUTION_BF16) return &bf16_path;
    if (c->algorithm == CONVOLUTION_WINOGRAD) return &winograd_path;
    if (pointwise_possible(c)) return &pointwise_path;
    return few_possible(c) ? &few_path : &direct_path;
}

static int bf16_possible(const convolution *c) {
    return c->precision == PRECISION_BF16 && kernel_set_begin_products(kernel_set_chosen());
}

static convolution_algorithm algorithm_for(const convolution *c) {
    const int automatic = c->algorithm == CONVOLUTION_AUTOMATIC;
    if (bf16_possible(c) && (automatic || c->algorithm == CONVOLUTION_BF16)) return CONVOLUTION_BF16;
    const int winograd = c->algorithm == CONVOLUTION_WINOGRAD || (automatic && winograd_pays(c));
    return winograd && winograd_possible(c) ? CONVOLUTION_WINOGRAD : CONVOLUTION_DIRECT;
}

status_code convolution_plan(convolution *c, failure *failure) {
    const status_code status = check(c, failure);
    if (status != STATUS_OK) return status;
    c->out = (shape){c->in.samples, {0, 0, 0}, c->features};
    for (int axis = 0; axis < 3; axis++)
        c->out.size[axis] = (c->in.size[axis] + 2 * c->padding[axis] - c->kernel[axis]) / c->stride[axis] + 1;
    c->weight_count = (size_t)convolution_taps(c) * (size_t)c->in.channels * (size_t)c->features;
    c->algorithm = algorithm_for(c);
    c->scratch = path_of(c)->scratch(c);
    return STATUS_OK;
}

const char *convolution_algorithm_name(const convolution *c) { return path_of(c)->name; }

size_t convolution_scratch_bytes(const convolution *c) {
    return c->scratch.common + (size_t)c->threads * c->scratch.own;
}

void convolution_forward(const convolution *c, convolution_filter filter, const void *const inputs[2],
                         const void *addend, void *output, void *scratch) {
    path_of(c)->forward(c, filter, inputs, addend, output, scratch);
}

void convolution_backward_data(const convolution *c, convolution_filter filter, const void *gradient,
                               const int accumulate[2], void *const input_gradients[2], void *scratch) {
    path_of(c)->backward_data(c, filter, gradient, accumulate, input_gradients, scratch);
}

void convolution_backward_weights(const convolution *c, const void *const inputs[2], const void *gradient,
                                  part_gradients weight_gradients, void *scratch) {
    path_of(c)->backward_weights(c, inputs, gradient, weight_gradients, scratch);
}

double convolution_flops(const convolution *c) { return 2.0 * (double)shape_rows(&c->out) * (double)c->weight_count; }
