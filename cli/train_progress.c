#define _POSIX_C_SOURCE 200809L
#include "train_progress.h"

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

void train_progress_start(train_progress *p, const trainer *t, int quiet) {
    *p =
        (train_progress){.terminal = isatty(STDERR_FILENO), .quiet = quiet, .first = t->iteration, .loss = (double)NAN};
    p->start = clock_seconds();
    p->last = p->start - INTERVAL;
    if (quiet) return;
    printf("%s: %lld examples, %s, %zu parameters, %lld iterations of %lld examples, look-ahead %lld, %lld threads\n",
           t->settings.data, (long long)t->task->examples, t->settings.model,
           graph_trained_floats(learner_graph(t->learner)), (long long)t->total, (long long)t->batch,
           t->settings.look_ahead, t->settings.threads);
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

/* The least of the metrics that continue the best one's name: test_accuracy_3. */
static int worst_of(const trainer *t, const double *values, char name[TASK_NAME]) {
    char best[TASK_NAME], other[TASK_NAME];
    int worst = -1;
    t->task->metric(t->task->context, t->task->best, best);
    const size_t length = strlen(best);
    for (int k = 0; k < t->task->metrics; k++) {
        t->task->metric(t->task->context, k, other);
        if (strncmp(other, best, length) != 0 || other[length] != '_' || !isfinite(values[k])) continue;
        if (worst >= 0 && values[k] >= values[worst]) continue;
        worst = k;
        snprintf(name, TASK_NAME, "%s", other + length + 1);
    }
    return worst;
}

static void show_row(train_progress *p, const trainer *t, const double *row) {
    char name[TASK_NAME];
    const double *values = row + ROW_FIRST;
    clear(p);
    printf("%8.4g %10.0f %9.1f %9.4f %9.4f %9.1f %7.2f%%", row[ROW_EPOCH], row[ROW_ITERATION],
           t->rows.seconds[t->rows.count - 1], row[ROW_LOSS_MEAN], row[ROW_ROBUST_LOSS], row[ROW_ESS],
           100 * values[t->task->best]);
    const int worst = worst_of(t, values, name);
    if (worst >= 0) printf("  %.2f%% (%s)", 100 * values[worst], name);
    const double norm = row[ROW_FIRST + t->task->metrics + ROW_GRAD_NORM];
    if (isfinite(norm)) printf("  |grad R| %.3g", norm);
    printf("\n");
    fflush(stdout);
}

void train_progress_report(void *context, const trainer *t, double loss, const double *row) {
    train_progress *p = context;
    if (p->quiet) return;
    p->loss = isnan(p->loss) ? loss : 0.95 * p->loss + 0.05 * loss;
    if (row) show_row(p, t, row);
    else show_line(p, t);
}

void train_progress_end(train_progress *p) { clear(p); }
