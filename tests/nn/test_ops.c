/*
 * Each operation in a tiny graph: values against the plain loops, gradients of its inputs and parameters against
 * central differences of the plain loops in double.
 */
#include "needs_kernels.h"
#include "nn/graph_inside.h"
#include "numbers.h"
#include "reference.h"

/* Errors of f32 relative to the largest number of a tensor; bf16 adds one rounding. */
#define BOUND 4e-6

/* An operation under test: how it is built on one or two tensors, and what it should give. */
typedef struct example example;
struct example {
    const char *name;
    tensor (*build)(graph *g, const example *e, tensor a, tensor b);
    /* y from both inputs and the block of parameters, in double. */
    void (*reference)(const example *e, const graph *g, const double *const x[2], const double *parameters, double *y);
    shape in;
    int second_channels; /* of the second input; 0: there is none */
    window w;            /* of windows: kernel, stride, padding, features; of upsampling: stride */
    norm_options norm;
};

/* ---- the examples ------------------------------------------------------------------------------------------------ */

static const double *named(const graph *g, const double *parameters, const char *name) {
    for (int i = 0; i < graph_parameter_count(g); i++)
        if (strcmp(graph_parameter(g, i)->name, name) == 0) return parameters + graph_parameter(g, i)->offset;
    fail_msg("there is no parameter '%s'", name);
    return 0;
}

/* Channels of two tensors side by side. */
static double *joined(const example *e, const double *const x[2]) {
    const size_t rows = shape_rows(&e->in), a = (size_t)e->in.channels, b = (size_t)e->second_channels;
    double *all = doubles(rows * (a + b));
    for (size_t r = 0; r < rows; r++) {
        memcpy(all + r * (a + b), x[0] + r * a, a * sizeof *all);
        if (b) memcpy(all + r * (a + b) + a, x[1] + r * b, b * sizeof *all);
    }
    return all;
}

static convolution_options convolution_with(const example *e) {
    convolution_options options = {.features = e->w.features};
    memcpy(options.kernel, e->w.kernel, sizeof options.kernel);
    memcpy(options.stride, e->w.stride, sizeof options.stride);
    return options;
}

static tensor build_convolution(graph *g, const example *e, tensor a, tensor b) {
    convolution_options options = convolution_with(e);
    options.bias = 1;
    options.second = b;
    options.has_second = b != NO_TENSOR;
    return graph_convolution(g, "op", a, &options);
}

static window window_of(const example *e) {
    window w = e->w;
    w.in = e->in;
    w.in.channels += e->second_channels;
    return w;
}

static void convolution_reference(const example *e, const graph *g, const double *const x[2], const double *parameters,
                                  double *y) {
    const window w = window_of(e);
    double *all = joined(e, x);
    reference_convolution(&w, named(g, parameters, "op.weight"), named(g, parameters, "op.bias"), all, y);
    free(all);
}

/* The second input is added. */
static tensor build_sum(graph *g, const example *e, tensor a, tensor b) {
    convolution_options options = convolution_with(e);
    options.addend = b;
    options.has_addend = 1;
    return graph_convolution(g, "op", a, &options);
}

static void sum_reference(const example *e, const graph *g, const double *const x[2], const double *parameters,
                          double *y) {
    window w = e->w;
    w.in = e->in;
    reference_convolution(&w, named(g, parameters, "op.weight"), 0, x[0], y);
    const shape out = window_output(&w);
    for (size_t i = 0; i < shape_count(&out); i++) y[i] += x[1][i];
}

static tensor build_transposed(graph *g, const example *e, tensor a, tensor b) {
    (void)b;
    return graph_transposed_convolution(g, "op", a, e->w.features, e->w.stride, 1);
}

static void transposed_reference(const example *e, const graph *g, const double *const x[2], const double *parameters,
                                 double *y) {
    static const int none[3] = {0, 0, 0};
    shape out = e->in;
    out.channels = e->w.features;
    for (int axis = 0; axis < 3; axis++) out.size[axis] *= e->w.stride[axis];
    reference_transposed(e->in, out, e->w.stride, e->w.stride, none, named(g, parameters, "op.weight"),
                         named(g, parameters, "op.bias"), x[0], y);
}

static tensor build_connected(graph *g, const example *e, tensor a, tensor b) {
    (void)b;
    return graph_fully_connected(g, "op", a, e->w.features, 1);
}

static tensor build_norm(graph *g, const example *e, tensor a, tensor b) {
    (void)b;
    return graph_norm(g, "op", a, &e->norm);
}

static void norm_reference(const example *e, const graph *g, const double *const x[2], const double *parameters,
                           double *y) {
    const int groups = e->norm.kind == NORM_INSTANCE ? e->in.samples : 1;
    reference_norm(groups, shape_rows(&e->in) / (size_t)groups, e->in.channels, x[0], named(g, parameters, "op.weight"),
                   named(g, parameters, "op.bias"), e->norm.epsilon, (double)e->norm.slope, y, 0, 0);
}

/* The second input is added between the norm and the activation. */
static tensor build_residual(graph *g, const example *e, tensor a, tensor b) {
    norm_options options = e->norm;
    options.addend = b;
    options.has_addend = 1;
    return graph_norm(g, "op", a, &options);
}

static void residual_reference(const example *e, const graph *g, const double *const x[2], const double *parameters,
                               double *y) {
    example plain = *e;
    plain.norm.slope = 1;
    norm_reference(&plain, g, x, parameters, y);
    for (size_t i = 0; i < shape_count(&e->in); i++) {
        y[i] += x[1][i];
        if (!(y[i] > 0)) y[i] *= (double)e->norm.slope;
    }
}

