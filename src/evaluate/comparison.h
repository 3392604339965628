/*
 * Any number of methods side by side on the same cases, as in Tables 2 and 3 of the paper: the statistics of each, and
 * how each differs from the first one.
 *
 * A row of numbers is about one group of cases and one label, and counts the same cases for every method, so that a
 * difference of means is the mean difference. A label that is in neither prediction nor reference has no score
 * (scores.h). A case in which this is so for all methods is left out; where some method did predict the label,
 * those that did not are right, and count as EMPTY_ONE has it. Holm's correction is over all tests of the table:
 * groups, labels and methods.
 */
#ifndef HWS_EVALUATE_COMPARISON_H
#define HWS_EVALUATE_COMPARISON_H

#include "evaluate/method_names.h"
#include "evaluate/scores.h"
#include "evaluate/strata.h"
#include "evaluate/table.h"
#include "statistics/paired.h"
#include "statistics/statistics.h"

/* At most COMPARED_MAX methods: their scores and what they are called. */
typedef struct compared_methods {
    size_t count;
    scores *scores;
    const char *const *names;
} compared_methods;

/*
 * Brings the cases and regions of all into the order of the first. If one has a case or region that another lacks this
 * is STATUS_BAD_INPUT and named, unless `common`: then it is dropped from all and told in `dropped`. Names of regions
 * come from the first.
 */
status_code scores_align(const compared_methods *methods, int common, text *dropped, failure *failure);

typedef struct compared_row {
    statistics numbers;
    size_t rightly_empty; /* cases that count as right: another method predicted the label, this one did not */
    paired difference;    /* to the first method; of the first itself it says nothing */
} compared_row;

typedef struct comparison {
    compared_methods methods; /* not owned */
    const strata *strata;
    metric metric;
    compared_row *rows; /* [stratum][region][method] */
} comparison;

/* What the methods, aligned, and strata point to is needed as long as the comparison. Close it,
   also after a failure. */
status_code comparison_open(comparison *comparison, const compared_methods *methods, const strata *strata,
                            metric metric, failure *failure);
void comparison_close(comparison *comparison);

size_t comparison_regions(const comparison *comparison);
const compared_row *comparison_at(const comparison *comparison, size_t stratum, size_t region, size_t method);

typedef enum comparison_layout {
    COMPARISON_TALL, /* a row per method and region, the tail in columns: Table 2 */
    COMPARISON_WIDE  /* a row per method, the regions in columns: Table 3 */
} comparison_layout;

/* Adds the table to `out`; the best of the values that are shown is bold, unless another looks the same. CSV and JSON
   have one layout, with numbers not rounded. */
status_code comparison_write(const comparison *comparison, comparison_layout layout, table_format format, text *out,
                             failure *failure);

/* Adds a sentence on the cases that are left out and one on those that count as right, where there are any. */
void comparison_add_empty_notes(const comparison *comparison, text *out);

/* The two of these that are for programs. */
status_code comparison_write_csv(const comparison *comparison, text *out, failure *failure);
status_code comparison_write_json(const comparison *comparison, text *out, failure *failure);

#endif
