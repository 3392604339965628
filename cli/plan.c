/* hws plan: from a dataset folder to a plan and preprocessed cases. */
#include "cli.h"
#include "interrupt.h"
#include "options.h"
#include "progress.h"

#include "cache/cache.h"
#include "core/available.h"
#include "core/parallel.h"
#include "dataset/case_groups.h"
#include "dataset/folds.h"

#include <stdio.h>
#include <stdlib.h>

static const char USAGE[] =
    "usage: hws plan DATASET_FOLDER [options]\n"
    "\n"
    "Checks a dataset of NIfTI files (nnU-Net's layout or the Decathlon's), decides how it is preprocessed and what\n"
    "U-Net is trained on it, by nnU-Net's rules and within this machine's memory, and preprocesses all training\n"
    "cases.\n"
    "\n"
    "CACHE/plans.json (plans-MODEL.json for a model other than unet) holds the decisions and may be edited: the next\n"
    "hws plan keeps it and preprocesses again what the changes affect. Cases whose files have changed are\n"
    "preprocessed again, too. If it is interrupted with Ctrl-C, the same command goes on.\n"
    "\n"
    "Folds are those of DATASET_FOLDER/splits_final.json. Where there is no such file, folds are made once and kept\n"
    "in CACHE/splits_final.json, which hws train uses: those that nnU-Net would make, or where groups.csv has a\n"
    "column `patient`, folds of whole patients. --stratify and --keep-together replace them by others.\n"
    "\n";

static void print_three(const char *name, const int three[3]) {
    printf("%s%d x %d x %d", name, three[0], three[1], three[2]);
}

static void print_plan(const plan *plan, const cache_outcome *outcome) {
    printf("spacing    %g x %g x %g mm (depth, height, width)\n", plan->spacing[0], plan->spacing[1], plan->spacing[2]);
    printf("cases      %g x %g x %g voxels in the median\n", plan->median_size[0], plan->median_size[1],
           plan->median_size[2]);
    print_three("patch      ", plan->patch);
    printf(", batch %d%s\nstages    ", plan->batch,
           outcome->shrunk ? " (smaller than nnU-Net's: memory is short)" : "");
    for (int k = 0; k < plan->topology.count; k++) printf(" %d", plan->topology.stages[k].features);
    int multiple[3];
    topology_multiple(&plan->topology, multiple);
    print_three(" features, down to 1 / (", multiple);
    printf(") of the patch\nmemory     about %.1f GB for training, one patch at a time%s\n",
           plan_memory(plan, 1, 0) / 1e9,
           plan_fits(plan, 0, memory_available(), NULL) == STATUS_OK ? "" : ": more than is available now");
    printf("plan       %s/%s%s\n", outcome->folder, outcome->plan,
           outcome->planned ? "" : " (kept; --replan makes a new one)");
    printf("ready      %zu cases, %zu preprocessed now\n", outcome->prepared + outcome->current, outcome->prepared);
}

enum { LISTED_FOLDS = 10 };

static void print_folds(const splits *folds, const char *path) {
    printf("folds      %s, ", path);
    if (folds->count > LISTED_FOLDS) printf("%d folds\n", folds->count);
    for (int k = 0; k < folds->count && folds->count <= LISTED_FOLDS; k++)
        printf("%s%zu%s", k ? ", " : "with ", folds->folds[k].val_count,
               k == folds->count - 1 ? " cases to validate on\n" : "");
}

/* Folds that were made by columns are kept; without columns they are those that hws train would take, and of fewer
   cases than folds there are none. */
static status_code settle_folds(splits *folds, const dataset *set, const fold_columns *columns, const char *cache,
                                const listener *listener, failure *failure) {
    char path[PATH_SIZE];
    status_code status = STATUS_OK;
    if (!folds->count && set->train_count < SPLITS_FOLDS) return STATUS_OK;
    if (folds->count) status = folds_keep(folds, set, cache, failure);
    else status = folds_open(folds, set, columns, cache, listener, failure);
    if (status == STATUS_OK) status = folds_path(path, set, cache, failure);
    if (status != STATUS_OK) return status;
    print_folds(folds, path);
    folds_tell_torn(folds, set, 0, columns, cache, listener);
    return STATUS_OK;
}

