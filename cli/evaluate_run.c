/* hws evaluate RUN: how good a trained network is on its test set or validation cases. */
#include "class_results.h"
#include "cli.h"
#include "core/parallel.h"
#include "interrupt.h"
#include "options.h"
#include "progress.h"

#include "evaluate/evaluate_run.h"

#include <omp.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws evaluate RUN... [options]\n"
    "\n"
    "Classifies images with the network of a run and prints sensitivity, specificity, precision, F1 and loss of each\n"
    "class, then accuracy, balanced accuracy, AUROC and calibration error overall and by group, all with 95 %\n"
    "intervals, and the confusion matrix. Where there is a column `patient`, whole patients are resampled. If the\n"
    "run's data have changed since training they are refused; --data DATA scores them as new data.\n"
    "\n";

static const char VOLUMES[] =
    "If the run segments volumes: predicts the validation cases of its fold into RUN/validation (those that are there\n"
    "already are kept), scores them by the groups of the dataset's groups.csv, and writes summary.json, cases.csv,\n"
    "the tables and pictures of the worst cases into the run's folder (or --out), where hws report finds them.\n"
    "Several runs, of different folds, are scored together: each predicts its own validation cases.\n";

enum { RUNS_MAX = 64 };

typedef struct arguments {
    const char *runs[RUNS_MAX], *part, *weights;
    int run_count, quiet;
    long long threads;
    evaluate_run_request request;
} arguments;

static int parse(int count, char **words, arguments *a) {
    const cli_option options[] = {
        CLI_TEXT("--data", "DATA", &a->request.data,
                 "other data of the same classes, as hws train takes them; or the run's own, where they have moved to",
                 "the run's"),
        CLI_TEXT("--part", "P", &a->part,
                 "test | train | val: which of the sets; train, of the run's own data, is what --keep left", NULL),
        CLI_TEXT(
            "--at", "GOAL", &a->request.at,
            "sensitivity=S | specificity=S: choose a threshold for the probability of one class that reaches this\n"
            "share on the run's validation part, and score the test part with it",
            ""),
        CLI_TEXT("--positive", "CLASS", &a->request.positive, "the class that --at is for",
                 "of two classes the second"),
        CLI_TEXT("--by", "LIST", &a->request.by, "score the groups of these columns",
                 "the run's --group; volumes: all"),
        CLI_TEXT("--weights", "W", &a->weights, "best | latest", NULL),
        CLI_TEXT("--out", "DIR", &a->request.out,
                 "write examples.csv (label, prediction, loss, probabilities, columns), classes.csv, strata.csv,\n"
                 "confusion.csv and reliability.csv there, for hws report and hws compare",
                 "the run's folder, for its own test set"),
        CLI_THREADS(&a->threads, "threads to work with"),
        CLI_FLAG("--quiet", &a->quiet, "no table and no progress; warnings are told"),
        CLI_PARAGRAPH(VOLUMES),
        CLI_FLAG("--no-mirror", &a->request.no_mirror,
                 "do not average over mirror images: up to eight times faster (slices: four)"),
        CLI_FLAG("--find-postprocessing", &a->request.find_postprocessing,
                 "find, by nnU-Net's rules, the labels of which only the largest connected component should\nstay, and "
                 "write RUN/postprocessing.json (or into --out) for hws predict --postprocessing"),
        CLI_FLAG("--overwrite", &a->request.overwrite, "predict cases again whose label maps are there already"),
        CLI_TEXT("--regions", "LIST", &a->request.regions, "named labels and unions of them, such as WT=1+2+3,ET=3",
                 "the labels of the dataset"),
        CLI_TEXT("--groups", "CSV", &a->request.groups, "groups of the cases", "the dataset's groups.csv"),
        CLI_TEXT("--empty", "E", &a->request.empty,
                 "nan | 1: the score of a label that is in neither prediction nor reference", "nan"),
        CLI_NUMBER("--nsd", "MM", &a->request.nsd, 1e-6, 1e6, "also the normalised surface distance at this tolerance",
                   ""),
        CLI_FLAG("--hd95", &a->request.hd95, "also the 95 % Hausdorff distance"),
        CLI_FLAG("--surface", &a->request.surface, "also the average symmetric surface distance"),
    };
    const cli_verb verb = {"evaluate", USAGE, options, sizeof options / sizeof *options, NULL, a->runs, RUNS_MAX};
    return cli_read(&verb, count, words, &a->run_count);
}

static int check(arguments *a) {
    failure failure;
    evaluate_run_request *r = &a->request;
    r->run = a->runs[0];
    r->others = a->runs + 1;
    r->other_count = a->run_count - 1;
    r->part = strcmp(a->part, "train") == 0 ? SCORE_TRAINING
              : strcmp(a->part, "val") == 0 ? SCORE_VALIDATION
                                            : SCORE_TEST;
    if (r->part == SCORE_TEST && strcmp(a->part, "test") != 0)
        return cli_error(EXIT_USAGE, "--part %s is none of test, train and val", a->part);
    const status_code status = run_weights_parse(a->weights, &r->weights, &failure);
    if (status != STATUS_OK) return cli_end(status, &failure);
    r->threads = (int)a->threads;
    return CLI_GO_ON;
}

static int evaluate(const evaluate_run_request *request, int quiet) {
    static run_evaluation result; /* large */
    failure failure;
    cli_progress progress;
    listener listener = cli_listen(&progress, quiet);
    listener.notice = cli_notice; /* a warning is no progress */
    cli_catch_interrupts();
    const status_code status = evaluate_run(&result, request, &listener, &failure);
    cli_progress_end(&progress);
    int code = cli_end(status, &failure);
    if (code == EXIT_DONE && !quiet && result.is_segmentation) code = print_stratified(&result.cases);
    else if (code == EXIT_DONE && !quiet) print_class_results(&result.classes);
    run_evaluation_close(&result);
    return code;
}

int verb_evaluate_run(int count, char **words) {
    arguments a = {.part = "test", .weights = "best", .threads = parallel_processors()};
    int code = parse(count, words, &a);
    if (code == CLI_GO_ON) code = check(&a);
    if (code != CLI_GO_ON) return code;
    omp_set_num_threads(a.request.threads);
    return evaluate(&a.request, a.quiet);
}
