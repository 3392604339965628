/* hws evaluate RUN: how good a trained network is on its test set or validation cases. */
#include "cli.h"
#include "core/parallel.h"
#include "interrupt.h"
#include "options.h"
#include "progress.h"

#include "core/utf8.h"
#include "evaluate/evaluate_run.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws evaluate RUN... [options]\n"
    "\n"
    "Classifies images with the network of a run and prints sensitivity, specificity, precision, F1 and loss of each\n"
    "class, then accuracy, balanced accuracy, AUROC and calibration error overall and by group, all with 95 %\n"
    "intervals, and the confusion matrix. Where there is a column `patient`, whole patients are resampled.\n"
    "Data that have changed since the run was trained on them are refused, unless --data names them: then they are\n"
    "other data.\n"
    "\n";

static const char VOLUMES[] =
    "A run that segments volumes: predicts the validation cases of its fold into RUN/validation (those that are there\n"
    "are kept), scores them by the groups of the dataset's groups.csv, and writes summary.json, cases.csv, the tables\n"
    "and pictures of the worst cases into the run's folder (or --out), where hws report finds them. Several runs, of\n"
    "different folds, are scored together: each predicts its own validation cases.\n";

enum { RUNS_MAX = 64 };

static const char *class_name(const class_results *scores, int k, char number[16]) {
    if (scores->class_names) return scores->class_names[k];
    snprintf(number, 16, "%d", k);
    return number;
}

static const char *examples_word(const class_results *scores) { return scores->are_rows ? "rows" : "images"; }

/* A number with its interval, in 25 columns. */
static void print_number(double value, interval ci, double factor, int digits) {
    if (isnan(value)) printf("  %6s%17s", "-", "");
    else if (isnan(ci.low)) printf("  %6.*f%17s", digits, factor * value, "");
    else printf("  %6.*f (%5.*f to %5.*f)", digits, factor * value, digits, factor * ci.low, digits, factor * ci.high);
}

static void print_class(const char *name, int width, const class_result *one, const class_rates *rates) {
    cli_put_word(name, width);
    printf(" %9lld", (long long)one->count);
    for (int r = 0; r < CLASS_RATES; r++) print_number(rates->value[r], rates->ci[r], 100, 1);
    if (one->count) printf(" %9.4f\n", one->loss);
    else printf(" %9s\n", "-");
}

static int widest(int width, const char *word, int most) {
    const int letters = (int)utf8_letters(word);
    return letters > most ? most : letters > width ? letters : width;
}

static int class_width(const class_results *scores) {
    int width = 16;
    char number[16];
    for (int k = 0; k < scores->classes; k++) width = widest(width, class_name(scores, k, number), 40);
    return width;
}

static void print_classes(const class_results *scores) {
    char number[16];
    const int all = scores->classes, width = class_width(scores);
    cli_put_word("class", width);
    printf(" %9s  %-23s  %-23s  %-23s  %-23s %9s\n", examples_word(scores), "sensitivity, % (95% CI)", "specificity, %",
           "precision, %", "F1, %", "loss");
    for (int k = 0; k < all; k++)
        print_class(class_name(scores, k, number), width, &scores->each[k], &scores->rates[k]);
    print_class("all (mean F1)", width, &scores->each[all], &scores->rates[all]);
    if (scores->worst < 0) return;
    const class_rates *worst = &scores->rates[scores->worst];
    const interval ci = worst->ci[RATE_SENSITIVITY];
    printf("worst class: %s, of which %.2f%% are recognised", class_name(scores, scores->worst, number),
           100 * worst->value[RATE_SENSITIVITY]);
    if (!isnan(ci.low)) printf(" (95 %% CI %.1f to %.1f)", 100 * ci.low, 100 * ci.high);
    printf("\n");
}

static void print_score(const class_scored *s, class_score which) {
    print_number(s->value[which], s->ci[which], which == CLASS_AUROC ? 1 : 100, which == CLASS_AUROC ? 3 : 1);
}

/* The group with the lowest accuracy, with the interval that it has in the table above. */
static void print_worst_group(const class_results *scores) {
    if (!scores->worst_group) return;
    const class_stratum *one = &scores->strata[scores->worst_group];
    const interval ci = one->scored.ci[CLASS_ACCURACY];
    printf("worst group: %s %s with %.2f%%", one->column, one->value, 100 * one->scored.value[CLASS_ACCURACY]);
    if (!isnan(ci.low)) printf(" (95 %% CI %.1f to %.1f)", 100 * ci.low, 100 * ci.high);
    printf("\n");
}

