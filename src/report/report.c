#include "report/report.h"

#include "hws.h"

#include "core/replaceable.h"
#include "core/whole_file.h"
#include "report/assets.h"
#include "report/html.h"
#include "report/methods.h"
#include "report/section.h"
#include "run/run_folder.h"

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

/* "2 runs and 1 evaluation" */
static void add_counts(text *page, const runs *runs) {
    size_t evaluations = 0;
    for (size_t r = 0; r < runs->count; r++) evaluations += runs->all[r].is_evaluation ? 1 : 0;
    const size_t trained = runs->count - evaluations;
    if (trained) text_format(page, "%zu run%s", trained, trained > 1 ? "s" : "");
    if (trained && evaluations) text_add(page, " and ");
    if (evaluations) text_format(page, "%zu evaluation%s", evaluations, evaluations > 1 ? "s" : "");
}

void runs_title(text *page, const runs *runs) {
    if (runs->count == 1) html_escape(page, runs->all[0].name);
    else add_counts(page, runs);
    if (all_have(runs, "model")) {
        text_add(page, runs->count == 1 ? ": " : " of ");
        html_escape(page, run_setting_text(&runs->all[0], "model"));
    }
    if (all_have(runs, "data")) {
        text_add(page, " on ");
        add_data_name(page, run_setting_text(&runs->all[0], "data"));
    }
}

/* The runs among them, without the evaluations that belong to none. */
static int select_trained(const runs *runs, struct runs *trained) {
    trained->all = calloc(runs->count, sizeof *trained->all);
    trained->names = calloc(runs->count, sizeof *trained->names);
    trained->styles = calloc(runs->count, sizeof *trained->styles);
    if (!trained->all || !trained->names || !trained->styles) return 0;
    for (size_t r = 0; r < runs->count; r++) {
        if (runs->all[r].is_evaluation) continue;
        trained->all[trained->count] = runs->all[r];
        trained->names[trained->count] = runs->names[r];
        trained->styles[trained->count++] = runs->styles[r];
    }
    return 1;
}

static void add_head(text *page, const runs *runs, int trained) {
    text_add(page, HEAD);
    runs_title(page, runs);
    text_add(page, "</title>\n<style>\n");
    text_add(page, report_css);
    text_add(page, "</style>\n</head>\n<body>\n");
    text_add(page, runs->count == 1 ? "<main class=\"solo\">\n" : "<main>\n");
    text_format(page, "<header><p class=\"kicker\">%s report</p>\n<h1>", trained ? "Training" : "Evaluation");
    runs_title(page, runs);
    text_add(page, "</h1></header>\n");
}

/* What each part is about: all that were evaluated, or the runs only. */
static void add_sections(text *page, const runs *runs, const struct runs *trained, const methods *methods,
                         const report_request *request) {
    summary_section(page, trained, methods);
    scores_section(page, methods);
    if (trained->count) curves_section(page, trained);
    if (trained->count) classes_section(page, trained);
    groups_section(page, trained);
    cases_section(page, runs);
    if (!cases_viewer_section(page, methods, request)) worst_section(page, runs);
    if (!trained->count) return;
    distribution_section(page, trained);
    gallery_section(page, trained);
    triage_section(page, trained);
    settings_section(page, trained);
}

static void add_page(text *page, const runs *runs, const methods *methods, const report_request *request) {
    struct runs trained = {0};
    if (select_trained(runs, &trained)) {
        add_head(page, runs, trained.count > 0);
        add_sections(page, runs, &trained, methods, request);
    } else {
        page->failed = 1;
    }
    text_add(page, "<footer>Made by hws " HWS_VERSION ". This page needs no network.</footer>\n</main>\n<script>\n");
    text_add(page, report_js);
    text_add(page, "</script>\n</body>\n</html>\n");
    free(trained.all);
    free(trained.names);
    free(trained.styles);
}

