/* What the evaluation of a classifier found on its test examples: by group, by class, how sure, and
   what failure looks like. */
#include "report/chart.h"
#include "report/class_metric.h"
#include "report/class_table.h"
#include "report/class_verdict.h"
#include "report/gallery_picture.h"
#include "report/html.h"
#include "report/panel.h"
#include "report/report.h"
#include "report/roc_charts.h"
#include "report/score_cell.h"
#include "statistics/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CLASSES = 30, MOST_PANELS = 12, RELIABILITY_RUNS = REPORT_MAX_RUNS, BINS = 64 };

static int has_evaluation(const run *run) { return run->strata.data.rows > 0; }

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *column, *title;
    int percent;
} SCORES[] = {{"accuracy", "accuracy, %", 1},
              {"balanced_accuracy", "balanced accuracy, %", 1},
              {"auroc", "AUROC", 0},
              {"ece", "calibration error, %", 1}};
enum { SCORE_COUNT = sizeof SCORES / sizeof *SCORES };

static void add_score_rows(text *page, const runs *runs, const run *run, int first) {
    for (size_t row = 0; row < run->strata.data.rows; row++) {
        if (row && run_number(&run->strata, row, "examples") == 0) continue; /* a group that only training has */
        text_format(page, "<tr%s><th scope=\"row\">", row == 0 && !first ? " class=\"first\"" : "");
        html_escape(page, run_cell(&run->strata, row, "column"));
        text_add(page, " ");
        html_escape(page, run_cell(&run->strata, row, "value"));
        text_add(page, "</th>");
        run_name_cell(page, runs, run);
        text_add(page, "<td>");
        html_escape(page, run_cell(&run->strata, row, "examples"));
        text_add(page, "</td>");
        for (size_t s = 0; s < SCORE_COUNT; s++)
            score_cell(page, &run->strata, row, SCORES[s].column, SCORES[s].percent);
        text_add(page, "</tr>\n");
    }
}

static void add_scores(text *page, const runs *runs) {
    int first = 1;
    text_add(page,
             "<div class=\"scroll whole\" tabindex=\"0\"><table class=\"scores\">\n<tr><th scope=\"col\">group</th>");
    if (runs->count > 1) text_add(page, "<th scope=\"col\" class=\"word\">run</th>");
    text_add(page, "<th scope=\"col\">examples</th>");
    for (size_t s = 0; s < SCORE_COUNT; s++) text_format(page, "<th scope=\"col\">%s</th>", SCORES[s].title);
    text_add(page, "</tr>\n");
    for (size_t r = 0; r < runs->count; r++) {
        if (!has_evaluation(&runs->all[r])) continue;
        add_score_rows(page, runs, &runs->all[r], first);
        first = 0;
    }
    text_add(page, "</table></div>\n");
}

/* ---- the confusion matrix ---------------------------------------------------------------------------------------- */

static void add_confusion_row(text *page, const run *run, size_t row) {
    const csv *table = &run->confusion.data;
    const double sum = class_size(table, row);
    text_add(page, "<tr><th scope=\"row\">");
    html_escape(page, csv_cell(table, row, 0));
    text_add(page, "</th>");
    for (size_t k = 1; k < table->columns; k++) {
        const double count = csv_number(table, row, k), share = sum > 0 && count > 0 ? count / sum : 0;
        text_format(page, "<td class=\"s%d\" style=\"--share:%.0f%%\">%.0f<small>%.0f %%</small></td>",
                    k == row + 1 ? 3 : 2, 100 * share, isfinite(count) ? count : 0, 100 * share);
    }
    text_add(page, "</tr>\n");
}

static void tell_size(text *page, const runs *runs, const run *run) {
    text_format(page,
                "<p class=\"note\">A confusion matrix of %zu classes is too large for this page: see confusion.csv",
                run->confusion.data.rows);
    if (runs->count > 1) text_add(page, " of "), html_escape(page, run->name);
    text_add(page, ".</p>\n");
}

