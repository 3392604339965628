/* One self-contained HTML page that shows what came out of one or several runs. */
#ifndef HWS_REPORT_REPORT_H
#define HWS_REPORT_REPORT_H

#include "core/failure.h"
#include "core/text.h"

#include <stddef.h>

enum { REPORT_MAX_RUNS = 48 };

/*
 * Reads the runs' folders and adds the page to `page`. STATUS_BAD_INPUT when one of them is no run's folder,
 * STATUS_CORRUPT when its config.json is damaged. Anything else that is missing or damaged is told on the page.
 */
status_code report_page(text *page, const char *const *folders, size_t count, failure *failure);

/* The same into a file, which appears whole or not at all. */
status_code report_write(const char *path, const char *const *folders, size_t count, failure *failure);

#endif
