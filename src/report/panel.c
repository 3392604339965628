#include "report/panel.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_ROWS = 20000 };

typedef struct lines {
    series *series;
    double *numbers; /* x, y, low and high of all series, one after the other */
    size_t count;
} lines;

static size_t step_of(const run *run) { return 1 + run->history.data.rows / MOST_ROWS; }
static size_t points_of(const run *run) { return (run->history.data.rows + step_of(run) - 1) / step_of(run); }

/* An empty cell was not measured: the line goes on to the next one that was. (A NaN is a measurement, and a gap.) */
static int is_measured(const run *run, size_t row, const char *column) {
    const long k = csv_column(&run->history.data, column);
    return k >= 0 && *csv_cell(&run->history.data, row, (size_t)k);
}

static double divisor(const run *run, const panel *panel) {
    return panel->per ? run_setting_number(run, panel->per) : 1;
}

/* No floor if any run goes below it, as losses with a Dice term do: bands then have their full width everywhere. */
static double floor_of(const runs *runs, const panel *panel) {
    for (size_t r = 0; r < runs->count; r++) {
        const run *run = &runs->all[r];
        for (size_t row = 0; row < run->history.data.rows; row += step_of(run))
            if (run_number(&run->history, row, panel->column) / divisor(run, panel) < panel->floor) return (double)NAN;
    }
    return panel->floor;
}

/* Fills one series; returns whether it has a point to draw. */
static int fill(series *line, double *numbers, const run *run, const panel *panel, double floor) {
    const size_t points = points_of(run), step = step_of(run);
    double *x = numbers, *y = x + points, *low = y + points, *high = low + points;
    const double per = divisor(run, panel);
    size_t count = 0;
    int any = 0;
    for (size_t row = 0; row < run->history.data.rows; row += step) {
        if (!is_measured(run, row, panel->column)) continue;
        const double value = run_number(&run->history, row, panel->column) / per;
        const double spread = panel->spread ? run_number(&run->history, row, panel->spread) / per : 0;
        x[count] = run_number(&run->history, row, "epoch");
        y[count] = value;
        low[count] = isnan(floor) ? value - spread : fmax(value - spread, floor);
        high[count] = value + spread;
        any |= isfinite(x[count]) && isfinite(y[count]);
        count++;
    }
    *line = (series){.name = run->name,
                     .style = run->style,
                     .count = count,
                     .x = x,
                     .y = y,
                     .low = panel->spread ? low : NULL,
                     .high = panel->spread ? high : NULL};
    return any;
}

static int lines_open(lines *lines, const runs *runs, const panel *panel, double floor) {
    size_t points = 1;
    for (size_t r = 0; r < runs->count; r++) points += points_of(&runs->all[r]);
    lines->count = 0;
    lines->series = malloc(runs->count * sizeof *lines->series);
    lines->numbers = malloc(points * 4 * sizeof *lines->numbers);
    if (!lines->series || !lines->numbers) return 0;
    double *numbers = lines->numbers;
    for (size_t r = 0; r < runs->count; r++) {
        lines->count += (size_t)fill(&lines->series[lines->count], numbers, &runs->all[r], panel, floor);
        numbers += 4 * points_of(&runs->all[r]);
    }
    return 1;
}

int panel_write(text *page, const runs *runs, const panel *panel) {
    lines lines;
    const double floor = floor_of(runs, panel);
    const int good = lines_open(&lines, runs, panel, floor);
    if (!good) page->failed = 1;
    if (good && lines.count > 0) {
        const line_chart chart = {.title = panel->title,
                                  .explanation = panel->explanation,
                                  .x_title = "epoch",
                                  .unit = panel->unit,
                                  .floor = floor,
                                  .ceiling = panel->ceiling,
                                  .logarithmic = panel->logarithmic,
                                  .series = lines.series,
                                  .count = lines.count};
        line_chart_write(page, &chart);
    }
    const int any = good && lines.count > 0;
    free(lines.series);
    free(lines.numbers);
    return any;
}
