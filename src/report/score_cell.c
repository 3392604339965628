#include "report/score_cell.h"

#include "report/html.h"

#include <math.h>
#include <stdio.h>

void run_name_cell(text *page, const runs *runs, const run *run) {
    if (runs->count < 2) return;
    text_add(page, "<td class=\"word\">");
    html_escape(page, run->name);
    text_add(page, "</td>");
}

void score_cell(text *page, const run_table *table, size_t row, const char *column, int in_percent) {
    char low[64], high[64];
    snprintf(low, sizeof low, "%s_low", column);
    snprintf(high, sizeof high, "%s_high", column);
    const int digits = in_percent ? 1 : 3;
    const double factor = in_percent ? 100 : 1, value = run_number(table, row, column);
    const double from = run_number(table, row, low), to = run_number(table, row, high);
    if (!isfinite(value)) return text_add(page, "<td class=\"faint\">\xE2\x80\x93</td>");
    text_format(page, "<td>%.*f", digits, factor * value);
    if (isfinite(from))
        text_format(page, " <span class=\"faint\">(%.*f to %.*f)</span>", digits, factor * from, digits, factor * to);
    text_add(page, "</td>");
}
