#define _XOPEN_SOURCE 700 /* realpath */
#include "train/train.h"

#include "core/available.h"
#include "core/clock.h"
#include "core/parallel.h"
#include "images/table_sets.h"
#include "nn/team.h"
#include "plan/plan.h"
#include "run/run_folder.h"
#include "task/classification.h"
#include "task/classification_source.h"
#include "task/mislabel.h"
#include "task/phantom_data.h"
#include "task/segmentation_source.h"
#include "train/budget.h"
#include "train/task_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct training {
    const train_request *request;
    const train_listener *listener;
    train_settings settings;
    char data[PATH_SIZE], cache[PATH_SIZE], phantoms[PATH_SIZE], from[PATH_SIZE], losses[PATH_SIZE]; /* of settings */
    plan begun; /* of the run that is resumed */
    train_outcome *outcome;
    const ranks *ranks; /* who train together; rank 0 alone makes and writes files */
    int resume;
    double began;                  /* the clock */
    char costs[BUDGET_COSTS_SIZE]; /* of settings */
} training;

static const listener *work_of(const training *t) { return t->listener ? &t->listener->work : 0; }

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static int is_volumes(const char *data) { return *data && !classification_data_named(data); }

static status_code read_config(train_settings *settings, const char *data, const char *path, failure *failure) {
    status_code status = run_config_read_settings(settings, path, failure);
    if (status != STATUS_OK || data || !is_volumes(settings->data)) return status;
    settings_close(settings);
    *settings = settings_default_volumes();
    return run_config_read_settings(settings, path, failure);
}

/* What the options are laid upon. */
static status_code read_base(training *t, failure *failure) {
    const train_request *r = t->request;
    char path[PATH_SIZE];
    t->settings = r->data && is_volumes(r->data) ? settings_default_volumes() : settings_default();
    if (r->config && !t->resume) return read_config(&t->settings, r->data, r->config, failure);
    if (!t->resume) return STATUS_OK;
    const status_code status = run_path(path, r->folder, RUN_CONFIG, failure);
    return status == STATUS_OK ? read_config(&t->settings, 0, path, failure) : status;
}

static int has_option(const train_request *r, const char *key) {
    for (size_t k = 0; k < r->option_count; k++)
        if (strcmp(r->options[k].key, key) == 0) return 1;
    return 0;
}

/* Who is left out must be seen again, or would be left out for good. */
static void take_trim(training *t) {
    train_settings *s = &t->settings;
    if (t->resume || !has_option(t->request, "trim") || has_option(t->request, "uniform_mix")) return;
    if (s->trim > 0 && s->floor == 0 && s->uniform_mix == 0) s->uniform_mix = 0.1;
}

/* What the default of the tail must give way to: a fraction of CVaR is a tail, and --target-ess chooses beta. */
static status_code yield_tail(training *t, failure *failure) {
    const train_request *r = t->request;
    train_settings *s = &t->settings;
    if (has_option(r, "tail") || has_option(r, "beta") || isnan(s->tail)) return STATUS_OK;
    if (has_option(r, "target_ess") && s->target_ess > 0)
        return settings_set(s, "beta", is_volumes(s->data) ? "100" : "10", failure);
    if (has_option(r, "divergence") && s->divergence.kind == HWS_CVAR) s->tail = s->divergence.parameter;
    return STATUS_OK;
}

static status_code refuse_contradictions(const train_request *r, failure *failure) {
    if (!has_option(r, "beta") || !has_option(r, "tail")) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "--beta and --tail cannot be used together: with a tail, beta follows from the losses");
}

/* A budget that a config tells of has been chosen for already: that is in the config, too. */
static int wants_budget(const training *t) { return !t->resume && has_option(t->request, "budget"); }

/* By an option, or in a config that was written by hand. */
static int is_chosen(const training *t, const char *key) {
    return has_option(t->request, key) || run_config_chooses(&t->settings, key);
}

