/* Convolutions, transposed convolutions and fully connected layers. Parameters: 0 the weights, 1 the bias. */
#include "nn/graph_inside.h"

#include <math.h>
#include <string.h>

enum { WEIGHTS = 0, BIAS = 1 };

static const void *const *input_values(const graph *g, const op *o, const void *values[2]) {
    values[0] = value_of(g, stored_node(g, o->inputs[0]));
    values[1] = o->convolution.inputs > 1 ? value_of(g, stored_node(g, o->inputs[1])) : 0;
    return values;
}

/* The convolution with the norms that it applies to its inputs. */
static convolution scaling_convolution(const graph *g, const op *o) {
    convolution c = o->convolution;
    for (int i = 0; i < c.inputs; i++)
        if (g->nodes[o->inputs[i]].scaled_on_reading)
            c.scaling[i] = norm_scaling(g, &g->ops[g->nodes[o->inputs[i]].producer]);
    return c;
}

static convolution_filter filter_of(const graph *g, const op *o) {
    return (convolution_filter){parameter_values(g, o, WEIGHTS), o->bias_cancels ? 0 : parameter_values(g, o, BIAS)};
}

/* For the backward pass, which adds no bias. */
static convolution_filter weights_of(const graph *g, const op *o) {
    return (convolution_filter){parameter_values(g, o, WEIGHTS), 0};
}

static void forward(graph *g, op *o, int training) {
    (void)training;
    const void *values[2];
    const convolution c = scaling_convolution(g, o);
    convolution_forward(&c, filter_of(g, o), input_values(g, o, values),
                        o->addend == NOWHERE ? 0 : value_of(g, o->inputs[o->addend]), value_of(g, o->output),
                        g->scratch);
}

/* The addend's gradient is the output's: the same place where the planner let them share it. */
static void backward_addend(graph *g, const op *o) {
    if (o->addend == NOWHERE) return;
    char *to = gradient_of(g, o->inputs[o->addend]), *from = gradient_of(g, o->output);
    if (!to || to == from) return;
    graph_kernels(g)->add(from, shape_count(&g->nodes[o->output].shape), o->accumulate[o->addend], to);
}

/* What the gradients of the parameters of each part come from; those of the bias from `biased`. */
typedef struct parameter_work {
    const void *const *inputs;
    const char *gradient, *biased;
    const shape *biased_shape;
} parameter_work;

static void backward_weights(graph *g, const op *o, const parameter_work *work) {
    const part_gradients to = {parameter_gradients(g, o, WEIGHTS, 0), g->part_stride};
    if (!o->samples_in_line) {
        const convolution c = scaling_convolution(g, o);
        convolution_backward_weights(&c, work->inputs, work->gradient, to, g->scratch);
        return;
    }
    for (int part = 0; part < graph_parts(g); part++) {
        const size_t first = (size_t)part_first(g, part) * graph_number(g);
        convolution c = o->convolution;
        c.in.size[2] = c.out.size[2] = part_samples(g, part);
        const void *const inputs[2] = {(const char *)work->inputs[0] + first * (size_t)c.in.channels, 0};
        convolution_backward_weights(&c, inputs, work->gradient + first * (size_t)c.features,
                                     (part_gradients){to.first + (size_t)part * to.stride, 0}, g->scratch);
    }
}

static void backward_bias(graph *g, const op *o, const parameter_work *work) {
    const size_t positions = shape_positions(work->biased_shape), channels = (size_t)work->biased_shape->channels;
    for (int part = 0; part < graph_parts(g); part++)
        channel_sums(g->options.precision, g->options.threads,
                     work->biased + (size_t)part_first(g, part) * positions * channels * graph_number(g),
                     (size_t)part_samples(g, part) * positions, (int)channels, parameter_gradients(g, o, BIAS, part));
}

static void add_parameter_gradients(graph *g, const op *o, const parameter_work *work) {
    backward_weights(g, o, work);
    if (has_parameter(o, BIAS) && !o->bias_cancels) backward_bias(g, o, work);
}

