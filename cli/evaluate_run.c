/* hws evaluate RUN: how good a trained classifier is, class by class, and its loss on each example. */
#include "cli.h"
#include "evaluate.h"
#include "images/classification_data.h"
#include "options.h"
#include "predict/classifier.h"
#include "run/run_folder.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws evaluate RUN [options]\n"
    "\n"
    "Classifies images with the network of a run and prints accuracy and loss, overall, per class and for the worst "
    "class.\n"
    "\n"
    "  --data DATA      digits | digits:TRAIN,TEST | mnist | mnist:DIR   (the run's)\n"
    "  --part P         test | train: which of its two sets; of the run's own training set what it kept   (test)\n"
    "  --weights W      best | latest                                     (best)\n"
    "  --out DIR        write examples.csv (example, label, prediction, loss) and classes.csv there\n"
    "  --threads N      (all)\n"
    "  --quiet          no table\n"
    "\n"
    "A run that segments volumes: predicts the validation cases of its fold into RUN/validation (those that are there "
    "are\n"
    "kept), scores them by the groups of the dataset's groups.csv, and writes summary.json, cases.csv, the tables and "
    "pictures\n"
    "of the worst cases into the run's folder (or --out), where hws report finds them.\n"
    "\n"
    "  --no-mirror      do not average over mirror images, which is eight times faster\n"
    "  --overwrite      predict again\n"
    "  --hd95 --surface distances too, as hws evaluate --help explains\n";

typedef struct evaluation {
    const char *run, *data, *part, *weights, *out;
    long long threads;
    int quiet;
    classifier model;
    labelled_images train, test;
    const labelled_images *set;
    double *losses;
    float *probabilities;
    int *predictions;
} evaluation;

typedef struct class_score {
    int64_t count, right;
    double loss;
} class_score;

static status_code open_data(evaluation *e, failure *failure) {
    const train_settings *s = &e->model.settings;
    status_code status = classification_data_open(e->data ? e->data : s->data, &e->train, &e->test, failure);
    for (int k = 0; k < s->keep_count && status == STATUS_OK && !e->data; k++)
        status =
            labelled_images_keep(&e->train, s->keep[k].class_label, s->keep[k].fraction, (uint64_t)s->seed, failure);
    if (status == STATUS_CANNOT_READ) status = STATUS_BAD_INPUT; /* what the user named, not what we write */
    e->set = strcmp(e->part, "train") == 0 ? &e->train : &e->test;
    return status;
}

static status_code classify(evaluation *e, failure *failure) {
    const size_t count = (size_t)e->set->count, classes = (size_t)e->model.classes;
    e->losses = malloc(count * sizeof *e->losses);
    e->probabilities = malloc(count * classes * sizeof *e->probabilities);
    e->predictions = malloc(count * sizeof *e->predictions);
    if (!e->losses || !e->probabilities || !e->predictions) return fail_memory(failure, "the evaluation");
    const status_code status = classifier_run(&e->model, e->set, e->losses, e->probabilities, failure);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        const float *p = e->probabilities + i * classes;
        e->predictions[i] = 0;
        for (size_t k = 1; k < classes; k++)
            if (p[k] > p[e->predictions[i]]) e->predictions[i] = (int)k;
    }
    return status;
}

/* One score per class, and behind them that of all. */
static void score(const evaluation *e, class_score *scores) {
    const int classes = e->model.classes;
    for (int64_t i = 0; i < e->set->count; i++) {
        const int label = e->set->labels[i], right = e->predictions[i] == label;
        const int both[2] = {label, classes};
        for (int k = 0; k < 2; k++) {
            scores[both[k]].count++;
            scores[both[k]].right += right;
            scores[both[k]].loss += e->losses[i];
        }
    }
}

static double accuracy(const class_score *s) { return s->count ? (double)s->right / (double)s->count : (double)NAN; }
static double mean_loss(const class_score *s) { return s->count ? s->loss / (double)s->count : (double)NAN; }

static void print_line(const char *name, const class_score *s) {
    if (s->count) printf("%-8s %9lld %9.2f%% %10.4f\n", name, (long long)s->count, 100 * accuracy(s), mean_loss(s));
    else printf("%-8s %9d %10s %10s\n", name, 0, "-", "-");
}

static void print_table(const evaluation *e, const class_score *scores) {
    char name[32];
    int worst = -1;
    printf("%-8s %9s %10s %10s\n", "class", "images", "accuracy", "loss");
    for (int k = 0; k < e->model.classes; k++) {
        snprintf(name, sizeof name, "%d", k);
        print_line(name, &scores[k]);
        if (scores[k].count && (worst < 0 || accuracy(&scores[k]) < accuracy(&scores[worst]))) worst = k;
    }
    print_line("all", &scores[e->model.classes]);
    if (worst >= 0) printf("worst class: %d with %.2f%%\n", worst, 100 * accuracy(&scores[worst]));
}

