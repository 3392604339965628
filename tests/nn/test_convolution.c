#include "needs_kernels.h"
#include "nn/convolution.h"
#include "nn/convolution_inside.h"
#include "nn/kernel_set.h"
#include "numbers.h"
#include "reference.h"

/* Errors, relative to the sum of the absolute values of the products that make a number. Products of bf16 are held to
   that of weights that are rounded to bf16. */
#define DIRECT_BOUND 1e-6
#define WINOGRAD_BOUND 1e-5

/* `outer` may read as many numbers behind the last gradient; they are painted as NaN. */
enum { SLACK = KERNEL_PANEL - 1 };

/* All that the networks use, in miniature: shape, channels of the inputs, features, kernel, stride, padding. */
static const struct example {
    int samples, size[3], channels[2], features, kernel[3], stride[3], padding[3];
} EXAMPLES[] = {
    /* first layers, of one, three and four channels */
    {2, {1, 9, 11}, {1, 0}, 16, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {1, {5, 7, 5}, {1, 0}, 32, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
    {1, {5, 7, 5}, {4, 0}, 20, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
    {3, {1, 8, 8}, {3, 0}, 17, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {1, {3, 6, 6}, {1, 0}, 1, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {4, {1, 9, 11}, {1, 0}, 32, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {8, {1, 28, 28}, {1, 0}, 16, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {2, {3, 10, 7}, {2, 0}, 33, {3, 3, 3}, {1, 2, 2}, {1, 1, 1}},
    {1, {1, 20, 30}, {3, 0}, 64, {1, 7, 7}, {1, 2, 2}, {0, 3, 3}},
    {2, {4, 5, 9}, {15, 0}, 16, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}},
    {1, {3, 7, 9}, {1, 0}, 48, {3, 5, 5}, {2, 1, 3}, {1, 2, 2}},
    {1, {2, 6, 9}, {1, 0}, 32, {1, 1, 7}, {1, 1, 1}, {0, 0, 3}},
    /* tails of channels */
    {3, {1, 5, 7}, {5, 0}, 33, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {1, {2, 5, 7}, {17, 0}, 5, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
    {1, {1, 6, 13}, {33, 0}, 20, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {1, {1, 4, 4}, {20, 0}, 3, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    /* both algorithms: whole tiles, odd sizes, less than a tile, one line, one point, anisotropic */
    {1, {1, 8, 8}, {16, 0}, 16, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {3, {1, 9, 11}, {16, 0}, 32, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {1, {5, 7, 5}, {16, 0}, 16, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
    {3, {4, 6, 7}, {32, 0}, 16, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
    {2, {3, 13, 10}, {16, 0}, 48, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {2, {1, 3, 2}, {16, 0}, 32, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {1, {2, 1, 9}, {32, 0}, 32, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
    {1, {1, 1, 17}, {16, 0}, 16, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {1, {1, 7, 1}, {16, 0}, 16, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {1, {1, 1, 1}, {16, 0}, 16, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
    {1, {11, 4, 4}, {16, 0}, 16, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
    /* many blocks of tiles */
    {1, {6, 20, 22}, {64, 0}, 32, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {2, {7, 18, 19}, {32, 0}, 48, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
    /* two inputs instead of a concatenation */
    {2, {1, 7, 6}, {16, 32}, 16, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {1, {3, 5, 7}, {32, 16}, 32, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
    {1, {3, 5, 7}, {5, 17}, 20, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
    {3, {1, 4, 6}, {1, 3}, 4, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {2, {2, 3, 4}, {16, 4}, 33, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {1, {2, 4, 6}, {20, 33}, 17, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}},
    /* strides, also where they do not divide the size or skip inputs */
    {2, {3, 9, 8}, {16, 0}, 32, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}},
    {1, {5, 7, 6}, {16, 0}, 20, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}},
    {2, {5, 8, 7}, {4, 0}, 16, {3, 3, 3}, {1, 2, 2}, {1, 1, 1}},
    {1, {6, 6, 6}, {17, 0}, 16, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}},
    {1, {3, 6, 8}, {16, 0}, 16, {1, 2, 2}, {1, 2, 2}, {0, 0, 0}},
    {2, {1, 7, 9}, {16, 0}, 32, {1, 1, 1}, {1, 2, 2}, {0, 0, 0}},
    {1, {1, 11, 10}, {3, 0}, 8, {1, 1, 1}, {1, 3, 4}, {0, 0, 0}},
    {1, {4, 9, 10}, {3, 4}, 5, {3, 2, 1}, {3, 1, 2}, {2, 0, 0}},
    /* single taps: strided, wide, of few features and of few inputs, and blocks of many positions */
    {8, {1, 28, 28}, {16, 0}, 32, {1, 1, 1}, {1, 2, 2}, {0, 0, 0}},
    {4, {1, 7, 9}, {32, 0}, 64, {1, 1, 1}, {1, 2, 2}, {0, 0, 0}},
    {4, {1, 14, 10}, {130, 0}, 140, {1, 1, 1}, {1, 2, 2}, {0, 0, 0}},
    {2, {3, 5, 6}, {256, 0}, 33, {1, 1, 1}, {2, 2, 1}, {0, 0, 0}},
    {1, {5, 5, 5}, {7, 0}, 9, {1, 1, 1}, {3, 1, 2}, {0, 0, 0}},
    {2, {10, 14, 10}, {32, 0}, 3, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {1, {3, 5, 7}, {64, 0}, 3, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {1, {3, 5, 7}, {128, 0}, 4, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {1, {1, 3, 7}, {48, 0}, 2, {1, 1, 1}, {1, 2, 2}, {0, 0, 0}},
    {1, {1, 1, 5}, {32, 0}, 1, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {2, {1, 5, 7}, {3, 0}, 64, {1, 1, 1}, {1, 2, 1}, {0, 0, 0}},
    {1, {1, 40, 90}, {200, 0}, 210, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    /* other kernels and paddings */
    {1, {1, 12, 11}, {4, 0}, 16, {1, 7, 7}, {1, 2, 2}, {0, 3, 3}},
    {1, {7, 7, 8}, {1, 0}, 4, {7, 7, 7}, {1, 1, 1}, {3, 3, 3}},
    {1, {1, 1, 40}, {4, 0}, 17, {1, 1, 5}, {1, 1, 1}, {0, 0, 2}},
    {1, {3, 6, 6}, {16, 0}, 16, {1, 3, 3}, {1, 1, 1}, {0, 0, 0}},
    {1, {1, 2, 1}, {2, 0}, 3, {1, 3, 3}, {1, 1, 1}, {0, 2, 2}},
    /* fully connected layers */
    {3, {1, 1, 1}, {37, 0}, 10, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {1, {1, 1, 1}, {784, 0}, 100, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {1, {1, 1, 64}, {64, 0}, 10, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {1, {1, 1, 16}, {512, 0}, 10, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    /* filters that all threads share (Winograd), and that are too large for the caches (direct) */
    {1, {4, 5, 6}, {128, 0}, 128, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
    {2, {1, 9, 6}, {80, 48}, 96, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {1, {2, 4, 3}, {68, 0}, 67, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
    {1, {4, 4, 2}, {65, 40}, 130, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}},
    /* Winograd's blocks in several steps */
    {1, {24, 40, 24}, {16, 16}, 16, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
};
enum { EXAMPLE_COUNT = sizeof EXAMPLES / sizeof *EXAMPLES };

typedef struct trial {
    char name[160];
    convolution c;
    window w;
    guarded inputs[2], gradient, addend, output, input_gradients[2], weights, bias, data_bias, weight_gradients,
        scratch;
    /* The same numbers in double; the inputs' channels side by side. */
    double *input, *weights_exact, *gradient_exact;
} trial;

static window window_of(const struct example *e) {
    window w = {{e->samples, {e->size[0], e->size[1], e->size[2]}, e->channels[0] + e->channels[1]},
                e->features,
                {e->kernel[0], e->kernel[1], e->kernel[2]},
                {e->stride[0], e->stride[1], e->stride[2]},
                {e->padding[0], e->padding[1], e->padding[2]}};
    return w;
}

static convolution convolution_of(const struct example *e, precision precision, convolution_algorithm algorithm) {
    const window w = window_of(e);
    convolution c = {.in = w.in,
                     .inputs = e->channels[1] ? 2 : 1,
                     .input_channels = {e->channels[0], e->channels[1]},
                     .features = w.features,
                     .precision = precision,
                     .threads = 2,
                     .algorithm = algorithm};
    memcpy(c.kernel, w.kernel, sizeof c.kernel);
    memcpy(c.stride, w.stride, sizeof c.stride);
    memcpy(c.padding, w.padding, sizeof c.padding);
    failure failure = {0};
    if (convolution_plan(&c, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    return c;
}

/* Numbers of the inputs, side by side or back. */
static double *side_by_side(const trial *t, const guarded inputs[2]) {
    const convolution *c = &t->c;
    const size_t rows = shape_rows(&c->in), channels = (size_t)c->in.channels;
    double *all = doubles(rows * channels);
    for (size_t i = 0, before = 0; i < (size_t)c->inputs; before += (size_t)c->input_channels[i++])
        for (size_t r = 0; r < rows; r++)
            for (size_t k = 0; k < (size_t)c->input_channels[i]; k++)
                all[r * channels + before + k] =
                    number_at(c->precision, inputs[i].data, r * (size_t)c->input_channels[i] + k);
    return all;
}

static double *channels_of(const trial *t, int input, const double *all) {
    const size_t rows = shape_rows(&t->c.in), channels = (size_t)t->c.in.channels;
    const size_t own = (size_t)t->c.input_channels[input], before = input ? (size_t)t->c.input_channels[0] : 0;
    double *some = doubles(rows * own);
    for (size_t r = 0; r < rows; r++) memcpy(some + r * own, all + r * channels + before, own * sizeof *some);
    return some;
}

static trial trial_open(const struct example *e, precision precision, convolution_algorithm algorithm, uint64_t seed) {
    trial t = {.c = convolution_of(e, precision, algorithm), .w = window_of(e)};
    const convolution *c = &t.c;
    const size_t rows = shape_rows(&c->in), outputs = shape_count(&c->out), number = precision_bytes(precision);
    snprintf(t.name, sizeof t.name, "%s %s, %d x %dx%dx%d, %d+%d->%d, kernel %dx%dx%d stride %dx%dx%d",
             precision == PRECISION_F32 ? "f32" : "bf16", convolution_algorithm_name(c), e->samples, e->size[0],
             e->size[1], e->size[2], e->channels[0], e->channels[1], e->features, e->kernel[0], e->kernel[1],
             e->kernel[2], e->stride[0], e->stride[1], e->stride[2]);
    for (int i = 0; i < c->inputs; i++) {
        t.inputs[i] = random_numbers(precision, rows * (size_t)c->input_channels[i], &seed);
        t.input_gradients[i] = guarded_open(t.inputs[i].size);
    }
    t.gradient = guarded_open((outputs + SLACK) * number);
    store_random(precision, t.gradient.data, outputs, &seed);
    t.addend = random_numbers(precision, outputs, &seed);
    t.output = guarded_open(outputs * number);
    t.weights = random_numbers(PRECISION_F32, c->weight_count, &seed);
    t.weight_gradients = guarded_open(c->weight_count * sizeof(float));
    t.bias = random_numbers(PRECISION_F32, (size_t)c->features, &seed);
    t.data_bias = random_numbers(PRECISION_F32, (size_t)c->in.channels, &seed);
    t.scratch = guarded_open(convolution_scratch_bytes(c));
    t.input = side_by_side(&t, t.inputs);
    t.weights_exact = exact_numbers(PRECISION_F32, t.weights.data, c->weight_count);
    for (size_t i = 0; i < c->weight_count && c->algorithm == CONVOLUTION_BF16; i++)
        t.weights_exact[i] = (double)float_from_bf16(float_to_bf16((float)t.weights_exact[i]));
    t.gradient_exact = exact_numbers(precision, t.gradient.data, outputs);
    return t;
}

static void trial_close(trial *t) {
    for (int i = 0; i < 2; i++) {
        guarded_close(&t->inputs[i], t->name);
        guarded_close(&t->input_gradients[i], t->name);
    }
    guarded *const blocks[] = {&t->gradient, &t->addend,    &t->output,           &t->weights,
                               &t->bias,     &t->data_bias, &t->weight_gradients, &t->scratch};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) guarded_close(blocks[i], t->name);
    free(t->input);
    free(t->weights_exact);
    free(t->gradient_exact);
}

static double bound_of(const trial *t) {
    return t->c.algorithm == CONVOLUTION_WINOGRAD ? WINOGRAD_BOUND : DIRECT_BOUND;
}

static void run_forward(trial *t, int bias, int addend) {
    const void *const inputs[2] = {t->inputs[0].data, t->inputs[1].data};
    guarded_paint(&t->output);
    guarded_paint(&t->scratch);
    const convolution_filter filter = {t->weights.data, bias ? t->bias.data : 0};
    convolution_forward(&t->c, filter, inputs, addend ? t->addend.data : 0, t->output.data, t->scratch.data);
}

static void check_forward(trial *t) {
    const size_t outputs = shape_count(&t->c.out), features = (size_t)t->c.features;
    double *expected = doubles(outputs), *magnitude = doubles(outputs);
    double *inputs = absolute(t->input, shape_count(&t->c.in)),
           *weights = absolute(t->weights_exact, t->c.weight_count);
    reference_convolution(&t->w, t->weights_exact, 0, t->input, expected);
    reference_convolution(&t->w, weights, 0, inputs, magnitude);
    for (int options = 0; options < 4; options++) {
        const int bias = options & 1, addend = options >> 1;
        run_forward(t, bias, addend);
        double *sum = doubles(outputs), *sum_magnitude = doubles(outputs);
        for (size_t i = 0; i < outputs; i++) {
            const double more = bias ? number_at(PRECISION_F32, t->bias.data, i % features) : 0;
            const double added = addend ? number_at(t->c.precision, t->addend.data, i) : 0;
            sum[i] = expected[i] + more + added;
            sum_magnitude[i] = magnitude[i] + fabs(more) + fabs(added);
        }
        check_numbers(t->name, t->c.precision, t->output.data, outputs, sum, sum_magnitude, bound_of(t));
        free(sum);
        free(sum_magnitude);
    }
    free(expected);
    free(magnitude);
    free(inputs);
    free(weights);
}

/* What one call of backward_data is asked for. */
typedef struct request {
    int wanted[2], accumulate[2], bias;
} request;

static void run_backward_data(trial *t, request request) {
    const size_t rows = shape_rows(&t->c.in);
    void *gradients[2] = {0, 0};
    for (int i = 0; i < t->c.inputs; i++) {
        uint64_t seed = (uint64_t)i;
        guarded_paint(&t->input_gradients[i]);
        if (request.accumulate[i])
            store_random(t->c.precision, t->input_gradients[i].data, rows * (size_t)t->c.input_channels[i], &seed);
        if (request.wanted[i]) gradients[i] = t->input_gradients[i].data;
    }
    guarded_paint(&t->scratch);
    const convolution_filter filter = {t->weights.data, request.bias ? t->data_bias.data : 0};
    convolution_backward_data(&t->c, filter, t->gradient.data, request.accumulate, gradients, t->scratch.data);
}

static void check_untouched(const trial *t, const guarded *block) {
    for (size_t i = 0; i < block->size; i++)
        if (((unsigned char *)block->data)[i] != 0xff) fail_msg("%s: an unwanted gradient was written", t->name);
}

static void check_input_gradient(trial *t, request request, int input, const double *expected_all,
                                 const double *magnitude_all) {
    const size_t channels = (size_t)t->c.input_channels[input], count = shape_rows(&t->c.in) * channels;
    double *expected = channels_of(t, input, expected_all), *magnitude = channels_of(t, input, magnitude_all);
    guarded before = guarded_open(t->input_gradients[input].size);
    uint64_t seed = (uint64_t)input;
    store_random(t->c.precision, before.data, count, &seed);
    for (size_t i = 0; i < count; i++) {
        const size_t channel = (input ? (size_t)t->c.input_channels[0] : 0) + i % channels;
        const double more = request.bias ? number_at(PRECISION_F32, t->data_bias.data, channel) : 0;
        const double old = request.accumulate[input] ? number_at(t->c.precision, before.data, i) : 0;
        expected[i] += more + old;
        magnitude[i] += fabs(more) + fabs(old);
    }
    check_numbers(t->name, t->c.precision, t->input_gradients[input].data, count, expected, magnitude, bound_of(t));
    guarded_close(&before, t->name);
    free(expected);
    free(magnitude);
}

static void check_backward_data(trial *t) {
    static const request requests[] = {{{1, 1}, {0, 0}, 0}, {{1, 1}, {1, 1}, 0}, {{1, 0}, {0, 0}, 0},
                                       {{0, 1}, {0, 1}, 0}, {{1, 1}, {1, 0}, 1}, {{0, 0}, {0, 0}, 0}};
    const size_t count = shape_count(&t->c.in);
    double *expected = doubles(count), *magnitude = doubles(count);
    double *gradients = absolute(t->gradient_exact, shape_count(&t->c.out));
    double *weights = absolute(t->weights_exact, t->c.weight_count);
    reference_convolution_data(&t->w, t->weights_exact, t->gradient_exact, expected);
    reference_convolution_data(&t->w, weights, gradients, magnitude);
    for (size_t k = 0; k < sizeof requests / sizeof *requests; k++) {
        run_backward_data(t, requests[k]);
        for (int i = 0; i < t->c.inputs; i++)
            if (requests[k].wanted[i]) check_input_gradient(t, requests[k], i, expected, magnitude);
            else check_untouched(t, &t->input_gradients[i]);
    }
    free(expected);
    free(magnitude);
    free(gradients);
    free(weights);
}

/* On top of what is there: 0.5. */
static void run_backward_weights(trial *t) {
    const void *const inputs[2] = {t->inputs[0].data, t->inputs[1].data};
    for (size_t i = 0; i < t->c.weight_count; i++) ((float *)t->weight_gradients.data)[i] = 0.5f;
    guarded_paint(&t->scratch);
    convolution_backward_weights(&t->c, inputs, t->gradient.data, (part_gradients){t->weight_gradients.data, 0},
                                 t->scratch.data);
}

static void check_backward_weights(trial *t) {
    const size_t count = t->c.weight_count;
    double *expected = doubles(count), *magnitude = doubles(count);
    double *inputs = absolute(t->input, shape_count(&t->c.in));
    double *gradients = absolute(t->gradient_exact, shape_count(&t->c.out));
    reference_convolution_weights(&t->w, t->input, t->gradient_exact, expected);
    reference_convolution_weights(&t->w, inputs, gradients, magnitude);
    run_backward_weights(t);
    for (size_t i = 0; i < count; i++) {
        expected[i] += 0.5;
        magnitude[i] += 0.5;
    }
    check_numbers(t->name, PRECISION_F32, t->weight_gradients.data, count, expected, magnitude, bound_of(t));
    free(expected);
    free(magnitude);
    free(inputs);
    free(gradients);
}

/* Sums over many positions whose products are all positive: what is rounded adds up, unless it is summed in chains. */
static void long_sums_of_positive_numbers_round_as_little_as_short_ones(void **state) {
    (void)state;
    static const struct example LONG[] = {
        {1, {48, 48, 48}, {1, 0}, 16, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}}, /* few */
        {1, {48, 48, 48}, {16, 0}, 3, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}}, /* pointwise, in place or copied */
        {1, {48, 48, 48}, {48, 0}, 16, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
        {1, {64, 64, 64}, {4, 0}, 16, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}},
        {1, {64, 64, 64}, {16, 0}, 16, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}}, /* direct */
    };
    for (size_t i = 0; i < sizeof LONG / sizeof *LONG; i++) {
        trial t = trial_open(&LONG[i], PRECISION_F32, CONVOLUTION_DIRECT, i);
        float *const inputs = t.inputs[0].data, *const gradients = t.gradient.data;
        for (size_t k = 0; k < shape_count(&t.c.in); k++) t.input[k] = (double)(inputs[k] = fabsf(inputs[k]));
        for (size_t k = 0; k < shape_count(&t.c.out); k++)
            t.gradient_exact[k] = (double)(gradients[k] = fabsf(gradients[k]));
        check_backward_weights(&t);
        trial_close(&t);
    }
}

/* Whether the kernels that serve have products of bf16, which then serve all convolutions of bf16. */
static int has_bf16_products(void) { return kernel_set_begin_products(kernel_set_chosen()); }

static void check_examples(precision precision, convolution_algorithm algorithm) {
    int checked = 0;
    for (int i = 0; i < EXAMPLE_COUNT; i++) {
        if (convolution_of(&EXAMPLES[i], precision, algorithm).algorithm != algorithm) continue;
        trial t = trial_open(&EXAMPLES[i], precision, algorithm, (uint64_t)i);
        check_forward(&t);
        check_backward_data(&t);
        check_backward_weights(&t);
        trial_close(&t);
        checked++;
    }
    assert_true(checked >= 16);
}

static void direct_f32_convolutions_are_the_plain_loops(void **state) {
    (void)state;
    check_examples(PRECISION_F32, CONVOLUTION_DIRECT);
}
static void winograd_f32_convolutions_are_the_plain_loops(void **state) {
    (void)state;
    check_examples(PRECISION_F32, CONVOLUTION_WINOGRAD);
}
static void direct_bf16_convolutions_round_once(void **state) {
    (void)state;
    check_examples(PRECISION_BF16, CONVOLUTION_DIRECT);
}
static void winograd_bf16_convolutions_round_once(void **state) {
    (void)state;
    check_examples(PRECISION_BF16, CONVOLUTION_WINOGRAD);
}

static void products_of_bf16_round_the_weights_and_the_result(void **state) {
    (void)state;
    if (!has_bf16_products()) skip();
    check_examples(PRECISION_BF16, CONVOLUTION_BF16);
}

/* Results of all three passes, one behind the other. */
static unsigned char *all_results(const struct example *e, precision precision, convolution_algorithm algorithm,
                                  int threads, size_t *bytes) {
    trial t = trial_open(e, precision, algorithm, 5);
    const size_t planned = convolution_scratch_bytes(&t.c);
    t.c.threads = threads;
    t.c.part = e->samples / 4;
    assert_int_equal(convolution_plan(&t.c, 0), STATUS_OK);
    if (convolution_scratch_bytes(&t.c) != planned) {
        guarded_close(&t.scratch, t.name);
        t.scratch = guarded_open(convolution_scratch_bytes(&t.c));
    }
    run_forward(&t, 1, 1);
    run_backward_data(&t, (request){{1, 1}, {1, 0}, 0});
    run_backward_weights(&t);
    const guarded *const parts[] = {&t.output, &t.input_gradients[0], &t.input_gradients[1], &t.weight_gradients};
    *bytes = 0;
    unsigned char *results = malloc(parts[0]->size + parts[1]->size + parts[2]->size + parts[3]->size);
    for (int i = 0; i < 4; i++) {
        if (parts[i]->size) memcpy(results + *bytes, parts[i]->data, parts[i]->size);
        *bytes += parts[i]->size;
    }
    trial_close(&t);
    return results;
}

static void check_threads(const struct example *e, precision precision, convolution_algorithm algorithm) {
    static const int threads[] = {2, 5, 64};
    size_t bytes, bytes_again;
    unsigned char *expected = all_results(e, precision, algorithm, 1, &bytes);
    for (int k = 0; k < 3; k++) {
        unsigned char *results = all_results(e, precision, algorithm, threads[k], &bytes_again);
        assert_int_equal(bytes, bytes_again);
        if (memcmp(expected, results, bytes) != 0)
            fail_msg("%d of %dx%dx%d, bf16 %d, algorithm %d: %d threads give other bits than one", e->samples,
                     e->size[0], e->size[1], e->size[2], precision == PRECISION_BF16, (int)algorithm, threads[k]);
        free(results);
    }
    free(expected);
}

static void the_number_of_threads_changes_no_bit(void **state) {
    (void)state;
    for (int i = 0; i < 2 * 3 * EXAMPLE_COUNT; i++) {
        static const convolution_algorithm ALGORITHMS[] = {CONVOLUTION_DIRECT, CONVOLUTION_WINOGRAD, CONVOLUTION_BF16};
        const struct example *e = &EXAMPLES[i / 6];
        const precision precision = i & 1 ? PRECISION_BF16 : PRECISION_F32;
        const convolution_algorithm algorithm = ALGORITHMS[i / 2 % 3];
        if (convolution_of(e, precision, algorithm).algorithm == algorithm) check_threads(e, precision, algorithm);
    }
}

/* Large filters: one thread works on large blocks, two have blocks of their own, and 64 share one; of pictures, two
   have parts of their own for the gradients, and five share each. */
static void threads_that_share_large_filters_or_not_change_no_bit(void **state) {
    (void)state;
    static const struct example LARGE[] = {
        {16, {1, 7, 7}, {64, 0}, 64, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
        {8, {1, 12, 21}, {48, 16}, 64, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
        {2, {16, 40, 24}, {32, 0}, 32, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
    };
    for (size_t k = 0; k < sizeof LARGE / sizeof *LARGE; k++)
        check_threads(&LARGE[k], PRECISION_F32, CONVOLUTION_WINOGRAD);
}

/* The last part has a single sample, whose sums are divided among threads otherwise than those of the others. */
static void a_smaller_last_part_changes_no_bit(void **state) {
    (void)state;
    static const struct example SMALL[] = {
        {9, {1, 4, 4}, {64, 0}, 32, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
        {9, {1, 5, 7}, {64, 0}, 64, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    };
    for (int k = 0; k < 20; k++) { /* who takes which piece of work is chance */
        const struct example *e = &SMALL[k & 1];
        if (has_bf16_products()) check_threads(e, PRECISION_BF16, CONVOLUTION_BF16);
        if (k < 2) check_threads(e, PRECISION_F32, CONVOLUTION_WINOGRAD);
        if (k < 2) check_threads(e, PRECISION_F32, CONVOLUTION_DIRECT);
    }
}

static void a_second_pass_gives_the_same_bits(void **state) {
    (void)state;
    for (int i = 0; i < 2 * EXAMPLE_COUNT; i++) {
        const convolution_algorithm algorithm = i & 1 ? CONVOLUTION_WINOGRAD : CONVOLUTION_DIRECT;
        size_t bytes, again;
        unsigned char *first = all_results(&EXAMPLES[i / 2], PRECISION_F32, algorithm, 2, &bytes);
        unsigned char *second = all_results(&EXAMPLES[i / 2], PRECISION_F32, algorithm, 2, &again);
        assert_int_equal(bytes, again);
        assert_memory_equal(first, second, bytes);
        free(first);
        free(second);
    }
}

static double weighted_sum(const window *w, const double *weights, const double *input, const double *share) {
    const shape out = window_output(w);
    double *output = doubles(shape_count(&out)), sum = 0;
    reference_convolution(w, weights, 0, input, output);
    for (size_t i = 0; i < shape_count(&out); i++) sum += share[i] * output[i];
    free(output);
    return sum;
}

static double *random_doubles(size_t count, uint64_t *seed) {
    double *values = doubles(count);
    for (size_t i = 0; i < count; i++) values[i] = test_normal(seed);
    return values;
}

/* The sum is linear in either, so that central differences with a step of one are exact. */
static void check_reference_gradients(const struct example *e) {
    const window w = window_of(e);
    const shape out = window_output(&w);
    const size_t inputs = shape_count(&w.in);
    const size_t weight_count = (size_t)(w.kernel[0] * w.kernel[1] * w.kernel[2] * w.in.channels * w.features);
    uint64_t seed = 1;
    double *input = random_doubles(inputs, &seed), *weights = random_doubles(weight_count, &seed);
    double *share = random_doubles(shape_count(&out), &seed);
    double *input_gradient = doubles(inputs), *weight_gradient = doubles(weight_count);
    reference_convolution_data(&w, weights, share, input_gradient);
    reference_convolution_weights(&w, input, share, weight_gradient);
    for (size_t i = 0; i < inputs + weight_count; i++) {
        double *at = i < inputs ? input + i : weights + (i - inputs), old = *at;
        *at = old + 1;
        const double above = weighted_sum(&w, weights, input, share);
        *at = old - 1;
        const double below = weighted_sum(&w, weights, input, share);
        *at = old;
        assert_near((above - below) / 2, i < inputs ? input_gradient[i] : weight_gradient[i - inputs], 1e-11);
    }
    free(input);
    free(weights);
    free(share);
    free(input_gradient);
    free(weight_gradient);
}

static void the_reference_gradients_are_central_differences(void **state) {
    (void)state;
    static const struct example small[] = {
        {2, {1, 1, 7}, {2, 0}, 3, {1, 1, 3}, {1, 1, 2}, {0, 0, 1}},
        {2, {1, 4, 5}, {3, 0}, 2, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
        {1, {3, 4, 5}, {2, 0}, 2, {3, 3, 3}, {1, 2, 2}, {1, 1, 1}},
        {1, {4, 2, 5}, {1, 0}, 3, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) check_reference_gradients(&small[i]);
}

/* A convolution without padding leads from the large image to the small one; its way back is the transposed one. */
static void check_transposed(shape small, const int stride[3], int features, precision precision) {
    struct example e = {.samples = small.samples, .channels = {features, 0}, .features = small.channels};
    for (int axis = 0; axis < 3; axis++) {
        e.size[axis] = small.size[axis] * stride[axis];
        e.kernel[axis] = e.stride[axis] = stride[axis];
    }
    trial t = trial_open(&e, precision, CONVOLUTION_AUTOMATIC, 3);
    const size_t count = shape_count(&t.c.in);
    double *expected = doubles(count), *magnitude = doubles(count);
    double *bias = exact_numbers(PRECISION_F32, t.data_bias.data, (size_t)features);
    double *gradients = absolute(t.gradient_exact, shape_count(&small)),
           *absolute_bias = absolute(bias, (size_t)features);
    double *weights = absolute(t.weights_exact, t.c.weight_count);
    static const int none[3] = {0, 0, 0};
    reference_transposed(small, t.c.in, stride, stride, none, t.weights_exact, bias, t.gradient_exact, expected);
    reference_transposed(small, t.c.in, stride, stride, none, weights, absolute_bias, gradients, magnitude);
    run_backward_data(&t, (request){{1, 0}, {0, 0}, 1});
    check_numbers(t.name, precision, t.input_gradients[0].data, count, expected, magnitude, DIRECT_BOUND);
    free(expected);
    free(magnitude);
    free(bias);
    free(absolute_bias);
    free(gradients);
    free(weights);
    trial_close(&t);
}

static void the_way_back_is_a_transposed_convolution(void **state) {
    (void)state;
    static const int strides[3][3] = {{1, 2, 2}, {2, 2, 2}, {1, 1, 3}};
    for (int i = 0; i < 3; i++)
        for (int precision = 0; precision < 2; precision++) {
            check_transposed((shape){2, {3, 5, 4}, 33}, strides[i], 17, precision ? PRECISION_BF16 : PRECISION_F32);
            check_transposed((shape){1, {1, 1, 3}, 16}, strides[i], 32, precision ? PRECISION_BF16 : PRECISION_F32);
        }
}

static void channel_sums_add_to_what_is_there(void **state) {
    (void)state;
    static const int channels[] = {1, 3, 16, 20, 33, 64, 65, 130};
    static const size_t rows[] = {1, 5, 64, 1000};
    for (size_t k = 0; k < sizeof channels / sizeof *channels * 4 * 2; k++) {
        const precision precision = k & 1 ? PRECISION_BF16 : PRECISION_F32;
        const size_t n = rows[k / 2 % 4], width = (size_t)channels[k / 8];
        uint64_t seed = k;
        guarded values = random_numbers(precision, n * width, &seed), sums = guarded_open(width * sizeof(float));
        guarded other = guarded_open(sums.size);
        double *expected = doubles(width), *magnitude = doubles(width);
        for (size_t c = 0; c < width; c++) {
            expected[c] = magnitude[c] = ((float *)sums.data)[c] = ((float *)other.data)[c] = 0.25f;
            for (size_t r = 0; r < n; r++) {
                expected[c] += number_at(precision, values.data, r * width + c);
                magnitude[c] += fabs(number_at(precision, values.data, r * width + c));
            }
        }
        channel_sums(precision, 2, values.data, n, (int)width, sums.data);
        check_numbers("channel sums", PRECISION_F32, sums.data, width, expected, magnitude, 1e-6);
        channel_sums(precision, 5, values.data, n, (int)width, other.data);
        assert_memory_equal(sums.data, other.data, sums.size);
        guarded_close(&values, "values");
        guarded_close(&sums, "sums");
        guarded_close(&other, "sums");
        free(expected);
        free(magnitude);
    }
}

static void check_refused(convolution c, const char *why) {
    failure failure = {0};
    if (convolution_plan(&c, &failure) != STATUS_BAD_INPUT) fail_msg("planned although %s", why);
    assert_true(strlen(failure.message) > 10);
}

static void what_is_no_convolution_is_refused(void **state) {
    (void)state;
    const convolution good = {.in = {1, {4, 4, 4}, 8},
                              .inputs = 2,
                              .input_channels = {5, 3},
                              .features = 4,
                              .kernel = {3, 3, 3},
                              .stride = {1, 1, 1},
                              .padding = {1, 1, 1},
                              .threads = 1};
    convolution c = good;
    assert_int_equal(convolution_plan(&c, 0), STATUS_OK);
#define REFUSED(...)                                                                                                   \
    do {                                                                                                               \
        c = good;                                                                                                      \
        c.__VA_ARGS__;                                                                                                 \
        check_refused(c, #__VA_ARGS__);                                                                                \
    } while (0)
    REFUSED(inputs = 0);
    REFUSED(inputs = 3);
    REFUSED(features = 0);
    REFUSED(threads = 0);
    REFUSED(in.samples = 0);
    REFUSED(in.channels = 9);
    REFUSED(kernel[0] = 0);
    REFUSED(stride[2] = 0);
    REFUSED(padding[1] = -1);
    REFUSED(padding[1] = 3);
    REFUSED(in.size[2] = 0);
    REFUSED(in.size[2] = -1);
    REFUSED(kernel[0] = 9);
    REFUSED(input_channels[0] = 10, c.input_channels[1] = -2);
    REFUSED(input_channels[0] = 8, c.input_channels[1] = 0);
    REFUSED(in.size[0] = c.in.size[1] = c.in.size[2] = 1 << 20, c.kernel[0] = c.kernel[1] = c.kernel[2] = 1 << 20);
    REFUSED(in.size[0] = c.in.size[1] = c.in.size[2] = 8, c.kernel[0] = c.kernel[1] = c.kernel[2] = 8);
#undef REFUSED
}

static void the_rule_looks_at_the_shape_only(void **state) {
    (void)state;
    static const struct example large = {2, {8, 24, 24}, {32, 0}, 32, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}};
    static const struct example tiny = {1, {2, 2, 2}, {32, 0}, 32, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}};
    static const struct example stem = {2, {8, 24, 24}, {1, 0}, 32, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}};
    for (int p = 0; p < 2; p++) {
        const precision precision = p ? PRECISION_BF16 : PRECISION_F32;
        const int products = p && has_bf16_products();
        assert_int_equal(convolution_of(&large, precision, CONVOLUTION_AUTOMATIC).algorithm,
                         products ? CONVOLUTION_BF16 : CONVOLUTION_WINOGRAD);
        assert_int_equal(convolution_of(&large, precision, CONVOLUTION_DIRECT).algorithm, CONVOLUTION_DIRECT);
        assert_int_equal(convolution_of(&large, precision, CONVOLUTION_WINOGRAD).algorithm, CONVOLUTION_WINOGRAD);
        assert_int_equal(convolution_of(&large, precision, CONVOLUTION_BF16).algorithm,
                         products ? CONVOLUTION_BF16 : CONVOLUTION_DIRECT);
        assert_int_equal(convolution_of(&tiny, precision, CONVOLUTION_AUTOMATIC).algorithm,
                         products ? CONVOLUTION_BF16 : CONVOLUTION_DIRECT);
        assert_int_equal(convolution_of(&tiny, precision, CONVOLUTION_WINOGRAD).algorithm, CONVOLUTION_WINOGRAD);
        assert_int_equal(convolution_of(&stem, precision, CONVOLUTION_WINOGRAD).algorithm, CONVOLUTION_DIRECT);
    }
    for (int i = 0; i < EXAMPLE_COUNT; i++) {
        convolution one = convolution_of(&EXAMPLES[i], PRECISION_F32, CONVOLUTION_AUTOMATIC), five = one;
        five.threads = 5;
        five.algorithm = CONVOLUTION_AUTOMATIC;
        assert_int_equal(convolution_plan(&five, 0), STATUS_OK);
        assert_int_equal(one.algorithm, five.algorithm);
    }
    const convolution c = convolution_of(&tiny, PRECISION_F32, CONVOLUTION_AUTOMATIC);
    assert_near(convolution_flops(&c), 2.0 * 8 * 27 * 32 * 32, 0);
}

int main(void) {
    leave_out_without_kernels();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_gradients_are_central_differences),
        cmocka_unit_test(direct_f32_convolutions_are_the_plain_loops),
        cmocka_unit_test(winograd_f32_convolutions_are_the_plain_loops),
        cmocka_unit_test(long_sums_of_positive_numbers_round_as_little_as_short_ones),
        cmocka_unit_test(direct_bf16_convolutions_round_once),
        cmocka_unit_test(winograd_bf16_convolutions_round_once),
        cmocka_unit_test(products_of_bf16_round_the_weights_and_the_result),
        cmocka_unit_test(the_way_back_is_a_transposed_convolution),
        cmocka_unit_test(the_number_of_threads_changes_no_bit),
        cmocka_unit_test(threads_that_share_large_filters_or_not_change_no_bit),
        cmocka_unit_test(a_smaller_last_part_changes_no_bit),
        cmocka_unit_test(a_second_pass_gives_the_same_bits),
        cmocka_unit_test(channel_sums_add_to_what_is_there),
        cmocka_unit_test(what_is_no_convolution_is_refused),
        cmocka_unit_test(the_rule_looks_at_the_shape_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
