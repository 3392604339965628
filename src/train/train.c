#define _XOPEN_SOURCE 700
#include "train/training.h"

#include "core/available.h"
#include "core/clock.h"
#include "core/parallel.h"
#include "images/table_sets.h"
#include "nn/team.h"
#include "run/run_folder.h"
#include "task/class_census.h"
#include "task/classification.h"
#include "task/classification_source.h"
#include "task/mislabel.h"
#include "task/phantom_data.h"
#include "task/segmentation_source.h"
#include "train/same_on_ranks.h"
#include "train/task_check.h"
#include "train/trainer_inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const listener *work_of(const training *t) { return t->listener ? &t->listener->work : 0; }

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* The preparations count. A resumed run has what the time up to its last validation has left; a run that is repeated by
   its config follows what is recorded there and not the clock. */
static status_code watch_time(const training *t, trainer *trainer, failure *failure) {
    const train_settings *s = &t->settings;
    const double now = clock_seconds();
    budget_costs costs = {0};
    double seconds = 0;
    if (!*s->budget || t->ranks->count > 1 || (!t->resume && !training_wants_budget(t))) return STATUS_OK;
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

/* `prepared` is how the preparations of this rank have ended. */
static status_code train_task(training *t, const task *task, status_code prepared, failure *failure) {
    trainer *trainer = 0;
    status_code status = ranks_agree(t->ranks, prepared, failure);
    if (status == STATUS_OK) status = same_data_on_ranks(t->ranks, task, t->settings.data, failure);
    if (status == STATUS_OK && t->request->dry_run) return try_task(t, task, failure);
    if (status == STATUS_OK) status = trainer_open(&trainer, &t->settings, task, t->request->folder, failure);
    if (status == STATUS_OK) status = train_with(t, trainer, failure);
    trainer_close(&trainer);
    return status;
}

/* ---- the time one has -------------------------------------------------------------------------------------------- */

static void tell_budget(const training *t, const budget_costs *costs, const budget_fixed *fixed) {
    const train_settings *s = &t->settings;
    char notice[400];
    snprintf(notice, sizeof notice,
             "budget %.40s: an iteration of %lld takes %.3g s, a validation %.3g s, the end %.3g s; %lld iteration%s "
             "of %lld "
             "with %s at rate %g, validated every %lld",
             s->budget, costs->batch, costs->step, costs->validation, costs->end, s->iterations,
             s->iterations == 1 ? "" : "s", s->batch, optimizer_name(s->optimizer), s->lr,
             budget_epoch_length(s, fixed));
    listener_notice(work_of(t), notice);
}

/* Measures with other settings than the run's, if need be, and chooses the run's. */
static status_code fit_budget(training *t, const task *task, const train_settings *measured, failure *failure) {
    budget_fixed fixed = training_fixed(t);
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

/* Rows have no neighbours that a convolution could look at. Runs that were begun with one go on, and are repeated. */
static status_code choose_table_model(training *t, failure *failure) {
    model_options model;
    const char *asked = t->settings.model;
    if (t->resume || run_config_is_of_run(&t->settings)) return STATUS_OK;
    if (!training_chooses(t, "model")) {
        t->settings.model = "mlp-2-64";
        return STATUS_OK;
    }
    const status_code status = model_parse(asked, &model, failure);
    if (status != STATUS_OK || model.kind == MODEL_MLP) return status;
    return fail(failure, STATUS_BAD_INPUT,
                "--model %.100s is for pictures: the rows of a table are classified by a fully connected network such "
                "as mlp-2-64",
                asked);
}

static status_code train_on_images(training *t, failure *failure) {
    classification_source source;
    classification_data data = {0};
    classification context;
    task task = {0};
    text wrong = {0};
    status_code status = classification_source_of_settings(&source, &t->settings, failure);
    if (status == STATUS_OK) status = classification_data_open(&data, &source, work_of(t), failure);
    if (status == STATUS_OK) status = classification_divide(&t->settings, &data, work_of(t), failure);
    if (status == STATUS_OK && data.train.values) status = choose_table_model(t, failure);
    if (status == STATUS_OK && !t->resume) status = class_census_check(&data, t->settings.data, work_of(t), failure);
    if (status == STATUS_OK) status = mislabel(t, &data.train, &wrong, failure);
    if (status == STATUS_OK) status = task_classification(&task, &context, &data, &t->settings, failure);
    if (status == STATUS_OK) status = task_check(&task, &t->settings, failure);
    if (status == STATUS_OK && training_wants_budget(t)) status = fit_budget(t, &task, &t->settings, failure);
    if (status == STATUS_OK) status = write_wrong(t, &wrong, failure);
    if (status == STATUS_OK && data.train.values && !t->resume && ranks_is_first(t->ranks))
        status = keep_encoding(t, &source, failure);
    status = train_task(t, &task, status, failure);
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
    if (objective_draws_by_group(s->objective) && !*s->group)
        return fail(failure, STATUS_BAD_INPUT,
                    "--objective %s needs a group of each volume: name a column of groups.csv with --group",
                    objective_name((int)s->objective));
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
    if (!training_chooses(t, "batch") && measured.batch > 2) measured.batch = 2;
    status_code status = task_segmentation_open(&task, &context, data, &measured, failure);
    if (status == STATUS_OK) status = fit_budget(t, &task, &measured, failure);
    task_segmentation_close(&context);
    return status;
}

static status_code train_on_source(training *t, const segmentation_source *source, failure *failure) {
    const segmentation_data *data = segmentation_source_data(source);
    segmentation *context = 0;
    task task = {0};
    if (!t->settings.batch) t->settings.batch = data->plan->batch;
    tell_unused(t, source);
    status_code status = check_memory(t, data->plan, failure);
    if (status == STATUS_OK) status = keep_plan(t, data->plan, failure);
    if (status == STATUS_OK) status = keep_fold(t, source, failure);
    if (status == STATUS_OK && training_wants_budget(t)) status = fit_budget_on(t, data, failure);
    if (status == STATUS_OK) status = task_segmentation_open(&task, &context, data, &t->settings, failure);
    if (status == STATUS_OK) status = task_check(&task, &t->settings, failure);
    if (status == STATUS_OK) status = list_wrong(t, context, failure);
    status = train_task(t, &task, status, failure);
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
static const run_file PRECEDING[] = {RUN_PLAN, RUN_FOLD, RUN_FEATURES, RUN_MISLABELLED, RUN_FIRST, RUN_LATEST};
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
        status = data_is_volumes(t->settings.data) ? train_on_volumes(t, failure) : train_on_images(t, failure);
    if (status != STATUS_OK && lock >= 0) { /* else another process trains there */
        forget_start(t, found);
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
    status_code status = ranks_agree(t->ranks, training_settle(t, failure), failure);
    if (status == STATUS_OK) status = same_settings_on_ranks(t->ranks, &t->settings, failure);
    outcome->stop_grad_norm = t->settings.stop_grad_norm;
    if (status == STATUS_OK) {
        team_open((int)t->settings.threads);
        status = (request->dry_run ? try_in_folder : train_in_folder)(t, failure);
    }
    settings_close(&t->settings);
    free(t);
    return status;
}
