/* hws train: Algorithm 1 on your data. */
#define _XOPEN_SOURCE 700
#include "cache_progress.h"
#include "cli.h"
#include "images/classification_data.h"
#include "interrupt.h"
#include "options.h"
#include "run/run_folder.h"
#include "task/classification.h"
#include "task/phantom_data.h"
#include "task/segmentation_source.h"
#include "train/trainer.h"
#include "train_progress.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char USAGE[] =
    "usage: hws train DATA [options] --out RUN\n"
    "       hws train --resume --out RUN\n"
    "\n"
    "Trains a network on DATA and records the run in the folder RUN. The defaults are the paper's, in brackets for "
    "images\n"
    "and, where they differ, for volumes.\n"
    "\n"
    "DATA is one of\n"
    "  digits | digits:TRAIN,TEST   built-in handwriting-like digits, 60000 and 10000 or so many of them\n"
    "  mnist | mnist:DIR            MNIST in the cache (see hws fetch) or in a folder\n"
    "  DATASET_FOLDER               volumes with label maps, nnU-Net's layout or the Decathlon's; planned and\n"
    "                               preprocessed first if that is not done (see hws plan)\n"
    "  phantom                      synthetic heads (see hws phantom), made in the cache when they are first used\n"
    "\n"
    "What is learnt\n"
    "  --objective O        dro: hardness weighted sampling | erm: shuffled epochs | reweight: classes drawn equally\n"
    "                       often, then their examples | ohem: online hard example mining: of --ohem-factor times\n"
    "                       the batch, drawn in shuffled epochs, the hardest are trained on   (dro)\n"
    "  --beta B             robustness; 0 is ordinary training                    (10; 100)\n"
    "  --divergence D       kl | chi2 | reverse-kl | hellinger | cressie-read:K | js | cvar:A   (kl)\n"
    "  --importance [MIN,MAX]  dro: weigh losses by p_new / p_old, clipped        (off; 0.1,10)\n"
    "  --no-importance      dro: every loss weighs the same, also for volumes\n"
    "  --target-ess N       choose beta at each epoch so that the effective sample size is N\n"
    "  --loss-init L        loss of the examples not seen yet; large: all are seen once first   (10; 1)\n"
    "  --history H          stale: losses as last seen | exact: all evaluated before each iteration; for study,\n"
    "                       needs --look-ahead 0                                  (stale)\n"
    "  --history-momentum M stale = M stale + (1 - M) new                         (0)\n"
    "  --floor F            draw from max(p, F / n)                               (0)\n"
    "  --uniform-mix U      draw from (1 - U) p + U / n                           (0)\n"
    "  --replacement        let an example stand twice in a batch\n"
    "  --ohem-factor K      candidates per example that ohem trains on            (2)\n"
    "  --keep CLASS=FRACTION  keep only so much of a class for training; may be given several times\n"
    "\n"
    "How\n"
    "  --model M            images: wrn-D-k | mlp-L-m; volumes: the plan's        (wrn-16-1; unet)\n"
    "  --optimizer O        sgd | momentum | nesterov | adam | adamw              (sgd; nesterov)\n"
    "  --lr R --momentum M --weight-decay W --clip-norm C       (0.01, 0.9, 0, 0 = off; 0.01, 0.99, 3e-5, 12)\n"
    "  --schedule S         constant | poly: to zero at the end                   (constant; poly)\n"
    "  --epochs E                                                                 (6; 1000)\n"
    "  --epoch-length N     iterations of an epoch; 0: floor(examples / batch)    (0; 250)\n"
    "  --iterations T       instead of --epochs\n"
    "  --batch B            0: the plan's                                         (64; 0)\n"
    "  --fold F             volumes: of five, 0 to 4; -1: train and validate on all   (0)\n"
    "  --stratify COLUMN    volumes: folds that keep the shares of this column of groups.csv, whatever\n"
    "                       splits_final.json says\n"
    "  --split-volumes D,H,W   volumes: divide them into parts of about this size, each with a loss of its own\n"
    "  --cache CACHE        volumes: where hws plan puts its work                 (DATASET_FOLDER/hws_cache)\n"
    "  --look-ahead K       batch t + K is drawn when t iterations are done; 0 is exactly Algorithm 1,\n"
    "                       more lets threads prepare batches meanwhile           (1)\n"
    "  --stop-grad-norm E   measure the norm of the gradient of R over the whole set at each epoch, and stop\n"
    "                       below E; 0 only measures\n"
    "  --precision P        f32 | bf16                                            (f32)\n"
    "  --conv A             auto | direct: no Winograd rounding                   (auto)\n"
    "  --seed S             decides everything random                             (0)\n"
    "  --threads T          the result is the same to the bit for any number      (all)\n"
    "  --loaders L          threads that prepare batches; nor do they change it   (1)\n"
    "\n"
    "The run\n"
    "  --out RUN            the folder; refused if it holds a run already, unless it is resumed\n"
    "  --resume             go on from the last checkpoint, to the same bits as without the interruption; all\n"
    "                       options come from RUN/config.json, and only --threads, --loaders, --checkpoint-every,\n"
    "                       --cache and --quiet may differ, and with a constant rate --epochs\n"
    "  --config FILE        begin with the settings of another run's config.json\n"
    "  --checkpoint-every N also after so many iterations                         (each epoch)\n"
    "  --quiet              no progress, no table\n";

