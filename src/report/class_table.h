/* Sensitivity, specificity, precision and F1 of each class, from classes.csv: a run below the other
   where there are several. */
#ifndef HWS_REPORT_CLASS_TABLE_H
#define HWS_REPORT_CLASS_TABLE_H

#include "core/text.h"
#include "report/section.h"

/* Nothing for runs that were not evaluated, or by a version that knew no such rates. */
void class_table(text *page, const runs *runs);

#endif
