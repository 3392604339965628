#define _POSIX_C_SOURCE 200809L
#include "bench/layer_cost.h"

#include "core/clock.h"
#include "core/memory.h"
#include "nn/vector.h"

/* The images, weights and scratch of a convolution. */
typedef struct layer_memory {
    void *inputs[2], *input_gradients[2], *output;
    float *weights, *weight_gradients;
    void *scratch;
} layer_memory;

/* Random numbers from -1/2 to 1/2: their values do not matter, but zeros and denormal ones would be no fair work. */
static void *random_values(size_t count, precision precision) {
    void *values = memory_open(count * precision_bytes(precision));
    unsigned state = 1;
    for (size_t i = 0; i < count && values; i++) {
        state = state * 1664525u + 1013904223u;
        const float value = (float)(state >> 8) * 0x1p-24f - 0.5f;
        if (precision == PRECISION_F32) ((float *)values)[i] = value;
        else ((uint16_t *)values)[i] = float_to_bf16(value);
    }
    return values;
}

static void close_memory(layer_memory *m) {
    for (int i = 0; i < 2; i++) {
        memory_close(m->inputs[i]);
        memory_close(m->input_gradients[i]);
    }
    memory_close(m->output);
    memory_close(m->weights);
    memory_close(m->weight_gradients);
    memory_close(m->scratch);
}

static int open_memory(const convolution *c, layer_memory *m) {
    const size_t positions = shape_rows(&c->in);
    int good = 1;
    for (int i = 0; i < c->inputs; i++) {
        m->inputs[i] = random_values(positions * (size_t)c->input_channels[i], c->precision);
        m->input_gradients[i] = random_values(positions * (size_t)c->input_channels[i], c->precision);
        good = good && m->inputs[i] && m->input_gradients[i];
    }
    m->output = random_values(shape_count(&c->out) + KERNEL_PANEL, c->precision);
    m->weights = random_values(c->weight_count, PRECISION_F32);
    m->weight_gradients = random_values(c->weight_count, PRECISION_F32);
    m->scratch = memory_open(convolution_scratch_bytes(c));
    return good && m->output && m->weights && m->weight_gradients && m->scratch;
}

static void run_pass(const convolution *c, const layer_memory *m, layer_pass pass) {
    const convolution_filter filter = {m->weights, NULL};
    const void *const inputs[2] = {m->inputs[0], m->inputs[1]};
    void *const gradients[2] = {m->input_gradients[0], m->input_gradients[1]};
    switch (pass) {
    case LAYER_FORWARD: convolution_forward(c, filter, inputs, NULL, m->output, m->scratch); break;
    case LAYER_BACKWARD_DATA:
        convolution_backward_data(c, filter, m->output, (const int[2]){0, 0}, gradients, m->scratch);
        break;
    case LAYER_BACKWARD_WEIGHTS:
        convolution_backward_weights(c, inputs, m->output, (part_gradients){m->weight_gradients, 0}, m->scratch);
        break;
    }
}

/* Runs of at least five milliseconds: far longer than the clock's step, and short enough for some to be undisturbed. */
static status_code time_pass(const convolution *c, const layer_memory *m, layer_pass pass, double seconds,
                             timing *result, failure *failure) {
    timings all = {0};
    status_code status = STATUS_OK;
    run_pass(c, m, pass);
    const double end = clock_seconds() + seconds;
    do {
        const double start = clock_seconds();
        double now = start;
        int count = 0;
        for (; count == 0 || now - start < 0.005; count++) {
            run_pass(c, m, pass);
            now = clock_seconds();
        }
        status = timings_add(&all, (now - start) / count, failure);
    } while (status == STATUS_OK && clock_seconds() < end);
    timings_end(&all, result);
    return status;
}

status_code layer_cost_measure(const convolution *layer, double seconds, layer_cost *cost, failure *failure) {
    layer_memory memory = {{NULL, NULL}, {NULL, NULL}, NULL, NULL, NULL, NULL};
    status_code status = open_memory(layer, &memory) ? STATUS_OK : fail_memory(failure, "the images of a convolution");
    cost->gflop = convolution_flops(layer) / 1e9;
    for (int pass = 0; pass < LAYER_PASSES && status == STATUS_OK; pass++)
        status = time_pass(layer, &memory, (layer_pass)pass, seconds, &cost->pass[pass], failure);
    close_memory(&memory);
    return status;
}

double peak_gflops(int threads) {
    const kernels *kernels = kernels_for(PRECISION_F32);
    double best = 0;
    for (int run = 0; run < 5; run++) {
        double flops = 0;
        const double start = clock_seconds();
#pragma omp parallel num_threads(threads) reduction(+ : flops)
        flops += kernels->multiply_adds(400000);
        const double rate = flops / (clock_seconds() - start) / 1e9;
        if (rate > best) best = rate;
    }
    return best;
}
