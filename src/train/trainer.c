#define _POSIX_C_SOURCE 200809L
#include "train/trainer_inside.h"

#include "core/clock.h"
#include "core/memory.h"
#include "model/weights.h"
#include "run/run_folder.h"
#include "train/records.h"
#include "train/same_on_ranks.h"
#include "train/sampler_status.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each has to be predicted for its picture: who stops a run does not want to wait for all of them. */
enum { HARDEST = 64, HARDEST_WHEN_STOPPED = 16 };
static const double SECONDS_WHEN_STOPPED = 3; /* for pictures */

double trainer_seconds(const trainer *t) { return t->seconds + clock_seconds() - t->started; }

static hws_importance importance_of(importance_kind kind) {
    if (kind == IMPORTANCE_NORMALISED) return HWS_IMPORTANCE_NORMALISED;
    return kind == IMPORTANCE_EXACT ? HWS_IMPORTANCE_EXACT : HWS_IMPORTANCE_APPROXIMATE;
}

/* Examples are compared with those of the same label; volumes, which have none, with all. */
static status_code take_labels(trainer *t, failure *failure) {
    hws_status status = HWS_OK;
    for (int64_t i = 0; t->task->label && i < t->task->examples && status == HWS_OK; i++) {
        const int32_t label = t->task->label(t->task->context, i);
        if (label >= 0) status = hws_sampler_set_labels(t->history, i, 1, &label);
    }
    return sampler_status(hws_sampler_error(t->history), status, "the labels", failure);
}

static status_code open_history(trainer *t, failure *failure) {
    const train_settings *s = &t->settings;
    hws_options options = hws_options_default();
    hws_error error;
    options.beta = isnan(s->tail) ? s->beta : 0;
    options.tail = isnan(s->tail) ? 0 : s->tail;
    options.seed = (uint64_t)s->seed;
    options.initial_loss = s->loss_init;
    options.momentum = s->history_momentum;
    options.replacement = s->replacement;
    options.floor = s->floor;
    options.uniform_mix = s->uniform_mix;
    options.weight_min = s->weight_min;
    options.weight_max = s->weight_max;
    options.importance = importance_of(s->importance);
    options.keep_counts = options.keep_record = 1;
    options.trim = s->trim;
    options.doubt = s->doubt;
    options.divergence = s->divergence;
    const hws_status status = hws_sampler_open(&t->history, t->task->examples, 0, &options, &error);
    if (status != HWS_OK) return sampler_status(&error, status, "the sampler", failure);
    return take_labels(t, failure);
}

static status_code open_learner(trainer *t, failure *failure) {
    const train_settings *s = &t->settings;
    learner_options options = {0};
    options.optimizer = optimizer_options_default(s->optimizer);
    options.optimizer.momentum = s->momentum;
    options.optimizer.weight_decay = s->weight_decay;
    options.optimizer.clip_norm = s->clip_norm;
    options.graph.precision = s->precision;
    options.graph.convolution = s->conv;
    options.graph.threads = (int)s->threads;
    options.batch = (int)t->batch;
    options.ranks = t->ranks;
    status_code status = t->task->network(t->task->context, s, &options, failure);
    if (status == STATUS_OK) status = learner_open(&options, &t->learner, failure);
    if (status != STATUS_OK) return status;
    const shape in = graph_input_shape(learner_graph(t->learner)),
                out = graph_output_shape(learner_graph(t->learner), 0);
    t->input_floats = shape_count(&in) / (size_t)in.samples;
    t->label_count = shape_rows(&out) / (size_t)out.samples;
    return STATUS_OK;
}

static status_code open_scratch(trainer *t, failure *failure) {
    const size_t n = (size_t)t->candidates, all = (size_t)t->task->examples;
    t->drawn = calloc(n, sizeof *t->drawn);
    t->chosen = calloc(n, sizeof *t->chosen);
    t->chosen_examples = calloc(n, sizeof *t->chosen_examples);
    t->losses = calloc(n, sizeof *t->losses);
    t->weights = calloc(n, sizeof *t->weights);
    t->fresh = calloc(n, sizeof *t->fresh);
    t->ratios = calloc(n, sizeof *t->ratios);
    t->scores = calloc(n, sizeof *t->scores);
    t->tail = calloc(n, sizeof *t->tail);
    t->errors = calloc(all, sizeof *t->errors);
    t->last_seen = calloc(all, sizeof *t->last_seen);
    t->all = calloc(all, sizeof *t->all);
    t->draws = calloc(all, sizeof *t->draws);
    const int good = t->drawn && t->chosen && t->chosen_examples && t->losses && t->weights && t->fresh && t->ratios &&
                     t->scores && t->all && t->draws && t->tail && t->errors && t->last_seen;
    for (size_t i = 0; i < all && good; i++) t->last_seen[i] = (float)NAN;
    return good ? rows_open(&t->rows, t->task->metrics, failure) : fail_memory(failure, "the batches");
}

