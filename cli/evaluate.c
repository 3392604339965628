/* hws evaluate: how good predictions are, by group and in the tail. */
#define _POSIX_C_SOURCE 200809L
#include "evaluate.h"
#include "cli.h"
#include "options.h"
#include "progress.h"

#include "core/parallel.h"
#include "core/whole_file.h"
#include "evaluate/evaluate.h"
#include "evaluate/stratified.h"
#include "evaluate/summary.h"
#include "evaluate/worst.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char USAGE[] =
    "usage: hws evaluate --pred DIR --ref DIR [options]\n"
    "       hws evaluate RUN [options]      what a run learnt: see hws evaluate RUN --help\n"
    "\n"
    "Scores predicted label maps (.nii, .nii.gz) beside their references, which have the same names, and prints\n"
    "for all cases and for each group the mean with its 95 % confidence interval, the tail, and the worst case by\n"
    "name.\n"
    "\n"
    "  --pred DIR       the predictions\n"
    "  --ref DIR        the references\n"
    "  --labels LIST    labels to score, such as 1,2          (every label above 0 of the references)\n"
    "  --regions LIST   named labels and unions of them, such as WT=1+2+3,ET=3\n"
    "  --ignore L       where the reference has this label nothing counts, as with nnU-Net's ignore label\n"
    "  --groups CSV     groups: the first column is called case, each further one holds a stratum per case\n"
    "  --by LIST        use these columns of the groups only\n"
    "  --hd95           the 95 % Hausdorff distance too\n"
    "  --surface        the average symmetric surface distance too\n"
    "  --common         score the cases that both folders have; without it a missing one is an error\n"
    "  --out DIR        write summary.json (as nnU-Net does), cases.csv, worst.csv and table.txt, .csv, .md, .tex "
    "there\n"
    "  --images DIR     draw the worst cases over these images (CASE_0000.nii.gz or CASE.nii.gz), as\n"
    "                   OUT/worst/CASE.png\n"
    "  --threads N      (one per processor)\n"
    "  --quiet          no progress and no notes\n"
    "\n"
    "Dice is missing where a label is in neither the prediction nor the reference; such cases are left out of\n"
    "the statistics and counted. A label that only one of them has scores 0, and as distance the image's diagonal.\n";

/* What an evaluation needs and yields; all of it may be zeroed. */
typedef struct job {
    const evaluate_settings *settings;
    evaluation evaluation;
    case_files files;
    region_list regions;
    groups groups;
    scores scores;
    strata strata;
    stratified stratified;
} job;

static void job_close(job *job) {
    stratified_close(&job->stratified);
    strata_close(&job->strata);
    scores_close(&job->scores);
    groups_close(&job->groups);
    regions_close(&job->regions);
    case_files_close(&job->files);
}

static void note(const evaluate_settings *settings, const char *format, const text *told) {
    if (told->size > 0 && !settings->quiet) cli_error(EXIT_DONE, format, text_string(told));
}

/* ---- before the work: everything that can be wrong with the input ---- */

static status_code parse_regions(job *job, failure *failure) {
    const evaluate_settings *settings = job->settings;
    status_code status = STATUS_OK;
    if (settings->labels) status = regions_add_labels(&job->regions, settings->labels, failure);
    if (status == STATUS_OK && settings->regions) status = regions_add_named(&job->regions, settings->regions, failure);
    return status;
}

static int is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int make_folder(const char *path) {
    if (mkdir(path, 0777) == 0) return EXIT_DONE;
    if (errno == EEXIST && is_folder(path)) return EXIT_DONE;
    return cli_error(EXIT_USAGE, "the folder %s could not be made: %s", path, strerror(errno));
}

static status_code take_listed(job *job, failure *failure) {
    const case_files *listed = job->settings->listed;
    status_code status = STATUS_OK;
    for (size_t k = 0; k < listed->count && status == STATUS_OK; k++) {
        const case_file *file = &listed->list[k];
        status = case_files_add(&job->files, file->name, file->prediction, file->reference, file->image, failure);
    }
    return status == STATUS_OK ? case_files_check(&job->files, failure) : status;
}

static status_code find_cases(job *job, failure *failure) {
    const evaluate_settings *settings = job->settings;
    if (settings->listed) return take_listed(job, failure);
    text left_out = {0};
    status_code status =
        case_files_open(&job->files, settings->predictions, settings->references, settings->common, &left_out, failure);
    note(settings, "%s; these cases are left out", &left_out);
    text_close(&left_out);
    return status == STATUS_OK ? case_files_check(&job->files, failure) : status;
}

static int prepare(job *job) {
    failure failure;
    if (job->settings->images && !is_folder(job->settings->images))
        return cli_error(EXIT_USAGE, "--images %s: there is no folder of this name", job->settings->images);
    status_code status = parse_regions(job, &failure);
    if (status == STATUS_OK && job->settings->groups)
        status = groups_read(&job->groups, job->settings->groups, &failure);
    if (status == STATUS_OK && job->settings->groups)
        status = groups_check_columns(&job->groups, job->settings->by, &failure);
    if (status == STATUS_OK) status = find_cases(job, &failure);
    if (status == STATUS_OK && job->regions.count == 0)
        status = evaluate_find_labels(&job->files, &job->evaluation, &job->regions, &failure);
    if (status != STATUS_OK) return cli_error(EXIT_USAGE, "%s", failure.message);
    return job->settings->out ? make_folder(job->settings->out) : EXIT_DONE;
}

/* ---- the work ---- */