static status_code open_one(run *run, const char *folder, const char *groups, failure *failure) {
    const int trained = !evaluated_is_there(folder) || run_exists(folder);
    const status_code status = trained ? run_open(run, folder, failure) : run_open_evaluation(run, folder, failure);
    if (status != STATUS_OK || !groups) return status;
    const status_code grouped = run_use_groups(run, groups, failure);
    if (grouped != STATUS_OK) run_close(run);
    return grouped;
}

status_code runs_open(runs *runs, const report_request *request, failure *failure) {
    const size_t count = request->count;
    runs->all = calloc(count, sizeof *runs->all);
    runs->names = calloc(count, sizeof *runs->names);
    runs->styles = calloc(count, sizeof *runs->styles);
    if (!runs->all || !runs->names || !runs->styles) return fail_memory(failure, "the report");
    for (; runs->count < count; runs->count++) {
        const status_code status =
            open_one(&runs->all[runs->count], request->folders[runs->count], request->groups, failure);
        if (status != STATUS_OK) return status;
    }
    const status_code status = run_name_all(runs->all, count, request->names, failure);
    for (size_t r = 0; r < count; r++) {
        runs->names[r] = runs->all[r].name;
        runs->styles[r] = runs->all[r].style;
    }
    return status;
}

void runs_close(runs *runs) {
    for (size_t r = 0; r < runs->count; r++) run_close(&runs->all[r]);
    free(runs->all);
    free(runs->names);
    free(runs->styles);
}

/* What is asked for must mean something. One folder twice is a slip, and no sentence of a page is right for classifiers
   and segmentations at once. */
static status_code check_runs(const runs *runs, const report_request *request, failure *failure) {
    if ((request->groups || request->images) && !runs->all[0].is_segmentation)
        return fail(failure, STATUS_BAD_INPUT, "%s is a classifier: --groups and --images are for segmentations",
                    request->folders[0]);
    for (size_t j = 0; j < runs->count; j++)
        for (size_t k = j + 1; k < runs->count; k++) {
            if (path_same(request->folders[j], request->folders[k]))
                return fail(failure, STATUS_BAD_INPUT, "%s is given twice", request->folders[k]);
            if (runs->all[j].is_segmentation != runs->all[k].is_segmentation)
                return fail(failure, STATUS_BAD_INPUT,
                            "%s is a classifier and %s a segmentation: they need a page each",
                            request->folders[runs->all[j].is_segmentation ? k : j],
                            request->folders[runs->all[j].is_segmentation ? j : k]);
        }
    return STATUS_OK;
}

status_code report_page(text *page, const report_request *request, failure *failure) {
    if (request->count < 1 || request->count > REPORT_MAX_RUNS)
        return fail(failure, STATUS_BAD_INPUT, "a report of %zu runs: from 1 to %d are possible", request->count,
                    REPORT_MAX_RUNS);
    runs runs = {0};
    methods methods = {0};
    status_code status = runs_open(&runs, request, failure);
    if (status == STATUS_OK) status = check_runs(&runs, request, failure);
    if (status == STATUS_OK) status = methods_open(&methods, &runs, request, failure);
    if (status == STATUS_OK) add_page(page, &runs, &methods, request);
    if (status == STATUS_OK && page->failed) status = fail_memory(failure, "the report");
    methods_close(&methods);
    runs_close(&runs);
    return status;
}

static int is_report(const char *beginning, const void *context) {
    (void)context;
    return strncmp(beginning, "<!DOCTYPE html>", 15) == 0 &&
           strstr(beginning, "<meta name=\"generator\" content=\"hws ") != NULL;
}

status_code report_write(const char *path, const report_request *request, failure *failure) {
    text page = {0};
    status_code status = replaceable_check(path, is_report, NULL, "report", failure);
    if (status == STATUS_OK) status = report_page(&page, request, failure);
    if (status == STATUS_OK) status = whole_file_write(path, page.bytes, page.size, failure);
    text_close(&page);
    return status;
}