enum { OPTIONS_MAX = 64, NAME_MAX_SIZE = 40 };

typedef struct train_command {
    train_settings settings;
    const char *out, *config;
    int resume, quiet, given_data;
    cli_list keep;
    cli_pair importance;
    int no_importance;
    char names[OPTIONS_MAX][NAME_MAX_SIZE];
    cli_option options[OPTIONS_MAX];
    size_t option_count;
} train_command;

/* ---- the command line -------------------------------------------------------------------------------------------- */

static void add_option(train_command *c, cli_option option) { c->options[c->option_count++] = option; }

/* "history_momentum" becomes "--history-momentum". */
static void add_setting(train_command *c, const setting *s) {
    static const option_kind KINDS[] = {OPTION_FLAG, OPTION_WHOLE, OPTION_NUMBER, OPTION_TEXT};
    char *name = c->names[c->option_count];
    snprintf(name, NAME_MAX_SIZE, "--%s", s->key);
    for (char *at = name; *at; at++)
        if (*at == '_') *at = '-';
    add_option(c, (cli_option){.name = name,
                               .kind = KINDS[s->kind],
                               .target = (char *)&c->settings + s->offset,
                               .low = s->low,
                               .high = s->high});
}

static void list_options(train_command *c) {
    c->option_count = 0;
    for (size_t k = 0; k < settings_count(); k++)
        if (strcmp(settings_at(k)->key, "data") != 0) add_setting(c, settings_at(k));
    add_option(c, (cli_option){.name = "--out", .kind = OPTION_TEXT, .target = &c->out});
    add_option(c, (cli_option){.name = "--config", .kind = OPTION_TEXT, .target = &c->config});
    add_option(c, (cli_option){.name = "--resume", .kind = OPTION_FLAG, .target = &c->resume});
    add_option(c, (cli_option){.name = "--quiet", .kind = OPTION_FLAG, .target = &c->quiet});
    add_option(c, (cli_option){.name = "--keep", .kind = OPTION_LIST, .target = &c->keep});
    add_option(c, (cli_option){.name = "--importance",
                               .kind = OPTION_PAIR,
                               .target = &c->importance,
                               .high = 1e30,
                               .given = &c->importance.given});
    add_option(c, (cli_option){.name = "--no-importance", .kind = OPTION_FLAG, .target = &c->no_importance});
}

static int parse(train_command *c, int count, char **arguments) {
    const char *words[1];
    int word_count = 0;
    c->keep = (cli_list){0};
    c->importance = (cli_pair){.low = 0.1, .high = 10};
    list_options(c);
    const cli_verb verb = {"train", USAGE, c->options, c->option_count, 0, words, 1};
    const int code = cli_read(&verb, count, arguments, &word_count);
    if (code == CLI_GO_ON && word_count) c->settings.data = words[0];
    return code == CLI_GO_ON ? EXIT_DONE : code;
}

