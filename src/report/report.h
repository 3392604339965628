/* One self-contained HTML page that shows what came out of runs and evaluations. */
#ifndef HWS_REPORT_REPORT_H
#define HWS_REPORT_REPORT_H

#include "core/failure.h"
#include "core/text.h"

#include <stddef.h>

enum { REPORT_MAX_RUNS = 48 };

typedef struct report_request {
    const char *const *folders; /* runs and evaluations (evaluate/evaluated.h) */
    size_t count;
    const char *names;  /* "ERM,DRO"; NULL: after settings and folders */
    const char *groups; /* a groups.csv; NULL: that of the folder, or else of the dataset */
    const char *images; /* the folder of images; NULL: those of the dataset */
} report_request;

/*
 * Reads the folders and adds the page to `page`. STATUS_BAD_INPUT when one of them is neither a run nor an evaluation,
 * when one is given twice, when classifiers and segmentations are mixed, or when groups
 * or images are given for classifiers,
 * STATUS_CORRUPT when its config.json is damaged. Anything else that is missing or damaged is told on the page.
 */
status_code report_page(text *page, const report_request *request, failure *failure);

/* The same into a file, which appears whole or not at all. */
status_code report_write(const char *path, const report_request *request, failure *failure);

#endif