static status_code plan_two_trainings(trainer *t, failure *failure) {
    t->first_training = t->settings.jtt_epochs * t->epoch_iterations;
    if (t->first_training >= t->total)
        return fail(
            failure, STATUS_BAD_INPUT,
            "--objective jtt: the first training takes %lld of %lld iterations, and leaves none for the second; "
            "choose fewer --jtt-epochs or train longer",
            (long long)t->first_training, (long long)t->total);
    if (!t->task->is_wrong && isnan(t->settings.tail))
        return fail(failure, STATUS_BAD_INPUT,
                    "--objective jtt: the errors in volumes are the hardest --tail of them: give it instead of --beta");
    return STATUS_OK;
}

static status_code plan(trainer *t, failure *failure) {
    const train_settings *s = &t->settings;
    const status_code status = settings_check(s, failure);
    if (status != STATUS_OK) return status;
    t->objective = s->objective;
    t->batch = s->batch;
    t->candidates = t->objective == OBJECTIVE_OHEM ? s->batch * s->ohem_factor : s->batch;
    if (t->batch < 1) return fail(failure, STATUS_BAD_INPUT, "a batch needs at least one example");
    t->epoch_iterations = s->epoch_length ? s->epoch_length : t->task->examples / t->batch;
    if (t->task->examples < t->candidates)
        return fail(
            failure, STATUS_BAD_INPUT,
            "%lld examples are drawn per iteration, but there are only %lld to train on; choose a smaller --batch",
            (long long)t->candidates, (long long)t->task->examples);
    t->total = s->iterations ? s->iterations : s->epochs * t->epoch_iterations;
    const status_code paced = pace_open(&t->pace, t->total, s->budget_lengths, failure);
    if (paced != STATUS_OK) return paced;
    t->warm_up = t->objective == OBJECTIVE_DRO ? (int64_t)(s->warm_up * (double)t->total) : 0;
    t->schedule = schedule_default(s->schedule, s->lr, (double)t->total);
    t->schedule.warm_up = (double)s->lr_warm_up;
    t->schedule.epoch = (double)t->epoch_iterations;
    const status_code planned = schedule_check(&t->schedule, failure);
    return planned == STATUS_OK && t->objective == OBJECTIVE_JTT ? plan_two_trainings(t, failure) : planned;
}

static status_code open_batches(trainer *t, failure *failure) {
    const batches_options options = {.kind = t->objective,
                                     .examples = t->task->examples,
                                     .size = t->candidates,
                                     .seed = (uint64_t)t->settings.seed,
                                     .independent = t->settings.independent_draws,
                                     .warm_up = t->warm_up,
                                     .history = t->history,
                                     .group = t->task->group,
                                     .context = t->task->context};
    const status_code status = batches_open(&t->batches, &options, failure);
    if (status != STATUS_OK || t->objective != OBJECTIVE_GROUP_DRO) return status;
    return group_weights_open(&t->groups, t->task->examples, t->task->group, t->task->context, failure);
}

static status_code open_loader(trainer *t, failure *failure) {
    const learner_share own = learner_own(t->learner);
    /* Where who is trained on is not known before, all are there. */
    const int all = t->objective == OBJECTIVE_OHEM || t->objective == OBJECTIVE_CVAR_BATCH;
    const loader_options options = {.task = t->task,
                                    .size = t->candidates,
                                    .first = all ? 0 : own.first,
                                    .end = all ? t->candidates : own.end,
                                    .capacity = t->settings.look_ahead + 1,
                                    .input_floats = t->input_floats,
                                    .label_count = t->label_count,
                                    .threads = (int)t->settings.loaders};
    return loader_open(&t->loader, &options, failure);
}