static int take_keep(train_command *c) {
    if (!c->keep.count) return EXIT_DONE;
    c->settings.keep_count = 0;
    for (int k = 0; k < c->keep.count; k++) {
        char *end;
        const long label = strtol(c->keep.items[k], &end, 10);
        const char *rest = *end == '=' && end != c->keep.items[k] ? end + 1 : "";
        const double fraction = strtod(rest, &end);
        if (!*rest || *end || label < 0 || label > 1 << 20 || !(fraction >= 0 && fraction <= 1))
            return cli_error(EXIT_USAGE, "--keep %s is not CLASS=FRACTION such as 3=0.01", c->keep.items[k]);
        c->settings.keep[c->settings.keep_count++] = (settings_keep){(int)label, fraction};
    }
    return EXIT_DONE;
}

static int take_importance(train_command *c) {
    if (c->importance.given && c->no_importance)
        return cli_error(EXIT_USAGE, "--importance and --no-importance contradict each other");
    if (c->no_importance) c->settings.importance = 0;
    if (!c->importance.given) return EXIT_DONE;
    if (c->importance.low > c->importance.high)
        return cli_error(EXIT_USAGE, "--importance %g,%g: the first is not to be larger than the second",
                         c->importance.low, c->importance.high);
    c->settings.importance = 1;
    c->settings.weight_min = c->importance.low;
    c->settings.weight_max = c->importance.high;
    return EXIT_DONE;
}

/* The settings that the command line is laid upon: the defaults, or a config.json. */
static int read_base(train_command *c, failure *failure) {
    const int volumes = c->settings.data && *c->settings.data && !classification_data_named(c->settings.data);
    char path[PATH_SIZE];
    const char *file = c->config;
    if (c->resume) {
        if (!run_exists(c->out))
            return cli_error(EXIT_USAGE, "%s holds no run that could be resumed; leave out --resume to begin one",
                             c->out);
        if (run_path(path, c->out, RUN_CONFIG, failure) != STATUS_OK)
            return cli_error(EXIT_USAGE, "%s", failure->message);
        file = path;
    }
    c->settings = volumes ? settings_default_volumes() : settings_default();
    const status_code status = file ? settings_read_file(&c->settings, file, failure) : STATUS_OK;
    return status == STATUS_OK ? EXIT_DONE : cli_error(cli_exit_code(status), "%s", failure->message);
}

static int refuse_difference(const train_settings *base, const train_settings *asked, const char *out) {
    const char *difference = settings_difference(base, asked);
    return difference ? cli_error(EXIT_USAGE,
                                  "%s was begun with another '%s', see its config.json; a run is resumed with the "
                                  "settings it began with: leave the option out, or start a new run in another folder",
                                  out, difference)
                      : EXIT_DONE;
}

/* So that a run can be resumed and evaluated from elsewhere. */
static void make_absolute(train_command *c) {
    static char data[PATH_SIZE], cache[PATH_SIZE], here[PATH_SIZE];
    if (!classification_data_named(c->settings.data) && !phantom_data_named(c->settings.data) &&
        realpath(c->settings.data, data))
        c->settings.data = data;
    if (*c->settings.cache && c->settings.cache[0] != '/' && getcwd(here, sizeof here) &&
        path_join(cache, here, c->settings.cache, 0) == STATUS_OK)
        c->settings.cache = cache;
}