static budget_fixed fixed_of(const training *t) {
    return (budget_fixed){.optimizer = is_chosen(t, "optimizer"),
                          .lr = is_chosen(t, "lr"),
                          .schedule = is_chosen(t, "schedule"),
                          .batch = is_chosen(t, "batch") || !is_volumes(t->settings.data),
                          .epoch_length = is_chosen(t, "epoch_length"),
                          .jtt_epochs = is_chosen(t, "jtt_epochs")};
}

static status_code check_budget(const training *t, failure *failure) {
    const train_request *r = t->request;
    double seconds;
    if (!wants_budget(t)) return STATUS_OK;
    if (t->ranks->count > 1)
        return fail(failure, STATUS_BAD_INPUT,
                    "--budget measures what one process does: with several ranks choose --epochs or --iterations");
    if (has_option(r, "epochs") || has_option(r, "iterations"))
        return fail(failure, STATUS_BAD_INPUT,
                    "--budget decides how long to train: leave out --epochs and --iterations");
    const budget_fixed fixed = fixed_of(t);
    const status_code status = budget_check(&t->settings, &fixed, failure);
    return status == STATUS_OK ? budget_parse(t->settings.budget, &seconds, failure) : status;
}

/* Options that say how long to train replace all that a config says about it: what its clock decided, too. */
static void take_length(training *t) {
    const train_request *r = t->request;
    train_settings *s = &t->settings;
    const int timed = has_option(r, "budget"), counted = has_option(r, "iterations");
    if (t->resume || !(timed || counted || has_option(r, "epochs"))) return;
    s->budget_costs = s->budget_lengths = "";
    if (!timed) s->budget = "";
    if (!timed && !counted) s->iterations = 0;
}

static status_code apply_options(training *t, failure *failure) {
    const train_request *r = t->request;
    status_code status = refuse_contradictions(r, failure);
    int keeps = 0;
    if (r->data) t->settings.data = r->data;
    if (status == STATUS_OK && r->recipe)
        status = settings_follow_recipe(&t->settings, r->recipe, is_volumes(t->settings.data), failure);
    for (size_t k = 0; k < r->option_count && status == STATUS_OK; k++) {
        if (strcmp(r->options[k].key, "keep") == 0 && !keeps++) t->settings.keep_count = 0;
        status = settings_set(&t->settings, r->options[k].key, r->options[k].value, failure);
    }
    if (status == STATUS_OK) take_trim(t);
    if (status == STATUS_OK) take_length(t);
    return status == STATUS_OK ? yield_tail(t, failure) : status;
}

static status_code check_same(const train_settings *base, const training *t, failure *failure) {
    const char *difference = t->resume ? settings_difference(base, &t->settings) : 0;
    if (!difference) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%.500s was begun with another '%s', see its config.json; a run is resumed with the settings it began "
                "with: leave the option out, or start a new run in another folder",
                t->request->folder, difference);
}

/* What is not there is left as it is, for who reads it to refuse. */
static const char *real_path(const char *path, char real[PATH_SIZE]) {
    return *path && realpath(path, real) ? real : path;
}

/* So that a run can be resumed and evaluated from elsewhere. What one that is resumed has been told already stays as it is. */
static void make_absolute(training *t, const train_settings *base) {
    train_settings *s = &t->settings;
    char here[PATH_SIZE];
    if (!t->resume || strcmp(s->from, base->from) != 0) s->from = real_path(s->from, t->from);
    if (!t->resume || strcmp(s->loss_init_file, base->loss_init_file) != 0)
        s->loss_init_file = real_path(s->loss_init_file, t->losses);
    if (!classification_data_is_word(s->data) && !phantom_data_named(s->data) &&
        (!t->resume || strcmp(s->data, base->data) != 0))
        s->data = real_path(s->data, t->data);
    if (*s->cache && s->cache[0] != '/' && getcwd(here, sizeof here) &&
        path_join(t->cache, here, s->cache, 0) == STATUS_OK)
        s->cache = t->cache;
}

