/* hws predict: what trained networks say about new images. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "core/arg_max.h"
#include "core/whole_file.h"
#include "images/idx.h"
#include "options.h"
#include "predict_volumes.h"
#include "run/run_folder.h"
#include "train/run_model.h"

#include <dirent.h>
#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char USAGE[] =
    "usage: hws predict RUN... --input FILE|DIR --output DIR [options]\n"
    "\n"
    "Classifies the images of an IDX file, or of all files of a folder whose names hold 'images'. Several runs vote "
    "with\n"
    "the mean of their probabilities. For x-images-idx3-ubyte it writes x-labels-idx1-ubyte and "
    "x-labels-idx1-ubyte.csv\n"
    "(image, prediction, and the probability of each class); a name without 'images' gets the ending -labels.\n"
    "\n"
    "\n"
    "Runs that segment volumes take a folder of .nii or .nii.gz images, CASE_0000.nii.gz, CASE_0001.nii.gz ... for "
    "several\n"
    "channels, and write CASE.nii.gz with the labels, on the image's grid. Several runs (folds, say) are averaged. "
    "Cases\n"
    "that are there already are left alone, so that an interrupted prediction goes on.\n"
    "\n"
    "  --weights W      best | latest   (best)\n"
    "  --threads N      (all)\n"
    "  --step S         volumes: windows are at most this share of a patch apart   (0.5)\n"
    "  --no-mirror      volumes: do not average over mirror images, which is eight times faster\n"
    "  --precision P    volumes: f32 | bf16   (f32)\n"
    "  --overwrite      volumes: predict cases anew that are there already\n"
    "  --quiet          no progress\n";

enum { RUNS_MAX = 64 };

typedef struct prediction {
    const char *runs[RUNS_MAX], *input, *output, *weights;
    int run_count, no_mirror, overwrite, quiet;
    const char *precision;
    double step;
    long long threads;
    run_model models[RUNS_MAX];
    int opened;
} prediction;

/* The name of the labels' file for one of images: without its folder, "images" and "idx3" exchanged, without ".gz". */
static int labels_name(const char *path, char name[PATH_SIZE]) {
    const char *slash = strrchr(path, '/');
    char base[PATH_SIZE];
    if (snprintf(base, sizeof base, "%s", slash ? slash + 1 : path) > PATH_SIZE - 64) return 0;
    const size_t length = strlen(base);
    if (length > 3 && strcmp(base + length - 3, ".gz") == 0) base[length - 3] = 0;
    char *images = strstr(base, "images");
    if (!images) return snprintf(name, PATH_SIZE, "%s-labels", base) > 0;
    memcpy(images, "labels", 6);
    char *idx = strstr(base, "idx3");
    if (idx) idx[3] = '1';
    return snprintf(name, PATH_SIZE, "%s", base) > 0;
}

static status_code add_up(prediction *p, const labelled_images *set, float *sum, failure *failure) {
    const size_t all = (size_t)set->count * (size_t)set->classes;
    float *one = malloc(all * sizeof *one);
    status_code status = one ? STATUS_OK : fail_memory(failure, "the probabilities");
    memset(sum, 0, all * sizeof *sum);
    for (int r = 0; r < p->run_count && status == STATUS_OK; r++) {
        status = run_model_classify(&p->models[r], set, 0, one, failure);
        for (size_t k = 0; k < all && status == STATUS_OK; k++) sum[k] += one[k] / (float)p->run_count;
    }
    free(one);
    return status;
}

static void add_rows(const labelled_images *set, const float *probabilities, uint8_t *labels, text *csv) {
    text_add(csv, "image,prediction");
    for (int k = 0; k < set->classes; k++) text_format(csv, ",p_%d", k);
    text_add(csv, "\n");
    for (int64_t i = 0; i < set->count; i++) {
        const float *p = probabilities + (size_t)i * (size_t)set->classes;
        const int best = arg_max(p, set->classes);
        labels[i] = (uint8_t)best;
        text_format(csv, "%lld,%d", (long long)i, best);
        for (int k = 0; k < set->classes; k++) text_format(csv, ",%.7g", (double)p[k]);
        text_add(csv, "\n");
    }
}

