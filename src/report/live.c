#define _POSIX_C_SOURCE 200809L
#include "report/live.h"

#include "hws.h"

#include "core/crc64.h"
#include "core/whole_file.h"
#include "report/class_metric.h"
#include "report/fairness.h"
#include "report/html.h"
#include "report/report.h"
#include "report/scale.h"
#include "run/run_folder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { LOG_LINES = 12, LOG_BYTES = 1 << 16 };

/* ---- what has changed -------------------------------------------------------------------------------------------- */

static const run_file SHOWN[] = {RUN_CONFIG, RUN_HISTORY, RUN_DISTRIBUTION, RUN_LOSSES, RUN_HARDEST, RUN_LOG};

static int file_state(const char *folder, run_file file, struct stat *state) {
    char path[PATH_SIZE];
    return run_path(path, folder, file, NULL) == STATUS_OK && stat(path, state) == 0;
}

uint64_t live_version(const live_runs *runs) {
    crc64 crc;
    crc64_start(&crc);
    for (size_t r = 0; r < runs->count; r++)
        for (size_t k = 0; k < sizeof SHOWN / sizeof *SHOWN; k++) {
            struct stat state;
            long long facts[3] = {-1, 0, 0};
            if (file_state(runs->folders[r], SHOWN[k], &state)) {
                facts[0] = (long long)state.st_size;
                facts[1] = (long long)state.st_mtim.tv_sec;
                facts[2] = (long long)state.st_mtim.tv_nsec;
            }
            crc64_add(&crc, facts, sizeof facts);
        }
    return crc64_value(&crc);
}

/* ---- how far a run is -------------------------------------------------------------------------------------------- */

typedef struct standing {
    double epoch, epochs;    /* done, and of how many; NaN if not known */
    double left;             /* seconds, as it looked when the last epoch ended; NaN if not known */
    double quiet;            /* seconds since anything was written; NaN if not known */
    double unseen, outdated; /* shares of the examples: never trained on, not within the last epoch */
} standing;

static double seconds_since(const run *run, run_file file) {
    struct stat state;
    if (!file_state(run->folder, file, &state)) return (double)NAN;
    return fmax(0, difftime(time(NULL), state.st_mtim.tv_sec));
}

static void measure_ages(const run *run, double length, standing *s) {
    const run_table *table = &run->losses;
    double unseen = 0, outdated = 0;
    for (size_t k = 0; k < table->data.rows; k++) {
        unseen += run_number(table, k, "draws") == 0;
        outdated += run_number(table, k, "draws") > 0 && run_number(table, k, "age") > length;
    }
    s->unseen = unseen / (double)table->data.rows;
    s->outdated = outdated / (double)table->data.rows;
}

static standing standing_of(const run *run) {
    const double done = run_last(&run->history, "iteration"), seconds = run_last(&run->history, "seconds");
    const double all = run_iterations_at_most(run), length = run_setting_number(run, "epoch_iterations");
    standing s = {.epoch = run_last(&run->history, "epoch"), .epochs = all / length};
    s.left = all > 0 && done > 0 ? fmax(0, all - done) * seconds / done : (double)NAN;
    s.quiet = fmin(seconds_since(run, RUN_HISTORY), seconds_since(run, RUN_LOG));
    measure_ages(run, length, &s);
    return s;
}

static void add_cell(text *part, const char *words) {
    text_add(part, "<td>");
    html_escape(part, *words ? words : "\xE2\x80\x93");
    text_add(part, "</td>");
}

/* The script counts the seconds down. */
static void add_left(text *part, const run *run, const standing *s) {
    char label[NUMBER_SIZE];
    if (s->epoch >= s->epochs) return add_cell(part, "finished");
    if (!isfinite(s->left)) return add_cell(part, "");
    const double left = fmax(0, s->left - fmax(0, seconds_since(run, RUN_HISTORY)));
    number_duration(left, label);
    text_format(part, "<td data-left=\"%.0f\">%s</td>", left, label);
}