static void add_confusion(text *page, const runs *runs, const run *run) {
    const csv *table = &run->confusion.data;
    if (table->rows < 2 || table->columns != table->rows + 1) return;
    if (table->rows > MOST_CLASSES) return tell_size(page, runs, run);
    text title = {0};
    text_format(&title, "Confusion matrix%s%s", runs->count > 1 ? ": " : "", runs->count > 1 ? run->name : "");
    figure_open(page, text_string(&title));
    page->failed |= title.failed;
    text_close(&title);
    text_add(page,
             "<div class=\"scroll whole\" tabindex=\"0\"><table class=\"confusion\">\n<tr><th scope=\"col\">label, "
             "predicted as</th>");
    for (size_t k = 1; k < table->columns; k++) {
        text_add(page, "<th scope=\"col\">");
        html_escape(page, csv_name(table, k));
        text_add(page, "</th>");
    }
    text_add(page, "</tr>\n");
    for (size_t row = 0; row < table->rows; row++) add_confusion_row(page, run, row);
    text_add(page, "</table></div>\n");
    figure_close(page, "A row is the label, a column what was predicted; shares are of the row.");
}

/* ---- the reliability diagram ------------------------------------------------------------------------------------- */

typedef struct reliability {
    double x[RELIABILITY_RUNS][BINS], y[RELIABILITY_RUNS][BINS];
    series lines[RELIABILITY_RUNS + 1];
    size_t count;
} reliability;

static void add_line(reliability *all, const run *run) {
    const size_t rows = run->reliability.data.rows < BINS ? run->reliability.data.rows : BINS, at = all->count;
    size_t known = 0;
    if (!rows || at == RELIABILITY_RUNS) return;
    for (size_t row = 0; row < rows; row++) {
        const double x = run_number(&run->reliability, row, "confidence");
        const double y = run_number(&run->reliability, row, "accuracy");
        if (!isfinite(x) || !isfinite(y)) continue;
        all->x[at][known] = 100 * x;
        all->y[at][known++] = y;
    }
    all->lines[all->count++] =
        (series){.name = run->name, .style = run->style, .count = known, .x = all->x[at], .y = all->y[at]};
}

static void add_reliability(text *page, const runs *runs) {
    static const double X[] = {0, 100}, Y[] = {0, 1};
    reliability *all = calloc(1, sizeof *all);
    if (!all) {
        page->failed = 1;
        return;
    }
    for (size_t r = 0; r < runs->count; r++) add_line(all, &runs->all[r]);
    if (all->count) {
        all->lines[all->count] = (series){.name = "as sure as right", .style = 7, .count = 2, .x = X, .y = Y};
        const line_chart chart = {.title = "Reliability",
                                  .explanation =
                                      "How often a prediction is right, by how sure the network is of it. Below "
                                      "the diagonal it is surer than it should be.",
                                  .x_title = "confidence, %",
                                  .unit = UNIT_PERCENT,
                                  .floor = 0,
                                  .ceiling = 1,
                                  .series = all->lines,
                                  .count = all->count + 1};
        line_chart_write(page, &chart);
    }
    free(all);
}

/* ---- curves by group --------------------------------------------------------------------------------------------- */

static int add_curve(text *page, const runs *runs, const char *column, const char *group) {
    text title = {0};
    text_add(&title, "Accuracy of ");
    text_add(&title, group);
    char *colon = title.bytes ? strchr(title.bytes, ':') : NULL;
    if (colon) *colon = ' ';
    const panel panel = {.title = text_string(&title),
                         .explanation =
                             "The share of the group\xE2\x80\x99s test examples that are classified correctly.",
                         .column = column,
                         .unit = UNIT_PERCENT,
                         .floor = 0,
                         .ceiling = 1};
    const int written = panel_write(page, runs, &panel);
    text_close(&title);
    return written;
}

/* One for each group that any run has. */
static void add_curves(text *page, const runs *runs) {
    class_metric metric;
    char column[METRIC_COLUMN];
    int left = MOST_PANELS;
    if (!class_metric_open(&metric, runs)) {
        page->failed = 1;
        return;
    }
    text_add(page, "<div class=\"panels\">\n");
    for (size_t k = 0; k < metric.count && left; k++) {
        if (!strchr(metric.classes[k], ':')) continue;
        class_metric_column(&metric, metric.classes[k], column);
        left -= add_curve(page, runs, column, metric.classes[k]);
    }
    text_add(page, "</div>\n");
    class_metric_close(&metric);
}

/* ---- galleries --------------------------------------------------------------------------------------------------- */

