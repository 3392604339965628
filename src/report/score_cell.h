/* What tables of the report about evaluated classifiers are made of. */
#ifndef HWS_REPORT_SCORE_CELL_H
#define HWS_REPORT_SCORE_CELL_H

#include "core/text.h"
#include "report/section.h"

/* The run's name, where there are several. */
void run_name_cell(text *page, const runs *runs, const run *run);

/* A score with its interval: the number in `column` of a row, and behind it those of COLUMN_low and COLUMN_high if they
   are there; a dash without one. */
void score_cell(text *page, const run_table *table, size_t row, const char *column, int in_percent);

#endif