static tensor build_activation(graph *g, const example *e, tensor a, tensor b) {
    (void)b;
    return graph_activation(g, a, e->norm.slope);
}

static void activation_reference(const example *e, const graph *g, const double *const x[2], const double *parameters,
                                 double *y) {
    (void)g;
    (void)parameters;
    for (size_t i = 0; i < shape_count(&e->in); i++) y[i] = x[0][i] > 0 ? x[0][i] : (double)e->norm.slope * x[0][i];
}

static tensor build_max_pool(graph *g, const example *e, tensor a, tensor b) {
    (void)b;
    pool_options options;
    memcpy(options.window, e->w.kernel, sizeof options.window);
    memcpy(options.stride, e->w.stride, sizeof options.stride);
    memcpy(options.padding, e->w.padding, sizeof options.padding);
    return graph_max_pool(g, a, &options);
}

static void max_pool_reference(const example *e, const graph *g, const double *const x[2], const double *parameters,
                               double *y) {
    (void)g;
    (void)parameters;
    window w = window_of(e);
    w.features = e->in.channels;
    reference_max_pool(&w, x[0], y, 0);
}

static tensor build_average_pool(graph *g, const example *e, tensor a, tensor b) {
    (void)b;
    return graph_average_pool(g, a, e->w.kernel);
}

static void average_pool_reference(const example *e, const graph *g, const double *const x[2], const double *parameters,
                                   double *y) {
    (void)g;
    (void)parameters;
    window w = window_of(e);
    memcpy(w.stride, w.kernel, sizeof w.stride);
    w.features = e->in.channels;
    reference_average_pool(&w, x[0], y);
}

static tensor build_mean(graph *g, const example *e, tensor a, tensor b) {
    (void)e;
    (void)b;
    return graph_mean(g, a);
}

static void mean_reference(const example *e, const graph *g, const double *const x[2], const double *parameters,
                           double *y) {
    (void)g;
    (void)parameters;
    reference_global_mean(e->in, x[0], y);
}

#define OP(name) #name, build_##name, name##_reference
static const example EXAMPLES[] = {
    {OP(convolution),
     {2, {3, 4, 5}, 3},
     0,
     {.features = 5, .kernel = {3, 3, 3}, .stride = {1, 1, 1}, .padding = {1, 1, 1}},
     {0}},
    {OP(convolution),
     {1, {3, 5, 5}, 4},
     0,
     {.features = 3, .kernel = {1, 3, 3}, .stride = {1, 2, 2}, .padding = {0, 1, 1}},
     {0}},
    {OP(convolution),
     {1, {2, 3, 5}, 3},
     2,
     {.features = 4, .kernel = {3, 3, 3}, .stride = {2, 1, 2}, .padding = {1, 1, 1}},
     {0}},
    {OP(convolution),
     {3, {1, 4, 6}, 1},
     5,
     {.features = 17, .kernel = {1, 3, 3}, .stride = {1, 1, 1}, .padding = {0, 1, 1}},
     {0}},
    {OP(sum),
     {2, {1, 5, 4}, 3},
     5,
     {.features = 5, .kernel = {1, 3, 3}, .stride = {1, 1, 1}, .padding = {0, 1, 1}},
     {0}},
    {OP(transposed), {2, {1, 3, 4}, 5}, 0, {.features = 3, .stride = {1, 2, 2}}, {0}},
    {OP(transposed), {1, {2, 3, 2}, 4}, 0, {.features = 17, .stride = {2, 2, 2}}, {0}},
    {"connected",
     build_connected,
     convolution_reference,
     {5, {1, 1, 1}, 20},
     0,
     {.features = 7, .kernel = {1, 1, 1}, .stride = {1, 1, 1}},
     {0}},
    {"connected",
     build_connected,
     convolution_reference,
     {1, {1, 1, 1}, 3},
     0,
     {.features = 10, .kernel = {1, 1, 1}, .stride = {1, 1, 1}},
     {0}},
    {OP(norm), {3, {1, 4, 5}, 5}, 0, {.features = 0}, {.kind = NORM_BATCH, .slope = 0, .epsilon = 1e-5, .momentum = 0}},
    {OP(norm),
     {2, {3, 2, 3}, 17},
     0,
     {.features = 0},
     {.kind = NORM_BATCH, .slope = 1, .epsilon = 1e-3, .momentum = 0.5}},
    {OP(norm),
     {2, {3, 4, 3}, 4},
     0,
     {.features = 0},
     {.kind = NORM_INSTANCE, .slope = 0.01f, .epsilon = 1e-5, .momentum = 0}},
    {OP(norm),
     {1, {1, 1, 7}, 20},
     0,
     {.features = 0},
     {.kind = NORM_INSTANCE, .slope = 0, .epsilon = 1e-5, .momentum = 0}},
    {OP(norm),
     {1, {3, 11, 13}, 2},
     0,
     {.features = 0},
     {.kind = NORM_INSTANCE, .slope = 0.2f, .epsilon = 1e-5, .momentum = 0}}, /* more than one chunk */
    {OP(residual), {3, {1, 4, 5}, 5}, 5, {.features = 0}, {.kind = NORM_BATCH, .slope = 0, .epsilon = 1e-5}},
    {OP(residual), {2, {3, 4, 3}, 4}, 4, {.features = 0}, {.kind = NORM_INSTANCE, .slope = 0.01f, .epsilon = 1e-5}},
    {OP(residual), {1, {3, 11, 13}, 2}, 2, {.features = 0}, {.kind = NORM_INSTANCE, .slope = 0.2f, .epsilon = 1e-3}},
    {OP(residual), {2, {1, 3, 3}, 2}, 2, {.features = 0}, {.kind = NORM_BATCH, .slope = 1, .epsilon = 1e-5}},
    {OP(activation), {2, {1, 5, 7}, 5}, 0, {.features = 0}, {.slope = 0}},
    {OP(activation), {1, {3, 5, 7}, 4}, 0, {.features = 0}, {.slope = 0.1f}},
    {OP(max_pool), {2, {4, 6, 4}, 3}, 0, {.kernel = {2, 2, 2}, .stride = {2, 2, 2}}, {0}},
    {OP(max_pool), {1, {3, 7, 8}, 5}, 0, {.kernel = {1, 2, 2}, .stride = {1, 2, 2}}, {0}},
    {OP(max_pool), {1, {1, 7, 9}, 17}, 0, {.kernel = {1, 3, 3}, .stride = {1, 2, 2}}, {0}}, /* overlapping */
    {OP(max_pool), {1, {1, 8, 9}, 2}, 0, {.kernel = {1, 2, 1}, .stride = {1, 3, 2}}, {0}},  /* with gaps */
    {OP(max_pool),
     {2, {1, 8, 7}, 5},
     0,
     {.kernel = {1, 3, 3}, .stride = {1, 2, 2}, .padding = {0, 1, 1}}, /* as residual networks have it */
     {0}},
    {OP(max_pool), {1, {3, 4, 5}, 3}, 0, {.kernel = {2, 3, 2}, .stride = {1, 1, 2}, .padding = {1, 1, 0}}, {0}},
    {OP(average_pool), {2, {4, 6, 4}, 3}, 0, {.kernel = {2, 2, 2}}, {0}},
    {OP(average_pool), {1, {3, 5, 6}, 17}, 0, {.kernel = {1, 2, 2}}, {0}}, /* with a rest */
    {OP(mean), {3, {2, 3, 4}, 5}, 0, {.features = 0}, {0}},
    {OP(mean), {1, {1, 1, 1}, 20}, 0, {.features = 0}, {0}},
};
enum { EXAMPLE_COUNT = sizeof EXAMPLES / sizeof *EXAMPLES };

