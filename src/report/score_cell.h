/* A score of an evaluated classifier with its interval, as tables of the report show it. */
#ifndef HWS_REPORT_SCORE_CELL_H
#define HWS_REPORT_SCORE_CELL_H

#include "core/text.h"
#include "report/run_results.h"

/* The number in `column` of a row, and behind it those of COLUMN_low and COLUMN_high if they are there; a dash without one. */
void score_cell(text *page, const run_table *table, size_t row, const char *column, int in_percent);

#endif