static void add_share(text *part, double share) {
    char label[NUMBER_SIZE] = "";
    if (isfinite(share)) number_percent(share, label);
    add_cell(part, label);
}

static void add_number(text *part, double number) {
    char label[NUMBER_SIZE] = "";
    if (isfinite(number)) number_format(number, label);
    add_cell(part, label);
}

static void add_epoch(text *part, const standing *s) {
    text words = {0};
    if (isfinite(s->epochs)) text_format(&words, "%.4g of %.4g", isfinite(s->epoch) ? s->epoch : 0, s->epochs);
    else if (isfinite(s->epoch)) text_format(&words, "%.4g", s->epoch);
    add_cell(part, text_string(&words));
    part->failed |= words.failed;
    text_close(&words);
}

static void add_standing(text *part, const run *run, const class_metric *metric) {
    const standing s = standing_of(run);
    const int by_loss = run_draws_by_loss(run);
    char quiet[NUMBER_SIZE] = "";
    text_add(part, "<tr><th scope=\"row\">");
    html_escape(part, run->name);
    text_add(part, "</th>");
    add_epoch(part, &s);
    add_left(part, run, &s);
    add_share(part, run_last(&run->history, metric->column));
    add_number(part, run_last(&run->history, "train_loss_mean"));
    add_number(part, by_loss ? run_last(&run->history, "beta") : (double)NAN);
    add_number(part, by_loss ? run_last(&run->history, "ess") : (double)NAN);
    add_share(part, s.unseen);
    add_share(part, s.outdated);
    if (isfinite(s.quiet)) number_duration(s.quiet, quiet);
    text_format(part, "<td data-quiet=\"%.0f\">%s</td></tr>\n", isfinite(s.quiet) ? s.quiet : 0, quiet);
}

static void add_standings(text *part, const runs *runs) {
    class_metric metric;
    if (!class_metric_open(&metric, runs)) {
        part->failed = 1;
        return;
    }
    text_add(part, "<section class=\"summary\"><div class=\"scroll whole\" tabindex=\"0\"><table class=\"key\">\n<tr>");
    const char *const titles[] = {"run",      "epoch",          "time left", metric.name, "training loss",
                                  "\xCE\xB2", "effective size", "unseen",    "stale",     "last news"};
    for (size_t k = 0; k < sizeof titles / sizeof *titles; k++)
        text_format(part, "<th scope=\"col\">%s</th>", titles[k]);
    text_add(part, "</tr>\n");
    for (size_t r = 0; r < runs->count; r++) add_standing(part, &runs->all[r], &metric);
    text_add(part,
             "</table></div>\n<p class=\"explain\">Unseen are training examples that no batch has held yet, stale "
             "those that "
             "none has held for the length of an epoch. Last news: how long ago anything was written.</p></section>\n");
    class_metric_close(&metric);
}

/* ---- logs -------------------------------------------------------------------------------------------------------- */

/* Where the last lines of a text begin. */
static const char *last_lines(const char *log, size_t size) {
    size_t at = size, lines = 0;
    while (at > 0 && (log[at - 1] != '\n' || at == size || ++lines < LOG_LINES)) at--;
    return log + at;
}

static void add_log(text *part, const run *run) {
    char path[PATH_SIZE], *log = NULL;
    size_t size = 0;
    if (run_path(path, run->folder, RUN_LOG, NULL) != STATUS_OK ||
        whole_file_read_end(path, LOG_BYTES, &log, &size, NULL) != STATUS_OK)
        return;
    text_add(part, "<h3>");
    html_escape(part, run->name);
    text_add(part, "</h3>\n<pre class=\"log scroll\" tabindex=\"0\">");
    char *line = (char *)last_lines(log, size);
    for (char *end; *line; line = end) { /* line by line: html_escape ends long texts */
        end = line + strcspn(line, "\n");
        const int more = *end == '\n';
        *end = 0;
        html_escape(part, line);
        text_add(part, "\n");
        end += more;
    }
    text_add(part, "</pre>\n");
    free(log);
}