/* ---- running one ------------------------------------------------------------------------------------------------- */

/* What makes the gradients of the inputs add to something, or activations be computed twice. */
enum { PLAIN, INPUTS_ARE_OUTPUTS, RECOMPUTE, VARIANTS };

typedef struct trial {
    const example *e;
    precision precision;
    int inputs;
    graph *g;
    tensor input[2];
    double *x[2], *parameters, *dy, *given[2]; /* given: what the gradients of the inputs begin with */
    size_t outputs, counts[2];
} trial;

/* Both inputs come from the graph's by 1x1 filters that copy or halve, exactly: then they have gradients. */
static tensor copied(graph *g, const char *name, tensor x, int channels) {
    return graph_convolution(g, name, x, &(convolution_options){.features = channels, .kernel = {1, 1, 1}});
}

static void set_copy(graph *g, const char *name, int inputs, int outputs, float factor) {
    for (int i = 0; i < graph_parameter_count(g); i++) {
        if (strcmp(graph_parameter(g, i)->name, name) != 0) continue;
        float *weights = graph_values(g) + graph_parameter(g, i)->offset;
        memset(weights, 0, graph_parameter(g, i)->count * sizeof *weights);
        for (int o = 0; o < outputs; o++) weights[o % inputs * outputs + o] = factor;
    }
}

/* Numbers that bf16 holds and that differ between rows less than 127 apart. */
static float without_ties(size_t row, size_t channel) { return ((float)((row * 37 + channel * 11) % 127) - 63) / 16; }

/* With bf16 activations, weights that bf16 holds: some kernels multiply them as such. */
static float weight(const trial *t, uint64_t *seed) {
    const float value = (float)(0.5 * test_normal(seed));
    return t->precision == PRECISION_BF16 ? float_from_bf16(float_to_bf16(value)) : value;
}

static void fill(trial *t, uint64_t seed) {
    const example *e = t->e;
    float *input = graph_input_values(t->g), *values = graph_values(t->g);
    for (size_t i = 0; i < graph_trained_floats(t->g); i++) values[i] = weight(t, &seed);
    set_copy(t->g, "first.weight", e->in.channels, e->in.channels, 1);
    set_copy(t->g, "second.weight", e->in.channels, e->second_channels, -0.5f);
    for (size_t i = 0; i < t->counts[0]; i++) {
        if (e->build == build_max_pool) {
            t->x[0][i] = input[i] = without_ties(i / (size_t)e->in.channels, i % (size_t)e->in.channels);
            continue;
        }
        uint16_t half = float_to_bf16((float)test_normal(&seed));
        input[i] = t->precision == PRECISION_F32 ? (float)test_normal(&seed) : float_from_bf16(half);
        t->x[0][i] = (double)input[i];
    }
    for (size_t i = 0; i < t->counts[1]; i++) {
        const size_t row = i / (size_t)e->second_channels, channel = i % (size_t)e->second_channels;
        t->x[1][i] = -0.5 * t->x[0][row * (size_t)e->in.channels + channel % (size_t)e->in.channels];
    }
    free(t->parameters);
    t->parameters = exact_numbers(PRECISION_F32, values, graph_trained_floats(t->g));
}

