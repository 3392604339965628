/* hws predict: what trained networks say about new images. */
#include "predict/predict.h"
#include "cli.h"
#include "core/parallel.h"
#include "interrupt.h"
#include "options.h"
#include "progress.h"
#include "run/settings.h"

#include <stdio.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws predict RUN... --input FILE|DIR --output DIR|FILE.csv [options]\n"
    "\n"
    "Predicts with the network of a run, or with those of several, whose probabilities (for volumes: logits) are\n"
    "averaged. What --input may be depends on what the run was trained on.\n"
    "\n"
    "Pictures (PNG, JPEG): all of a folder and those below it, or those that a CSV file names in its column 'file'.\n"
    "Writes a CSV file, DIR/scores.csv or what --output names: file, prediction, and p_CLASS, the probability of each\n"
    "class. A picture that cannot be read does not stop the others; it is reported at the end, with exit code 1.\n"
    "\n"
    "Tables: a CSV file without file names that has the columns that the run was trained on; its label is not needed.\n"
    "Rows are named by their column 'id', or by their number.\n"
    "\n"
    "IDX: an image file, or all files of a folder whose names contain 'images'. For x-images-idx3-ubyte it writes\n"
    "x-labels-idx1-ubyte and x-labels-idx1-ubyte.csv (image, prediction, and the probability of each class); a name\n"
    "without 'images' gets the ending -labels.\n"
    "\n"
    "Volumes: a folder of .nii or .nii.gz images, or one file of such a folder; a case with several channels has the\n"
    "files CASE_0000.nii.gz, CASE_0001.nii.gz and so on. Writes CASE.nii.gz with the labels, on the image's grid.\n"
    "Cases that are there already are left alone, so that an interrupted prediction goes on: for another run or other\n"
    "options name another folder, or give --overwrite. RUN may also be an exported model: a folder with plans.json\n"
    "and one .safetensors file. An image that cannot be read does not stop the others; it is reported at the end,\n"
    "with exit code 1.\n"
    "\n";

enum { RUNS_MAX = 64 };

typedef struct arguments {
    const char *runs[RUNS_MAX], *out, *weights, *precision, *average;
    int no_mirror, quiet;
    long long threads;
    predict_request request;
} arguments;

static int parse(int count, char **words, arguments *a) {
    const cli_option options[] = {
        CLI_TEXT("--input", "FILE|DIR", &a->request.input, "what to label; needed", NULL),
        CLI_TEXT("--output", "DIR|FILE.csv", &a->request.output, "where to write it; needed", NULL),
        CLI_TEXT("--out", "DIR|FILE.csv", &a->out, "the same as --output", NULL),
        CLI_TEXT("--weights", "W", &a->weights, "best | latest: weights of the best epoch or of the last", NULL),
        CLI_THREADS(&a->threads, "threads to work with"),
        CLI_NUMBER("--step", "S", &a->request.step, 0.01, 1, "volumes: windows are at most this share of a patch apart",
                   NULL),
        CLI_FLAG("--no-mirror", &a->no_mirror,
                 "volumes: do not average over mirror images: up to eight times faster (slices: four)"),
        CLI_TEXT("--average", "A", &a->average,
                 "volumes: logits | probabilities: what is averaged over runs, windows and mirror\nimages; logits as "
                 "nnU-Net v2 "
                 "does, probabilities as the paper and nnU-Net v1",
                 NULL),
        CLI_FLAG("--save-probabilities", &a->request.save_probabilities,
                 "volumes: also write CASE.npz, which numpy reads: an array `probabilities`,\nfloat16 [class or "
                 "region][z][y][x]"),
        CLI_TEXT(
            "--postprocessing", "DIR|FILE", &a->request.postprocessing,
            "volumes: do what hws evaluate --find-postprocessing found; this is the run or the --out\nfolder that it "
            "wrote to. Only label maps change, not probabilities",
            ""),
        CLI_TEXT("--precision", "P", &a->precision, "volumes: f32 | bf16", NULL),
        CLI_FLAG("--overwrite", &a->request.overwrite,
                 "volumes: predict cases again whose label maps are there already"),
        CLI_TEXT(
            "--threshold", "CLASS=P", &a->request.threshold,
            "pictures and tables: predict CLASS where its probability is at least P (hws evaluate --at\nchooses P), "
            "elsewhere the most probable of the other classes",
            "the most probable class"),
        CLI_FLAG("--quiet", &a->quiet, "no progress"),
    };
    const cli_verb verb = {"predict", USAGE, options, sizeof options / sizeof *options, NULL, a->runs, RUNS_MAX};
    return cli_read(&verb, count, words, &a->request.run_count);
}

static int check(arguments *a) {
    failure failure;
    if (!a->request.run_count) return cli_error(EXIT_USAGE, "predict with which run? See hws predict --help");
    if (a->out && a->request.output) return cli_error(EXIT_USAGE, "--out and --output are the same: give one of them");
    if (a->out) a->request.output = a->out;
    if (!a->request.input || !a->request.output)
        return cli_error(EXIT_USAGE, "predict needs --input FILE|DIR and --output DIR|FILE.csv");
    int precision = PRECISION_F32;
    status_code status = run_weights_parse(a->weights, &a->request.weights, &failure);
    if (status == STATUS_OK) status = settings_choose("precision", a->precision, &precision, &failure);
    if (status != STATUS_OK) return cli_end(status, &failure);
    a->request.bf16 = precision == PRECISION_BF16;
    a->request.average = strcmp(a->average, "logits") == 0 ? AVERAGE_LOGITS : AVERAGE_PROBABILITIES;
    if (a->request.average != AVERAGE_LOGITS && strcmp(a->average, "probabilities") != 0)
        return cli_error(EXIT_USAGE, "--average %s is neither logits nor probabilities", a->average);
    a->request.runs = a->runs;
    a->request.threads = (int)a->threads;
    a->request.mirror = !a->no_mirror;
    return CLI_GO_ON;
}

static void print_path(void *context, const char *path, size_t count, const char *what) {
    (void)context;
    printf("%zu %s%s in %s\n", count, what, count == 1 ? "" : "s", path);
}

/* Those that were there may be another network's. */
static void print_outcome(const predict_outcome *outcome, const char *folder) {
    printf("%zu label map%s in %s", outcome->done, outcome->done == 1 ? "" : "s", folder);
    if (outcome->found) printf(", %zu of them there before; --overwrite predicts them again", outcome->found);
    printf("\n");
}

int verb_predict(int count, char **words) {
    arguments a = {.weights = "best", .precision = "f32", .average = "logits", .threads = parallel_processors()};
    a.request = (predict_request){.step = 0.5, .wrote = print_path};
    int code = parse(count, words, &a);
    if (code == CLI_GO_ON) code = check(&a);
    if (code != CLI_GO_ON) return code;
    cli_progress progress;
    const listener listener = cli_listen(&progress, a.quiet);
    progress.steps = PREDICT_STEPS;
    predict_outcome outcome;
    failure failure = {0};
    cli_catch_interrupts();
    const status_code status = predict(&a.request, &listener, &outcome, &failure);
    cli_progress_end(&progress);
    if (status != STATUS_OK) return cli_end(status, &failure);
    if (outcome.volumes && !a.quiet) print_outcome(&outcome, a.request.output);
    return EXIT_DONE;
}
