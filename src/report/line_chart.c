#include "core/quantile.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/style.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_POINTS = 400, MOST_TOLD = 1000, MOST_MARKERS = 12, MOST_TABLE_ROWS = 120 };

static int is_drawn(const series *line, size_t k) { return isfinite(line->x[k]) && isfinite(line->y[k]); }

static void widen(double *low, double *high, double value) {
    if (!isfinite(value)) return;
    *low = fmin(*low, value);
    *high = fmax(*high, value);
}

static scale x_scale(const line_chart *chart) {
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (size_t s = 0; s < chart->count; s++)
        for (size_t k = 0; k < chart->series[s].count; k++)
            if (is_drawn(&chart->series[s], k)) widen(&low, &high, chart->series[s].x[k]);
    return scale_whole(low, high);
}

static scale y_scale(const line_chart *chart) {
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (size_t s = 0; s < chart->count; s++) {
        const series *line = &chart->series[s];
        for (size_t k = 0; k < line->count; k++) {
            if (!is_drawn(line, k)) continue;
            widen(&low, &high, line->y[k]);
            if (line->low) widen(&low, &high, line->low[k]);
            if (line->high) widen(&low, &high, line->high[k]);
        }
    }
    if (chart->logarithmic && high > 0) return scale_logarithmic(low, high, 6);
    scale y = scale_round(low, high);
    if (y.low < chart->floor) y.low = fmin(chart->floor, low);
    if (y.high > chart->ceiling) y.high = fmax(chart->ceiling, high);
    return y;
}

/* Long runs have more points than pixels: of each bucket the lowest and the highest stay, so that peaks do. */
static size_t bucket_size(const series *line) {
    return 1 + line->count / (MOST_POINTS / 2) * (line->count > MOST_POINTS);
}

static int stays(const series *line, size_t k) {
    const size_t size = bucket_size(line), first = k / size * size;
    const size_t end = first + size < line->count ? first + size : line->count;
    if (size == 1 || k + 1 == line->count) return 1;
    size_t lowest = first, highest = first;
    for (size_t j = first; j < end; j++) {
        if (!is_drawn(line, j)) return 1;
        if (line->y[j] < line->y[lowest]) lowest = j;
        if (line->y[j] > line->y[highest]) highest = j;
    }
    return k == lowest || k == highest;
}

static void add_band(text *page, const frame *frame, const series *line) {
    if (!line->low || !line->high) return;
    size_t begin = 0;
    while (begin < line->count) { /* one shape per stretch without gaps */
        size_t end = begin;
        while (end < line->count && is_drawn(line, end) && isfinite(line->low[end]) && isfinite(line->high[end])) end++;
        if (end > begin + 1) {
            text_add(page, "<path class=\"band\" d=\"");
            for (size_t k = begin; k < end; k++)
                text_format(page, "%c%.1f %.1f", k > begin ? 'L' : 'M', frame_x(frame, line->x[k]),
                            frame_y(frame, line->high[k]));
            for (size_t k = end; k-- > begin;)
                text_format(page, "L%.1f %.1f", frame_x(frame, line->x[k]), frame_y(frame, line->low[k]));
            text_add(page, "z\"/>");
        }
        begin = end + 1;
    }
}

static void add_path(text *page, const frame *frame, const series *line) {
    text_format(page, "<path class=\"line\" stroke-dasharray=\"%s\" d=\"", style_dash(line->style));
    int pen_down = 0;
    for (size_t k = 0; k < line->count; k++) {
        const int drawn = is_drawn(line, k);
        if (drawn && !stays(line, k)) continue;
        if (drawn)
            text_format(page, "%c%.1f %.1f", pen_down ? 'L' : 'M', frame_x(frame, line->x[k]),
                        frame_y(frame, line->y[k]));
        pen_down = drawn;
    }
    text_add(page, "\"/>");
}

/* Markers tell lines apart where dashes cannot: at each point of a short line, here and there on a long one, and
   wherever a point stands alone. */
static void add_markers(text *page, const frame *frame, const series *line) {
    const size_t every = (line->count + MOST_MARKERS - 1) / MOST_MARKERS;
    for (size_t k = 0; k < line->count; k++) {
        if (!is_drawn(line, k)) continue;
        const int alone = (k == 0 || !is_drawn(line, k - 1)) && (k + 1 == line->count || !is_drawn(line, k + 1));
        const int chosen = every <= 1 || k + 1 == line->count || k % every == (size_t)line->style * 5 % every;
        if (alone || chosen)
            style_marker(page, line->style, frame_x(frame, line->x[k]), frame_y(frame, line->y[k]), 2.8, NULL);
    }
}

/* ---- places on the x axis, of all series together ---------------------------------------------------------------- */

typedef struct places {
    double *x; /* ascending, each once */
    size_t count;
} places;

static int is_place(const places *places, double x) {
    size_t low = 0, high = places->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (places->x[middle] < x) low = middle + 1;
        else high = middle;
    }
    return low < places->count && places->x[low] == x;
}

/* Every so many of them and the last, so that no more than about `most` are left. */
static void thin(places *places, size_t most) {
    const size_t every = 1 + places->count / most;
    size_t left = 0;
    for (size_t k = 0; k < places->count; k++)
        if (k % every == 0 || k + 1 == places->count) places->x[left++] = places->x[k];
    places->count = left;
}