static void give_gradients(trial *t, uint64_t seed) {
    for (int k = 0; k < graph_output_count(t->g); k++) {
        float *to = graph_output_gradients(t->g, k);
        double *exact = k ? t->given[k - 1] : t->dy;
        const shape s = graph_output_shape(t->g, k);
        for (size_t i = 0; i < shape_count(&s); i++) {
            to[i] = float_from_bf16(float_to_bf16((float)test_normal(&seed)));
            exact[i] = (double)to[i];
        }
    }
}

static trial trial_open(const example *e, precision precision, int variant, int threads) {
    trial t = {.e = e, .precision = precision, .inputs = e->second_channels ? 2 : 1, .input = {NO_TENSOR, NO_TENSOR}};
    t.g = graph_open(&(graph_options){.precision = precision, .threads = threads, .recompute = variant == RECOMPUTE});
    const tensor x = graph_input(t.g, e->in);
    t.input[0] = copied(t.g, "first", x, e->in.channels);
    if (t.inputs > 1) t.input[1] = copied(t.g, "second", x, e->second_channels);
    graph_output(t.g, e->build(t.g, e, t.input[0], t.input[1]));
    for (int i = 0; variant == INPUTS_ARE_OUTPUTS && i < t.inputs; i++) graph_output(t.g, t.input[i]);
    failure failure = {0};
    if (graph_plan(t.g, &failure) != STATUS_OK) fail_msg("%s: %s", e->name, failure.message);
    const shape out = graph_output_shape(t.g, 0);
    t.outputs = shape_count(&out);
    t.dy = doubles(t.outputs);
    for (int i = 0; i < t.inputs; i++) {
        t.counts[i] = shape_rows(&e->in) * (size_t)(i ? e->second_channels : e->in.channels);
        t.x[i] = doubles(t.counts[i]);
        t.given[i] = doubles(t.counts[i]);
    }
    fill(&t, 7);
    return t;
}

static void trial_close(trial *t) {
    graph_close(&t->g);
    free(t->parameters);
    free(t->dy);
    for (int i = 0; i < 2; i++) {
        free(t->x[i]);
        free(t->given[i]);
    }
}

static double weighted_sum(const trial *t) {
    double *y = doubles(t->outputs), sum = 0;
    t->e->reference(t->e, t->g, (const double *const *)t->x, t->parameters, y);
    for (size_t i = 0; i < t->outputs; i++) sum += t->dy[i] * y[i];
    free(y);
    return sum;
}

static double difference(const trial *t, double *at) {
    const double old = *at, step = 1e-5;
    *at = old + step;
    const double above = weighted_sum(t);
    *at = old - step;
    const double below = weighted_sum(t);
    *at = old;
    return (above - below) / (2 * step);
}

/* Relative to the largest number of the tensor. */
static void check_tensor(const trial *t, const char *what, precision precision, const void *numbers, size_t count,
                         const double *expected) {
    double largest = 0, *magnitude = doubles(count);
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(expected[i]));
    for (size_t i = 0; i < count; i++) magnitude[i] = largest;
    char name[128];
    snprintf(name, sizeof name, "%s %d, %s, %s", t->e->name, (int)(t->e - EXAMPLES),
             t->precision == PRECISION_F32 ? "f32" : "bf16", what);
    check_numbers(name, precision, numbers, count, expected, magnitude, BOUND);
    free(magnitude);
}

static void check_values(trial *t) {
    double *y = doubles(t->outputs);
    t->e->reference(t->e, t->g, (const double *const *)t->x, t->parameters, y);
    guarded stored = guarded_open(t->outputs * precision_bytes(t->precision));
    for (size_t i = 0; i < t->outputs; i++)
        store_number(t->precision, stored.data, i, (double)graph_output_values(t->g, 0)[i]);
    check_tensor(t, "values", t->precision, stored.data, t->outputs, y);
    guarded_close(&stored, "values");
    free(y);
}

static void check_input_gradients(trial *t) {
    for (int k = 0; k < t->inputs; k++) {
        double *expected = doubles(t->counts[k]);
        for (size_t i = 0; i < t->counts[k]; i++) expected[i] = t->given[k][i] + difference(t, &t->x[k][i]);
        check_tensor(t, k ? "second gradient" : "first gradient", t->precision, gradient_of(t->g, t->input[k]),
                     t->counts[k], expected);
        free(expected);
    }
}

static void check_parameter_gradients(trial *t) {
    for (int p = 0; p < graph_parameter_count(t->g); p++) {
        const parameter *parameter = graph_parameter(t->g, p);
        if (parameter->running || strncmp(parameter->name, "op.", 3) != 0) continue;
        double *expected = doubles(parameter->count);
        for (size_t i = 0; i < parameter->count; i++)
            expected[i] = 0.25 + difference(t, &t->parameters[parameter->offset + i]);
        check_tensor(t, parameter->name, PRECISION_F32, graph_gradients(t->g) + parameter->offset, parameter->count,
                     expected);
        free(expected);
    }
}

static void check_example(const example *e, precision precision, int variant) {
    trial t = trial_open(e, precision, variant, 2);
    graph_forward(t.g, 1);
    check_values(&t);
    give_gradients(&t, 3);
    for (size_t i = 0; i < graph_trained_floats(t.g); i++) graph_gradients(t.g)[i] = 0.25f; /* backward adds */
    graph_backward(t.g);
    check_input_gradients(&t);
    check_parameter_gradients(&t);
    trial_close(&t);
}

