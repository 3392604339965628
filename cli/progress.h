/* How far long work is, with an estimate of its end, on stderr: in place on a terminal, else a line now and then. */
#ifndef HWS_CLI_PROGRESS_H
#define HWS_CLI_PROGRESS_H

#include "core/listener.h"

typedef struct cli_progress {
    const char *what;         /* that is shown; NULL: nothing yet */
    size_t done;              /* steps of it when it was told of last */
    double start, seen, last; /* seconds: when it began, was told of last, and was shown last */
    int terminal, quiet, shown;
    size_t steps; /* that make one of what is counted; 0 and 1: the steps are counted themselves */
} cli_progress;

/* Shows progress and notices, unless `quiet`, and stops the work after an interrupt, if those are caught (interrupt.h).
   `progress` must live as long. */
listener cli_listen(cli_progress *progress, int quiet);

/* Clears the terminal's line. */
void cli_progress_end(cli_progress *progress);

/* A listener's notice, its context being the cli_progress: for those who tell also when quiet. */
void cli_notice(void *progress, const char *message);

/* Without a listener: tells how far `what` is. */
void cli_progress_show(cli_progress *progress, const char *what, size_t done, size_t total);

#endif