/* All of them, or those of points that stay. 0 when memory ran out. */
static int places_open(places *places, const line_chart *chart, int (*belongs)(const series *, size_t)) {
    size_t most = 1;
    for (size_t s = 0; s < chart->count; s++) most += chart->series[s].count;
    places->count = 0;
    places->x = malloc(most * sizeof *places->x);
    if (!places->x) return 0;
    for (size_t s = 0; s < chart->count; s++)
        for (size_t k = 0; k < chart->series[s].count; k++)
            if (belongs(&chart->series[s], k)) places->x[places->count++] = chart->series[s].x[k];
    sort_numbers(places->x, places->count);
    size_t left = 0;
    for (size_t k = 0; k < places->count; k++)
        if (!left || places->x[k] != places->x[left - 1]) places->x[left++] = places->x[k];
    places->count = left;
    return 1;
}

/* ---- what the script shows under the pointer --------------------------------------------------------------------- */

static int is_told(const series *line, size_t k) { return is_drawn(line, k) && stays(line, k); }

typedef enum hover_list { HOVER_KEY, HOVER_LABEL, HOVER_X, HOVER_Y, HOVER_VALUE, HOVER_LISTS } hover_list;

static void add_hover_item(text *page, const frame *frame, const series *line, size_t k, hover_list list) {
    char label[NUMBER_SIZE];
    if (list == HOVER_KEY) text_format(page, "%.10g", line->x[k]);
    if (list == HOVER_LABEL) number_format(line->x[k], label), text_add(page, label);
    if (list == HOVER_X) text_format(page, "%.1f", frame_x(frame, line->x[k]));
    if (list == HOVER_Y) text_format(page, "%.1f", frame_y(frame, line->y[k]));
    if (list == HOVER_VALUE) unit_format(frame->y_unit, line->y[k], label), text_add(page, label);
}

static int has_fractions(const series *line) {
    for (size_t k = 0; k < line->count; k++)
        if (is_drawn(line, k) && line->x[k] != floor(line->x[k])) return 1;
    return 0;
}

/* For each point what its x is, how that is written if it is no whole number, its place and its text. All series tell
   of the same x, so that the script finds them beside each other. */
static void add_hover(text *page, const frame *frame, const series *line, const places *told) {
    static const char *const NAMES[HOVER_LISTS] = {"data-e", "data-l", "data-x", "data-y", "data-t"};
    for (int list = 0; list < HOVER_LISTS; list++) {
        if (list == HOVER_LABEL && !has_fractions(line)) continue;
        text_format(page, " %s=\"", NAMES[list]);
        const char *separator = "";
        for (size_t k = 0; k < line->count; k++) {
            if (!is_drawn(line, k) || !is_place(told, line->x[k])) continue;
            text_add(page, separator);
            separator = "|";
            add_hover_item(page, frame, line, k, (hover_list)list);
        }
        text_add(page, "\"");
    }
}

static void add_series(text *page, const frame *frame, const series *line, const places *told) {
    text_format(page, "<g class=\"series s%d\" data-name=\"", style_colour(line->style));
    html_escape(page, line->name);
    text_add(page, "\"");
    add_hover(page, frame, line, told);
    text_add(page, ">");
    add_band(page, frame, line);
    add_path(page, frame, line);
    add_markers(page, frame, line);
    text_add(page, "</g>");
}

/* ---- its numbers ------------------------------------------------------------------------------------------------- */

static double value_at(const series *line, double x) {
    for (size_t k = 0; k < line->count; k++)
        if (line->x[k] == x) return line->y[k];
    return (double)NAN;
}

static int has_x(const series *line, size_t k) { return isfinite(line->x[k]); }

static void add_table_head(text *page, const line_chart *chart) {
    text_format(page, "<tr><th scope=\"col\">%s</th>", chart->x_title);
    for (size_t s = 0; s < chart->count; s++) {
        text_add(page, "<th scope=\"col\">");
        html_escape(page, chart->series[s].name);
        text_add(page, "</th>");
    }
    text_add(page, "</tr>");
}

/* A row for each x that any series has. */
static void add_table(text *page, const line_chart *chart) {
    char label[NUMBER_SIZE];
    places rows;
    if (!places_open(&rows, chart, has_x)) {
        page->failed = 1;
        return;
    }
    thin(&rows, MOST_TABLE_ROWS);
    figure_table_open(page, 0);
    add_table_head(page, chart);
    for (size_t k = 0; k < rows.count; k++) {
        number_format(rows.x[k], label);
        text_format(page, "<tr><th scope=\"row\">%s</th>", label);
        for (size_t s = 0; s < chart->count; s++) {
            unit_format(chart->unit, value_at(&chart->series[s], rows.x[k]), label);
            text_format(page, "<td>%s</td>", label);
        }
        text_add(page, "</tr>");
    }
    figure_table_close(page);
    free(rows.x);
}

void line_chart_write(text *page, const line_chart *chart) {
    const frame frame = frame_usual(chart->title, chart->x_title, x_scale(chart), y_scale(chart), chart->unit);
    places told;
    if (!places_open(&told, chart, is_told)) {
        page->failed = 1;
        return;
    }
    thin(&told, MOST_TOLD);
    figure_open(page, chart->title);
    frame_open(page, &frame);
    for (size_t s = 0; s < chart->count; s++) add_series(page, &frame, &chart->series[s], &told);
    frame_close(page, &frame);
    add_table(page, chart);
    figure_close(page, chart->explanation);
    free(told.x);
}