static void check_examples(precision precision) {
    for (int i = 0; i < EXAMPLE_COUNT * VARIANTS; i++) {
        const example *e = &EXAMPLES[i / VARIANTS];
        if (i % VARIANTS != RECOMPUTE || e->build == build_norm) check_example(e, precision, i % VARIANTS);
    }
}

static void operations_in_f32_are_the_plain_loops(void **state) {
    (void)state;
    check_examples(PRECISION_F32);
}

static void operations_in_bf16_round_once(void **state) {
    (void)state;
    check_examples(PRECISION_BF16);
}

/* Values, gradients of parameters and of inputs, one behind the other. */
static char *all_results(const example *e, precision precision, int threads, size_t *bytes) {
    trial t = trial_open(e, precision, INPUTS_ARE_OUTPUTS, threads);
    graph_forward(t.g, 1);
    const size_t sizes[4] = {t.outputs * sizeof(float), graph_trained_floats(t.g) * sizeof(float),
                             t.counts[0] * precision_bytes(precision), t.counts[1] * precision_bytes(precision)};
    char *results = malloc(sizes[0] + sizes[1] + sizes[2] + sizes[3]);
    memcpy(results, graph_output_values(t.g, 0), sizes[0]);
    *bytes = sizes[0];
    give_gradients(&t, 3);
    graph_clear_gradients(t.g);
    graph_backward(t.g);
    const void *from[4] = {0, graph_gradients(t.g), gradient_of(t.g, t.input[0]),
                           t.inputs > 1 ? gradient_of(t.g, t.input[1]) : 0};
    for (int i = 1; i < 4; i++) {
        if (from[i]) memcpy(results + *bytes, from[i], sizes[i]);
        *bytes += sizes[i];
    }
    trial_close(&t);
    return results;
}

static void the_number_of_threads_changes_no_bit(void **state) {
    (void)state;
    static const int threads[] = {2, 3, 5};
    for (int i = 0; i < EXAMPLE_COUNT * 2; i++) {
        size_t bytes, again;
        const precision precision = i & 1 ? PRECISION_BF16 : PRECISION_F32;
        char *one = all_results(&EXAMPLES[i / 2], precision, 1, &bytes);
        for (int k = 0; k < 3; k++) {
            char *many = all_results(&EXAMPLES[i / 2], precision, threads[k], &again);
            assert_int_equal(bytes, again);
            if (memcmp(one, many, bytes) != 0)
                fail_msg("%s %d: %d threads give other bits than one", EXAMPLES[i / 2].name, i / 2, threads[k]);
            free(many);
        }
        free(one);
    }
}

/* ---- dropout: a graph of 8 samples, or of the half that begins with sample `first`; input ones ------------------- */

typedef struct dropped {
    float out[8 * 1000], gradient[8 * 1000];
} dropped;

static void drop(precision precision, int samples, int first, int64_t iteration, dropped *d) {
    graph *g = graph_open(&(graph_options){.precision = precision, .threads = 1 + samples % 3});
    const tensor x = copied(g, "copy", graph_input(g, (shape){samples, {1, 1, 1}, 1000}), 1000);
    graph_output(g, graph_dropout(g, x, 0.25));
    assert_int_equal(graph_plan(g, NULL), STATUS_OK);
    set_copy(g, "copy.weight", 1000, 1000, 1);
    graph_set_dropout(g, 42, iteration, first);
    for (int i = 0; i < samples * 1000; i++) graph_input_values(g)[i] = 3;
    graph_forward(g, 1);
    memcpy(d->out, graph_output_values(g, 0), (size_t)samples * 1000 * sizeof(float));
    for (int i = 0; i < samples * 1000; i++) graph_output_gradients(g, 0)[i] = 3;
    graph_backward(g);
    for (int i = 0; i < samples * 1000; i++)
        d->gradient[i] = precision == PRECISION_F32
                             ? ((const float *)(const void *)gradient_of(g, x))[i]
                             : float_from_bf16(((const uint16_t *)(const void *)gradient_of(g, x))[i]);
    graph_forward(g, 0);
    for (int i = 0; i < samples * 1000; i++) assert_true(graph_output_values(g, 0)[i] == 3);
    graph_close(&g);
}

static void dropout_leaves_a_share_out_both_ways(void **state) {
    (void)state;
    static dropped whole, half, other;
    for (int p = 0; p < 2; p++) {
        const precision precision = p ? PRECISION_BF16 : PRECISION_F32;
        int kept = 0, differ = 0;
        drop(precision, 8, 0, 7, &whole);
        drop(precision, 4, 4, 7, &half);
        drop(precision, 8, 0, 8, &other);
        for (int i = 0; i < 8000; i++) {
            assert_true(whole.out[i] == 0 || whole.out[i] == 4);
            assert_true(whole.gradient[i] == whole.out[i]);
            kept += whole.out[i] > 0;
            differ += whole.out[i] != other.out[i];
        }
        assert_memory_equal(half.out, whole.out + 4000, 4000 * sizeof(float));
        assert_in_range(kept, 5800, 6200); /* 6000, five deviations */
        assert_in_range(differ, 2800, 3200);
    }
}

/* ---- what the examples do not show ------------------------------------------------------------------------------- */