static status_code write_labels(const prediction *p, const char *images, const labelled_images *set,
                                const float *probabilities, failure *failure) {
    char name[PATH_SIZE], path[PATH_SIZE], table[PATH_SIZE];
    text csv = {0};
    if (!labels_name(images, name)) return fail(failure, STATUS_BAD_INPUT, "%.300s: the name is too long", images);
    status_code status = path_join(path, p->output, name, failure);
    if (status == STATUS_OK) status = path_format(table, failure, "%s.csv", path);
    if (status != STATUS_OK) return status;
    uint8_t *labels = malloc((size_t)set->count);
    if (!labels) return fail_memory(failure, "the labels");
    add_rows(set, probabilities, labels, &csv);
    status = idx_write_labels(labels, set->count, path, failure);
    if (status == STATUS_OK) status = whole_file_write_text(table, &csv, failure);
    if (status == STATUS_OK) printf("%s\n", path);
    text_close(&csv);
    free(labels);
    return status;
}

static status_code predict_file(prediction *p, const char *images, failure *failure) {
    labelled_images set;
    status_code status = idx_open(&set, images, 0, p->models[0].classes, failure);
    if (status != STATUS_OK) return status == STATUS_CANNOT_READ ? STATUS_BAD_INPUT : status;
    float *sum = malloc((size_t)set.count * (size_t)set.classes * sizeof *sum + 1);
    status = sum ? add_up(p, &set, sum, failure) : fail_memory(failure, "the probabilities");
    if (status == STATUS_OK) status = write_labels(p, images, &set, sum, failure);
    free(sum);
    labelled_images_close(&set);
    return status;
}

static int holds_images(const struct dirent *entry) { return strstr(entry->d_name, "images") != 0; }

static status_code predict_folder(prediction *p, failure *failure) {
    struct dirent **entries;
    char path[PATH_SIZE];
    const int count = scandir(p->input, &entries, holds_images, alphasort);
    status_code status = count > 0
                             ? STATUS_OK
                             : fail(failure, STATUS_BAD_INPUT, "%.500s: %s", p->input,
                                    count < 0 ? strerror(errno) : "no file in this folder has a name with 'images'");
    for (int k = 0; k < count; k++) {
        if (status == STATUS_OK) status = path_join(path, p->input, entries[k]->d_name, failure);
        if (status == STATUS_OK) status = predict_file(p, path, failure);
        free(entries[k]);
    }
    if (count >= 0) free(entries);
    return status;
}

static status_code open_runs(prediction *p, failure *failure) {
    run_weights weights;
    status_code status = run_weights_parse(p->weights, &weights, failure);
    for (int r = 0; r < p->run_count && status == STATUS_OK; r++) {
        status = run_model_open(&p->models[r], p->runs[r], weights, (int)p->threads, failure);
        if (status == STATUS_OK) p->opened++;
        if (status == STATUS_OK && p->models[r].classes != p->models[0].classes)
            status =
                fail(failure, STATUS_BAD_INPUT, "%.300s and %.300s know different classes", p->runs[0], p->runs[r]);
    }
    return status;
}

/* Labels that lie beside the images would be overwritten. */
static status_code check_apart(const prediction *p, int is_folder, failure *failure) {
    char folder[PATH_SIZE];
    struct stat input, output;
    snprintf(folder, sizeof folder, "%s", p->input);
    char *slash = strrchr(folder, '/');
    if (!is_folder) snprintf(slash ? slash + 1 : folder, 2, ".");
    if (stat(folder, &input) != 0 || stat(p->output, &output) != 0) return STATUS_OK;
    if (input.st_dev != output.st_dev || input.st_ino != output.st_ino) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "%.500s holds the images: name another folder with --output", p->output);
}