static status_code open_parts(trainer *t, failure *failure) {
    status_code status = plan(t, failure);
    if (status == STATUS_OK) status = open_history(t, failure);
    if (status == STATUS_OK) status = open_scratch(t, failure);
    status = ranks_agree(t->ranks, status, failure);
    if (status == STATUS_OK) status = open_learner(t, failure);
    if (status == STATUS_OK) status = open_batches(t, failure);
    if (status == STATUS_OK) status = open_loader(t, failure);
    return status;
}

static void notice_idle(trainer *t) {
    const int parts = learner_parts(t->learner), idle = t->ranks->count - parts;
    if (idle < 1) return;
    trainer_notice(
        t,
        "a batch of %lld is worked on in %d parts: %d of %d ranks have nothing to do; a larger --batch occupies more",
        (long long)t->batch, parts, idle, t->ranks->count);
}

status_code trainer_open(trainer **opened, const train_settings *settings, const task *task, const char *folder,
                         failure *failure) {
    trainer *t = *opened = calloc(1, sizeof *t);
    if (!t) return fail_memory(failure, "the trainer");
    t->settings = *settings;
    t->task = task;
    t->folder = folder;
    t->ranks = ranks_here();
    t->best = (double)NAN;
    t->started = clock_seconds();
    const status_code status = ranks_agree(t->ranks, open_parts(t, failure), failure);
    if (status != STATUS_OK) trainer_close(opened);
    else notice_idle(t);
    return status;
}

void trainer_close(trainer **opened) {
    if (!opened || !*opened) return;
    trainer *t = *opened;
    loader_close(&t->loader);
    batches_close(&t->batches);
    group_weights_close(&t->groups);
    learner_close(&t->learner);
    hws_sampler_close(&t->history);
    rows_close(&t->rows);
    pace_close(&t->pace);
    text_close(&t->lengths);
    free(t->drawn);
    free(t->chosen);
    free(t->chosen_examples);
    free(t->losses);
    free(t->weights);
    free(t->fresh);
    free(t->ratios);
    free(t->scores);
    free(t->tail);
    free(t->errors);
    free(t->last_seen);
    free(t->all);
    free(t->draws);
    free(t);
    *opened = 0;
}

void trainer_notice(trainer *t, const char *format, ...) {
    size_t used = strlen(t->notices);
    va_list values;
    if (used && used + 1 < sizeof t->notices) t->notices[used++] = '\n';
    va_start(values, format);
    vsnprintf(t->notices + used, sizeof t->notices - used, format, values);
    va_end(values);
}

void trainer_tell(trainer *t, const listener *listener) {
    for (char *line = t->notices, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end) *end++ = 0;
        listener_notice(listener, line);
    }
    *t->notices = 0;
}

static status_code take_weights(trainer *t, const char *path, failure *failure) {
    struct failure why = {0};
    int replaced = 0;
    const status_code status = weights_begin(learner_graph(t->learner), path, &replaced, &why);
    if (status != STATUS_OK) return fail(failure, status, "--from: %s", why.message);
    if (replaced)
        trainer_notice(
            t, "--from: the weights are for %d classes, so that the last layer begins with random ones for its %d",
            replaced, graph_output_shape(learner_graph(t->learner), 0).channels);
    return STATUS_OK;
}

/* Algorithm 1's theta_0: random weights, or those of --from. */
static status_code first_weights(trainer *t, failure *failure) {
    const char *from = t->settings.from;
    char path[PATH_SIZE];
    graph_initialise(learner_graph(t->learner), (uint64_t)t->settings.seed);
    if (!*from) return STATUS_OK;
    status_code status = path_is_folder(from) ? run_require(from, failure) : STATUS_OK;
    if (status == STATUS_OK && path_is_folder(from)) status = run_path(path, from, RUN_BEST, failure);
    if (status == STATUS_OK) status = take_weights(t, path_is_folder(from) ? path : from, failure);
    return status == STATUS_OK && t->first_training ? checkpoint_write_first(t, failure) : status;
}

/* Runs that older versions began have not kept them. */
status_code trainer_first_weights_again(trainer *t, failure *failure) {
    char path[PATH_SIZE];
    if (!*t->settings.from || !run_has(t->folder, RUN_FIRST)) return first_weights(t, failure);
    const status_code status = run_path(path, t->folder, RUN_FIRST, failure);
    return status == STATUS_OK ? take_weights(t, path, failure) : status;
}

static status_code same_first_state(trainer *t, failure *failure) {
    const train_settings *s = &t->settings;
    return same_state_on_ranks(t, *s->from ? s->from : "what the weights begin with",
                               *s->loss_init_file ? s->loss_init_file : "what the losses begin with", failure);
}