static void print_how(const class_results *scores) {
    const class_scored *all = &scores->strata[0].scored;
    const int by_patient = all->patients < all->count;
    if (by_patient)
        printf("95 %% CI: bootstrap, resampling %lld patient%s; Wilson's interval where every resample gives the same "
               "share.",
               (long long)all->patients, all->patients == 1 ? "" : "s");
    else
        printf(
            "95 %% CI: of accuracy, sensitivity, specificity and precision Wilson's, of balanced accuracy those of the "
            "classes\nput together, else bootstrap.");
    printf(" There is none below %d %s.\n", STATISTICS_INTERVAL_CASES, by_patient ? "patients" : examples_word(scores));
}

enum { GROUP_WIDTH = 48, GROUP_NAME = 4 * GROUP_WIDTH + 64 }; /* letters, and more bytes than they can have */

/* Needs no memory: a table whose names are lost would look right. */
static const char *group_name(const class_stratum *one, char name[GROUP_NAME]) {
    snprintf(name, GROUP_NAME, "%s%s%s", one->column ? one->column : "all", one->column ? " " : "",
             one->value ? one->value : "");
    return name;
}

static int group_width(const class_results *scores) {
    int width = 24;
    for (size_t k = 0; k < scores->stratum_count; k++) {
        char name[GROUP_NAME];
        if (scores->strata[k].scored.count) width = widest(width, group_name(&scores->strata[k], name), GROUP_WIDTH);
    }
    return width;
}

static void print_groups(const class_results *scores) {
    const int width = group_width(scores);
    printf("\n");
    cli_put_word("group", width);
    printf(" %9s  %-23s  %-23s  %-23s  %s\n", examples_word(scores), "accuracy, % (95 % CI)", "balanced accuracy, %",
           "AUROC", "calibration error, %");
    size_t empty = 0;
    for (size_t k = 0; k < scores->stratum_count; k++) {
        const class_stratum *one = &scores->strata[k];
        char name[GROUP_NAME];
        if (k && !one->scored.count) {
            empty++;
            continue;
        }
        cli_put_word(group_name(one, name), width);
        printf(" %9lld", (long long)one->scored.count);
        for (int s = 0; s < CLASS_SCORES; s++) print_score(&one->scored, (class_score)s);
        printf("\n");
    }
    if (empty) printf("groups of the data with none of these %s: %zu\n", examples_word(scores), empty);
    print_worst_group(scores);
    print_how(scores);
}

static void print_confusion(const class_results *scores) {
    char number[16];
    if (!scores->class_names || scores->classes > 12) return;
    printf("\n");
    cli_put_word("label, predicted", class_width(scores));
    for (int k = 0; k < scores->classes; k++) printf(" "), cli_put_word(class_name(scores, k, number), -12);
    printf("\n");
    for (int k = 0; k < scores->classes; k++) {
        cli_put_word(class_name(scores, k, number), class_width(scores));
        for (int p = 0; p < scores->classes; p++)
            printf(" %12lld", (long long)scores->confusion[k * scores->classes + p]);
        printf("\n");
    }
}

/* What is said of each patient, from the mean of its examples. */
static void print_patients(const class_results *scores) {
    const class_patients *patients = &scores->patients;
    if (!patients->labels) return;
    printf("\nby patient, with the mean probability of its %s:\n", examples_word(scores));
    cli_put_word("", group_width(scores));
    printf(" %9s  %-23s  %-23s  %-23s  %s\n", "patients", "accuracy, % (95 % CI)", "balanced accuracy, %", "AUROC",
           "calibration error, %");
    cli_put_word("all", group_width(scores));
    printf(" %9lld", (long long)scores->by_patient.count);
    for (int s = 0; s < CLASS_SCORES; s++) print_score(&scores->by_patient, (class_score)s);
    printf("\n");
    if (patients->mixed)
        printf("left out, since their %s are of several classes: %lld\n", examples_word(scores),
               (long long)patients->mixed);
}

static void print_operating_row(const char *name, int width, const operating_scores *s) {
    cli_put_word(name, width);
    printf(" %9lld", (long long)s->positives);
    print_number(s->sensitivity, s->sensitivity_ci, 100, 1);
    printf(" %9lld", (long long)s->negatives);
    print_number(s->specificity, s->specificity_ci, 100, 1);
    printf("\n");
}

/* The threshold, what it gives where it was chosen, and what it gives elsewhere. */
static void print_operating(const class_results *scores) {
    const operating_result *o = &scores->operating;
    char number[16];
    if (o->rule.positive < 0) return;
    const int width = group_width(scores);
    printf("\noperating point: %s where its probability is at least %.6g, chosen on the validation part for a %s of %g "
           "%%\n",
           class_name(scores, o->rule.positive, number), o->rule.threshold,
           o->goal.is_sensitivity ? "sensitivity" : "specificity", 100 * o->goal.share);
    cli_put_word("", width);
    printf(" %9s  %-23s %9s  %s\n", "positive", "sensitivity, % (95% CI)", "negative", "specificity, %");
    print_operating_row("validation part", width, &o->chosen_on);
    for (size_t k = 0; k < scores->stratum_count; k++) {
        char name[GROUP_NAME];
        const char *shown = k ? group_name(&scores->strata[k], name) : "test part";
        if (!k || scores->strata[k].scored.count) print_operating_row(shown, width, &scores->strata[k].operating);
    }
}