static void add_card(text *page, const run *run, size_t row) {
    const run_table *table = &run->worst;
    char loss[NUMBER_SIZE];
    text_add(page, "<li title=\"");
    html_escape(page, run_cell(table, row, "example"));
    text_add(page, "\">");
    gallery_picture(page, run, RUN_WORST_PICTURES, run_cell(table, row, "example"));
    gallery_verdict(page, run, run_cell(table, row, "label"), run_cell(table, row, "prediction"));
    number_format(run_number(table, row, "loss"), loss);
    text_format(page, "<span>loss %s</span>", loss);
    gallery_identity(page, "span class=\"id\"", "span", run_cell(table, row, "example"));
    text_add(page, "</li>\n");
}

/* The heading of a gallery: rows of one kind and group follow each other. */
static void add_gallery_heading(text *page, const run *run, size_t row) {
    const int hardest = strcmp(run_cell(&run->worst, row, "kind"), "hardest") == 0;
    const char *value = run_cell(&run->worst, row, "value");
    text_add(page, hardest ? "<h3>Hardest" : "<h3>Most doubtful: the two likeliest classes are closest");
    if (*value) {
        text_add(page, " of ");
        html_escape(page, run_cell(&run->worst, row, "column"));
        text_add(page, " ");
        html_escape(page, value);
    }
    text_add(page, "</h3>\n<ul class=\"gallery named\">\n");
}

static int same_gallery(const run *run, size_t row) {
    return row > 0 && strcmp(run_cell(&run->worst, row, "kind"), run_cell(&run->worst, row - 1, "kind")) == 0 &&
           strcmp(run_cell(&run->worst, row, "value"), run_cell(&run->worst, row - 1, "value")) == 0;
}

static void add_galleries(text *page, const runs *runs, const run *run) {
    if (!run->worst.data.rows) return;
    if (runs->count > 1)
        text_add(page, "<details><summary>Pictures of "), html_escape(page, run->name), text_add(page, "</summary>\n");
    for (size_t row = 0; row < run->worst.data.rows; row++) {
        if (!same_gallery(run, row)) {
            if (row) text_add(page, "</ul>\n");
            add_gallery_heading(page, run, row);
        }
        add_card(page, run, row);
    }
    text_add(page, runs->count > 1 ? "</ul></details>\n" : "</ul>\n");
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* NaN: a run without an evaluation, or whose patients have one example each. */
static double patients_of(const run *run) {
    const run_table *strata = &run->strata;
    const double patients = strata->data.rows ? run_number(strata, 0, "patients") : (double)NAN;
    return patients < run_number(strata, 0, "examples") ? patients : (double)NAN;
}

static int have_same_patients(const runs *runs) {
    for (size_t r = 1; r < runs->count; r++)
        if (patients_of(&runs->all[r]) != patients_of(&runs->all[0])) return 0;
    return 1;
}

/* Where patients have several examples, intervals are wider than the number of examples suggests. */
static void tell_patients(text *page, const runs *runs) {
    const int once = have_same_patients(runs);
    for (size_t r = 0; r < (once ? 1 : runs->count); r++) {
        const double patients = patients_of(&runs->all[r]);
        if (isnan(patients)) continue;
        const int few = patients < STATISTICS_INTERVAL_CASES;
        text_format(page, "<p class=\"note\">%s%s", few ? "There are no intervals" : "The intervals",
                    once ? "" : " of ");
        if (!once) html_escape(page, runs->all[r].name);
        if (few)
            text_format(page, ": the examples are of %.0f patient%s, and %d are needed.</p>\n", patients,
                        patients == 1 ? "" : "s", (int)STATISTICS_INTERVAL_CASES);
        else text_format(page, " are by resampling %.0f patients: some have more than one example.</p>\n", patients);
    }
}

void groups_section(text *page, const runs *runs) {
    size_t evaluated = 0;
    for (size_t r = 0; r < runs->count; r++) evaluated += has_evaluation(&runs->all[r]) ? 1 : 0;
    if (!evaluated) return; /* a classifier that hws evaluate has not seen, or a segmentation */
    section_open(page, runs, "The test examples, by group and class",
                 "From hws evaluate, with the weights that are kept; 95 % intervals in brackets.", 1);
    tell_patients(page, runs);
    add_scores(page, runs);
    class_table(page, runs);
    text_add(page, "<div class=\"panels\">\n");
    roc_charts(page, runs);
    add_reliability(page, runs);
    for (size_t r = 0; r < runs->count; r++) add_confusion(page, runs, &runs->all[r]);
    text_add(page, "</div>\n");
    add_curves(page, runs);
    for (size_t r = 0; r < runs->count; r++) add_galleries(page, runs, &runs->all[r]);
    section_close(page);
}