/* The checkpoint of the beginning makes a run that was killed early a run that can be resumed. */
status_code trainer_begin(trainer *t, failure *failure) {
    status_code status = first_weights(t, failure);
    if (status == STATUS_OK && *t->settings.loss_init_file)
        status = trainer_take_losses(t, t->settings.loss_init_file, failure);
    status = ranks_agree(t->ranks, status, failure);
    if (status == STATUS_OK) status = same_first_state(t, failure);
    if (status == STATUS_OK) status = checkpoint_write(t, failure);
    if (status == STATUS_OK && ranks_is_first(t->ranks)) status = write_config(t, failure);
    t->started = clock_seconds();
    return ranks_agree(t->ranks, status, failure);
}

/* Whether all ranks have read the same: a file system may show an old file to some. */
static status_code check_alike(const trainer *t, failure *failure) {
    int64_t each[RANKS_MAX];
    each[t->ranks->rank] = t->iteration;
    ranks_gather_each(t->ranks, each, sizeof *each);
    for (int k = 1; k < t->ranks->count; k++)
        if (each[k] != each[0])
            return fail(
                failure, STATUS_CANNOT_READ,
                "rank %d read a checkpoint of iteration %lld in %.300s, rank 0 one of iteration %lld: the folder must "
                "be on a file system that all ranks share; try again",
                k, (long long)each[k], t->folder, (long long)each[0]);
    return STATUS_OK;
}

/* Nothing can be taken back: config.json would tell of a shorter run than the weights have seen. */
static status_code check_length(const trainer *t, failure *failure) {
    if (t->iteration <= t->total) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%.500s has made %lld iteration%s, and is to end after %lld: choose more --epochs, or leave it out",
                t->folder, (long long)t->iteration, t->iteration == 1 ? "" : "s", (long long)t->total);
}

status_code trainer_resume(trainer *t, failure *failure) {
    char path[PATH_SIZE];
    status_code status = ranks_agree(t->ranks, checkpoint_read(t, failure), failure);
    if (status == STATUS_OK) status = check_alike(t, failure);
    if (status == STATUS_OK) status = same_state_on_ranks(t, t->folder, t->folder, failure);
    if (status != STATUS_OK) return status;
    trainer_follow_lengths(t);
    status = check_length(t, failure);
    if (status != STATUS_OK) return status;
    if (run_path(path, t->folder, RUN_HISTORY, 0) == STATUS_OK) rows_take_seconds(&t->rows, path);
    if (t->rows.count && isfinite(t->rows.seconds[t->rows.count - 1])) t->seconds = t->rows.seconds[t->rows.count - 1];
    if (t->rows.count && ranks_is_first(t->ranks)) status = write_history(t, failure);
    if (status == STATUS_OK && ranks_is_first(t->ranks))
        status = write_config(t, failure); /* epochs and threads may be others now */
    t->started = clock_seconds();
    return ranks_agree(t->ranks, status, failure);
}

static const char *other_precision(const trainer *t) {
    return t->settings.precision == PRECISION_BF16 ? " or --precision f32" : "";
}

status_code trainer_fail_loss(const trainer *t, int64_t example, double loss, failure *failure) {
    text name = {0};
    t->task->name(t->task->context, example, &name);
    const status_code status =
        fail(failure, STATUS_NOT_FINITE,
             "the loss of example %lld (%.300s) is %g in iteration %lld; the last good checkpoint is kept in "
             "%.300s; try a lower --lr, --clip-norm 1%s",
             (long long)example, text_string(&name), loss, (long long)t->iteration, t->folder, other_precision(t));
    text_close(&name);
    return status;
}

status_code trainer_fail_update(const trainer *t, const char *why, failure *failure) {
    return fail(failure, STATUS_NOT_FINITE,
                "iteration %lld: %.400s; the last good checkpoint is kept in %.300s; try a lower --lr%s",
                (long long)t->iteration, why, t->folder, other_precision(t));
}

/* An epoch has ended, but its row is not there: the run was stopped while it was validated. */
static int epoch_is_due(const trainer *t) {
    const int at_end = t->iteration > 0 && (t->iteration % t->epoch_iterations == 0 || t->iteration == t->total);
    return at_end && (!t->rows.count || rows_at(&t->rows, t->rows.count - 1)[ROW_ITERATION] != (double)t->iteration);
}

