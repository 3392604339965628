/* hws predict: what trained networks say about new images. */
#include "predict/predict.h"
#include "cli.h"
#include "interrupt.h"
#include "options.h"
#include "progress.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws predict RUN... --input FILE|DIR --output DIR [options]\n"
    "\n"
    "Classifies the images of an IDX file, or of all files of a folder whose names hold 'images'. Several runs vote "
    "with\n"
    "the mean of their probabilities. For x-images-idx3-ubyte it writes x-labels-idx1-ubyte and "
    "x-labels-idx1-ubyte.csv\n"
    "(image, prediction, and the probability of each class); a name without 'images' gets the ending -labels.\n"
    "\n"
    "Runs that segment volumes take a folder of .nii or .nii.gz images, CASE_0000.nii.gz, CASE_0001.nii.gz ... for "
    "several\n"
    "channels, and write CASE.nii.gz with the labels, on the image's grid. Several runs (folds, say) are averaged. "
    "Cases\n"
    "that are there already are left alone, so that an interrupted prediction goes on. A folder with nothing but "
    "plans.json\n"
    "and one .safetensors file (an exported model) will do as RUN.\n"
    "\n"
    "  --weights W      best | latest   (best)\n"
    "  --threads N      (all)\n"
    "  --step S         volumes: windows are at most this share of a patch apart   (0.5)\n"
    "  --no-mirror      volumes: do not average over mirror images, which is eight times faster\n"
    "  --precision P    volumes: f32 | bf16   (f32)\n"
    "  --overwrite      volumes: predict cases anew that are there already\n"
    "  --quiet          no progress\n";

enum { RUNS_MAX = 64 };

typedef struct arguments {
    const char *runs[RUNS_MAX], *weights, *precision;
    int no_mirror, quiet;
    long long threads;
    predict_request request;
} arguments;

static int parse(int count, char **words, arguments *a) {
    const cli_option options[] = {{"--input", OPTION_TEXT, &a->request.input, 0, 0, 0},
                                  {"--output", OPTION_TEXT, &a->request.output, 0, 0, 0},
                                  {"--weights", OPTION_TEXT, &a->weights, 0, 0, 0},
                                  {"--threads", OPTION_WHOLE, &a->threads, 1, 4096, 0},
                                  {"--step", OPTION_NUMBER, &a->request.step, 0.01, 1, 0},
                                  {"--no-mirror", OPTION_FLAG, &a->no_mirror, 0, 0, 0},
                                  {"--precision", OPTION_TEXT, &a->precision, 0, 0, 0},
                                  {"--overwrite", OPTION_FLAG, &a->request.overwrite, 0, 0, 0},
                                  {"--quiet", OPTION_FLAG, &a->quiet, 0, 0, 0}};
    return cli_parse("predict", count, words, options, sizeof options / sizeof *options, a->runs, RUNS_MAX,
                     &a->request.run_count);
}

static int check(arguments *a) {
    failure failure;
    if (!a->request.run_count) return cli_error(EXIT_USAGE, "predict with which run? See hws predict --help");
    if (!a->request.input || !a->request.output)
        return cli_error(EXIT_USAGE, "predict needs --input FILE|DIR and --output DIR");
    if (run_weights_parse(a->weights, &a->request.weights, &failure) != STATUS_OK)
        return cli_error(EXIT_USAGE, "%s", failure.message);
    a->request.bf16 = strcmp(a->precision, "bf16") == 0;
    if (!a->request.bf16 && strcmp(a->precision, "f32") != 0)
        return cli_error(EXIT_USAGE, "--precision %s is neither f32 nor bf16", a->precision);
    a->request.runs = a->runs;
    a->request.threads = (int)a->threads;
    a->request.mirror = !a->no_mirror;
    return EXIT_DONE;
}

static void show_progress(void *progress, const char *what, size_t done, size_t total) {
    (void)what;
    cli_progress_step(progress, done, total);
}

static int interrupted(void *progress) {
    (void)progress;
    return cli_interrupted;
}

static void print_path(void *context, const char *path) {
    (void)context;
    printf("%s\n", path);
}

int verb_predict(int count, char **words) {
    if (cli_helped(count, words, USAGE)) return EXIT_DONE;
    arguments a = {.weights = "best", .precision = "f32", .threads = omp_get_max_threads()};
    a.request = (predict_request){.step = 0.5, .wrote = print_path};
    int code = parse(count, words, &a);
    if (code == EXIT_DONE) code = check(&a);
    if (code != EXIT_DONE) return code;
    cli_progress progress;
    const listener listener = {.context = &progress, .progress = show_progress, .stop = interrupted};
    predict_outcome outcome;
    failure failure = {0};
    cli_catch_interrupts();
    cli_progress_start(&progress, "predicting", a.quiet);
    const status_code status = predict(&a.request, &listener, &outcome, &failure);
    cli_progress_end(&progress);
    if (status != STATUS_OK) return cli_error(cli_exit_code(status), "%s", failure.message);
    if (outcome.volumes && !a.quiet) printf("%zu label maps in %s\n", outcome.done, a.request.output);
    return EXIT_DONE;
}
