#include "report/roc_charts.h"

#include "report/chart.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CURVES = 6, POINTS = 256 };

typedef struct curves {
    double x[REPORT_MAX_RUNS][POINTS], y[REPORT_MAX_RUNS][POINTS];
    series lines[REPORT_MAX_RUNS + 1];
    size_t count;
} curves;

static void add_curve(curves *all, const run *run, const char *name) {
    const size_t at = all->count;
    size_t known = 0;
    if (at == REPORT_MAX_RUNS) return;
    for (size_t row = 0; row < run->roc.data.rows && known < POINTS; row++) {
        if (strcmp(run_cell(&run->roc, row, "class"), name) != 0) continue;
        all->x[at][known] = 100 * (1 - run_number(&run->roc, row, "specificity"));
        all->y[at][known++] = run_number(&run->roc, row, "sensitivity");
    }
    if (known)
        all->lines[all->count++] =
            (series){.name = run->name, .style = run->style, .count = known, .x = all->x[at], .y = all->y[at]};
}

static void add_chart(text *page, const runs *runs, const char *name) {
    static const double X[] = {0, 100}, Y[] = {0, 1};
    curves *all = calloc(1, sizeof *all);
    text title = {0};
    text_format(&title, "ROC curve of %s", name);
    for (size_t r = 0; all && r < runs->count; r++) add_curve(all, &runs->all[r], name);
    if (all && all->count) {
        all->lines[all->count] = (series){.name = "guessing", .style = 7, .count = 2, .x = X, .y = Y};
        line_chart_write(page, &(line_chart){.title = text_string(&title),
                                             .explanation = "What each threshold of its probability gives: how many "
                                                            "examples of the class are found, and how many others are "
                                                            "taken for it.",
                                             .x_title = "others taken for it, % (100 - specificity)",
                                             .unit = UNIT_PERCENT,
                                             .floor = 0,
                                             .ceiling = 1,
                                             .series = all->lines,
                                             .count = all->count + 1});
    }
    page->failed |= !all || title.failed;
    text_close(&title);
    free(all);
}

void roc_charts(text *page, const runs *runs) {
    const run *first = NULL;
    for (size_t r = 0; r < runs->count && !first; r++)
        if (runs->all[r].roc.data.rows) first = &runs->all[r];
    if (!first) return;
    size_t count = 0;
    const char **names = run_values(&first->roc, "class", &count);
    for (size_t k = 0; names && k < count && count <= MOST_CURVES; k++) add_chart(page, runs, names[k]);
    free(names);
}
