/* The ROC curve of each class, from roc.csv: a line per run. */
#ifndef HWS_REPORT_ROC_CHARTS_H
#define HWS_REPORT_ROC_CHARTS_H

#include "core/text.h"
#include "report/section.h"

/* Panels; nothing for runs that were not evaluated, or by a version that wrote no such curves. */
void roc_charts(text *page, const runs *runs);

#endif
