/* How scores spread over the cases of each group, one box plot per label, as in the paper's Figure 4. */
#include "core/natural_order.h"
#include "core/patient_column.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/section.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LABELS = 20, MOST_GROUPS = 30, MOST_COLUMNS = 8 };

typedef struct words {
    const char *all[MOST_GROUPS];
    size_t count, limit;
} words;

/* Words beyond the limit stay out. */
static void words_add(words *words, const char *word) {
    for (size_t k = 0; k < words->count; k++)
        if (strcmp(words->all[k], word) == 0) return;
    if (words->count < words->limit) words->all[words->count++] = word;
}

static int has_own_groups(const run *run) {
    return csv_column(&run->groups.data, "case") == 0 && run->groups.data.columns > 1;
}

/* The columns of groups: groups.csv's if it is there, else those of cases.csv (case, label, key, groups, measures from
   Dice on). Patients are no groups. */
static void collect_columns(const run *run, words *columns) {
    static const char *const OTHERS[] = {"case", "label", "key"};
    const csv *table = has_own_groups(run) ? &run->groups.data : &run->cases.data;
    const long end = has_own_groups(run) ? (long)table->columns : csv_column(table, "Dice");
    for (long k = 0; k < end; k++) {
        int other = 0;
        for (size_t j = 0; j < sizeof OTHERS / sizeof *OTHERS; j++)
            other |= strcmp(csv_name(table, (size_t)k), OTHERS[j]) == 0;
        other |= k == patient_column_of_csv(table);
        if (!other) words_add(columns, csv_name(table, (size_t)k));
    }
}

/* The group of a case by a column of groups.csv. */
static const char *listed_group(const csv *groups, const char *name, size_t column) {
    for (size_t row = 0; row < groups->rows; row++)
        if (strcmp(csv_cell(groups, row, 0), name) == 0) return csv_cell(groups, row, column);
    return "";
}

static const char *group_of(const run *run, size_t row, const char *column) {
    const int own = has_own_groups(run);
    const long at = csv_column(own ? &run->groups.data : &run->cases.data, column);
    const char *group = "";
    if (!*column) return "all cases";
    if (at >= 0 && own) group = listed_group(&run->groups.data, run_cell(&run->cases, row, "case"), (size_t)at);
    else if (at >= 0) group = csv_cell(&run->cases.data, row, (size_t)at);
    return *group ? group : "no group";
}

/* The group of each row of cases.csv, looked up once. The caller frees the list; NULL when memory ran out. */
static const char **groups_of_rows(const run *run, const char *column) {
    const size_t rows = run->cases.data.rows;
    const char **groups = malloc((rows + 1) * sizeof *groups);
    if (!groups) return NULL;
    for (size_t row = 0; row < rows; row++) {
        const char *name = run_cell(&run->cases, row, "case");
        const int again = row > 0 && strcmp(name, run_cell(&run->cases, row - 1, "case")) == 0;
        groups[row] = again ? groups[row - 1] : group_of(run, row, column);
    }
    return groups;
}

static void collect(const run *run, const char *const *groups_of, words *labels, words *groups) {
    for (size_t row = 0; row < run->cases.data.rows; row++) {
        words_add(labels, run_cell(&run->cases, row, "label"));
        words_add(groups, groups_of[row]);
    }
}

static box_values values_of(const run *run, const char *const *groups_of, const char *label, const char *group,
                            double *values, const char **names) {
    box_values box = {.values = values, .names = names};
    for (size_t row = 0; row < run->cases.data.rows; row++) {
        if (strcmp(groups_of[row], group) != 0 || strcmp(run_cell(&run->cases, row, "label"), label) != 0) continue;
        values[box.count] = run_number(&run->cases, row, "Dice");
        names[box.count++] = run_cell(&run->cases, row, "case");
    }
    return box;
}

#define BOXES_EXPLAINED                                                                                                \
    "The box holds the middle half of the cases, its line is the median, dots are cases far from the others"