static status_code predict(prediction *p, failure *failure) {
    struct stat info;
    const int is_folder = stat(p->input, &info) == 0 && S_ISDIR(info.st_mode);
    status_code status = check_apart(p, is_folder, failure);
    if (status == STATUS_OK) status = open_runs(p, failure);
    if (status == STATUS_OK) status = folder_make(p->output, failure);
    if (status != STATUS_OK) return status;
    return is_folder ? predict_folder(p, failure) : predict_file(p, p->input, failure);
}

static status_code are_volumes(const prediction *p, int *volumes, failure *failure) {
    char *task;
    const status_code status = run_task(p->runs[0], &task, failure);
    if (status != STATUS_OK) return status;
    *volumes = strcmp(task, "segmentation") == 0;
    free(task);
    return STATUS_OK;
}

static int predict_volumes_of(const prediction *p) {
    failure failure = {0};
    run_weights weights;
    if (run_weights_parse(p->weights, &weights, &failure) != STATUS_OK)
        return cli_error(EXIT_USAGE, "%s", failure.message);
    if (strcmp(p->precision, "f32") != 0 && strcmp(p->precision, "bf16") != 0)
        return cli_error(EXIT_USAGE, "--precision %s is neither f32 nor bf16", p->precision);
    const volumes_prediction asked = {.runs = p->runs,
                                      .run_count = p->run_count,
                                      .input = p->input,
                                      .output = p->output,
                                      .weights = weights,
                                      .threads = (int)p->threads,
                                      .bf16 = p->precision[0] == 'b',
                                      .mirror = !p->no_mirror,
                                      .overwrite = p->overwrite,
                                      .quiet = p->quiet,
                                      .step = p->step};
    return predict_volumes(&asked);
}

int verb_predict(int count, char **arguments) {
    if (cli_helped(count, arguments, USAGE)) return EXIT_DONE;
    static prediction p;
    p = (prediction){.weights = "best", .threads = omp_get_max_threads(), .precision = "f32", .step = 0.5};
    const cli_option options[] = {
        {"--input", OPTION_TEXT, &p.input, 0, 0, 0},         {"--output", OPTION_TEXT, &p.output, 0, 0, 0},
        {"--weights", OPTION_TEXT, &p.weights, 0, 0, 0},     {"--threads", OPTION_WHOLE, &p.threads, 1, 4096, 0},
        {"--step", OPTION_NUMBER, &p.step, 0.01, 1, 0},      {"--no-mirror", OPTION_FLAG, &p.no_mirror, 0, 0, 0},
        {"--precision", OPTION_TEXT, &p.precision, 0, 0, 0}, {"--overwrite", OPTION_FLAG, &p.overwrite, 0, 0, 0},
        {"--quiet", OPTION_FLAG, &p.quiet, 0, 0, 0}};
    const int code = cli_parse("predict", count, arguments, options, sizeof options / sizeof *options, p.runs, RUNS_MAX,
                               &p.run_count);
    if (code != EXIT_DONE) return code;
    if (!p.run_count) return cli_error(EXIT_USAGE, "predict with which run? See hws predict --help");
    if (!p.input || !p.output) return cli_error(EXIT_USAGE, "predict needs --input FILE|DIR and --output DIR");
    failure failure = {0};
    omp_set_num_threads((int)p.threads);
    int volumes = 0;
    status_code status = are_volumes(&p, &volumes, &failure);
    if (status == STATUS_OK && volumes) return predict_volumes_of(&p);
    if (status == STATUS_OK) status = predict(&p, &failure);
    for (int r = 0; r < p.opened; r++) run_model_close(&p.models[r]);
    return status == STATUS_OK ? EXIT_DONE : cli_error(cli_exit_code(status), "%s", failure.message);
}
