#define _POSIX_C_SOURCE 200809L
#include "progress.h"
#include "cli.h"
#include "interrupt.h"

#include "core/clock.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void format_duration(double seconds, char *words, size_t capacity) {
    if (seconds < 100) snprintf(words, capacity, "%.0f s", seconds);
    else if (seconds < 100 * 60) snprintf(words, capacity, "%.0f min", seconds / 60);
    else snprintf(words, capacity, "%.1f h", seconds / 3600);
}

/* The first step of something new, or of the same once more, has taken the time since the last of what was before,
   unless it is told when none is done yet. */
static void change_to(cli_progress *progress, const char *what) {
    cli_progress_end(progress);
    progress->what = what;
    progress->start = progress->last = progress->seen;
}

void cli_progress_show(cli_progress *progress, const char *what, size_t done, size_t total) {
    const double time = clock_seconds(), pause = progress->terminal ? 0.2 : 10;
    if (!progress->what || strcmp(progress->what, what) != 0 || done < progress->done) change_to(progress, what);
    if (!done) progress->start = time;
    progress->seen = time;
    progress->done = done;
    if (progress->quiet || !done || time - progress->last < pause) return;
    progress->last = time;
    progress->shown = 1;
    char left[32];
    format_duration((time - progress->start) / (double)done * (double)(total - done), left, sizeof left);
    const size_t steps = progress->steps && total % progress->steps == 0 ? progress->steps : 1;
    fprintf(stderr, "%s%s: %zu of %zu, %s left%s", progress->terminal ? "\r" : "", what, done / steps, total / steps,
            left, progress->terminal ? "\033[K" : "\n");
    fflush(stderr);
}

void cli_progress_end(cli_progress *progress) {
    if (progress->shown && progress->terminal) fputs("\r\033[K", stderr);
    progress->shown = 0;
    fflush(stderr);
}

static void show(void *context, const char *what, size_t done, size_t total) {
    cli_progress_show(context, what, done, total);
}

void cli_notice(void *progress, const char *message) {
    cli_progress_end(progress);
    cli_error(EXIT_DONE, "%s", message);
}

static int stop(void *context) {
    (void)context;
    return cli_interrupted;
}

listener cli_listen(cli_progress *progress, int quiet) {
    const double start = clock_seconds();
    *progress = (cli_progress){.start = start, .seen = start, .terminal = isatty(STDERR_FILENO), .quiet = quiet};
    return (listener){.context = progress, .progress = show, .notice = quiet ? NULL : cli_notice, .stop = stop};
}