/* Ranks other than the first have nothing to tell. */
static void print_classification(const class_results *scores) {
    if (!scores->stratum_count) return;
    print_classes(scores);
    print_groups(scores);
    print_patients(scores);
    print_operating(scores);
    print_confusion(scores);
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
    else if (code == EXIT_DONE && !quiet) print_classification(&result.classes);
    run_evaluation_close(&result);
    return code;
}

int verb_evaluate_run(int count, char **arguments) {
    evaluate_run_request r = {0};
    const char *part = "test", *weights = "best", *runs[RUNS_MAX] = {NULL};
    long long threads = parallel_processors();
    int quiet = 0, run_count = 0;
    failure failure;
    const cli_option options[] = {
        CLI_TEXT("--data", "DATA", &r.data,
                 "other data of the same classes, as hws train takes them; or the run's own, where they have moved to",
                 "the run's"),
        CLI_TEXT("--part", "P", &part,
                 "test | train | val: which of the sets; of the run's own training set, what --keep left", NULL),
        CLI_TEXT(
            "--at", "GOAL", &r.at,
            "sensitivity=S | specificity=S: choose a threshold for the probability of one class that reaches this\n"
            "share on the run's validation part, and score the test part with it",
            ""),
        CLI_TEXT("--positive", "CLASS", &r.positive, "the class that --at is for", "of two classes the second"),
        CLI_TEXT("--by", "LIST", &r.by, "score the groups of these columns", "the run's --group; volumes: all"),
        CLI_TEXT("--weights", "W", &weights, "best | latest", NULL),
        CLI_TEXT("--out", "DIR", &r.out,
                 "write examples.csv (label, prediction, loss, probabilities, columns), classes.csv, strata.csv,\n"
                 "confusion.csv and reliability.csv there, for hws report and hws compare",
                 "the run's folder, for its own test set"),
        CLI_WHOLE("--threads", "N", &threads, 1, 4096, "threads to work with", "all"),
        CLI_FLAG("--quiet", &quiet, "no table and no progress; warnings are told"),
        CLI_PARAGRAPH(VOLUMES),
        CLI_FLAG("--no-mirror", &r.no_mirror,
                 "do not average over mirror images: up to eight times faster (slices: four)"),
        CLI_FLAG("--find-postprocessing", &r.find_postprocessing,
                 "find out, by nnU-Net's rules, of which labels only the largest connected component\nshould stay, and "
                 "write it to RUN/postprocessing.json (or --out), for hws predict\n--postprocessing"),
        CLI_FLAG("--overwrite", &r.overwrite, "predict cases again whose label maps are there already"),
        CLI_TEXT("--regions", "LIST", &r.regions, "named labels and unions of them, such as WT=1+2+3,ET=3",
                 "the labels of the dataset"),
        CLI_TEXT("--groups", "CSV", &r.groups, "groups of the cases", "the dataset's groups.csv"),
        CLI_TEXT("--empty", "E", &r.empty, "nan | 1: the score of a label that is in neither prediction nor reference",
                 "nan"),
        CLI_NUMBER("--nsd", "MM", &r.nsd, 1e-6, 1e6, "also the normalised surface distance at this tolerance", ""),
        CLI_FLAG("--hd95", &r.hd95, "also the 95 % Hausdorff distance"),
        CLI_FLAG("--surface", &r.surface, "also the average symmetric surface distance"),
    };
    const cli_verb verb = {"evaluate", USAGE, options, sizeof options / sizeof *options, NULL, runs, RUNS_MAX};
    const int code = cli_read(&verb, count, arguments, &run_count);
    if (code != CLI_GO_ON) return code;
    r.run = runs[0];
    r.others = runs + 1;
    r.other_count = run_count - 1;
    r.part = strcmp(part, "train") == 0 ? SCORE_TRAINING : strcmp(part, "val") == 0 ? SCORE_VALIDATION : SCORE_TEST;
    if (r.part == SCORE_TEST && strcmp(part, "test") != 0)
        return cli_error(EXIT_USAGE, "--part %s is none of test, train and val", part);
    const status_code status = run_weights_parse(weights, &r.weights, &failure);
    if (status != STATUS_OK) return cli_end(status, &failure);
    omp_set_num_threads((int)threads);
    r.threads = (int)threads;
    return evaluate(&r, quiet);
}