static status_code score(job *job, failure *failure) {
    cli_progress progress;
    cli_progress_start(&progress, "scored", job->settings->quiet);
    job->evaluation.progress = cli_progress_step;
    job->evaluation.progress_context = &progress;
    text notes = {0};
    const status_code status =
        evaluate_cases(&job->files, &job->regions, &job->evaluation, &job->scores, &notes, failure);
    cli_progress_end(&progress);
    note(job->settings, "%s", &notes);
    text_close(&notes);
    return status;
}

static status_code stratify(job *job, failure *failure) {
    text lacking = {0};
    const statistics_options options = statistics_options_default();
    status_code status = strata_open(&job->strata, job->settings->groups ? &job->groups : NULL, job->settings->by,
                                     &job->scores, &lacking, failure);
    note(job->settings, "these cases are in no row of the groups and count in 'all' only: %.600s", &lacking);
    text_close(&lacking);
    if (status == STATUS_OK) status = stratified_open(&job->stratified, &job->scores, &job->strata, &options, failure);
    return status;
}

static status_code write_file(const job *job, const char *name, const text *contents, failure *failure) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", job->settings->out, name);
    return whole_file_write(path, text_string(contents), contents->size, failure);
}

static status_code write_table(const job *job, table_format format, const char *name, failure *failure) {
    text out = {0};
    status_code status = stratified_write(&job->stratified, format, &out, failure);
    if (status == STATUS_OK) status = write_file(job, name, &out, failure);
    text_close(&out);
    return status;
}

static status_code write_cases(const job *job, failure *failure) {
    text out = {0};
    status_code status = scores_write_csv(&job->scores, job->settings->groups ? &job->groups : NULL, &out, failure);
    if (status == STATUS_OK) status = write_file(job, "cases.csv", &out, failure);
    text_close(&out);
    return status;
}

static status_code write_results(const job *job, failure *failure) {
    static const char *const names[] = {"table.txt", "table.csv", "table.md", "table.tex"};
    char path[4096];
    snprintf(path, sizeof path, "%s/summary.json", job->settings->out);
    status_code status = summary_write(path, &job->scores, failure);
    if (status == STATUS_OK) status = write_cases(job, failure);
    for (int k = 0; k < 4 && status == STATUS_OK; k++) status = write_table(job, (table_format)k, names[k], failure);
    text notes = {0};
    if (status == STATUS_OK)
        status = worst_write(&job->scores, job->settings->images, job->settings->out, &notes, failure);
    note(job->settings, "%.900s", &notes);
    text_close(&notes);
    return status;
}

static status_code print_table(const job *job, failure *failure) {
    text out = {0};
    const status_code status = stratified_write(&job->stratified, TABLE_TEXT, &out, failure);
    if (status == STATUS_OK) fputs(text_string(&out), stdout);
    text_close(&out);
    return status;
}

static int work(job *job) {
    failure failure;
    status_code status = score(job, &failure);
    if (status == STATUS_OK) status = stratify(job, &failure);
    if (status == STATUS_OK && job->settings->out) status = write_results(job, &failure);
    if (status == STATUS_OK && !job->settings->no_table) status = print_table(job, &failure);
    return status == STATUS_OK ? EXIT_DONE : cli_error(EXIT_FAILED, "%s", failure.message);
}

int evaluate_folders(const evaluate_settings *settings) {
    if (!settings->listed && (!settings->predictions || !settings->references))
        return cli_error(EXIT_USAGE, "evaluate needs --pred DIR and --ref DIR; see hws evaluate --help");
    if (settings->images && !settings->out) return cli_error(EXIT_USAGE, "--images needs --out, where the pictures go");
    if (settings->by && !settings->groups) return cli_error(EXIT_USAGE, "--by needs --groups");
    job job = {.settings = settings,
               .evaluation = {.hd95 = settings->hd95, .assd = settings->surface, .ignore = (int)settings->ignore}};
    job.evaluation.threads = settings->threads ? (int)settings->threads : parallel_processors();
    int code = prepare(&job);
    if (code == EXIT_DONE) code = work(&job);
    job_close(&job);
    return code;
}

int verb_evaluate(int count, char **arguments) {
    if (count && strncmp(arguments[0], "-", 1) != 0) return evaluate_run(count, arguments);
    if (cli_helped(count, arguments, USAGE)) return EXIT_DONE;
    evaluate_settings settings = {0};
    const cli_option options[] = {
        {"--pred", OPTION_TEXT, &settings.predictions, 0, 0, NULL},
        {"--ref", OPTION_TEXT, &settings.references, 0, 0, NULL},
        {"--labels", OPTION_TEXT, &settings.labels, 0, 0, NULL},
        {"--regions", OPTION_TEXT, &settings.regions, 0, 0, NULL},
        {"--ignore", OPTION_WHOLE, &settings.ignore, 1, INT16_MAX, NULL},
        {"--groups", OPTION_TEXT, &settings.groups, 0, 0, NULL},
        {"--by", OPTION_TEXT, &settings.by, 0, 0, NULL},
        {"--images", OPTION_TEXT, &settings.images, 0, 0, NULL},
        {"--out", OPTION_TEXT, &settings.out, 0, 0, NULL},
        {"--threads", OPTION_WHOLE, &settings.threads, 1, 256, NULL},
        {"--hd95", OPTION_FLAG, &settings.hd95, 0, 0, NULL},
        {"--surface", OPTION_FLAG, &settings.surface, 0, 0, NULL},
        {"--common", OPTION_FLAG, &settings.common, 0, 0, NULL},
        {"--quiet", OPTION_FLAG, &settings.quiet, 0, 0, NULL},
    };
    const int code = cli_parse("evaluate", count, arguments, options, sizeof options / sizeof *options, NULL, 0, NULL);
    return code == EXIT_DONE ? evaluate_folders(&settings) : code;
}
