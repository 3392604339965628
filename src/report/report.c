#include "report/report.h"

#include "hws.h"

#include "core/whole_file.h"
#include "report/assets.h"
#include "report/html.h"
#include "report/section.h"

#include <stdlib.h>
#include <string.h>

/* Nothing may be loaded from elsewhere: the page says so to the browser. */
static const char HEAD[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
    "<meta name=\"generator\" content=\"hws " HWS_VERSION "\">\n<link rel=\"icon\" href=\"data:,\">\n<title>";

/* "mnist" of "mnist:some/folder", the last part of a folder's path. */
static void add_data_name(text *page, const char *data) {
    const char *colon = strchr(data, ':');
    if (colon && !memchr(data, '/', (size_t)(colon - data))) {
        text name = {0};
        text_add_bytes(&name, data, (size_t)(colon - data));
        html_escape(page, text_string(&name));
        page->failed |= name.failed;
        text_close(&name);
        return;
    }
    const char *slash = strrchr(data, '/');
    html_escape(page, slash && slash[1] ? slash + 1 : data);
}

static int all_have(const runs *runs, const char *key) {
    const char *first = run_setting_text(&runs->all[0], key);
    for (size_t r = 0; r < runs->count && first; r++) {
        const char *value = run_setting_text(&runs->all[r], key);
        if (!value || strcmp(value, first) != 0) return 0;
    }
    return first != NULL;
}

static void add_title(text *page, const runs *runs) {
    if (runs->count == 1) html_escape(page, runs->all[0].name);
    else text_format(page, "%zu runs", runs->count);
    if (all_have(runs, "model")) {
        text_add(page, runs->count == 1 ? ": " : " of ");
        html_escape(page, run_setting_text(&runs->all[0], "model"));
    }
    if (all_have(runs, "data")) {
        text_add(page, " on ");
        add_data_name(page, run_setting_text(&runs->all[0], "data"));
    }
}

static void add_page(text *page, const runs *runs) {
    text_add(page, HEAD);
    add_title(page, runs);
    text_add(page, "</title>\n<style>\n");
    text_add(page, report_css);
    text_add(page, "</style>\n</head>\n<body>\n");
    text_add(page, runs->count == 1 ? "<main class=\"solo\">\n" : "<main>\n");
    text_add(page, "<header><p class=\"kicker\">Training report</p>\n<h1>");
    add_title(page, runs);
    text_add(page, "</h1></header>\n");
    summary_section(page, runs);
    curves_section(page, runs);
    classes_section(page, runs);
    cases_section(page, runs);
    worst_section(page, runs);
    distribution_section(page, runs);
    gallery_section(page, runs);
    triage_section(page, runs);
    settings_section(page, runs);
    text_add(page, "<footer>Made by hws " HWS_VERSION ". This page needs no network.</footer>\n</main>\n<script>\n");
    text_add(page, report_js);
    text_add(page, "</script>\n</body>\n</html>\n");
}

static status_code open_runs(runs *runs, const char *const *folders, size_t count, failure *failure) {
    runs->all = calloc(count, sizeof *runs->all);
    runs->names = calloc(count, sizeof *runs->names);
    runs->styles = calloc(count, sizeof *runs->styles);
    if (!runs->all || !runs->names || !runs->styles) return fail_memory(failure, "the report");
    for (; runs->count < count; runs->count++) {
        const status_code status = run_open(&runs->all[runs->count], folders[runs->count], failure);
        if (status != STATUS_OK) return status;
    }
    if (!run_name_all(runs->all, count)) return fail_memory(failure, "the names of the runs");
    for (size_t r = 0; r < count; r++) {
        runs->names[r] = runs->all[r].name;
        runs->styles[r] = runs->all[r].style;
    }
    return STATUS_OK;
}

static void close_runs(runs *runs) {
    for (size_t r = 0; r < runs->count; r++) run_close(&runs->all[r]);
    free(runs->all);
    free(runs->names);
    free(runs->styles);
}

status_code report_page(text *page, const char *const *folders, size_t count, failure *failure) {
    if (count < 1 || count > REPORT_MAX_RUNS)
        return fail(failure, STATUS_BAD_INPUT, "a report of %zu runs: from 1 to %d are possible", count,
                    REPORT_MAX_RUNS);
    runs runs = {0};
    status_code status = open_runs(&runs, folders, count, failure);
    if (status == STATUS_OK) add_page(page, &runs);
    if (status == STATUS_OK && page->failed) status = fail_memory(failure, "the report");
    close_runs(&runs);
    return status;
}

status_code report_write(const char *path, const char *const *folders, size_t count, failure *failure) {
    text page = {0};
    status_code status = report_page(&page, folders, count, failure);
    if (status == STATUS_OK) status = whole_file_write(path, page.bytes, page.size, failure);
    text_close(&page);
    return status;
}
