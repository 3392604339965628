#define _POSIX_C_SOURCE 200809L
#include "run/run_log.h"

#include "run/run_folder.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

static void flush(run_log *log) {
    if (log->before.size && log->file >= 0 && write(log->file, log->before.bytes, log->before.size) < 0) {
        /* It is left out. */
    }
    text_close(&log->before);
}

void run_log_open(run_log *log, const char *folder) {
    char path[PATH_SIZE];
    log->is_open = 1;
    log->file = -1;
    if (run_path(path, folder, RUN_LOG, NULL) == STATUS_OK)
        log->file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    flush(log);
}

void run_log_add(run_log *log, const char *line) {
    char now[32] = "";
    struct tm parts;
    const time_t seconds = time(NULL);
    if (gmtime_r(&seconds, &parts)) strftime(now, sizeof now, "%Y-%m-%d %H:%M:%S", &parts);
    text_format(&log->before, "%s  %s\n", now, line);
    if (log->is_open) flush(log);
}

void run_log_close(run_log *log) {
    if (log->is_open && log->file >= 0) close(log->file);
    text_close(&log->before);
    *log = (run_log){0};
}
