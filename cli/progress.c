#define _POSIX_C_SOURCE 200809L
#include "progress.h"

#include "core/clock.h"

#include <stdio.h>
#include <unistd.h>

void cli_progress_start(cli_progress *progress, const char *what, int quiet) {
    const double start = clock_seconds();
    *progress = (cli_progress){.what = what, .start = start, .last = start, .terminal = isatty(2), .quiet = quiet};
}

static void format_duration(double seconds, char *words, size_t room) {
    if (seconds < 100) snprintf(words, room, "%.0f s", seconds);
    else if (seconds < 100 * 60) snprintf(words, room, "%.0f min", seconds / 60);
    else snprintf(words, room, "%.1f h", seconds / 3600);
}

void cli_progress_step(void *context, size_t done, size_t total) {
    cli_progress *progress = context;
    const double time = clock_seconds(), pause = progress->terminal ? 0.2 : 10;
    if (progress->quiet || !done || time - progress->last < pause) return;
    progress->last = time;
    progress->shown = 1;
    char left[32];
    format_duration((time - progress->start) / (double)done * (double)(total - done), left, sizeof left);
    fprintf(stderr, "%s%s: %zu of %zu, %s left%s", progress->terminal ? "\r" : "", progress->what, done, total, left,
            progress->terminal ? "\033[K" : "\n");
    fflush(stderr);
}

void cli_progress_end(cli_progress *progress) {
    if (progress->shown && progress->terminal) fputs("\r\033[K", stderr);
    fflush(stderr);
}
