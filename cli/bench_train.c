/* hws bench train: what a training step costs. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "core/clock.h"
#include "model/learner.h"
#include "options.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const char USAGE[] =
    "usage: hws bench train --model wrn-16-1 | unet | mlp-L-m [options]\n"
    "\n"
    "Times training steps (forward, a loss per example, backward, optimiser) on random data: the best of several "
    "runs.\n"
    "\n"
    "  --model M          the network                         (wrn-16-1)\n"
    "  --batch B          examples per step                   (64; 2 for unet)\n"
    "  --patch D,H,W      size of a volume, or of a picture with D = 1   (1,28,28; 40,56,40 for unet)\n"
    "  --levels L         of the U-Net                        (4)\n"
    "  --base F           features of its finest level        (32)\n"
    "  --channels C       of the input                        (1)\n"
    "  --classes K        of the output                       (10; 3 for unet)\n"
    "  --max-pool         the U-Net goes down by max pooling instead of strides\n"
    "  --precision P      f32 | bf16                          (f32)\n"
    "  --conv A           auto | direct                       (auto: Winograd where it pays)\n"
    "  --threads T        (all)\n"
    "  --seconds S        how long to measure                 (10)\n"
    "  --describe         list the convolutions and their algorithms first\n"
    "  --json             one JSON object: model, batch, precision, ms_per_iteration, items_per_second, gflops,\n"
    "                     peak_gflops, peak_mb\n";

typedef struct train_bench {
    const char *model, *precision, *convolution;
    long long batch, levels, base, channels, classes, threads;
    int patch[3], max_pool, json, describe;
    double seconds;
    learner_options learner;
} train_bench;

static double peak_megabytes(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

/* Multiply-adds that wait for nothing but each other, on all threads: the limit of this machine. */
static double peak_gflops(int threads) {
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

static int choose(train_bench *bench) {
    failure failure;
    learner_options *o = &bench->learner;
    if (model_parse(bench->model, &o->model, &failure) != STATUS_OK)
        return cli_error(EXIT_USAGE, "%s", failure.message);
    const int unet = o->model.kind == MODEL_UNET;
    if (!bench->batch) bench->batch = unet ? 2 : 64;
    if (!bench->classes) bench->classes = unet ? 3 : 10;
    if (!bench->patch[0]) memcpy(bench->patch, unet ? (int[3]){40, 56, 40} : (int[3]){1, 28, 28}, sizeof bench->patch);
    o->model.input = (shape){
        unet ? 1 : (int)bench->batch, {bench->patch[0], bench->patch[1], bench->patch[2]}, (int)bench->channels};
    if (o->model.kind == MODEL_MLP)
        o->model.input = (shape){
            (int)bench->batch, {1, 1, 1}, bench->patch[0] * bench->patch[1] * bench->patch[2] * (int)bench->channels};
    o->model.classes = (int)bench->classes;
    if (unet) {
        model_unet_defaults(&o->model, bench->patch[0] > 1 ? 3 : 2);
        o->model.unet_levels = (int)bench->levels;
        o->model.unet_base = (int)bench->base;
        o->model.unet_max_pool = bench->max_pool;
    }
    if (strcmp(bench->precision, "f32") != 0 && strcmp(bench->precision, "bf16") != 0)
        return cli_error(EXIT_USAGE, "--precision %s is neither f32 nor bf16", bench->precision);
    if (strcmp(bench->convolution, "auto") != 0 && strcmp(bench->convolution, "direct") != 0)
        return cli_error(EXIT_USAGE, "--conv %s is neither auto nor direct", bench->convolution);
    o->graph = (graph_options){.precision = bench->precision[0] == 'b' ? PRECISION_BF16 : PRECISION_F32,
                               .threads = (int)bench->threads,
                               .convolution = bench->convolution[0] == 'd' ? CONVOLUTION_DIRECT : CONVOLUTION_AUTOMATIC,
                               .recompute = unet};
    o->loss = unet ? LOSS_DICE_CE : LOSS_CROSS_ENTROPY;
    o->optimizer = optimizer_options_default(unet ? OPTIMIZER_NESTEROV : OPTIMIZER_SGD);
    if (unet) {
        o->optimizer.momentum = 0.99;
        o->optimizer.weight_decay = 3e-5;
        o->optimizer.clip_norm = 12;
    }
    return EXIT_DONE;
}

static void fill(learner *l, unsigned *state, long long classes) {
    const shape in = graph_input_shape(learner_graph(l)), out = graph_output_shape(learner_graph(l), 0);
    for (size_t i = 0; i < shape_count(&in); i++) {
        *state = *state * 1664525u + 1013904223u;
        learner_input(l)[i] = (float)(*state >> 8) * 0x1p-24f;
    }
    for (size_t i = 0; i < shape_rows(&out); i++) {
        *state = *state * 1664525u + 1013904223u;
        learner_labels(l)[i] = (int16_t)((*state >> 8) % (unsigned)classes);
    }
}

static status_code step(learner *l, long long batch, double *losses, double *weights, failure *failure) {
    const int part = learner_part(l);
    learner_begin(l);
    for (long long done = 0; done < batch; done += part) {
        const status_code status = learner_losses(l, part, losses, failure);
        if (status != STATUS_OK) return status;
        for (int i = 0; i < part; i++) weights[i] = 1.0 / (double)batch;
        learner_backward(l, part, weights);
    }
    return learner_update(l, 0.01, 0, failure);
}

/* The best of the runs that fit into the time; each is at least a quarter of a second long. */
static status_code measure(learner *l, const train_bench *bench, double *seconds, failure *failure) {
    double *losses = calloc(2 * (size_t)learner_part(l), sizeof *losses);
    if (!losses) return fail_memory(failure, "the losses");
    status_code status = step(l, bench->batch, losses, losses + learner_part(l), failure);
    const double end = clock_seconds() + bench->seconds;
    *seconds = 1e300;
    while (status == STATUS_OK && (clock_seconds() < end || *seconds > 1e299)) {
        const double start = clock_seconds();
        int steps = 0;
        while (status == STATUS_OK && (steps == 0 || clock_seconds() - start < 0.25)) {
            status = step(l, bench->batch, losses, losses + learner_part(l), failure);
            steps++;
        }
        const double each = (clock_seconds() - start) / steps;
        if (each < *seconds) *seconds = each;
    }
    free(losses);
    return status;
}

static void print_row(const train_bench *bench, learner *l, double seconds) {
    const double passes = (double)bench->batch / learner_part(l);
    const double gflops = graph_flops(learner_graph(l)) * passes / seconds / 1e9,
                 peak = peak_gflops((int)bench->threads);
    const double memory = peak_megabytes();
    if (bench->json) {
        printf("{\"model\": \"%s\", \"batch\": %lld, \"precision\": \"%s\", \"ms_per_iteration\": %.3f, "
               "\"items_per_second\": %.3f, \"gflops\": %.1f, \"peak_gflops\": %.1f, \"peak_mb\": %.0f}\n",
               bench->model, bench->batch, bench->precision, seconds * 1e3, (double)bench->batch / seconds, gflops,
               peak, memory);
        return;
    }
    printf("%s, batch %lld, %s, %d x %d x %d, %lld threads (%s)\n", bench->model, bench->batch, bench->precision,
           bench->patch[0], bench->patch[1], bench->patch[2], bench->threads, kernels_name());
    printf("%10.2f ms per iteration\n%10.2f items per second\n", seconds * 1e3, (double)bench->batch / seconds);
    printf("%10.1f GFLOP/s of direct convolution, %.0f %% of the %.1f that this machine multiplies and adds\n", gflops,
           100 * gflops / peak, peak);
    printf("%10.0f MB peak memory\n", memory);
}

static int run(const train_bench *bench) {
    learner *l;
    failure failure;
    status_code status = learner_open(&bench->learner, &l, &failure);
    if (status != STATUS_OK)
        return cli_error(status == STATUS_BAD_INPUT ? EXIT_USAGE : EXIT_FAILED, "%s", failure.message);
    if (bench->describe) {
        char text[16384];
        graph_describe(learner_graph(l), text, sizeof text);
        fputs(text, stdout);
    }
    graph_initialise(learner_graph(l), 0);
    unsigned state = 1;
    fill(l, &state, bench->classes);
    double seconds = 0;
    status = measure(l, bench, &seconds, &failure);
    if (status == STATUS_OK) print_row(bench, l, seconds);
    learner_close(&l);
    return status == STATUS_OK ? EXIT_DONE : cli_error(EXIT_FAILED, "%s", failure.message);
}

int bench_train(int count, char **arguments) {
    if (cli_helped(count, arguments, USAGE)) return EXIT_DONE;
    train_bench b = {.model = "wrn-16-1",
                     .precision = "f32",
                     .convolution = "auto",
                     .levels = 4,
                     .base = 32,
                     .channels = 1,
                     .threads = omp_get_max_threads(),
                     .seconds = 10};
    const cli_option options[] = {
        {"--model", OPTION_TEXT, &b.model, 0, 0, 0},
        {"--batch", OPTION_WHOLE, &b.batch, 1, 65536, 0},
        {"--patch", OPTION_TRIPLE, b.patch, 1, 4096, 0},
        {"--levels", OPTION_WHOLE, &b.levels, 2, MODEL_MAX_LEVELS, 0},
        {"--base", OPTION_WHOLE, &b.base, 1, 1024, 0},
        {"--channels", OPTION_WHOLE, &b.channels, 1, 1024, 0},
        {"--classes", OPTION_WHOLE, &b.classes, 1, 4096, 0},
        {"--max-pool", OPTION_FLAG, &b.max_pool, 0, 0, 0},
        {"--precision", OPTION_TEXT, &b.precision, 0, 0, 0},
        {"--conv", OPTION_TEXT, &b.convolution, 0, 0, 0},
        {"--threads", OPTION_WHOLE, &b.threads, 1, 1024, 0},
        {"--seconds", OPTION_NUMBER, &b.seconds, 0, 3600, 0},
        {"--describe", OPTION_FLAG, &b.describe, 0, 0, 0},
        {"--json", OPTION_FLAG, &b.json, 0, 0, 0},
    };
    int code = cli_parse("bench train", count, arguments, options, sizeof options / sizeof *options, 0, 0, 0);
    if (code == EXIT_DONE) code = choose(&b);
    if (code != EXIT_DONE) return code;
    omp_set_num_threads((int)b.threads);
    return run(&b);
}