/* Twice: first to find --config and --resume, then on top of what they name. */
static int read_command(train_command *c, int count, char **arguments, failure *failure) {
    int code = parse(c, count, arguments);
    if (code != EXIT_DONE) return code;
    if (!c->out) return cli_error(EXIT_USAGE, "train: where to? Name a folder with --out RUN");
    if (c->resume && c->config) return cli_error(EXIT_USAGE, "train: --resume and --config exclude each other");
    if (!c->resume && run_exists(c->out))
        return cli_error(EXIT_USAGE, "%s holds a run already; continue it with --resume, or name another folder",
                         c->out);
    code = read_base(c, failure);
    const train_settings base = c->settings;
    if (code == EXIT_DONE) code = parse(c, count, arguments);
    if (code == EXIT_DONE) code = take_keep(c);
    if (code == EXIT_DONE) code = take_importance(c);
    if (code == EXIT_DONE && c->resume) code = refuse_difference(&base, &c->settings, c->out);
    if (code != EXIT_DONE) return code;
    if (strcmp(c->settings.history, "exact") == 0 && strcmp(base.history, "exact") != 0 && c->settings.look_ahead == 1)
        c->settings.look_ahead = 0;
    if (!*c->settings.data) return cli_error(EXIT_USAGE, "train on what? See hws train --help");
    if (!c->resume) make_absolute(c);
    if (!classification_data_named(c->settings.data) && !phantom_data_named(c->settings.data) &&
        access(c->settings.data, F_OK) != 0)
        return cli_error(EXIT_USAGE,
                         "'%s' is no data that can be trained on: neither digits, mnist or phantom nor a folder",
                         c->settings.data);
    const status_code status = settings_check(&c->settings, failure);
    return status == STATUS_OK ? EXIT_DONE : cli_error(EXIT_USAGE, "%s", failure->message);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

static int is_interrupted(void *context) {
    (void)context;
    return cli_interrupted;
}

static int tell_end(const train_command *c, trainer_end end) {
    if (end == TRAINER_INTERRUPTED) {
        fprintf(stderr, "hws: stopped; a checkpoint is written. Go on with: hws train --resume --out %s\n", c->out);
        return EXIT_FAILED;
    }
    if (end == TRAINER_CONVERGED && !c->quiet)
        printf("stopped: the norm of the gradient of R is below %g\n", c->settings.stop_grad_norm);
    return EXIT_DONE;
}

static int run(train_command *c, const task *task, failure *failure) {
    trainer *t = 0;
    trainer_end end = TRAINER_FINISHED;
    status_code status = trainer_open(&t, &c->settings, task, c->out, failure);
    if (status != STATUS_OK) return cli_error(cli_exit_code(status), "%s", failure->message);
    status = c->resume ? trainer_resume(t, failure) : trainer_begin(t, failure);
    if (*t->notice) fprintf(stderr, "hws: %s\n", t->notice);
    train_progress progress;
    train_progress_start(&progress, t, c->quiet);
    const trainer_watch watch = {&progress, train_progress_report, is_interrupted};
    if (status == STATUS_OK) status = trainer_run(t, &watch, &end, failure);
    train_progress_end(&progress);
    trainer_close(&t);
    return status == STATUS_OK ? tell_end(c, end) : cli_error(cli_exit_code(status), "%s", failure->message);
}

static status_code keep(const train_command *c, labelled_images *train, failure *failure) {
    status_code status = STATUS_OK;
    for (int k = 0; k < c->settings.keep_count && status == STATUS_OK; k++)
        status = labelled_images_keep(train, c->settings.keep[k].class_label, c->settings.keep[k].fraction,
                                      (uint64_t)c->settings.seed, failure);
    return status;
}

static int train_on_images(train_command *c, failure *failure) {
    labelled_images train = {0}, test = {0};
    classification context;
    task task;
    status_code status = classification_data_open(c->settings.data, &train, &test, failure);
    if (status == STATUS_OK) status = keep(c, &train, failure);
    if (status == STATUS_OK) status = task_classification(&task, &context, &train, &test, failure);
    const int code =
        status == STATUS_OK ? run(c, &task, failure) : cli_error(cli_exit_code(status), "%s", failure->message);
    labelled_images_close(&train);
    labelled_images_close(&test);
    return code;
}

/* ---- volumes ----------------------------------------------------------------------------------------------------- */

static status_code keep_plan(const train_command *c, const plan *plan, failure *failure) {
    char path[PATH_SIZE];
    status_code status = run_path(path, c->out, RUN_PLAN, failure);
    if (status != STATUS_OK) return status;
    if (!c->resume) return plan_write(plan, path, failure);
    static struct plan begun; /* large */
    status = plan_read(&begun, path, failure);
    if (status != STATUS_OK || plan_agrees(plan, &begun)) return status;
    return fail(
        failure, STATUS_BAD_INPUT,
        "the cache's plans.json is not the plan that this run began with; copy %.500s there, or start a new run", path);
}

/* Which cases are trained on and which are not, so that no later change of the folds can mix them up. */
static status_code keep_fold(const train_command *c, const segmentation_source *source, failure *failure) {
    char path[PATH_SIZE];
    if (c->resume || c->settings.fold < 0) return STATUS_OK;
    const status_code status = run_path(path, c->out, RUN_FOLD, failure);
    return status == STATUS_OK ? segmentation_source_write_fold(source, path, failure) : status;
}

static void tell_unused(const train_command *c, const segmentation_source *source) {
    const char *first;
    const size_t count = c->quiet ? 0 : segmentation_source_unused(source, &first);
    if (count)
        cli_error(EXIT_DONE, "splits_final.json leaves %zu %s of the dataset out of this fold, such as %s", count,
                  count == 1 ? "case" : "cases", first);
}

/* What means nothing for volumes is refused rather than passed over. */
static status_code check_for_volumes(const train_settings *s, failure *failure) {
    if (strcmp(s->model, "unet") != 0)
        return fail(failure, STATUS_BAD_INPUT, "--model %.100s: volumes are segmented by the plan's U-Net", s->model);
    if (s->keep_count) return fail(failure, STATUS_BAD_INPUT, "--keep is for images with one label each");
    return STATUS_OK;
}

/* A run that goes on has fitted before. */
static status_code check_memory(const train_command *c, const plan *plan, failure *failure) {
    if (c->resume) return STATUS_OK;
    return plan_fits(plan, strcmp(c->settings.precision, "bf16") == 0, memory_available(), failure);
}

static int train_on_volumes(train_command *c, failure *failure) {
    static char folder[PATH_SIZE];
    segmentation_source *source = 0;
    segmentation *context = 0;
    task task;
    cli_progress progress;
    const cache_listener listener = cache_progress_listener(&progress, c->quiet);
    const struct listener phantoms = cli_listen(&progress, c->quiet);
    train_settings settings = c->settings;
    status_code status = check_for_volumes(&c->settings, failure);
    if (status == STATUS_OK && phantom_data_named(c->settings.data)) {
        status = phantom_data_folder(folder, (int)c->settings.threads, &phantoms, failure);
        settings.data = folder;
    }
    if (status == STATUS_OK)
        status = segmentation_source_open(&source, &settings, &listener, &cli_interrupted, failure);
    cli_progress_end(&progress);
    if (status != STATUS_OK && !cli_interrupted) {
        segmentation_source_close(&source);
        return cli_error(cli_exit_code(status), "%s", failure->message);
    }
    if (status == STATUS_OK) {
        const segmentation_data *data = segmentation_source_data(source);
        if (!c->settings.batch) c->settings.batch = data->plan->batch;
        tell_unused(c, source);
        status = check_memory(c, data->plan, failure);
        if (status == STATUS_OK) status = keep_plan(c, data->plan, failure);
        if (status == STATUS_OK) status = keep_fold(c, source, failure);
        if (status == STATUS_OK) status = task_segmentation_open(&task, &context, data, &c->settings, failure);
    }
    const int code =
        status == STATUS_OK ? run(c, &task, failure) : cli_error(cli_exit_code(status), "%s", failure->message);
    task_segmentation_close(&context);
    segmentation_source_close(&source);
    return code;
}

static int in_folder(train_command *c, failure *failure) {
    int lock;
    status_code status = folder_make(c->out, failure);
    if (status == STATUS_OK) status = run_lock(c->out, &lock, failure);
    if (status != STATUS_OK) return cli_error(cli_exit_code(status), "%s", failure->message);
    run_clean(c->out);
    cli_catch_interrupts();
    const int code =
        classification_data_named(c->settings.data) ? train_on_images(c, failure) : train_on_volumes(c, failure);
    close(lock);
    return code;
}

int verb_train(int count, char **arguments) {
    static train_command c;
    failure failure = {0};
    if (cli_helped(count, arguments, USAGE)) return EXIT_DONE;
    int code = read_command(&c, count, arguments, &failure);
    if (code == EXIT_DONE) {
        if (!c.settings.threads) c.settings.threads = omp_get_max_threads();
        omp_set_num_threads((int)c.settings.threads);
        code = in_folder(&c, &failure);
    }
    settings_close(&c.settings);
    return code;
}
