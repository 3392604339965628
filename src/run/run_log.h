/*
 * train.log in a run's folder: what hws train told, each line with the date and time (UTC). It is added
 * to when a run is resumed.
 *
 * A log is no result: a line that cannot be written is left out.
 */
#ifndef HWS_RUN_RUN_LOG_H
#define HWS_RUN_RUN_LOG_H

#include "core/text.h"

typedef struct run_log {
    int is_open, file;
    text before; /* lines from before there was a folder */
} run_log;

/* All zeros is a log that keeps its lines until it is opened. */
void run_log_open(run_log *log, const char *folder);
void run_log_add(run_log *log, const char *line);
void run_log_close(run_log *log);

#endif