static void backward_parameters(graph *g, op *o) {
    const void *values[2];
    const char *gradient = gradient_of(g, o->output);
    add_parameter_gradients(
        g, o, &(parameter_work){input_values(g, o, values), gradient, gradient, &g->nodes[o->output].shape});
}

static void backward(graph *g, op *o) {
    const char *gradient = gradient_of(g, o->output);
    const int second = o->convolution.inputs > 1;
    void *const gradients[2] = {gradient_of(g, o->inputs[0]), second ? gradient_of(g, o->inputs[1]) : 0};
    if (gradients[0] || gradients[1])
        convolution_backward_data(&o->convolution, weights_of(g, o), gradient, o->accumulate, gradients, g->scratch);
    backward_addend(g, o);
}

const op_kind op_convolution = {.name = "convolution",
                                .layer = LAYER_CONVOLUTION,
                                .forward = forward,
                                .backward = backward,
                                .backward_parameters = backward_parameters,
                                .backward_reads_inputs = 1};

/* The weights of a filter, and a bias of zeros. For transposed ones PyTorch counts the inputs the same way. */
static void add_parameters(graph *g, op *o, const char *name, int from_vector, int transposed, int bias) {
    const convolution *c = &o->convolution;
    const int taps = convolution_taps(c), flat = c->kernel[0] == 1 && g->nodes[0].shape.size[0] == 1;
    parameter weights = {.shape = {c->features, c->in.channels, c->kernel[0], c->kernel[1], c->kernel[2]},
                         .rank = from_vector ? 2
                                 : flat      ? 4
                                             : 5,
                         .taps = taps,
                         .inputs = c->in.channels,
                         .outputs = c->features,
                         .deviation = sqrt(2.0 / (c->in.channels * taps))};
    if (flat) {
        weights.shape[2] = c->kernel[1];
        weights.shape[3] = c->kernel[2];
    }
    const parameter biases = {.shape = {transposed ? c->in.channels : c->features}, .rank = 1};
    o->parameters[WEIGHTS] = graph_new_parameter(g, name, "weight", &weights);
    if (bias) o->parameters[BIAS] = graph_new_parameter(g, name, "bias", &biases);
}

static convolution convolution_of(const graph *g, shape in, int features, const int kernel[3], const int stride[3]) {
    convolution c = {.in = in,
                     .inputs = 1,
                     .input_channels = {in.channels, 0},
                     .features = features,
                     .precision = g->options.precision,
                     .threads = g->options.threads,
                     .batch = g->options.batch.samples,
                     .part = g->options.batch.part,
                     .algorithm = g->options.convolution};
    for (int axis = 0; axis < 3; axis++) {
        c.kernel[axis] = kernel[axis];
        c.stride[axis] = stride[axis] ? stride[axis] : 1;
    }
    return c;
}

static int check_partner(graph *g, const char *name, const node *partner, const shape *expected, int channels) {
    if (!partner) return 0;
    if (partner->shape.samples == expected->samples &&
        !memcmp(partner->shape.size, expected->size, sizeof expected->size) &&
        (!channels || partner->shape.channels == channels))
        return 1;
    graph_fails(g, "'%s': the second input or the addend has another size", name);
    return 0;
}

tensor graph_convolution(graph *g, const char *name, tensor input, const convolution_options *options) {
    const node *n = node_of(g, input);
    if (!n) return NO_TENSOR;
    convolution c = convolution_of(g, n->shape, options->features, options->kernel, options->stride);
    for (int axis = 0; axis < 3; axis++) c.padding[axis] = c.kernel[axis] / 2;
    tensor inputs[OP_INPUTS] = {input};
    int count = 1, addend = NOWHERE;
    if (options->has_second) {
        const node *second = node_of(g, options->second);
        if (!check_partner(g, name, second, &n->shape, 0)) return NO_TENSOR;
        c.inputs = 2;
        c.input_channels[1] = second->shape.channels;
        c.in.channels += second->shape.channels;
        inputs[count++] = options->second;
    }
    failure failure;
    if (convolution_plan(&c, &failure) != STATUS_OK) return graph_fails(g, "'%s': %s", name, failure.message);
    if (options->has_addend) {
        if (!check_partner(g, name, node_of(g, options->addend), &c.out, c.features)) return NO_TENSOR;
        addend = count;
        inputs[count++] = options->addend;
    }
    op *o = graph_new_op(g, &op_convolution, name, inputs, count, c.out);
    if (!o) return NO_TENSOR;
    o->convolution = c;
    o->addend = addend;
    add_parameters(g, o, name, 0, 0, options->bias);
    return o->output;
}