static void equal_maxima_send_their_gradient_to_the_first(void **state) {
    (void)state;
    const example e = {OP(max_pool), {2, {2, 6, 7}, 5}, 0, {.kernel = {2, 3, 3}, .stride = {1, 2, 2}}, {0}};
    for (int p = 0; p < 2; p++) {
        trial t = trial_open(&e, p ? PRECISION_BF16 : PRECISION_F32, PLAIN, 2);
        uint64_t seed = 1;
        for (size_t i = 0; i < t.counts[0]; i++)
            t.x[0][i] = graph_input_values(t.g)[i] = (float)(int)(test_random(&seed) % 3) - 1;
        graph_forward(t.g, 1);
        check_values(&t);
        give_gradients(&t, 3);
        graph_backward(t.g);
        window w = window_of(&e);
        w.features = e.in.channels;
        double *y = doubles(t.outputs), *expected = doubles(t.counts[0]);
        size_t *chosen = calloc(t.outputs, sizeof *chosen);
        reference_max_pool(&w, t.x[0], y, chosen);
        for (size_t i = 0; i < t.outputs; i++) expected[chosen[i]] += t.dy[i];
        check_tensor(&t, "gradient", t.precision, gradient_of(t.g, t.input[0]), t.counts[0], expected);
        free(y);
        free(expected);
        free(chosen);
        trial_close(&t);
    }
}

/* As PyTorch: the variance that is remembered is the unbiased one. */
static void batch_norm_remembers_and_uses_its_statistics(void **state) {
    (void)state;
    const example e = {OP(norm),
                       {3, {1, 4, 5}, 5},
                       0,
                       {.features = 0},
                       {.kind = NORM_BATCH, .slope = 0.1f, .epsilon = 1e-3, .momentum = 0.25}};
    trial t = trial_open(&e, PRECISION_F32, PLAIN, 2);
    graph_initialise(t.g, 1); /* running statistics begin as mean 0 and variance 1 */
    fill(&t, 7);
    double mean[5], variance[5], *y = doubles(t.outputs), running[2][5];
    reference_norm(1, 60, 5, t.x[0], 0, 0, 1e-3, 1, y, mean, variance);
    graph_forward(t.g, 1);
    graph_forward(t.g, 1);
    for (int i = 0; i < graph_parameter_count(t.g); i++) {
        const parameter *p = graph_parameter(t.g, i);
        if (!p->running) continue;
        const int which = strcmp(p->name, "op.running_mean") != 0;
        if (which) assert_string_equal(p->name, "op.running_var");
        for (int c = 0; c < 5; c++) {
            running[which][c] = (double)graph_running(t.g)[p->offset + (size_t)c];
            const double now = which ? variance[c] * 60 / 59 : mean[c];
            assert_near(running[which][c], 0.5625 * which + 0.4375 * now, 1e-6);
        }
    }
    graph_forward(t.g, 0);
    const double *weight = named(t.g, t.parameters, "op.weight"), *bias = named(t.g, t.parameters, "op.bias");
    for (size_t i = 0; i < t.outputs; i++) {
        const size_t c = i % 5;
        const double z = (t.x[0][i] - running[0][c]) / sqrt(running[1][c] + 1e-3) * weight[c] + bias[c];
        assert_near(graph_output_values(t.g, 0)[i], z > 0 ? z : 0.1f * z, 1e-5);
    }
    free(y);
    trial_close(&t);
}

/* x * scale + shift loses what the mean has more digits than the deviation, here all: the bias is left, roughly. */
static void a_norm_of_equal_values_is_about_the_bias(void **state) {
    (void)state;
    const example e = {OP(norm),
                       {1, {1, 3, 3}, 4},
                       0,
                       {.features = 0},
                       {.kind = NORM_INSTANCE, .slope = 1, .epsilon = 1e-5, .momentum = 0}};
    trial t = trial_open(&e, PRECISION_F32, PLAIN, 1);
    for (size_t i = 0; i < t.counts[0]; i++) graph_input_values(t.g)[i] = 1000;
    graph_forward(t.g, 1);
    const double *bias = named(t.g, t.parameters, "op.bias");
    for (size_t i = 0; i < t.outputs; i++) assert_near(graph_output_values(t.g, 0)[i], bias[i % 4], 0.1);
    give_gradients(&t, 3);
    graph_backward(t.g);
    for (size_t i = 0; i < t.counts[0]; i++)
        assert_true(isfinite(number_at(PRECISION_F32, gradient_of(t.g, t.input[0]), i)));
    trial_close(&t);
}

/* The planner hears of every mistake. */
static void check_refused(graph *g, const char *what) {
    failure failure = {0};
    if (graph_plan(g, &failure) == STATUS_OK) fail_msg("planned although %s", what);
    assert_true(strlen(failure.message) > 10);
    graph_close(&g);
    assert_null(g);
}

static graph *started(tensor *x) {
    graph *g = graph_open(&(graph_options){.threads = 1});
    *x = graph_input(g, (shape){2, {1, 4, 4}, 3});
    return g;
}

