#include "core/quantile.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/style.h"

#include <math.h>
#include <stdlib.h>

enum { BOX = 12, GAP = 4, HEADING = 20 }; /* heights of a box, between boxes, and of a group's name above its boxes */

box_numbers box_plot_numbers(const double *sorted, size_t count) {
    box_numbers box = {.first_quartile = quantile_of_sorted(sorted, count, 0.25),
                       .median = quantile_of_sorted(sorted, count, 0.5),
                       .third_quartile = quantile_of_sorted(sorted, count, 0.75)};
    const double reach = 1.5 * (box.third_quartile - box.first_quartile);
    size_t low = 0, high = count - 1;
    while (sorted[low] < box.first_quartile - reach) low++;
    while (sorted[high] > box.third_quartile + reach) high--;
    box.low_whisker = fmin(sorted[low], box.first_quartile);
    box.high_whisker = fmax(sorted[high], box.third_quartile);
    return box;
}

static scale x_scale(const box_plot *plot) {
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (size_t b = 0; b < plot->rows * plot->runs; b++)
        for (size_t k = 0; k < plot->boxes[b].count; k++) {
            const double value = plot->boxes[b].values[k];
            if (!isfinite(value)) continue;
            low = fmin(low, value);
            high = fmax(high, value);
        }
    if (low > high) low = 0, high = 1;
    scale x = scale_round(low, high);
    if (x.low < plot->floor) x.low = fmin(plot->floor, low);
    if (x.high > plot->ceiling) x.high = fmax(plot->ceiling, high);
    return x;
}

/* The finite values in order; NULL when there are none (`count` 0) or memory ran out. */
static double *sort_values(const box_values *box, size_t *count) {
    *count = 0;
    for (size_t k = 0; k < box->count; k++) *count += isfinite(box->values[k]) != 0;
    double *sorted = *count ? malloc(*count * sizeof *sorted) : NULL;
    if (!sorted) return NULL;
    *count = 0;
    for (size_t k = 0; k < box->count; k++)
        if (isfinite(box->values[k])) sorted[(*count)++] = box->values[k];
    sort_numbers(sorted, *count);
    return sorted;
}

static void add_outliers(text *page, const box_plot *plot, const frame *frame, const box_values *box,
                         const box_numbers *numbers, double y) {
    char label[NUMBER_SIZE];
    for (size_t k = 0; k < box->count; k++) {
        const double value = box->values[k];
        if (!isfinite(value) || (value >= numbers->low_whisker && value <= numbers->high_whisker)) continue;
        unit_format(plot->unit, value, label);
        text_format(page, "<circle class=\"outlier\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.2\"><title>", frame_x(frame, value),
                    y);
        if (box->names) html_escape(page, box->names[k]), text_add(page, ": ");
        text_format(page, "%s</title></circle>", label);
    }
}

static void add_box(text *page, const box_plot *plot, const frame *frame, size_t run, const box_numbers *n, double y) {
    const double low = frame_x(frame, n->low_whisker), high = frame_x(frame, n->high_whisker);
    const double first = frame_x(frame, n->first_quartile), third = frame_x(frame, n->third_quartile);
    char median[NUMBER_SIZE], from[NUMBER_SIZE], to[NUMBER_SIZE];
    unit_format(plot->unit, n->median, median);
    unit_format(plot->unit, n->first_quartile, from);
    unit_format(plot->unit, n->third_quartile, to);
    text_add(page, "<g><title>");
    html_escape(page, plot->run_names[run]);
    text_format(page, ": median %s, middle half %s to %s</title>", median, from, to);
    text_format(page, "<path class=\"whisker\" d=\"M%.1f %.1fH%.1fM%.1f %.1fH%.1fM%.1f %.1fv6M%.1f %.1fv6\"/>", low, y,
                first, third, y, high, low, y - 3, high, y - 3);
    text_format(page, "<rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>", first, y - BOX / 2.0,
                fmax(1, third - first), BOX);
    text_format(page, "<path class=\"median\" d=\"M%.1f %.1fv%d\"/></g>", frame_x(frame, n->median), y - BOX / 2.0,
                BOX);
}

static int add_run(text *page, const box_plot *plot, const frame *frame, size_t row, size_t run, double y) {
    const box_values *box = &plot->boxes[row * plot->runs + run];
    size_t count;
    double *sorted = sort_values(box, &count);
    if (!sorted) return count == 0;
    const box_numbers numbers = box_plot_numbers(sorted, count);
    text_format(page, "<g class=\"s%d\">", style_colour(plot->styles[run]));
    add_box(page, plot, frame, run, &numbers, y);
    add_outliers(page, plot, frame, box, &numbers, y);
    text_add(page, "</g>");
    free(sorted);
    return 1;
}

static double row_height(const box_plot *plot) { return HEADING + (double)plot->runs * (BOX + GAP) + 8; }

static int add_rows(text *page, const box_plot *plot, const frame *frame) {
    int good = 1;
    for (size_t row = 0; row < plot->rows; row++) {
        const double top = frame->top + (double)row * row_height(plot);
        text_format(page, "<text x=\"%.1f\" y=\"%.1f\" class=\"group\">", frame->left, top + 14);
        html_escape(page, plot->row_names[row]);
        text_add(page, "</text>");
        for (size_t run = 0; run < plot->runs; run++)
            good &= add_run(page, plot, frame, row, run, top + HEADING + ((double)run + 0.5) * (BOX + GAP));
    }
    return good;
}

static int add_table_row(text *page, const box_plot *plot, size_t row, size_t run) {
    size_t count;
    double *sorted = sort_values(&plot->boxes[row * plot->runs + run], &count);
    if (!sorted) return count == 0;
    const double numbers[] = {sorted[0],
                              quantile_of_sorted(sorted, count, 0.05),
                              quantile_of_sorted(sorted, count, 0.25),
                              quantile_of_sorted(sorted, count, 0.5),
                              quantile_of_sorted(sorted, count, 0.75),
                              sorted[count - 1]};
    char label[NUMBER_SIZE];
    text_add(page, "<tr><th scope=\"row\">");
    html_escape(page, plot->row_names[row]);
    text_add(page, ", ");
    html_escape(page, plot->run_names[run]);
    text_format(page, "</th><td>%zu</td>", count);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        unit_format(plot->unit, numbers[k], label);
        text_format(page, "<td>%s</td>", label);
    }
    text_add(page, "</tr>");
    free(sorted);
    return 1;
}

int box_plot_write(text *page, const box_plot *plot) {
    const double height = row_height(plot) * (double)plot->rows;
    const frame frame = {.label = plot->title,
                         .x_title = plot->x_title,
                         .x = x_scale(plot),
                         .x_unit = plot->unit,
                         .width = 360,
                         .height = height + 50,
                         .left = 14,
                         .right = 346,
                         .top = 4,
                         .bottom = height + 10};
    figure_open(page, plot->title);
    frame_open(page, &frame);
    int good = add_rows(page, plot, &frame);
    frame_close(page, &frame);
    figure_table_open(page, 0);
    text_add(page, "<tr><th></th><th scope=\"col\">cases</th><th scope=\"col\">lowest</th><th scope=\"col\">5 %</th>"
                   "<th scope=\"col\">25 %</th><th scope=\"col\">median</th><th scope=\"col\">75 %</th>"
                   "<th scope=\"col\">highest</th></tr>");
    for (size_t row = 0; row < plot->rows; row++)
        for (size_t run = 0; run < plot->runs; run++) good &= add_table_row(page, plot, row, run);
    figure_table_close(page);
    figure_close(page, plot->explanation);
    return good;
}
