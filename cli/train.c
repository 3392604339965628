/* hws train: Algorithm 1 on your data. */
#include "train/train.h"
#include "cli.h"
#include "interrupt.h"
#include "options.h"
#include "train_progress.h"

#include <stdio.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws train DATA [options] --out RUN\n"
    "       hws train --resume --out RUN\n"
    "\n"
    "Trains a network on DATA and records the run in the folder RUN. The defaults need no tuning; they stand in\n"
    "brackets, for images, then for volumes where they differ. Most runs need few options: --objective erm|dro,\n"
    "--size (pictures), --validation 0.1 (images), --epochs or --budget, --seed. For example\n"
    "  hws train FOLDER --size 64 --validation 0.1 --out runs/mine\n"
    "\n"
    "DATA is one of\n"
    "  digits | digits:TRAIN,TEST   built-in digits that look handwritten: 60000 to train on and 10000 to test on,\n"
    "                               or TRAIN and TEST of them\n"
    "  mnist | mnist:DIR            MNIST in the cache (see hws fetch) or in a folder\n"
    "  FOLDER                       pictures (PNG, JPEG) in a folder per class, perhaps within train, val and test\n"
    "  FILE.csv                     pictures, a line each: file, label, and if you like split (train, val, test),\n"
    "                               group, patient and others; or a table of numbers and words without files, whose\n"
    "                               rows are classified by a fully connected network\n"
    "  FILE.npz                     images and labels as MedMNIST has them\n"
    "  CIFAR_FOLDER                 CIFAR-10's binary files\n"
    "  DATASET_FOLDER               volumes with label maps, in nnU-Net's or the Decathlon's layout; planned and\n"
    "                               preprocessed first, if that has not been done yet (see hws plan)\n"
    "  phantom                      synthetic heads (see hws phantom), made in the cache when they are first used\n";

static const char USAGE_OF_THE_RUN[] =
    "  --out RUN            the run's folder. Refused: a folder that holds a run, unless it is resumed, the folder of\n"
    "                       the data, and one with files that the run would replace\n"
    "  --resume             go on from the last checkpoint, to the same bits as without the interruption. All options\n"
    "                       come from RUN/config.json; only --threads, --loaders, --checkpoint-every, --cache,\n"
    "                       --picture-memory, --tensorboard and --quiet may differ, and --epochs, if the rate is\n"
    "                       constant and there is neither --warm-up nor --iterations. If the data have moved:\n"
    "                       hws train DATA --resume --out RUN\n"
    "  --resume-or-start    go on if RUN holds a run, begin one if not: for jobs that are started again\n"
    "  --dry-run            only tell what a run would do: data and network, and, measured by a few steps, how long\n"
    "                       it would take and how much memory and disk; nothing is written but the cache of volumes\n"
    "  --config FILE        begin with the settings of another run's config.json\n";

enum { OPTIONS_MAX = 128, GIVEN_MAX = OPTIONS_MAX + CLI_LIST_MAX };

typedef struct train_command {
    train_request request;
    int quiet, no_importance;
    const char *values[OPTIONS_MAX]; /* of the settings, in the table's order; NULL: not given */
    int flags[OPTIONS_MAX];
    cli_list keep;
    char names[OPTIONS_MAX][SETTING_OPTION_SIZE];
    cli_option options[OPTIONS_MAX];
    size_t option_count;
    train_option given[GIVEN_MAX];
} train_command;