static void mistakes_of_layers_are_told_when_the_graph_is_planned(void **state) {
    (void)state;
    const convolution_options filter = {.features = 4, .kernel = {1, 3, 3}};
    const int none[3] = {0, 0, 0};
    tensor x, y;
    check_refused(graph_open(&(graph_options){.threads = 1}), "it is empty");
    check_refused(started(&x), "it has no output");
    graph *g = started(&x);
    graph_output(g, graph_fully_connected(g, "fc", x, 3, 1));
    check_refused(g, "a fully connected layer sees an image");
    g = started(&x);
    graph_output(g, graph_max_pool(g, x, &(pool_options){.window = {1, 5, 5}, .stride = {1, 2, 2}}));
    check_refused(g, "the window is larger than the image");
    g = started(&x);
    graph_output(g,
                 graph_max_pool(g, x, &(pool_options){.window = {1, 2, 2}, .stride = {1, 1, 1}, .padding = {0, 2, 0}}));
    check_refused(g, "a window could lie outside");
    g = started(&x);
    graph_output(g, graph_average_pool(g, x, none));
    check_refused(g, "the mean is over nothing");
    g = started(&x);
    y = graph_convolution(g, "c", x, &filter);
    graph_output(g, graph_norm(g, "n", y, &(norm_options){.kind = NORM_BATCH, .addend = x, .has_addend = 1}));
    check_refused(g, "a residual differs in channels");
    g = started(&x);
    graph_output(g, graph_transposed_convolution(g, "t", x, 3, none, 1));
    check_refused(g, "a stride is zero");
    g = started(&x);
    y = graph_convolution(g, "c", x, &filter);
    graph_output(g, graph_convolution(g, "c", y, &filter));
    check_refused(g, "two parameters have one name");
}

static void mistakes_of_wiring_are_told_when_the_graph_is_planned(void **state) {
    (void)state;
    const convolution_options filter = {.features = 4, .kernel = {1, 3, 3}};
    tensor x, y;
    graph *g = started(&x);
    graph_output(g, graph_activation(g, 17, 0));
    check_refused(g, "a tensor is not one of it");
    g = started(&x);
    graph_output(g, graph_norm(g, "n", graph_mean(g, x), &(norm_options){.kind = NORM_INSTANCE}));
    check_refused(g, "one position is normalised alone");
    g = started(&x);
    graph_input(g, (shape){1, {1, 1, 1}, 1});
    graph_output(g, graph_activation(g, x, 0));
    check_refused(g, "it has two inputs");
    g = graph_open(&(graph_options){.threads = 1});
    graph_output(g, graph_activation(g, graph_input(g, (shape){1, {1, 0, 1}, 1}), 0));
    check_refused(g, "the input is empty");
    g = started(&x);
    graph_convolution(g, "unused", x, &filter);
    graph_output(g, graph_convolution(g, "c", x, &filter));
    check_refused(g, "nobody uses a tensor");
    g = started(&x);
    y = graph_convolution(g, "c", x, &filter);
    graph_output(g, y);
    graph_output(g, y);
    check_refused(g, "an output is named twice");
    g = started(&x);
    graph_output(g, x);
    check_refused(g, "the input is the output");
}

/* Two norms behind each other: the first is to be there when the second is computed again. */
static void norms_of_norms_can_be_recomputed(void **state) {
    (void)state;
    float *gradients[2];
    size_t count = 0;
    for (int recompute = 0; recompute < 2; recompute++) {
        graph *g = graph_open(&(graph_options){.threads = 2, .recompute = recompute});
        const norm_options norm = {.kind = NORM_INSTANCE, .slope = 0.1f};
        const convolution_options filter = {.features = 8, .kernel = {3, 3, 3}};
        tensor x = graph_input(g, (shape){2, {3, 4, 5}, 2});
        x = graph_norm(g, "a", graph_convolution(g, "c1", x, &filter), &norm);
        x = graph_norm(g, "c", graph_norm(g, "b", x, &norm), &norm);
        x = graph_convolution(g, "c2", x, &filter);
        x = graph_norm(g, "d", graph_activation(g, x, 0.5f), &norm);
        graph_output(g, graph_convolution(g, "c3", x, &filter));
        assert_int_equal(graph_plan(g, 0), STATUS_OK);
        graph_initialise(g, 4);
        uint64_t seed = 2;
        for (int i = 0; i < 2 * 60 * 2; i++) graph_input_values(g)[i] = (float)test_normal(&seed);
        graph_forward(g, 1);
        for (int i = 0; i < 2 * 60 * 8; i++) graph_output_gradients(g, 0)[i] = (float)test_normal(&seed);
        graph_backward(g);
        count = graph_trained_floats(g);
        gradients[recompute] = malloc(count * sizeof(float));
        memcpy(gradients[recompute], graph_gradients(g), count * sizeof(float));
        graph_close(&g);
    }
    assert_memory_equal(gradients[0], gradients[1], count * sizeof(float));
    free(gradients[0]);
    free(gradients[1]);
}

