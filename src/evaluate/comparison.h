/*
 * Two methods side by side on the same cases, as in Tables 2 and 3 of the paper, with differences and Wilcoxon's test.
 */
#ifndef HWS_EVALUATE_COMPARISON_H
#define HWS_EVALUATE_COMPARISON_H

#include "evaluate/scores.h"
#include "evaluate/statistics.h"
#include "evaluate/strata.h"
#include "evaluate/table.h"
#include "evaluate/wilcoxon.h"

/*
 * Brings the cases and regions of both into the same order, a's. If one has a case or region that the other lacks this
 * is STATUS_BAD_INPUT and named, unless `common`: then it is dropped from both. Names of regions come from a.
 */
status_code scores_align(scores *a, scores *b, int common, failure *failure);

typedef struct comparison_row {
    statistics method[2];
    wilcoxon test;
} comparison_row;

typedef struct comparison {
    const scores *scores[2]; /* not owned */
    const strata *strata;
    const char *names[2];
    metric metric;
    comparison_row *rows; /* [stratum][region] */
} comparison;

/* Two methods: their scores, aligned, and what they are called. */
typedef struct compared_methods {
    const scores *scores[2];
    const char *names[2];
} compared_methods;

/* What the methods and strata point to is needed as long as the comparison. Close it, also after a failure. */
status_code comparison_open(comparison *comparison, const compared_methods *methods, const strata *strata,
                            metric metric, failure *failure);
void comparison_close(comparison *comparison);

const comparison_row *comparison_at(const comparison *comparison, size_t stratum, size_t region);

typedef enum comparison_layout {
    COMPARISON_TALL, /* a row per method and region, the tail in columns: Table 2 */
    COMPARISON_WIDE  /* a row per method, the regions in columns: Table 3 */
} comparison_layout;

/* Adds the table to `out`; the better of two values is bold. CSV has one layout, with numbers not rounded. */
status_code comparison_write(const comparison *comparison, comparison_layout layout, table_format format, text *out,
                             failure *failure);

#endif