/* All of the help: settings have a table of their own. */
static void write_usage(text *usage) {
    text_add(usage, USAGE);
    text_add(usage, "\nWhat is learnt\n");
    settings_recipes_help(usage);
    settings_help(SETTING_OBJECTIVE, usage);
    text_add(usage, "\nHow it is learnt\n");
    settings_help(SETTING_TRAINING, usage);
    text_add(usage, "\nThe run\n");
    text_add(usage, USAGE_OF_THE_RUN);
    settings_help(SETTING_RUN, usage);
    text_add(usage, "  --quiet              no progress, no table\n");
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

static void add_option(train_command *c, const char *name, option_kind kind, void *target) {
    c->options[c->option_count++] =
        (cli_option){.name = name, .kind = kind, .target = target, .belongs = settings_names_importance};
}

static void add_setting(train_command *c, size_t index) {
    const setting *s = settings_at(index);
    const char *name = setting_option(s, c->names[index]);
    if (s->kind == SETTING_FLAG) add_option(c, name, OPTION_FLAG, &c->flags[index]);
    else if (s->kind == SETTING_KEEP) add_option(c, name, OPTION_LIST, &c->keep);
    else add_option(c, name, s->kind == SETTING_IMPORTANCE ? OPTION_OPTIONAL : OPTION_TEXT, &c->values[index]);
}

static int parse(train_command *c, int count, char **arguments) {
    for (size_t k = 0; k < settings_count(); k++)
        if (settings_at(k)->group != SETTING_DATA) add_setting(c, k);
    add_option(c, "--no-importance", OPTION_FLAG, &c->no_importance);
    add_option(c, "--out", OPTION_TEXT, &c->request.folder);
    add_option(c, "--config", OPTION_TEXT, &c->request.config);
    add_option(c, "--recipe", OPTION_TEXT, &c->request.recipe);
    add_option(c, "--resume", OPTION_FLAG, &c->request.resume);
    add_option(c, "--resume-or-start", OPTION_FLAG, &c->request.resume_or_start);
    add_option(c, "--dry-run", OPTION_FLAG, &c->request.dry_run);
    add_option(c, "--quiet", OPTION_FLAG, &c->quiet);
    text usage = {0};
    write_usage(&usage);
    const cli_verb verb = {"train", text_string(&usage), c->options, c->option_count, NULL, &c->request.data, 1};
    const int code = usage.failed ? cli_error(EXIT_FAILED, "out of memory") : cli_read(&verb, count, arguments, NULL);
    text_close(&usage);
    return code;
}

static void give(train_command *c, const char *key, const char *value) {
    c->given[c->request.option_count++] = (train_option){key, value};
}

static int read_command(train_command *c, int count, char **arguments) {
    const int code = parse(c, count, arguments);
    if (code != CLI_GO_ON) return code;
    const int resumes = c->request.resume || c->request.resume_or_start;
    if (!c->request.folder && (resumes || !c->request.dry_run))
        return cli_error(EXIT_USAGE, "train: where to? Name a folder with --out RUN");
    for (size_t k = 0; k < settings_count(); k++) {
        const setting *s = settings_at(k);
        if (s->kind == SETTING_IMPORTANCE && c->no_importance) {
            if (c->values[k]) return cli_error(EXIT_USAGE, "--importance and --no-importance contradict each other");
            c->values[k] = "off";
        }
        if (c->values[k] || c->flags[k]) give(c, s->key, c->flags[k] ? "on" : c->values[k]);
    }
    for (int k = 0; k < c->keep.count; k++) give(c, "keep", c->keep.items[k]);
    c->request.options = c->given;
    return CLI_GO_ON;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static int train(const train_command *c) {
    failure failure = {0};
    train_outcome outcome = {0};
    train_progress progress;
    const train_listener listener = train_progress_start(&progress, c->quiet, c->request.dry_run);
    const status_code status = train_run(&c->request, &listener, &outcome, &failure);
    if (c->request.dry_run && status == STATUS_OK)
        return train_progress_tell_trial(&progress, &outcome.trial), EXIT_DONE;
    train_progress_end(&progress, &outcome, status == STATUS_OK ? NULL : &failure);
    return cli_end(status, &failure);
}

int verb_train(int count, char **arguments) {
    static train_command c;
    c = (train_command){0};
    const int code = read_command(&c, count, arguments);
    if (code != CLI_GO_ON) return code;
    cli_catch_interrupts();
    return train(&c);
}
