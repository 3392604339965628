/* hws bench train: what a training step costs. */
#include "bench/training_cost.h"
#include "bench_layers.h"
#include "cli.h"
#include "core/parallel.h"
#include "options.h"
#include "run/settings.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws bench train --model wrn-16-1 | resnet-18 | unet | resenc | mlp-L-m [options]\n"
    "\n"
    "Times training steps (forward, a loss per example, backward, optimiser) on random data: the median of several "
    "runs,\n"
    "the times between which the middle half of them lies, and the best. With --layers instead each convolution by "
    "itself.\n"
    "\n";

typedef struct train_bench {
    const char *precision, *convolution;
    long long batch, levels, base, channels, classes, threads;
    int json, describe, layers;
    double seconds;
    training_task task;
} train_bench;

/* -1: there is none of this name. */
static int algorithm_called(const char *name) {
    if (strcmp(name, "auto") == 0) return CONVOLUTION_AUTOMATIC;
    if (strcmp(name, "direct") == 0) return CONVOLUTION_DIRECT;
    return strcmp(name, "winograd") == 0 ? CONVOLUTION_WINOGRAD : -1;
}

static int choose(train_bench *bench) {
    training_task *task = &bench->task;
    int precision;
    failure failure;
    const status_code status = settings_choose("precision", bench->precision, &precision, &failure);
    if (status != STATUS_OK) return cli_end(status, &failure);
    const int algorithm = algorithm_called(bench->convolution);
    if (algorithm < 0) return cli_error(EXIT_USAGE, "--conv %s is none of auto, direct, winograd", bench->convolution);
    task->batch = (int)bench->batch;
    task->classes = (int)bench->classes;
    task->channels = (int)bench->channels;
    task->levels = (int)bench->levels;
    task->base = (int)bench->base;
    task->graph = (graph_options){.precision = (enum precision)precision,
                                  .threads = (int)bench->threads,
                                  .convolution = (convolution_algorithm)algorithm};
    return cli_end(training_task_complete(task, &failure), &failure);
}

static void print_cost(const train_bench *bench, const training_cost *cost) {
    const training_task *task = &bench->task;
    const timing *step = &cost->step;
    const double rate = task->batch / step->median;
    if (bench->json) {
        printf("{\"model\": \"%s\", \"batch\": %d, \"precision\": \"%s\", \"ms_per_iteration\": %.3f, "
               "\"ms_least\": %.3f, \"ms_low\": %.3f, \"ms_high\": %.3f, \"items_per_second\": %.3f, \"gflops\": %.1f, "
               "\"peak_gflops\": %.1f, \"peak_mb\": %.0f",
               task->model, task->batch, bench->precision, step->median * 1e3, step->least * 1e3, step->low * 1e3,
               step->high * 1e3, rate, cost->gflops, cost->peak_gflops, cost->peak_megabytes);
        if (cost->gather_seconds > 0) printf(", \"gather_ms\": %.4f", cost->gather_seconds * 1e3);
        printf("}\n");
        return;
    }
    printf("%s, batch %d, %s, %d x %d x %d, %d threads (%s)\n", task->model, task->batch, bench->precision,
           task->patch[0], task->patch[1], task->patch[2], task->graph.threads, kernels_name());
    printf("%10.2f ms per iteration (middle half of the runs %.2f to %.2f, best %.2f)\n%10.2f items per second\n",
           step->median * 1e3, step->low * 1e3, step->high * 1e3, step->least * 1e3, rate);
    printf("%10.1f GFLOP/s of direct convolution, %.0f %% of the %.1f that this machine multiplies and adds\n",
           cost->gflops, 100 * cost->gflops / cost->peak_gflops, cost->peak_gflops);
    printf("%10.0f MB peak memory\n", cost->peak_megabytes);
    if (cost->gather_seconds > 0)
        printf("%10.4f ms to gather the losses of all ranks, %.2f %% of an iteration\n", cost->gather_seconds * 1e3,
               100 * cost->gather_seconds / cost->step.median);
}