/* Two norms that a convolution reads; outputs are stored, so as outputs they are read as others are. */
static graph *open_scaling(norm_kind kind, int depth, int stored) {
    const convolution_options filter = {.features = 16, .kernel = {depth > 1 ? 3 : 1, 3, 3}};
    const norm_options norm = {.kind = kind, .slope = 0.1F};
    failure failure;
    graph *g = graph_open(&(graph_options){
        .threads = 2, .convolution = CONVOLUTION_WINOGRAD, .recompute = depth > 1, .batch = {.samples = 5, .part = 2}});
    const tensor x = graph_input(g, (shape){5, {depth, 9, 14}, 16});
    const tensor a = graph_norm(g, "a.norm", graph_convolution(g, "a", x, &filter), &norm);
    const tensor b = graph_norm(g, "b.norm", graph_convolution(g, "b", x, &filter), &norm);
    convolution_options both = filter;
    both.has_second = 1;
    both.second = b;
    graph_output(g, graph_convolution(g, "both", a, &both));
    if (stored) graph_output(g, a);
    if (stored) graph_output(g, b);
    if (graph_plan(g, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    graph_initialise(g, 3);
    return g;
}

static void pass_scaling(graph *g, float *outputs) {
    const shape in = graph_input_shape(g), out = graph_output_shape(g, 0);
    uint64_t seed = 5;
    for (size_t i = 0; i < shape_count(&in); i++) graph_input_values(g)[i] = (float)test_normal(&seed);
    graph_forward(g, 1);
    memcpy(outputs, graph_output_values(g, 0), shape_count(&out) * sizeof *outputs);
    for (int k = 0; k < graph_output_count(g); k++)
        memset(graph_output_gradients(g, k), 0, shape_count(&out) * sizeof(float));
    for (size_t i = 0; i < shape_count(&out); i++) graph_output_gradients(g, 0)[i] = (float)test_normal(&seed);
    graph_backward(g);
}

static int scaled_nodes(const graph *g) {
    int scaled = 0;
    for (int i = 0; i < g->node_count; i++) scaled += g->nodes[i].scaled_on_reading;
    return scaled;
}

static void what_convolutions_scale_on_reading_is_as_if_it_were_stored(void **state) {
    (void)state;
    enum { MOST = 5 * 5 * 9 * 14 * 16 };
    static float outputs[2][MOST];
    for (int k = 0; k < 4; k++) {
        graph *g[2];
        for (int stored = 0; stored < 2; stored++) {
            g[stored] = open_scaling(k & 1 ? NORM_INSTANCE : NORM_BATCH, k & 2 ? 5 : 1, stored);
            pass_scaling(g[stored], outputs[stored]);
        }
        assert_memory_equal(outputs[0], outputs[1], sizeof outputs[0]);
        assert_memory_equal(graph_gradients(g[0]), graph_gradients(g[1]), graph_trained_floats(g[0]) * sizeof(float));
        assert_int_equal(scaled_nodes(g[0]), 2);
        assert_int_equal(scaled_nodes(g[1]), 0);
        graph_close(&g[0]);
        graph_close(&g[1]);
    }
}

/* Into PyTorch's order and back; where each number goes is counted in its value. */
static void weights_travel_to_the_order_of_pytorch_and_back(void **state) {
    (void)state;
    graph *g = graph_open(&(graph_options){.threads = 1});
    tensor x = graph_input(g, (shape){1, {2, 3, 4}, 3});
    x = graph_convolution(g, "c", x, &(convolution_options){.features = 5, .kernel = {3, 1, 3}, .bias = 1});
    graph_output(g, graph_transposed_convolution(g, "t", x, 7, (const int[]){1, 2, 2}, 0));
    assert_int_equal(graph_plan(g, 0), STATUS_OK);
    float *values = graph_values(g), *out = calloc(graph_trained_floats(g), sizeof *out);
    for (size_t i = 0; i < graph_trained_floats(g); i++) values[i] = (float)i;
    const parameter *c = graph_parameter(g, 0), *t = graph_parameter(g, 2);
    assert_string_equal(c->name, "c.weight");
    assert_string_equal(t->name, "t.weight");
    const int64_t filter[5] = {5, 3, 3, 1, 3}, transposed[5] = {5, 7, 1, 2, 2};
    assert_memory_equal(c->shape, filter, sizeof filter);
    assert_memory_equal(t->shape, transposed, sizeof transposed);
    graph_export(c, values, out);
    for (int o = 0; o < 5; o++)
        for (int i = 0; i < 3; i++)
            for (int tap = 0; tap < 9; tap++)
                assert_near(out[(o * 3 + i) * 9 + tap], values[c->offset + (size_t)((tap * 3 + i) * 5 + o)], 0);
    graph_export(t, values, out);
    for (int i = 0; i < 5; i++) /* [input][output][tap]; inside [tap][output][input] */
        for (int o = 0; o < 7; o++)
            for (int tap = 0; tap < 4; tap++)
                assert_near(out[(i * 7 + o) * 4 + tap], values[t->offset + (size_t)((tap * 7 + o) * 5 + i)], 0);
    memset(values + t->offset, 0, t->count * sizeof *values);
    graph_import(t, out, values);
    for (size_t i = 0; i < t->count; i++) assert_near(values[t->offset + i], (double)(t->offset + i), 0);
    free(out);
    graph_close(&g);
}

int main(void) {
    leave_out_without_kernels();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_in_f32_are_the_plain_loops),
        cmocka_unit_test(operations_in_bf16_round_once),
        cmocka_unit_test(the_number_of_threads_changes_no_bit),
        cmocka_unit_test(dropout_leaves_a_share_out_both_ways),
        cmocka_unit_test(equal_maxima_send_their_gradient_to_the_first),
        cmocka_unit_test(batch_norm_remembers_and_uses_its_statistics),
        cmocka_unit_test(a_norm_of_equal_values_is_about_the_bias),
        cmocka_unit_test(norms_of_norms_can_be_recomputed),
        cmocka_unit_test(what_convolutions_scale_on_reading_is_as_if_it_were_stored),
        cmocka_unit_test(mistakes_of_layers_are_told_when_the_graph_is_planned),
        cmocka_unit_test(mistakes_of_wiring_are_told_when_the_graph_is_planned),
        cmocka_unit_test(weights_travel_to_the_order_of_pytorch_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