static status_code check_data(const train_settings *s, failure *failure) {
    if (!*s->data) return fail(failure, STATUS_BAD_INPUT, "train on what? See hws train --help");
    if (classification_data_is_word(s->data) || phantom_data_named(s->data)) return STATUS_OK;
    if (path_exists(s->data) && is_volumes(s->data) && !path_is_folder(s->data))
        return fail(failure, STATUS_BAD_INPUT,
                    "'%.500s' cannot be trained on: files are .csv (a list of pictures, or a table) or .npz; see hws "
                    "train --help",
                    s->data);
    if (path_exists(s->data)) return STATUS_OK;
    return fail(
        failure, STATUS_BAD_INPUT,
        "'%.500s' cannot be trained on: it is neither digits, mnist nor phantom, and there is no such folder or file",
        s->data);
}

/* The first rank looks: what it makes later must not confuse the others. */
static void choose_resume(training *t) {
    const train_request *r = t->request;
    t->resume = r->resume || (r->resume_or_start && run_exists(r->folder));
    ranks_share_first(t->ranks, &t->resume, sizeof t->resume);
}

static status_code check_request(const training *t, failure *failure) {
    const train_request *r = t->request;
    if (r->resume && r->resume_or_start)
        return fail(failure, STATUS_BAD_INPUT, "train: --resume and --resume-or-start cannot be used together");
    if (r->resume && r->config)
        return fail(failure, STATUS_BAD_INPUT, "train: --resume and --config cannot be used together");
    if (r->resume && !run_exists(r->folder))
        return fail(failure, STATUS_BAD_INPUT,
                    "%.500s holds no run that could be resumed; leave out --resume to begin one", r->folder);
    if (!t->resume && r->folder && run_exists(r->folder))
        return fail(failure, STATUS_BAD_INPUT,
                    "%.500s holds a run already; continue it with --resume, or name another folder", r->folder);
    return STATUS_OK;
}

/* What a run writes would be examples of the next one. */
static status_code check_folder(const training *t, failure *failure) {
    const char *data = t->settings.data, *folder = t->request->folder;
    if (t->request->dry_run || t->resume || !classification_data_is_classes(data) || !path_same(data, folder))
        return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "--out %.400s is the folder of the pictures, in which every folder is a class; name another", folder);
}

