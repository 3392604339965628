/*
 * Charts as SVG inside HTML figures. All are drawn 360 units wide, which is a phone's width: a page lays several of
 * them side by side where there is room. Each figure has a heading, a sentence that explains it, and its numbers as a
 * table that can be unfolded. Colours are classes (s0, s1, ...) of the page's style sheet; a series also differs by
 * its dash and its marker.
 */
#ifndef HWS_REPORT_CHART_H
#define HWS_REPORT_CHART_H

#include "core/text.h"
#include "report/scale.h"

#include <stddef.h>

typedef enum chart_unit { UNIT_NUMBER, UNIT_PERCENT /* values are shares, shown times 100 */ } chart_unit;

/* Where the plot lies within its SVG, and what its axes are. */
typedef struct frame {
    const char *label; /* what the picture shows, for those who hear the page */
    const char *x_title;
    scale x, y;
    chart_unit x_unit, y_unit;
    double width, height, left, right, top, bottom; /* the plot's edges; the SVG is width by height */
    int hover;                                      /* the page's script shows values under the pointer */
} frame;

/* The usual frame: 360 by 220. */
frame frame_usual(const char *label, const char *x_title, scale x, scale y, chart_unit y_unit);
void frame_open(text *page, const frame *frame);
void frame_close(text *page, const frame *frame);
double frame_x(const frame *frame, double value);
double frame_y(const frame *frame, double value);

/* <figure>, its heading, and at its end the explanation, if any. Titles and explanations are
   ours, names come from files. */
void figure_open(text *page, const char *title);
void figure_close(text *page, const char *explanation);

/* The folded table of a figure: between the two come rows (<tr>). */
void figure_table_open(text *page, int unfolded);
void figure_table_close(text *page);

/* A value as text in its unit, for tables and tooltips. */
void unit_format(chart_unit unit, double value, char label[NUMBER_SIZE]);

typedef struct series {
    const char *name;
    int style;
    size_t count;
    const double *x, *y;      /* values that are not finite leave a gap */
    const double *low, *high; /* the edges of a band around the line, or NULL */
} series;

typedef struct line_chart {
    const char *title, *explanation, *x_title;
    chart_unit unit;
    double floor, ceiling; /* what values cannot go beyond; NaN: no such limit */
    int logarithmic;
    const series *series;
    size_t count;
} line_chart;

void line_chart_write(text *page, const line_chart *chart);

/* Seven quantiles of something over time: 0, 5, 25, 50, 75, 95 and 100 %. */
enum { QUANTILES = 7 };

typedef struct band_chart {
    const char *title, *explanation; /* the explanation may be NULL, where several charts share one */
    const char *label;               /* what is shown, for those who hear the page */
    const char *x_title;
    int style;
    size_t count;
    const double *x, *quantiles[QUANTILES];
    scale scale; /* given, so that the charts of several runs can be compared */
} band_chart;

void band_chart_write(text *page, const band_chart *chart);

/* One row per class, one dot per run. */
typedef struct dot_chart {
    const char *title, *explanation, *x_title;
    size_t rows, runs;
    const char *const *row_names;
    const char *const *row_marks; /* a word behind the name, such as "rare", or NULL */
    const char *const *run_names;
    const int *styles;
    const double *values; /* rows * runs shares; NaN: none */
} dot_chart;

void dot_chart_write(text *page, const dot_chart *chart);

/* One row per group, in it one box per run: the middle half of the values, the median, whiskers to the furthest values
   within 1.5 box lengths, and the values beyond as dots. */
typedef struct box_values {
    const double *values;
    const char *const *names; /* of the cases, for the outliers' tooltips, or NULL */
    size_t count;
} box_values;

typedef struct box_plot {
    const char *title, *explanation, *x_title;
    size_t rows, runs;
    const char *const *row_names;
    const char *const *run_names;
    const int *styles;
    const box_values *boxes; /* rows * runs */
    chart_unit unit;
    double floor, ceiling;
} box_plot;

/* 0 when memory ran out. */
int box_plot_write(text *page, const box_plot *plot);

/* The five numbers of a box; `sorted` ascends. */
typedef struct box_numbers {
    double low_whisker, first_quartile, median, third_quartile, high_whisker;
} box_numbers;

box_numbers box_plot_numbers(const double *sorted, size_t count);

#endif
