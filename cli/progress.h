/* How far a long job is, with an estimate of its end, on stderr: in place on a terminal, else a line now and then. */
#ifndef HWS_CLI_PROGRESS_H
#define HWS_CLI_PROGRESS_H

#include <stddef.h>

typedef struct cli_progress {
    const char *what;
    double start, last; /* seconds; when something was shown last */
    int terminal, quiet, shown;
} cli_progress;

void cli_progress_start(cli_progress *progress, const char *what, int quiet);

/* As the parts call it: the context is a cli_progress. */
void cli_progress_step(void *progress, size_t done, size_t total);

/* Clears the terminal's line. */
void cli_progress_end(cli_progress *progress);

#endif
