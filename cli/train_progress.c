#define _POSIX_C_SOURCE 200809L
#include "train_progress.h"
#include "cli.h"
#include "train_words.h"

#include "core/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double INTERVAL = 0.25;

static void clear(train_progress *p) {
    if (p->shown) fputs("\r\033[K", stderr);
    p->shown = 0;
}

/* Prints a text of one or more lines and keeps them in the log; empties it. */
static void say(train_progress *p, text *lines) {
    char *rest = lines->bytes;
    if (!p->quiet) {
        clear(p);
        printf("%s\n", text_string(lines));
        fflush(stdout);
    }
    while (rest && *rest) {
        char *end = strchr(rest, '\n');
        if (end) *end = 0;
        run_log_add(&p->log, rest);
        rest = end ? end + 1 : NULL;
    }
    text_close(lines);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

enum { METRIC_WIDTH = 14, WORST_WIDTH = 22 };

/* Only dro draws by losses: the others have neither an effective size nor a robust loss of their own. */
static int draws_by_loss(const trainer *t) { return t->objective == OBJECTIVE_DRO; }

static void show_header(train_progress *p, const trainer *t) {
    text line = {0};
    text_format(&line, "%14s %9s", train_words_counts_iterations(t) ? "iteration" : "epoch", "loss");
    if (draws_by_loss(t)) text_format(&line, " %9s %9s", "robust", "eff. size");
    text_format(&line, " %*s  %-*s %9s %9s", METRIC_WIDTH, text_string(&p->metric), WORST_WIDTH, "worst", "time",
                "left");
    say(p, &line);
}

/* The least of the metrics that continue the shown one's name: test_accuracy_3. Its name is added. */
static int find_worst(const trainer *t, const double *values, text *name) {
    text best = {0}, other = {0};
    int worst = -1;
    t->task->metric(t->task->context, t->task->shown, &best);
    text_add(&best, "_");
    for (int k = 0; k < t->task->metrics; k++) {
        text_close(&other);
        t->task->metric(t->task->context, k, &other);
        if (strncmp(text_string(&other), text_string(&best), best.size) != 0 || !isfinite(values[k])) continue;
        if (worst >= 0 && values[k] >= values[worst]) continue;
        worst = k;
        text_close(name);
        text_add(name, text_string(&other) + best.size);
    }
    text_close(&best);
    text_close(&other);
    return worst;
}

static void add_worst(const trainer *t, const double *values, text *line) {
    text name = {0}, words = {0};
    const int worst = find_worst(t, values, &name);
    if (worst >= 0) text_format(&words, "%.2f%% (%s)", 100 * values[worst], text_string(&name));
    text_format(line, "  %-*s", WORST_WIDTH, text_string(&words));
    text_close(&name);
    text_close(&words);
}

static double seconds_left(const train_progress *p, const trainer *t) {
    const double done = (double)(t->iteration - p->first);
    return done > 0 ? (double)(t->total - t->iteration) * (clock_seconds() - p->start) / done : (double)NAN;
}

static void add_times(const train_progress *p, const trainer *t, text *line) {
    char past[32], left[32] = "";
    train_words_duration(t->rows.seconds[t->rows.count - 1], past);
    if (isfinite(seconds_left(p, t))) train_words_duration(seconds_left(p, t), left);
    text_format(line, " %9s %9s", past, left);
}

static void remember_best(train_progress *p, const trainer *t) {
    text_close(&p->best);
    train_words_best(t, &p->best);
}

static void show_row(train_progress *p, const trainer *t, const double *row) {
    text line = {0};
    char place[48];
    const double *values = row + ROW_FIRST;
    if (train_words_counts_iterations(t))
        snprintf(place, sizeof place, "%.0f of %lld", row[ROW_ITERATION], (long long)t->total);
    else snprintf(place, sizeof place, "%.4g of %lld", row[ROW_EPOCH], (long long)(t->total / t->epoch_iterations));
    text_format(&line, "%14s %9.4f", place, row[ROW_LOSS_MEAN]);
    if (draws_by_loss(t)) text_format(&line, " %9.4f %9.1f", row[ROW_ROBUST_LOSS], row[ROW_ESS]);
    text_format(&line, " %*.2f%%", METRIC_WIDTH - 1, 100 * values[t->task->shown]);
    add_worst(t, values, &line);
    add_times(p, t, &line);
    const double norm = row[ROW_FIRST + t->task->metrics + ROW_GRAD_NORM];
    if (isfinite(norm)) text_format(&line, "  |grad R| %.3g", norm);
    remember_best(p, t);
    say(p, &line);
}

/* ---- the line that is rewritten ---------------------------------------------------------------------------------- */

static void show_line(train_progress *p, const trainer *t) {
    const double time = clock_seconds();
    if (p->quiet || !p->terminal || time - p->last < INTERVAL) return;
    char left[32];
    const double done = (double)(t->iteration - p->first), rate = done / (time - p->start);
    train_words_duration(seconds_left(p, t), left);
    if (train_words_counts_iterations(t))
        fprintf(stderr, "\r\033[Kiteration %lld of %lld", (long long)t->iteration, (long long)t->total);
    else
        fprintf(stderr, "\r\033[Kepoch %.2f of %lld", (double)t->iteration / (double)t->epoch_iterations,
                (long long)(t->total / t->epoch_iterations));
    fprintf(stderr, "  loss %.4f", p->loss);
    if (draws_by_loss(t) && t->rows.count)
        fprintf(stderr, "  effective size %.0f", rows_at(&t->rows, t->rows.count - 1)[ROW_ESS]);
    fprintf(stderr, "  %.3g %s/s  %s left", rate * (double)t->batch, train_words_examples(t), left);
    fflush(stderr);
    p->last = time;
    p->shown = 1;
}

/* ---- what the trainer tells -------------------------------------------------------------------------------------- */

static void notice(void *context, const char *message) {
    train_progress *p = context;
    clear(p);
    cli_notice(&p->preparing, message);
    run_log_add(&p->log, message);
}

static void warn_of_short(train_progress *p, const trainer *t) {
    text words = {0};
    train_words_short(t, &words);
    if (words.size) notice(p, text_string(&words));
    text_close(&words);
}

static void begin(void *context, const trainer *t) {
    train_progress *p = context;
    text lines = {0};
    cli_progress_end(&p->preparing);
    p->first = t->iteration;
    p->start = clock_seconds();
    p->last = p->start - INTERVAL;
    remember_best(p, t);
    train_words_metric(t, &p->metric);
    train_words_next(t, &p->next);
    if (ranks_is_first(t->ranks) && !p->dry) run_log_open(&p->log, t->folder);
    train_words_summary(t, &lines);
    if (t->task->keeps_last)
        text_add(&lines,
                 "\nno validation part chooses weights, so that the last ones are kept; --validation 0.1 would hold a "
                 "tenth of each class out");
    if (trainer_is_over(t)) text_add(&lines, "\nthis run is finished already; "), train_words_longer(t, &lines);
    else if (t->iteration) text_format(&lines, "\nresumed after iteration %lld", (long long)t->iteration);
    say(p, &lines);
    if (!t->iteration) warn_of_short(p, t);
    if (!trainer_is_over(t) && !p->dry) show_header(p, t);
}

static void report(void *context, const trainer *t, double loss, const double *row) {
    train_progress *p = context;
    p->loss = isnan(p->loss) ? loss : 0.95 * p->loss + 0.05 * loss;
    p->preparing.seen = clock_seconds(); /* what comes behind the last iteration begins there */
    if (row) show_row(p, t, row);
    else show_line(p, t);
}

/* Before the first iteration, and behind the last. */
static void prepare(void *context, const char *what, size_t done, size_t total) {
    train_progress *p = context;
    clear(p);
    cli_progress_show(&p->preparing, what, done, total);
}

train_listener train_progress_start(train_progress *p, int quiet, int dry_run) {
    *p = (train_progress){.terminal = isatty(STDERR_FILENO), .quiet = quiet, .dry = dry_run, .loss = (double)NAN};
    const listener usual = cli_listen(&p->preparing, quiet);
    return (train_listener){
        .work = {.context = p, .progress = prepare, .notice = notice, .stop = usual.stop},
        .begin = begin,
        .report = report,
    };
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static void say_end(train_progress *p, const train_outcome *outcome) {
    text lines = {0};
    if (outcome->end == TRAINER_CONVERGED)
        text_format(&lines, "stopped: the norm of the gradient of the robust loss is below %g\n",
                    outcome->stop_grad_norm);
    text_format(&lines, "done");
    if (p->best.size) text_format(&lines, "; best %s", text_string(&p->best));
    text_format(&lines, "; %.1f %% of the time was spent waiting for the loader\nnext: %s", 100 * outcome->waiting,
                text_string(&p->next));
    say(p, &lines);
}

static void put_away(train_progress *p) {
    run_log_close(&p->log);
    text_close(&p->metric);
    text_close(&p->best);
    text_close(&p->next);
}

void train_progress_end(train_progress *p, const train_outcome *outcome, const failure *failure) {
    cli_progress_end(&p->preparing);
    clear(p);
    if (failure) run_log_add(&p->log, failure->message);
    else say_end(p, outcome);
    put_away(p);
}

void train_progress_tell_trial(train_progress *p, const train_trial *trial) {
    char epoch[32], all[32], end[32];
    cli_progress_end(&p->preparing);
    train_words_duration((double)trial->epoch_length * trial->step + trial->validation, epoch);
    train_words_duration(trial->training, all);
    train_words_duration(trial->end, end);
    printf("time    %.3g s an iteration, %s an epoch with %.3g s for its validation, %s for pictures at the end: %s in "
           "all\n",
           trial->step, epoch, trial->validation, end, all);
    printf("memory  %.2f GB at most so far; there are %.2f GB\n", trial->memory / 1e9, trial->available / 1e9);
    printf("disk    %.1f MB for the checkpoints, and tables and pictures beside them\n", trial->disk / 1e6);
    printf("This was a dry run: no run was made.\n");
    put_away(p);
}