static int write_label(text *page, const runs *runs, const char *const *const *groups_of, const char *label,
                       const words *groups) {
    size_t most = 1;
    for (size_t r = 0; r < runs->count; r++) most += runs->all[r].cases.data.rows;
    box_values *boxes = malloc(groups->count * runs->count * sizeof *boxes);
    double *values = malloc(most * sizeof *values);
    const char **names = malloc(most * sizeof *names);
    int good = boxes && values && names;
    size_t used = 0; /* each case has one group, so that all boxes of a label fit into one array */
    for (size_t b = 0; good && b < groups->count * runs->count; b++) {
        const size_t r = b % runs->count;
        boxes[b] =
            values_of(&runs->all[r], groups_of[r], label, groups->all[b / runs->count], values + used, names + used);
        used += boxes[b].count;
    }
    char title[120];
    snprintf(title, sizeof title, "Dice score of %.80s", *label ? label : "all labels");
    const box_plot plot = {.title = title,
                           .explanation = runs->count > 1 ? BOXES_EXPLAINED "; runs come in the order of the legend."
                                                          : BOXES_EXPLAINED ".",
                           .x_title = "Dice score",
                           .rows = groups->count,
                           .runs = runs->count,
                           .row_names = groups->all,
                           .run_names = runs->names,
                           .styles = runs->styles,
                           .boxes = boxes,
                           .unit = UNIT_PERCENT,
                           .floor = 0,
                           .ceiling = 1};
    good = good && box_plot_write(page, &plot);
    free(boxes);
    free(values);
    free(names);
    return good;
}

static int naturally(const void *a, const void *b) {
    return natural_compare(*(const char *const *)a, *(const char *const *)b);
}

static int alphabetical(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* How many different words there are; puts them into order. */
static size_t count_different(const char **all, size_t count) {
    size_t different = count > 0;
    qsort(all, count, sizeof *all, alphabetical);
    for (size_t k = 1; k < count; k++) different += strcmp(all[k - 1], all[k]) != 0;
    return different;
}

static void tell_left_out(text *page, size_t shown, size_t of, const char *kind) {
    if (of > shown)
        text_format(page, "<p class=\"note\">%zu %s%s left out: the figures have the first %zu of %zu.</p>\n",
                    of - shown, kind, of - shown > 1 ? "s are" : " is", shown, of);
}

/* What the figures have no room for. */
static void write_left_out(text *page, const runs *runs, const char *const *const *groups_of, const words *labels,
                           const words *groups) {
    size_t rows = 0, at = 0;
    for (size_t r = 0; r < runs->count; r++) rows += runs->all[r].cases.data.rows;
    const char **all = malloc(2 * (rows + 1) * sizeof *all), **of_groups = all ? all + rows : NULL;
    if (!all) {
        page->failed = 1;
        return;
    }
    for (size_t r = 0; r < runs->count; r++)
        for (size_t row = 0; row < runs->all[r].cases.data.rows; row++, at++) {
            all[at] = run_cell(&runs->all[r].cases, row, "label");
            of_groups[at] = groups_of[r][row];
        }
    tell_left_out(page, labels->count, count_different(all, rows), "label");
    tell_left_out(page, groups->count, count_different(of_groups, rows), "group");
    free(all);
}

/* One column of groups; `heading` if there are several. */
static void write_labels(text *page, const runs *runs, const char *const *const *groups_of, const char *heading) {
    words labels = {.limit = MOST_LABELS}, groups = {.limit = MOST_GROUPS};
    for (size_t r = 0; r < runs->count; r++) collect(&runs->all[r], groups_of[r], &labels, &groups);
    qsort(groups.all, groups.count, sizeof *groups.all, naturally);
    if (heading) {
        text_add(page, "<h3>By ");
        html_escape(page, heading);
        text_add(page, "</h3>\n");
    }
    write_left_out(page, runs, groups_of, &labels, &groups);
    text_add(page, "<div class=\"panels\">\n");
    for (size_t k = 0; k < labels.count; k++)
        if (!write_label(page, runs, groups_of, labels.all[k], &groups)) page->failed = 1;
    text_add(page, "</div>\n");
}

static void write_column(text *page, const runs *runs, const char *column, int several) {
    const char ***groups_of = calloc(runs->count, sizeof *groups_of);
    int good = groups_of != NULL;
    for (size_t r = 0; good && r < runs->count; r++)
        good = (groups_of[r] = groups_of_rows(&runs->all[r], column)) != NULL;
    if (good) write_labels(page, runs, (const char *const *const *)groups_of, several ? column : NULL);
    else page->failed = 1;
    for (size_t r = 0; groups_of && r < runs->count; r++) free(groups_of[r]);
    free(groups_of);
}

void cases_section(text *page, const runs *runs) {
    words columns = {.limit = MOST_COLUMNS};
    size_t rows = 0;
    for (size_t r = 0; r < runs->count; r++) {
        rows += runs->all[r].cases.data.rows;
        if (runs->all[r].cases.data.rows) collect_columns(&runs->all[r], &columns);
    }
    if (rows == 0) return; /* only evaluated segmentations have cases */
    if (columns.count == 0) words_add(&columns, "");
    section_open(page, runs, "Every group of cases",
                 "How the scores spread over the cases of each group: what counts is how far the boxes and dots reach "
                 "to the left.",
                 1);
    for (size_t k = 0; k < columns.count; k++) write_column(page, runs, columns.all[k], columns.count > 1);
    section_close(page);
}