tensor graph_fully_connected(graph *g, const char *name, tensor input, int features, int bias) {
    const node *n = node_of(g, input);
    if (!n) return NO_TENSOR;
    if (shape_positions(&n->shape) != 1)
        return graph_fails(g, "'%s': a fully connected layer needs an input of size 1x1x1", name);
    /* The samples become the positions of one line, so that rows can be multiplied together. */
    const shape line = {1, {1, 1, n->shape.samples}, n->shape.channels};
    const int one[3] = {1, 1, 1};
    convolution c = convolution_of(g, line, features, one, one);
    c.part = 0;
    failure failure;
    if (convolution_plan(&c, &failure) != STATUS_OK) return graph_fails(g, "'%s': %s", name, failure.message);
    op *o = graph_new_op(g, &op_convolution, name, &input, 1, (shape){n->shape.samples, {1, 1, 1}, features});
    if (!o) return NO_TENSOR;
    o->convolution = c;
    o->samples_in_line = 1;
    add_parameters(g, o, name, 1, 0, bias);
    return o->output;
}

/* A transposed convolution is a convolution seen from behind: its input is that one's output. */
static void transposed_forward(graph *g, op *o, int training) {
    (void)training;
    const int accumulate[2] = {0, 0};
    void *const outputs[2] = {value_of(g, o->output), 0};
    convolution_backward_data(&o->convolution, filter_of(g, o), value_of(g, o->inputs[0]), accumulate, outputs,
                              g->scratch);
}

static void transposed_backward_parameters(graph *g, op *o) {
    const void *const gradient[2] = {gradient_of(g, o->output), 0};
    add_parameter_gradients(
        g, o, &(parameter_work){gradient, value_of(g, o->inputs[0]), gradient[0], &g->nodes[o->output].shape});
}

static void transposed_backward(graph *g, op *o) {
    const void *const gradient[2] = {gradient_of(g, o->output), 0};
    char *to = gradient_of(g, o->inputs[0]);
    if (to) convolution_forward(&o->convolution, weights_of(g, o), gradient, o->accumulate[0] ? to : 0, to, g->scratch);
}

static const op_kind op_transposed = {.name = "transposed convolution",
                                      .layer = LAYER_TRANSPOSED_CONVOLUTION,
                                      .forward = transposed_forward,
                                      .backward = transposed_backward,
                                      .backward_parameters = transposed_backward_parameters,
                                      .backward_reads_inputs = 1};

tensor graph_transposed_convolution(graph *g, const char *name, tensor input, int features, const int stride[3],
                                    int bias) {
    const node *n = node_of(g, input);
    if (!n) return NO_TENSOR;
    shape output = {n->shape.samples, {0, 0, 0}, features};
    for (int axis = 0; axis < 3; axis++) output.size[axis] = n->shape.size[axis] * stride[axis];
    convolution c = convolution_of(g, output, n->shape.channels, stride, stride);
    failure failure;
    if (convolution_plan(&c, &failure) != STATUS_OK) return graph_fails(g, "'%s': %s", name, failure.message);
    op *o = graph_new_op(g, &op_transposed, name, &input, 1, output);
    if (!o) return NO_TENSOR;
    o->convolution = c;
    add_parameters(g, o, name, 0, 1, bias);
    return o->output;
}