static status_code settle(training *t, failure *failure) {
    train_settings *s = &t->settings;
    choose_resume(t);
    status_code status = check_request(t, failure);
    if (status == STATUS_OK) status = read_base(t, failure);
    if (status != STATUS_OK) return status;
    const train_settings base = *s;
    status = apply_options(t, failure);
    make_absolute(t, &base);
    if (t->resume && !s->batch) s->batch = base.batch; /* the plan's, which the run has taken */
    if (status == STATUS_OK) status = check_same(&base, t, failure);
    if (status != STATUS_OK) return status;
    if (s->history == HISTORY_EXACT && base.history != HISTORY_EXACT && s->look_ahead == 1) s->look_ahead = 0;
    status = check_data(s, failure);
    if (status == STATUS_OK) status = check_folder(t, failure);
    if (status == STATUS_OK) status = check_budget(t, failure);
    if (!s->threads) s->threads = parallel_processors();
    return status == STATUS_OK ? settings_check(s, failure) : status;
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* The preparations count. A resumed run has what the time up to its last validation has left; a run that is repeated by its
   config follows what is recorded there and not the clock. */
static status_code watch_time(const training *t, trainer *trainer, failure *failure) {
    const train_settings *s = &t->settings;
    const double now = clock_seconds();
    budget_costs costs = {0};
    double seconds = 0;
    if (!*s->budget || t->ranks->count > 1 || (!t->resume && !wants_budget(t))) return STATUS_OK;
    if (trainer->iteration >= trainer->total) return STATUS_OK;
    status_code status = budget_parse(s->budget, &seconds, failure);
    if (status == STATUS_OK) status = budget_costs_read(&costs, s->budget_costs, s->batch, failure);
    if (status != STATUS_OK) return status;
    const double deadline = t->began + seconds - trainer->seconds;
    if (!t->resume) trainer->seconds = now - t->began;
    trainer_watch(trainer, &(trainer_time){deadline, costs.step, costs.validation, costs.end});
    return STATUS_OK;
}

static status_code train_with(training *t, trainer *trainer, failure *failure) {
    status_code status = t->resume ? trainer_resume(trainer, failure) : trainer_begin(trainer, failure);
    if (status == STATUS_OK) status = watch_time(t, trainer, failure);
    trainer_tell(trainer, work_of(t));
    if (status != STATUS_OK) return status;
    if (t->listener && t->listener->begin) t->listener->begin(t->listener->work.context, trainer);
    const double began = clock_seconds();
    status = trainer_run(trainer, t->listener, &t->outcome->end, failure);
    t->outcome->waiting = loader_waited(trainer->loader) / fmax(clock_seconds() - began, 1e-9);
    if (status != STATUS_OK || t->outcome->end != TRAINER_INTERRUPTED) return status;
    return fail(failure, STATUS_STOPPED,
                "stopped; a checkpoint is written. Go on with: hws train --resume --out %.500s", t->request->folder);
}

/* What the checkpoints of a run that has begun will take: the last two, and the best weights. */
static double checkpoint_bytes(const trainer *trainer) {
    char path[PATH_SIZE];
    struct stat info = {0};
    const size_t weights = graph_trained_floats(learner_graph(trainer->learner)) * sizeof(float);
    if (run_path(path, trainer->folder, RUN_LATEST, NULL) == STATUS_OK) stat(path, &info);
    return 2 * (double)info.st_size + (double)weights;
}

static double most_memory(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? 1024 * (double)usage.ru_maxrss : (double)NAN;
}

static void sum_up(train_trial *trial, const trainer *trainer, const budget_costs *costs) {
    const double validations = ceil((double)trainer->total / (double)trainer->epoch_iterations);
    *trial = (train_trial){.step = costs->step,
                           .validation = costs->validation,
                           .end = costs->end,
                           .memory = most_memory(),
                           .available = trial->available,
                           .disk = checkpoint_bytes(trainer),
                           .iterations = trainer->total,
                           .epoch_length = trainer->epoch_iterations};
    trial->training = (double)trainer->total * costs->step + validations * costs->validation + costs->end;
}

/* As train_task, but for what would be done; the folder is a temporary one. */
static status_code try_task(training *t, const task *task, failure *failure) {
    static const double SECONDS = 100; /* of which a tenth goes into steps, at most */
    trainer *trainer;
    budget_costs costs;
    status_code status = trainer_open(&trainer, &t->settings, task, t->request->folder, failure);
    if (status == STATUS_OK) status = trainer_begin(trainer, failure);
    if (status == STATUS_OK && t->listener && t->listener->begin)
        t->listener->begin(t->listener->work.context, trainer);
    if (status == STATUS_OK) status = budget_measure(&costs, &t->settings, task, SECONDS, failure);
    if (status == STATUS_OK) sum_up(&t->outcome->trial, trainer, &costs);
    trainer_close(&trainer);
    return status;
}

static status_code train_task(training *t, const task *task, failure *failure) {
    trainer *trainer;
    if (t->request->dry_run) return try_task(t, task, failure);
    status_code status = trainer_open(&trainer, &t->settings, task, t->request->folder, failure);
    if (status == STATUS_OK) status = train_with(t, trainer, failure);
    trainer_close(&trainer);
    return status;
}

/* ---- the time one has -------------------------------------------------------------------------------------------- */

static void tell_budget(const training *t, const budget_costs *costs, const budget_fixed *fixed) {
    const train_settings *s = &t->settings;
    char notice[400];
    snprintf(
        notice, sizeof notice,
        "budget %.40s: an iteration of %lld takes %.3g s, a validation %.3g s, the end %.3g s; %lld iterations of %lld "
        "with %s at rate %g, validated every %lld",
        s->budget, costs->batch, costs->step, costs->validation, costs->end, s->iterations, s->batch,
        optimizer_name(s->optimizer), s->lr, budget_epoch_length(s, fixed));
    listener_notice(work_of(t), notice);
}

/* Measures with other settings than the run's, if need be, and chooses the run's. */
static status_code fit_budget(training *t, const task *task, const train_settings *measured, failure *failure) {
    budget_fixed fixed = fixed_of(t);
    budget_costs costs = {0};
    double seconds = 0;
    fixed.examples = task->examples;
    status_code status = budget_parse(t->settings.budget, &seconds, failure);
    if (status == STATUS_OK) status = budget_measure(&costs, measured, task, seconds, failure);
    if (status == STATUS_OK)
        status = budget_choose(&t->settings, &costs, &fixed, seconds - (clock_seconds() - t->began), failure);
    budget_costs_write(&costs, t->settings.batch, t->costs);
    t->settings.budget_costs = t->costs;
    if (status == STATUS_OK) tell_budget(t, &costs, &fixed);
    return status;
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

/* The list is the run's; when it is resumed the same ones are made wrong again. */
static status_code write_wrong(const training *t, const text *csv, failure *failure) {
    if (t->resume || !ranks_is_first(t->ranks) || t->settings.mislabel == 0) return STATUS_OK;
    return run_write(t->request->folder, RUN_MISLABELLED, csv, failure);
}

static status_code mislabel(const training *t, labelled_images *train, text *wrong, failure *failure) {
    if (t->settings.mislabel == 0) return STATUS_OK;
    return mislabel_images(train, t->settings.mislabel, (uint64_t)t->settings.seed, wrong, failure);
}

/* How a table becomes numbers, so that others can be classified without it. */
static status_code keep_encoding(const training *t, const classification_source *source, failure *failure) {
    table_encoding encoding;
    text csv = {0};
    status_code status = table_sets_learn(&encoding, source->data, &source->examples, failure);
    table_encoding_write(&encoding, &csv);
    if (status == STATUS_OK) status = run_write(t->request->folder, RUN_FEATURES, &csv, failure);
    text_close(&csv);
    table_encoding_close(&encoding);
    return status;
}

static status_code train_on_images(training *t, failure *failure) {
    classification_source source;
    classification_data data = {0};
    classification context;
    task task;
    text wrong = {0};
    status_code status = classification_source_of_settings(&source, &t->settings, failure);
    if (status == STATUS_OK) status = classification_data_open(&data, &source, work_of(t), failure);
    if (status == STATUS_OK) status = classification_divide(&t->settings, &data, work_of(t), failure);
    if (status == STATUS_OK) status = mislabel(t, &data.train, &wrong, failure);
    if (status == STATUS_OK) status = task_classification(&task, &context, &data, &t->settings, failure);
    if (status == STATUS_OK) status = task_check(&task, &t->settings, failure);
    if (status == STATUS_OK && wants_budget(t)) status = fit_budget(t, &task, &t->settings, failure);
    if (status == STATUS_OK) status = write_wrong(t, &wrong, failure);
    if (status == STATUS_OK && data.train.values && !t->resume && ranks_is_first(t->ranks))
        status = keep_encoding(t, &source, failure);
    if (status == STATUS_OK) status = train_task(t, &task, failure);
    text_close(&wrong);
    classification_data_close(&data);
    return status;
}

/* ---- volumes ----------------------------------------------------------------------------------------------------- */

/* What means nothing for volumes is refused rather than passed over. */
static status_code check_for_volumes(const train_settings *s, failure *failure) {
    plan_model model;
    const status_code status = plan_model_parse(s->model, &model, failure);
    if (status != STATUS_OK) return status;
    if (s->keep_count) return fail(failure, STATUS_BAD_INPUT, "--keep is for images with one label each");
    if (s->dropout > 0 || s->label_smoothing > 0)
        return fail(failure, STATUS_BAD_INPUT, "--dropout and --label-smoothing are for images, not for volumes");
    if ((s->objective == OBJECTIVE_REWEIGHT || s->objective == OBJECTIVE_GROUP_DRO) && !*s->group)
        return fail(failure, STATUS_BAD_INPUT,
                    "--objective %s needs a group of each volume: name a column of groups.csv with --group",
                    s->objective == OBJECTIVE_REWEIGHT ? "reweight" : "group-dro");
    return STATUS_OK;
}

/* A run that goes on has fitted before. */
static status_code check_memory(const training *t, const plan *plan, failure *failure) {
    if (t->resume) return STATUS_OK;
    return plan_fits(plan, t->settings.precision == PRECISION_BF16, ranks_memory(t->ranks, memory_available()),
                     failure);
}

static status_code keep_plan(training *t, const plan *plan, failure *failure) {
    char path[PATH_SIZE];
    status_code status = run_path(path, t->request->folder, RUN_PLAN, failure);
    if (status != STATUS_OK) return status;
    if (!t->resume) return ranks_is_first(t->ranks) ? plan_write(plan, path, failure) : STATUS_OK;
    status = plan_read(&t->begun, path, failure);
    if (status != STATUS_OK || plan_agrees(plan, &t->begun)) return status;
    return fail(failure, STATUS_BAD_INPUT,
                "the cache's plan is not the plan that this run began with; copy %.500s there, or start a new run",
                path);
}

/* Which cases are trained on and which are not, so that no later change of the folds can mix them up. */
static status_code keep_fold(const training *t, const segmentation_source *source, failure *failure) {
    char path[PATH_SIZE];
    if (t->resume || t->settings.fold < 0 || !ranks_is_first(t->ranks)) return STATUS_OK;
    const status_code status = run_path(path, t->request->folder, RUN_FOLD, failure);
    return status == STATUS_OK ? segmentation_source_write_fold(source, path, failure) : status;
}

static void tell_unused(const training *t, const segmentation_source *source) {
    const char *first;
    char notice[1024];
    const size_t count = segmentation_source_unused(source, &first);
    if (!count) return;
    snprintf(notice, sizeof notice, "splits_final.json leaves %zu %s of the dataset out of this fold, such as %.500s",
             count, count == 1 ? "case" : "cases", first);
    listener_notice(work_of(t), notice);
}

static status_code open_source(training *t, segmentation_source **source, failure *failure) {
    train_settings settings = t->settings;
    status_code status = check_for_volumes(&settings, failure);
    if (status == STATUS_OK && phantom_data_named(settings.data)) {
        status = phantom_data_folder(t->phantoms, (int)settings.threads, work_of(t), failure);
        settings.data = t->phantoms;
    }
    return status == STATUS_OK ? segmentation_source_open(source, &settings, work_of(t), failure) : status;
}

static status_code list_wrong(const training *t, const segmentation *context, failure *failure) {
    text csv = {0};
    task_segmentation_list_wrong(context, &csv);
    const status_code status = csv.failed ? fail_memory(failure, "the wrong labels") : write_wrong(t, &csv, failure);
    text_close(&csv);
    return status;
}

/* Two examples are enough to know what one costs. */
static status_code fit_budget_on(training *t, const segmentation_data *data, failure *failure) {
    segmentation *context = 0;
    task task;
    train_settings measured = t->settings;
    if (!is_chosen(t, "batch") && measured.batch > 2) measured.batch = 2;
    status_code status = task_segmentation_open(&task, &context, data, &measured, failure);
    if (status == STATUS_OK) status = fit_budget(t, &task, &measured, failure);
    task_segmentation_close(&context);
    return status;
}

static status_code train_on_source(training *t, const segmentation_source *source, failure *failure) {
    const segmentation_data *data = segmentation_source_data(source);
    segmentation *context = 0;
    task task;
    if (!t->settings.batch) t->settings.batch = data->plan->batch;
    tell_unused(t, source);
    status_code status = check_memory(t, data->plan, failure);
    if (status == STATUS_OK) status = keep_plan(t, data->plan, failure);
    if (status == STATUS_OK) status = keep_fold(t, source, failure);
    if (status == STATUS_OK && wants_budget(t)) status = fit_budget_on(t, data, failure);
    if (status == STATUS_OK) status = task_segmentation_open(&task, &context, data, &t->settings, failure);
    if (status == STATUS_OK) status = task_check(&task, &t->settings, failure);
    if (status == STATUS_OK) status = list_wrong(t, context, failure);
    if (status == STATUS_OK) status = train_task(t, &task, failure);
    task_segmentation_close(&context);
    return status;
}

static status_code train_on_volumes(training *t, failure *failure) {
    segmentation_source *source = 0;
    status_code status = ranks_agree(t->ranks, open_source(t, &source, failure), failure);
    if (status == STATUS_OK) status = train_on_source(t, source, failure);
    segmentation_source_close(&source);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* The first rank makes and locks it for all. */
static status_code take_folder(const training *t, int *lock, failure *failure) {
    status_code status = STATUS_OK;
    *lock = -1;
    if (ranks_is_first(t->ranks)) {
        status = folder_make(t->request->folder, failure);
        if (status == STATUS_OK) status = run_lock(t->request->folder, lock, failure);
    }
    return ranks_agree(t->ranks, status, failure);
}

/* What is written before the run is there, which is when it has its config.json. */
static const run_file PRECEDING[] = {RUN_PLAN, RUN_FOLD, RUN_FEATURES, RUN_MISLABELLED};
enum { PRECEDING_FILES = sizeof PRECEDING / sizeof *PRECEDING };

static void look_for_preceding(const training *t, int found[PRECEDING_FILES]) {
    for (int k = 0; k < PRECEDING_FILES; k++) found[k] = run_has(t->request->folder, PRECEDING[k]);
}

/* A run that could not begin leaves none of its files behind. */
static void forget_start(const training *t, const int found[PRECEDING_FILES]) {
    char path[PATH_SIZE];
    if (t->resume || run_exists(t->request->folder)) return;
    for (int k = 0; k < PRECEDING_FILES; k++)
        if (!found[k] && run_path(path, t->request->folder, PRECEDING[k], NULL) == STATUS_OK) remove(path);
}

static status_code train_in_folder(training *t, failure *failure) {
    int lock, found[PRECEDING_FILES];
    const size_t existing = folder_existing(t->request->folder);
    status_code status = take_folder(t, &lock, failure);
    look_for_preceding(t, found);
    if (status == STATUS_OK)
        status = is_volumes(t->settings.data) ? train_on_volumes(t, failure) : train_on_images(t, failure);
    if (status != STATUS_OK && ranks_is_first(t->ranks)) {
        if (lock >= 0) forget_start(t, found);
        folder_unmake(t->request->folder, existing);
    }
    if (lock >= 0) close(lock);
    return status;
}

/* All that a run writes goes into a folder that goes away. */
static status_code try_in_folder(training *t, failure *failure) {
    char folder[PATH_SIZE];
    train_request trial = *t->request;
    if (t->resume)
        return fail(failure, STATUS_BAD_INPUT, "train: --dry-run is for a run that has not begun; leave out --resume");
    if (t->ranks->count > 1)
        return fail(failure, STATUS_BAD_INPUT, "--dry-run measures what one process does: start it without mpirun");
    t->outcome->trial.available = memory_available();
    status_code status = folder_make_temporary(folder, failure);
    if (status != STATUS_OK) return status;
    trial.folder = folder;
    t->request = &trial;
    status = train_in_folder(t, failure);
    folder_remove(folder);
    return status;
}

status_code train_run(const train_request *request, const train_listener *listener, train_outcome *outcome,
                      failure *failure) {
    training *t = calloc(1, sizeof *t);
    if (!t) return fail_memory(failure, "the training");
    t->request = request;
    t->listener = listener;
    t->outcome = outcome;
    t->began = clock_seconds();
    t->ranks = ranks_here();
    status_code status = ranks_agree(t->ranks, settle(t, failure), failure);
    outcome->stop_grad_norm = t->settings.stop_grad_norm;
    if (status == STATUS_OK) {
        team_open((int)t->settings.threads);
        status = (request->dry_run ? try_in_folder : train_in_folder)(t, failure);
    }
    settings_close(&t->settings);
    free(t);
    return status;
}
