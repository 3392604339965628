#define _POSIX_C_SOURCE 200809L
#include "train_progress.h"
#include "cli.h"

#include "core/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double INTERVAL = 0.25;

static void clear(train_progress *p) {
    if (p->shown) fputs("\r\033[K", stderr);
    p->shown = 0;
}

/* The columns of the table: at most the first metric and the worst of those per class fit. */
static void show_header(void) {
    printf("%8s %10s %9s %9s %9s %9s %8s  %s\n", "epoch", "iteration", "seconds", "loss", "robust", "ess", "metric",
           "worst");
}

static void begin(void *context, const trainer *t) {
    train_progress *p = context;
    cli_progress_end(&p->preparing);
    p->first = t->iteration;
    p->start = clock_seconds();
    p->last = p->start - INTERVAL;
    if (p->quiet) return;
    printf("%s: %lld examples, %s, %zu parameters, %lld iterations of %lld examples, look-ahead %lld, %lld threads\n",
           t->settings.data, (long long)t->task->examples, t->settings.model,
           graph_trained_floats(learner_graph(t->learner)), (long long)t->total, (long long)t->batch,
           t->settings.look_ahead, t->settings.threads);
    if (t->task->keeps_last)
        printf("there is no validation part to choose weights by: those of the last epoch are kept; --validation 0.1 "
               "holds a "
               "tenth of each class out\n");
    if (t->iteration >= t->total || t->stopped) printf("this run is finished already\n");
    else if (t->iteration) printf("resumed after iteration %lld\n", (long long)t->iteration);
    if (t->iteration < t->total && !t->stopped) show_header();
    fflush(stdout);
}

static void duration(double seconds, char text[32]) {
    const long whole = (long)(seconds + 0.5);
    if (whole >= 3600) snprintf(text, 32, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    else snprintf(text, 32, "%ld:%02ld", whole / 60, whole % 60);
}

static void show_line(train_progress *p, const trainer *t) {
    const double time = clock_seconds(), done = (double)(t->iteration - p->first);
    if (!p->terminal || time - p->last < INTERVAL) return;
    double robust = (double)NAN;
    char left[32];
    const double rate = done / (time - p->start);
    const hws_options options = hws_sampler_options(t->history);
    if (options.divergence.kind == HWS_KL) hws_sampler_robust_loss(t->history, &robust); /* free for KL alone */
    duration((double)(t->total - t->iteration) / rate, left);
    const double ess = t->rows.count ? rows_at(&t->rows, t->rows.count - 1)[ROW_ESS] : (double)t->task->examples;
    fprintf(stderr, "\r\033[Kepoch %.2f  loss %.4f  robust %.4f  ess %.0f  %.0f images/s  %s left",
            (double)t->iteration / (double)t->epoch_iterations, p->loss, robust, ess, rate * (double)t->batch, left);
    fflush(stderr);
    p->last = time;
    p->shown = 1;
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

static void show_row(train_progress *p, const trainer *t, const double *row) {
    text name = {0};
    const double *values = row + ROW_FIRST;
    clear(p);
    printf("%8.4g %10.0f %9.1f %9.4f %9.4f %9.1f %7.2f%%", row[ROW_EPOCH], row[ROW_ITERATION],
           t->rows.seconds[t->rows.count - 1], row[ROW_LOSS_MEAN], row[ROW_ROBUST_LOSS], row[ROW_ESS],
           100 * values[t->task->shown]);
    const int worst = find_worst(t, values, &name);
    if (worst >= 0) printf("  %.2f%% (%s)", 100 * values[worst], text_string(&name));
    const double norm = row[ROW_FIRST + t->task->metrics + ROW_GRAD_NORM];
    if (isfinite(norm)) printf("  |grad R| %.3g", norm);
    printf("\n");
    fflush(stdout);
    text_close(&name);
}

static void report(void *context, const trainer *t, double loss, const double *row) {
    train_progress *p = context;
    if (p->quiet) return;
    p->loss = isnan(p->loss) ? loss : 0.95 * p->loss + 0.05 * loss;
    if (row) show_row(p, t, row);
    else show_line(p, t);
}

/* ---- before the first iteration ---------------------------------------------------------------------------------- */

static void prepare(void *context, const char *what, size_t done, size_t total) {
    train_progress *p = context;
    cli_progress_show(&p->preparing, what, done, total);
}

static void notice(void *context, const char *message) {
    train_progress *p = context;
    clear(p);
    cli_notice(&p->preparing, message);
}

train_listener train_progress_start(train_progress *p, int quiet) {
    *p = (train_progress){.terminal = isatty(STDERR_FILENO), .quiet = quiet, .loss = (double)NAN};
    const listener usual = cli_listen(&p->preparing, quiet);
    return (train_listener){
        .work = {.context = p, .progress = prepare, .notice = notice, .stop = usual.stop},
        .begin = begin,
        .report = report,
    };
}

void train_progress_end(train_progress *p) {
    cli_progress_end(&p->preparing);
    clear(p);
}
