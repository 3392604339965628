/* How well each class is done at the end, all runs beside each other. */
#include "report/chart.h"
#include "report/class_metric.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CLASSES = 60 };

typedef struct columns {
    const char *names[MOST_CLASSES], *marks[MOST_CLASSES];
    char words[MOST_CLASSES][NUMBER_SIZE];
    size_t rows;
    double *values;
} columns;

static double least_kept(const runs *runs, const char *class_key) {
    double kept = 1;
    for (size_t r = 0; r < runs->count; r++) kept = fmin(kept, run_kept(&runs->all[r], class_key));
    return kept;
}

static void mark_rare(columns *columns, size_t row, double kept) {
    number_share(kept, columns->words[row]);
    columns->marks[row] = columns->words[row];
}

typedef struct ranked {
    const char *key;
    double lowest; /* of all runs */
    size_t place;
} ranked;

static int by_lowest(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->lowest != y->lowest) return x->lowest < y->lowest ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* All classes in their order, or if they are too many, the worst first. The caller frees them; NULL: no memory. */
static ranked *rank(const runs *runs, const class_metric *metric) {
    ranked *classes = malloc((metric->count + 1) * sizeof *classes);
    for (size_t k = 0; k < metric->count && classes; k++) {
        classes[k] = (ranked){metric->classes[k], HUGE_VAL, k};
        for (size_t r = 0; r < runs->count; r++)
            classes[k].lowest = fmin(classes[k].lowest, class_metric_last(metric, &runs->all[r], metric->classes[k]));
    }
    if (classes && metric->count > MOST_CLASSES) qsort(classes, metric->count, sizeof *classes, by_lowest);
    return classes;
}

static int fill(columns *columns, const runs *runs, const class_metric *metric) {
    columns->rows = metric->count < MOST_CLASSES ? metric->count : MOST_CLASSES;
    columns->values = malloc((columns->rows * runs->count + 1) * sizeof *columns->values);
    ranked *classes = rank(runs, metric);
    if (!columns->values || !classes) return free(columns->values), free(classes), 0;
    for (size_t row = 0; row < columns->rows; row++) {
        const char *key = classes[row].key;
        columns->names[row] = class_metric_class_name(metric, runs, key);
        columns->marks[row] = NULL;
        const double kept = least_kept(runs, key);
        if (kept < 1) mark_rare(columns, row, kept);
        for (size_t r = 0; r < runs->count; r++)
            columns->values[row * runs->count + r] = class_metric_last(metric, &runs->all[r], key);
    }
    free(classes);
    return 1;
}

static int any_marked(const columns *columns) {
    for (size_t row = 0; row < columns->rows; row++)
        if (columns->marks[row]) return 1;
    return 0;
}

static void write_chart(text *page, const runs *runs, const class_metric *metric, const columns *columns) {
    char title[80], words[400];
    snprintf(title, sizeof title, "%s per %s at the end", metric->Name, metric->class_word);
    snprintf(words, sizeof words, "Each dot is a run after its last epoch; further right is better.%s",
             any_marked(columns) ? " The share behind a name in bold is what was kept of that class for training."
                                 : "");
    const dot_chart chart = {.title = title,
                             .explanation = words,
                             .x_title = metric->name,
                             .rows = columns->rows,
                             .runs = runs->count,
                             .row_names = columns->names,
                             .row_marks = columns->marks,
                             .run_names = runs->names,
                             .styles = runs->styles,
                             .values = columns->values};
    text_add(page, "<div class=\"panels wide\">\n");
    dot_chart_write(page, &chart);
    text_add(page, "</div>\n");
}

void classes_section(text *page, const runs *runs) {
    class_metric metric;
    if (!class_metric_open(&metric, runs)) {
        page->failed = 1;
        return;
    }
    columns columns;
    char title[64];
    snprintf(title, sizeof title, "Every %s", strchr(metric.class_word, ' ') ? "class and group" : metric.class_word);
    section_open(page, runs, title, "An average can hide that one of them is done badly. Here they are one by one.", 1);
    if (metric.count == 0)
        text_format(page, "<p class=\"note\">No run has recorded its %s per %s.</p>\n", metric.name, metric.class_word);
    else if (!fill(&columns, runs, &metric)) page->failed = 1;
    else write_chart(page, runs, &metric, &columns), free(columns.values);
    if (metric.count > MOST_CLASSES)
        text_format(page, "<p class=\"note\">The worst %d of %zu are shown, by the lowest of all runs.</p>\n",
                    MOST_CLASSES, metric.count);
    section_close(page);
    class_metric_close(&metric);
}