static void add_logs(text *part, const runs *runs) {
    text_add(part, "<section>\n<h2>Log</h2>\n<p>The last lines of each run\xE2\x80\x99s train.log.</p>\n");
    for (size_t r = 0; r < runs->count; r++) add_log(part, &runs->all[r]);
    text_add(part, "</section>\n");
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

static void add_waiting(text *part, const char *folder) {
    text_add(part, "<p class=\"note\">");
    html_escape(part, folder);
    text_add(part, ": no run yet; this page shows it as soon as it begins.</p>\n");
}

static void add_damage(text *part, const char *message) {
    text_add(part, "<p class=\"note\">");
    html_escape(part, message);
    text_add(part, "</p>\n");
}

/* A run that cannot be read is left out of the request and noted; the others are opened. Only a
   lack of memory fails. */
static status_code open_runs(runs *opened, report_request *request, const char **folders, text *notes,
                             failure *failure) {
    while (request->count) {
        struct failure why = {0};
        const status_code status = runs_open(opened, request, &why);
        const size_t damaged = opened->count; /* the one behind those that could be opened */
        if (status == STATUS_OK) return STATUS_OK;
        if (status == STATUS_OUT_OF_MEMORY || damaged == request->count)
            return fail(failure, status, "%s", why.message);
        add_damage(notes, why.message);
        runs_close(opened);
        *opened = (runs){0};
        request->count--;
        memmove(folders + damaged, folders + damaged + 1, (request->count - damaged) * sizeof *folders);
    }
    return STATUS_OK;
}

static void add_runs(text *part, const runs *runs) {
    add_standings(part, runs);
    curves_section(part, runs);
    distribution_section(part, runs);
    gallery_section(part, runs);
    add_logs(part, runs);
}

/* Runs may begin, and their files be replaced, while this reads them: what cannot be read yet waits. */
status_code live_part(text *part, const live_runs *live, failure *failure) {
    const char *folders[REPORT_MAX_RUNS];
    report_request request = {.folders = folders};
    runs runs = {0};
    text notes = {0};
    for (size_t r = 0; r < live->count; r++)
        if (run_exists(live->folders[r])) folders[request.count++] = live->folders[r];
    status_code status = open_runs(&runs, &request, folders, &notes, failure);
    if (status == STATUS_OK) {
        text_format(part,
                    "<header><p class=\"kicker\">Training, live <span id=\"lost\" hidden>(no answer: has hws watch "
                    "ended?)</span></p>\n<h1>");
        if (runs.count) runs_title(part, &runs);
        else text_add(part, "Waiting");
        text_add(part, "</h1></header>\n");
        for (size_t r = 0; r < live->count; r++)
            if (!run_exists(live->folders[r])) add_waiting(part, live->folders[r]);
        text_add(part, text_string(&notes));
        if (runs.count) add_runs(part, &runs);
        if (part->failed || notes.failed) status = fail_memory(failure, "the page");
    }
    text_close(&notes);
    runs_close(&runs);
    return status;
}

status_code live_page(text *page, const live_runs *runs, failure *failure) {
    text_add(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<meta name=\"color-scheme\" content=\"light dark\">\n"
                   "<meta name=\"generator\" content=\"hws " HWS_VERSION "\">\n<link rel=\"icon\" href=\"data:,\">\n"
                   "<link rel=\"stylesheet\" href=\"/page.css\">\n<title>hws watch</title>\n</head>\n<body>\n");
    text_format(page, "<main%s>\n", runs->count == 1 ? " class=\"solo\"" : "");
    const status_code status = live_part(page, runs, failure);
    text_add(page,
             "</main>\n<script src=\"/page.js\"></script>\n<script src=\"/live.js\"></script>\n</body>\n</html>\n");
    return status == STATUS_OK && page->failed ? fail_memory(failure, "the page") : status;
}