int trainer_is_over(const trainer *t) { return (t->stopped || t->iteration >= t->total) && !epoch_is_due(t); }

static status_code validate(trainer *t, const double **row, failure *failure) {
    const status_code status = trainer_end_epoch(t, row, failure);
    pace_measure_validation(&t->pace, clock_seconds());
    return status;
}

static status_code save(trainer *t, failure *failure) {
    const status_code status = checkpoint_write(t, failure);
    pace_skip(&t->pace, clock_seconds());
    return status;
}

/* One iteration, and what is due after it. */
static status_code advance(trainer *t, const train_listener *listener, failure *failure) {
    double loss = 0;
    const double *row = 0;
    const int due = epoch_is_due(t);
    status_code status = due ? STATUS_OK : trainer_step(t, &loss, failure);
    if (status != STATUS_OK) return status;
    const int64_t every = t->settings.checkpoint_every;
    if (!due) status = trainer_keep_time(t, failure);
    if (status == STATUS_OK && epoch_is_due(t)) status = validate(t, &row, failure);
    else if (status == STATUS_OK && every && t->iteration % every == 0) status = save(t, failure);
    if (due && row) loss = row[ROW_LOSS_MEAN];
    if (listener) trainer_tell(t, &listener->work);
    if (status == STATUS_OK && listener && listener->report) listener->report(listener->work.context, t, loss, row);
    return status;
}

/* Leaves the folder complete, `begun` if anything was done; a run that was over already may have been killed
   before all of it was drawn. */
static status_code finish(trainer *t, int begun, trainer_end *end, failure *failure) {
    status_code status = STATUS_OK;
    const int stops = listener_stops(t->listener), late = trainer_is_late(t) && !stops;
    *end = !trainer_is_over(t) ? late ? TRAINER_LATE : TRAINER_INTERRUPTED
           : t->stopped        ? TRAINER_CONVERGED
                               : TRAINER_FINISHED;
    const int interrupted = *end == TRAINER_INTERRUPTED;
    t->draw_until = clock_seconds() + SECONDS_WHEN_STOPPED;
    /* A run that came to its end all the same has all pictures. */
    if (!interrupted && stops) t->draw_until = INFINITY;
    if (*end == TRAINER_LATE) status = trainer_end_late(t, failure);
    else if (interrupted) status = checkpoint_write(t, failure);
    if (status == STATUS_OK && !trainer_is_over(t) && ranks_is_first(t->ranks)) status = write_losses(t, failure);
    const int hardest = interrupted ? HARDEST_WHEN_STOPPED : HARDEST;
    if (status == STATUS_OK && ranks_is_first(t->ranks)) status = write_galleries(t, hardest, begun, failure);
    return ranks_agree(t->ranks, status, failure);
}

/* What a validation asks: it must not go on when the time is over, either. */
typedef struct timed {
    const trainer *trainer;
    const listener *listener; /* may be NULL */
} timed;

static int is_to_stop(void *context) {
    const timed *timed = context;
    return listener_stops(timed->listener) || trainer_is_late(timed->trainer);
}

static void pass_on(void *context, const char *what, size_t done, size_t total) {
    listener_progress(((const timed *)context)->listener, what, done, total);
}

/* Until all is done or somebody, or the clock, wants an end. */
static status_code run_on(trainer *t, const train_listener *listener, int *begun, failure *failure) {
    timed timed = {t, listener ? &listener->work : NULL};
    const struct listener asked = {.context = &timed, .stop = is_to_stop, .progress = pass_on};
    status_code status = STATUS_OK;
    int stop = 0;
    t->listener = &asked;
    while (status == STATUS_OK && !stop && !trainer_is_over(t)) {
        status = advance(t, listener, failure);
        stop = ranks_any(t->ranks, status == STATUS_STOPPED || listener_stops(timed.listener));
        if (status == STATUS_STOPPED) status = STATUS_OK;
        *begun = 1;
    }
    t->listener = timed.listener;
    return status;
}

status_code trainer_run(trainer *t, const train_listener *listener, trainer_end *end, failure *failure) {
    int begun = 0;
    status_code status = run_on(t, listener, &begun, failure);
    if (status == STATUS_OK) status = finish(t, begun, end, failure);
    if (listener) trainer_tell(t, &listener->work);
    t->listener = NULL;
    return status;
}