/* `folds` are those to keep, or none: then they are opened. */
static int prepare(const dataset *set, splits *folds, const fold_columns *columns, cache_options *options, int quiet) {
    static plan plan; /* large */
    failure failure;
    cache_outcome outcome;
    cli_progress progress;
    listener listener = cli_listen(&progress, quiet);
    listener.notice = cli_notice; /* what is wrong with a dataset is no progress */
    cli_catch_interrupts();
    options->listener = &listener;
    options->memory = MEMORY_SHARE_PLANNED * memory_available();
    status_code status = cache_prepare(set, options, &plan, &outcome, &failure);
    cli_progress_end(&progress);
    if (status == STATUS_OK) print_plan(&plan, &outcome);
    if (status == STATUS_OK) status = settle_folds(folds, set, columns, outcome.folder, &listener, &failure);
    free(outcome.folder);
    return cli_end(status, &failure);
}

/* What hws train would refuse or not find is told before hours of work. */
static status_code check_tables(const dataset *set, failure *failure) {
    case_groups groups;
    cli_progress progress;
    listener listener = cli_listen(&progress, 1);
    listener.notice = cli_notice;
    status_code status = case_groups_of_dataset(&groups, set, failure);
    if (status != STATUS_OK) return status;
    case_groups_tell_gaps(&groups, set, &listener);
    case_groups_close(&groups);
    return folds_check(set, failure);
}

static int plan_dataset(const char *folder, const fold_columns *columns, cache_options *options, int quiet) {
    dataset set;
    splits folds = {0};
    failure failure;
    status_code status = dataset_open(&set, folder, &failure);
    if (status != STATUS_OK) return cli_end(status, &failure);
    status = check_tables(&set, &failure);
    if (status == STATUS_OK && (*columns->stratify || *columns->together))
        status = folds_make(&folds, &set, columns, &failure);
    const int result = status == STATUS_OK ? prepare(&set, &folds, columns, options, quiet) : cli_end(status, &failure);
    splits_close(&folds);
    dataset_close(&set);
    return result;
}

int verb_plan(int count, char **arguments) {
    cache_options o = {.verify = 1};
    fold_columns columns = {"", ""};
    long long threads = parallel_processors();
    int quiet = 0, words = 0;
    const char *folder = NULL, *model = "unet";
    const cli_option options[] = {
        CLI_TEXT("--out", "CACHE", &o.folder, "where the plan and the cases go", "DATASET_FOLDER/hws_cache"),
        CLI_TEXT("--model", "M", &model,
                 "unet | resenc-m | resenc-l: nnU-Net's U-Net, or its residual encoder for its budgets\n"
                 "M and L; with -2d behind it the same for slices",
                 NULL),
        CLI_FLAG("--replan", &o.replan, "make a new plan even if there is one"),
        CLI_TEXT("--stratify", "COLUMN", &columns.stratify,
                 "make folds with equal shares of each group in this\ncolumn of groups.csv", ""),
        CLI_TEXT(
            "--keep-together", "COLUMN", &columns.together,
            "make folds in which cases with the same value in this\ncolumn of groups.csv, such as a patient's, stay "
            "together",
            ""),
        CLI_THREADS(&threads, "threads to work with"),
        CLI_FLAG("--quiet", &quiet, "no progress"),
    };
    const cli_verb verb = {"plan", USAGE, options, sizeof options / sizeof *options, NULL, &folder, 1};
    const int code = cli_read(&verb, count, arguments, &words);
    if (code != CLI_GO_ON) return code;
    if (words != 1) return cli_error(EXIT_USAGE, "plan which dataset? hws plan DATASET_FOLDER; --help tells more");
    o.threads = (int)threads;
    failure failure;
    const status_code status = plan_model_parse(model, &o.model, &failure);
    return status == STATUS_OK ? plan_dataset(folder, &columns, &o, quiet) : cli_end(status, &failure);
}