static status_code write_examples(const evaluation *e, failure *failure) {
    text csv = {0};
    text_add(&csv, "example,label,prediction,loss\n");
    for (int64_t i = 0; i < e->set->count; i++)
        text_format(&csv, "%lld,%d,%d,%.9g\n", (long long)e->set->origins[i], e->set->labels[i], e->predictions[i],
                    e->losses[i]);
    const status_code status = run_write(e->out, RUN_EXAMPLES, &csv, failure);
    text_close(&csv);
    return status;
}

static status_code write_classes(const evaluation *e, const class_score *scores, failure *failure) {
    text csv = {0};
    text_add(&csv, "class,images,accuracy,loss\n");
    for (int k = 0; k <= e->model.classes; k++) {
        if (k < e->model.classes) text_format(&csv, "%d,%lld,", k, (long long)scores[k].count);
        else text_format(&csv, "all,%lld,", (long long)scores[k].count);
        if (scores[k].count) text_format(&csv, "%.9g,%.9g\n", accuracy(&scores[k]), mean_loss(&scores[k]));
        else text_add(&csv, ",\n");
    }
    const status_code status = run_write(e->out, RUN_CLASSES, &csv, failure);
    text_close(&csv);
    return status;
}

static status_code evaluate(evaluation *e, failure *failure) {
    run_weights weights;
    class_score scores[LABELLED_IMAGES_CLASSES_MAX + 1] = {{0}};
    status_code status = run_weights_parse(e->weights, &weights, failure);
    if (status == STATUS_OK) status = classifier_open(&e->model, e->run, weights, (int)e->threads, failure);
    if (status == STATUS_OK) status = open_data(e, failure);
    if (status == STATUS_OK) status = classify(e, failure);
    if (status != STATUS_OK) return status;
    score(e, scores);
    if (!e->quiet) print_table(e, scores);
    if (!e->out) return STATUS_OK;
    status = folder_make(e->out, failure);
    if (status == STATUS_OK) status = write_examples(e, failure);
    return status == STATUS_OK ? write_classes(e, scores, failure) : status;
}

int evaluate_run(int count, char **arguments) {
    if (cli_helped(count, arguments, USAGE)) return EXIT_DONE;
    evaluation e = {.part = "test", .weights = "best", .threads = omp_get_max_threads()};
    evaluate_volumes_settings volumes = {0};
    const cli_option options[] = {{"--data", OPTION_TEXT, &e.data, 0, 0, 0},
                                  {"--part", OPTION_TEXT, &e.part, 0, 0, 0},
                                  {"--weights", OPTION_TEXT, &e.weights, 0, 0, 0},
                                  {"--out", OPTION_TEXT, &e.out, 0, 0, 0},
                                  {"--threads", OPTION_WHOLE, &e.threads, 1, 4096, 0},
                                  {"--quiet", OPTION_FLAG, &e.quiet, 0, 0, 0},
                                  {"--no-mirror", OPTION_FLAG, &volumes.no_mirror, 0, 0, 0},
                                  {"--overwrite", OPTION_FLAG, &volumes.overwrite, 0, 0, 0},
                                  {"--hd95", OPTION_FLAG, &volumes.hd95, 0, 0, 0},
                                  {"--surface", OPTION_FLAG, &volumes.surface, 0, 0, 0}};
    const int code = cli_parse("evaluate", count, arguments, options, sizeof options / sizeof *options, &e.run, 1, 0);
    if (code != EXIT_DONE) return code;
    if (strcmp(e.part, "test") != 0 && strcmp(e.part, "train") != 0)
        return cli_error(EXIT_USAGE, "--part %s is neither test nor train", e.part);
    failure failure = {0};
    omp_set_num_threads((int)e.threads);
    char *task = 0;
    status_code status = run_task(e.run, &task, &failure);
    if (status == STATUS_OK && strcmp(task, "segmentation") == 0) {
        free(task);
        run_weights weights;
        status = run_weights_parse(e.weights, &weights, &failure);
        if (status != STATUS_OK) return cli_error(EXIT_USAGE, "%s", failure.message);
        if (e.data || strcmp(e.part, "test") != 0)
            return cli_error(EXIT_USAGE,
                             "--data and --part are for runs that classify; see hws evaluate --help for folders");
        volumes.run = e.run;
        volumes.weights = weights;
        volumes.threads = (int)e.threads;
        volumes.quiet = e.quiet;
        volumes.out = e.out;
        return evaluate_volumes(&volumes);
    }
    free(task);
    if (status == STATUS_OK) status = evaluate(&e, &failure);
    classifier_close(&e.model);
    labelled_images_close(&e.train);
    labelled_images_close(&e.test);
    free(e.losses);
    free(e.probabilities);
    free(e.predictions);
    return status == STATUS_OK ? EXIT_DONE : cli_error(cli_exit_code(status), "%s", failure.message);
}