static int run(const train_bench *bench) {
    learner *l = NULL;
    failure failure;
    training_cost cost;
    status_code status = learner_open(&bench->task.learner, &l, &failure);
    if (status == STATUS_OK && bench->describe) {
        char text[16384];
        graph_describe(learner_graph(l), text, sizeof text);
        fputs(text, stdout);
    }
    if (status == STATUS_OK && bench->layers) {
        const int code = bench_layers(learner_graph(l), bench->seconds, bench->json);
        learner_close(&l);
        return code;
    }
    if (status == STATUS_OK) status = training_cost_measure(&bench->task, l, bench->seconds, &cost, &failure);
    learner_close(&l);
    if (status != STATUS_OK) return cli_end(status, &failure);
    print_cost(bench, &cost);
    return EXIT_DONE;
}

int bench_train(int count, char **arguments) {
    train_bench b = {.precision = "f32",
                     .convolution = "auto",
                     .levels = 4,
                     .base = 32,
                     .channels = 1,
                     .threads = parallel_processors(),
                     .seconds = 10,
                     .task = {.model = "wrn-16-1"}};
    int unet = 0;
    cli_option options[] = {
        CLI_TEXT("--model", "M", &b.task.model, "the network", NULL),
        CLI_WHOLE("--batch", "B", &b.batch, 1, 65536, "examples per step", "64; 2 for unet"),
        CLI_TRIPLE("--patch", "D,H,W", b.task.patch, 1, 4096, "size of a volume, or of a picture with D = 1",
                   "1,28,28; 40,56,40 for unet"),
        CLI_WHOLE("--levels", "L", &b.levels, 2, MODEL_MAX_LEVELS, "of the U-Net", NULL),
        CLI_WHOLE("--base", "F", &b.base, 1, 1024, "features of its finest level", NULL),
        CLI_WHOLE("--channels", "C", &b.channels, 1, 1024, "of the input", NULL),
        CLI_WHOLE("--classes", "K", &b.classes, 1, 4096, "of the output", "10; 3 for unet"),
        CLI_FLAG("--max-pool", &b.task.max_pool, "the U-Net goes down by max pooling instead of strides"),
        CLI_TEXT("--precision", "P", &b.precision, "f32 | bf16", NULL),
        CLI_TEXT("--conv", "A", &b.convolution, "auto | direct | winograd (where it can)",
                 "auto: Winograd or products of bf16 where they pay"),
        CLI_THREADS(&b.threads, "threads to work with"),
        CLI_NUMBER("--seconds", "S", &b.seconds, 0, 3600, "how long to measure", NULL),
        CLI_FLAG("--describe", &b.describe, "list the convolutions and their algorithms first"),
        CLI_FLAG("--layers", &b.layers, "time each pass of each different convolution instead, --seconds in all"),
        CLI_FLAG("--json", &b.json,
                 "one JSON object: model, batch, precision, ms_per_iteration (the median), ms_least, ms_low,\n"
                 "ms_high, items_per_second, gflops, peak_gflops, peak_mb; of several ranks also gather_ms (to gather\n"
                 "the losses of an iteration); with --layers one per convolution, with ms, least_ms, low_ms and\n"
                 "high_ms of each pass"),
    };
    const size_t options_count = sizeof options / sizeof *options;
    static const char *const OF_UNET[] = {"--levels", "--base", "--max-pool"};
    for (int k = 0; k < 3; k++) cli_watch_option(options, options_count, OF_UNET[k], &unet);
    const cli_verb verb = {"bench train", USAGE, options, options_count, NULL, NULL, 0};
    int code = cli_read(&verb, count, arguments, NULL);
    if (code != CLI_GO_ON) return code;
    if (unet && strcmp(b.task.model, "unet") != 0 && strcmp(b.task.model, "resenc") != 0)
        return cli_error(EXIT_USAGE, "--levels, --base and --max-pool are for unet and resenc, not for %s",
                         b.task.model);
    code = choose(&b);
    if (code != EXIT_DONE) return code;
    omp_set_num_threads((int)b.threads);
    return run(&b);
}
