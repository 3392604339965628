#include "report/chart.h"
#include "report/html.h"
#include "report/style.h"

#include <math.h>

static const char *const QUANTILE_NAMES[QUANTILES] = {"lowest", "5 %", "25 %", "median", "75 %", "95 %", "highest"};
enum { MOST_TABLE_ROWS = 120 };

static int is_drawn(const band_chart *chart, size_t k) {
    for (int q = 0; q < QUANTILES; q++)
        if (!isfinite(chart->quantiles[q][k])) return 0;
    return isfinite(chart->x[k]);
}

static void add_band(text *page, const frame *frame, const band_chart *chart, int low, int high) {
    text_format(page, "<path class=\"band q%d\" d=\"", low);
    char pen = 'M';
    for (size_t k = 0; k < chart->count; k++, pen = 'L')
        text_format(page, "%c%.1f %.1f", pen, frame_x(frame, chart->x[k]), frame_y(frame, chart->quantiles[high][k]));
    for (size_t k = chart->count; k-- > 0;)
        text_format(page, "L%.1f %.1f", frame_x(frame, chart->x[k]), frame_y(frame, chart->quantiles[low][k]));
    text_add(page, "z\"/>");
}

static void add_line(text *page, const frame *frame, const band_chart *chart, int quantile, const char *kind) {
    text_format(page, "<path class=\"line %s\" d=\"", kind);
    char pen = 'M';
    for (size_t k = 0; k < chart->count; k++, pen = 'L')
        text_format(page, "%c%.1f %.1f", pen, frame_x(frame, chart->x[k]),
                    frame_y(frame, chart->quantiles[quantile][k]));
    text_add(page, "\"/>");
    for (size_t k = 0; k < chart->count && chart->count == 1; k++)
        style_marker(page, 0, frame_x(frame, chart->x[k]), frame_y(frame, chart->quantiles[quantile][k]), 2.8, NULL);
}

/* For the script: the quantiles of interest, highest first, as they lie in the picture. */
static void add_hover(text *page, const frame *frame, const band_chart *chart, int quantile) {
    char label[NUMBER_SIZE];
    text_format(page, "<g class=\"series s%d\" data-name=\"%s\" data-e=\"", style_colour(chart->style),
                QUANTILE_NAMES[quantile]);
    for (size_t k = 0; k < chart->count; k++) text_format(page, "%s%.10g", k ? "|" : "", chart->x[k]);
    text_add(page, "\" data-x=\"");
    for (size_t k = 0; k < chart->count; k++) text_format(page, "%s%.1f", k ? "|" : "", frame_x(frame, chart->x[k]));
    text_add(page, "\" data-y=\"");
    for (size_t k = 0; k < chart->count; k++)
        text_format(page, "%s%.1f", k ? "|" : "", frame_y(frame, chart->quantiles[quantile][k]));
    text_add(page, "\" data-t=\"");
    for (size_t k = 0; k < chart->count; k++) {
        number_format(chart->quantiles[quantile][k], label);
        text_format(page, "%s%s", k ? "|" : "", label);
    }
    text_add(page, "\"></g>");
}

static void add_table(text *page, const band_chart *chart) {
    char label[NUMBER_SIZE];
    figure_table_open(page, 0);
    text_format(page, "<tr><th scope=\"col\">%s</th>", chart->x_title);
    for (int q = 0; q < QUANTILES; q++) text_format(page, "<th scope=\"col\">%s</th>", QUANTILE_NAMES[q]);
    text_add(page, "</tr>");
    const size_t every = 1 + chart->count / MOST_TABLE_ROWS;
    for (size_t k = 0; k < chart->count; k++) {
        if (k % every && k + 1 < chart->count) continue;
        number_format(chart->x[k], label);
        text_format(page, "<tr><th scope=\"row\">%s</th>", label);
        for (int q = 0; q < QUANTILES; q++) {
            number_format(chart->quantiles[q][k], label);
            text_format(page, "<td>%s</td>", label);
        }
        text_add(page, "</tr>");
    }
    figure_table_close(page);
}

static void add_picture(text *page, const band_chart *chart) {
    const frame frame = frame_usual(chart->label, chart->x_title, scale_whole(chart->x[0], chart->x[chart->count - 1]),
                                    chart->scale, UNIT_NUMBER);
    frame_open(page, &frame);
    text_format(page, "<g class=\"s%d\">", style_colour(chart->style));
    add_band(page, &frame, chart, 0, 6);
    add_band(page, &frame, chart, 1, 5);
    add_band(page, &frame, chart, 2, 4);
    add_line(page, &frame, chart, 6, "edge");
    add_line(page, &frame, chart, 3, "");
    text_add(page, "</g>");
    for (int q = QUANTILES; q-- > 0;) add_hover(page, &frame, chart, q);
    frame_close(page, &frame);
}

void band_chart_write(text *page, const band_chart *chart) {
    size_t drawn = 0;
    while (drawn < chart->count && is_drawn(chart, drawn)) drawn++;
    band_chart known = *chart; /* up to the first gap */
    known.count = drawn;
    figure_open(page, chart->title);
    if (drawn) {
        add_picture(page, &known);
        add_table(page, &known);
    } else {
        text_add(page, "<p class=\"note\">No numbers were recorded.</p>");
    }
    figure_close(page, chart->explanation);
}
