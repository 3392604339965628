#include "core/utf8.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/style.h"

#include <math.h>
#include <string.h>

static double row_height(const dot_chart *chart) { return fmax(22, 10 + 4 * (double)chart->runs); }

static scale x_scale(const dot_chart *chart) {
    double low = 1, high = 0;
    for (size_t k = 0; k < chart->rows * chart->runs; k++) {
        if (!isfinite(chart->values[k])) continue;
        low = fmin(low, chart->values[k]);
        high = fmax(high, chart->values[k]);
    }
    if (low > high) low = 0, high = 1;
    scale x = scale_round(low, fmax(high, low + 0.01));
    if (x.low < 0) x.low = fmin(0, low);
    if (x.high > 1) x.high = fmax(1, high);
    return x;
}

/* Room for the longest name, within reason. */
static double name_width(const dot_chart *chart) {
    size_t longest = 0;
    for (size_t row = 0; row < chart->rows; row++) {
        size_t length = strlen(chart->row_names[row]);
        if (chart->row_marks[row]) length += strlen(chart->row_marks[row]) + 1;
        longest = length > longest ? length : longest;
    }
    return fmin(fmax(30, 14 + 6.2 * (double)longest), 130);
}

/* Names longer than the room get an ellipsis; the tooltip and the table have them in full. */
static void add_name(text *page, const dot_chart *chart, const frame *frame, size_t row, double y) {
    char shown[24];
    const char *name = chart->row_names[row];
    const size_t length = strlen(name), fit = length > 18 ? utf8_whole(name, 17) : length;
    memcpy(shown, name, fit);
    strcpy(shown + fit, name[fit] ? "\xE2\x80\xA6" : "");
    text_format(page, "<text x=\"%.1f\" y=\"%.1f\" class=\"end%s\">", frame->left - 7, y + 4,
                chart->row_marks[row] ? " marked" : "");
    html_escape(page, shown);
    if (chart->row_marks[row]) {
        text_add(page, "<tspan class=\"mark-word\"> ");
        html_escape(page, chart->row_marks[row]);
        text_add(page, "</tspan>");
    }
    text_add(page, "</text>");
}

static void add_dot(text *page, const dot_chart *chart, const frame *frame, size_t row, size_t k, double y) {
    const double value = chart->values[row * chart->runs + k];
    if (!isfinite(value)) return;
    char label[NUMBER_SIZE];
    text title = {0};
    number_percent(value, label);
    html_escape(&title, chart->run_names[k]);
    text_add(&title, ", ");
    html_escape(&title, chart->row_names[row]);
    text_format(&title, ": %s", label);
    const double spread = fmin(4, (row_height(chart) - 8) / (double)chart->runs);
    const double offset = ((double)k - (double)(chart->runs - 1) / 2) * spread;
    text_format(page, "<g class=\"s%d\">", style_colour(chart->styles[k]));
    style_marker(page, chart->styles[k], frame_x(frame, value), y + offset, 4, text_string(&title));
    text_add(page, "</g>");
    page->failed |= title.failed;
    text_close(&title);
}

static void add_row(text *page, const dot_chart *chart, const frame *frame, size_t row) {
    const double y = frame->top + row_height(chart) * ((double)row + 0.5);
    text_format(page, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", frame->left, y, frame->right);
    add_name(page, chart, frame, row, y);
    for (size_t k = 0; k < chart->runs; k++) add_dot(page, chart, frame, row, k, y);
}

static void add_table(text *page, const dot_chart *chart) {
    char label[NUMBER_SIZE];
    figure_table_open(page, 1);
    text_add(page, "<tr><th></th>");
    for (size_t k = 0; k < chart->runs; k++) {
        text_add(page, "<th scope=\"col\">");
        html_escape(page, chart->run_names[k]);
        text_add(page, "</th>");
    }
    text_add(page, "</tr>");
    for (size_t row = 0; row < chart->rows; row++) {
        text_format(page, "<tr%s><th scope=\"row\">", chart->row_marks[row] ? " class=\"marked\"" : "");
        html_escape(page, chart->row_names[row]);
        if (chart->row_marks[row]) {
            text_add(page, " (");
            html_escape(page, chart->row_marks[row]);
            text_add(page, ")");
        }
        text_add(page, "</th>");
        for (size_t k = 0; k < chart->runs; k++) {
            number_percent(chart->values[row * chart->runs + k], label);
            text_format(page, "<td>%s</td>", label);
        }
        text_add(page, "</tr>");
    }
    figure_table_close(page);
}

void dot_chart_write(text *page, const dot_chart *chart) {
    const double height = row_height(chart) * (double)chart->rows;
    const frame frame = {.label = chart->title,
                         .x_title = chart->x_title,
                         .x = x_scale(chart),
                         .x_unit = UNIT_PERCENT,
                         .width = 360,
                         .height = height + 50,
                         .left = name_width(chart),
                         .right = 346,
                         .top = 8,
                         .bottom = height + 10};
    figure_open(page, chart->title);
    frame_open(page, &frame);
    for (size_t row = 0; row < chart->rows; row++) add_row(page, chart, &frame, row);
    frame_close(page, &frame);
    add_table(page, chart);
    figure_close(page, chart->explanation);
}
