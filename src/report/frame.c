/* What all charts share: axes, headings, explanations, tables. */
#include "report/chart.h"
#include "report/html.h"

#include <math.h>
#include <string.h>

frame frame_usual(const char *label, const char *x_title, scale x, scale y, chart_unit y_unit) {
    return (frame){.label = label,
                   .x_title = x_title,
                   .x = x,
                   .y = y,
                   .y_unit = y_unit,
                   .width = 360,
                   .height = 220,
                   .left = 46,
                   .right = 350,
                   .top = 8,
                   .bottom = 180,
                   .hover = 1};
}

double frame_x(const frame *frame, double value) { return scale_place(&frame->x, value, frame->left, frame->right); }
double frame_y(const frame *frame, double value) { return scale_place(&frame->y, value, frame->bottom, frame->top); }

/* Shares are stored as such and shown in per cent, so their ticks are labelled on a scale of a hundred. */
static void tick_label(const scale *axis, chart_unit unit, double tick, char label[NUMBER_SIZE]) {
    scale shown = *axis;
    const double factor = unit == UNIT_PERCENT ? 100 : 1;
    shown.step *= factor;
    scale_label(&shown, tick * factor, label);
    if (unit == UNIT_PERCENT) strcat(label, "%");
}

static void add_y_axis(text *page, const frame *frame) {
    double ticks[SCALE_MAX_TICKS];
    char label[NUMBER_SIZE];
    const int count = scale_ticks(&frame->y, ticks);
    for (int k = 0; k < count; k++) {
        const double y = frame_y(frame, ticks[k]);
        tick_label(&frame->y, frame->y_unit, ticks[k], label);
        text_format(page,
                    "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text x=\"%.1f\" y=\"%.1f\" class=\"end\">%s</text>",
                    frame->left, y, frame->right, frame->left - 7, y + 4, label);
    }
}

static void add_x_axis(text *page, const frame *frame) {
    double ticks[SCALE_MAX_TICKS];
    char label[NUMBER_SIZE];
    const int count = scale_ticks(&frame->x, ticks);
    text_format(page, "<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/>", frame->left, frame->bottom, frame->right);
    for (int k = 0; k < count; k++) {
        const double x = frame_x(frame, ticks[k]);
        tick_label(&frame->x, frame->x_unit, ticks[k], label);
        text_format(page,
                    "<path class=\"axis\" d=\"M%.1f %.1fv4\"/><text x=\"%.1f\" y=\"%.1f\" class=\"mid\">%s</text>", x,
                    frame->bottom, x, frame->bottom + 17, label);
    }
    text_format(page, "<text x=\"%.1f\" y=\"%.1f\" class=\"mid name\">%s</text>", (frame->left + frame->right) / 2,
                frame->bottom + 33, frame->x_title);
}

void frame_open(text *page, const frame *frame) {
    text_format(page, "<svg class=\"chart%s\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"",
                frame->hover ? " hover" : "", frame->width, frame->height);
    html_escape(page, frame->label);
    if (frame->hover) text_add(page, "\" data-axis=\""), html_escape(page, frame->x_title);
    text_add(page, "\">");
    if (frame->y.step > 0) add_y_axis(page, frame);
    add_x_axis(page, frame);
}

void frame_close(text *page, const frame *frame) {
    if (frame->hover)
        text_format(page, "<path class=\"guide\" d=\"M0 %.1fV%.1f\" hidden=\"\"/>", frame->top, frame->bottom);
    text_add(page, "</svg>\n");
}

void figure_open(text *page, const char *title) {
    text_add(page, "<figure><h3>");
    html_escape(page, title);
    text_add(page, "</h3>\n");
}

void figure_close(text *page, const char *explanation) {
    if (explanation) {
        text_add(page, "<figcaption>");
        html_escape(page, explanation);
        text_add(page, "</figcaption>");
    }
    text_add(page, "</figure>\n");
}

void figure_table_open(text *page, int unfolded) {
    text_format(page,
                "<details class=\"numbers\"%s><summary>Numbers</summary><div class=\"scroll\" tabindex=\"0\"><table>",
                unfolded ? " open" : "");
}

void figure_table_close(text *page) { text_add(page, "</table></div></details>"); }

void unit_format(chart_unit unit, double value, char label[NUMBER_SIZE]) {
    if (unit == UNIT_PERCENT) number_percent(value, label);
    else number_format(value, label);
}
