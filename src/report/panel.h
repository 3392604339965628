/* One measured column of history.csv over the epochs, one line per run. */
#ifndef HWS_REPORT_PANEL_H
#define HWS_REPORT_PANEL_H

#include "report/chart.h"
#include "report/section.h"

typedef struct panel {
    const char *title, *explanation;
    const char *column;
    const char *spread; /* a column with a standard deviation, drawn as a band around the line, or NULL */
    const char *per;    /* a setting by which the numbers are divided, such as "examples", or NULL */
    chart_unit unit;
    double floor, ceiling; /* NaN: none; a floor that any run's values go below is none either */
    int logarithmic;
} panel;

/* Draws the panel if any run has a number for it; returns whether it has. */
int panel_write(text *page, const runs *runs, const panel *panel);

#endif
