/*
 * Two evaluations of the same cases side by side: the work of hws compare.
 *
 *     compared compared;
 *     status = compare_summaries(&compared, &(compare_request){.paths = {"a/summary.json", "b/summary.json"}}, 0, &failure);
 *     if (status == STATUS_OK) comparison_write(&compared.comparison, COMPARISON_TALL, TABLE_TEXT, &out, &failure);
 *     compared_close(&compared);
 */
#ifndef HWS_EVALUATE_COMPARE_H
#define HWS_EVALUATE_COMPARE_H

#include "core/listener.h"
#include "evaluate/comparison.h"

enum { COMPARED_NAME_BYTES = 64 };

typedef struct compare_request {
    const char *paths[2]; /* summary.json files by hws evaluate or nnU-Net v2 */
    const char *names;    /* "ERM,DRO"; NULL: after the folders or files */
    const char *groups;   /* a groups.csv, or NULL */
    const char *by;       /* which of its columns, "sex,centre"; NULL: all */
    metric metric;
    int common; /* compare what both have; else a missing case or label is a failure */
} compare_request;

/* What comes out. Its members point to each other: it must stay where it is. */
typedef struct compared {
    char names[2][COMPARED_NAME_BYTES];
    scores scores[2];
    case_groups groups;
    strata strata;
    comparison comparison;
} compared;

/* The listener, who may be NULL, is given notice of cases that are in no group. Close it, also after a failure. */
status_code compare_summaries(compared *compared, const compare_request *request, const listener *listener,
                              failure *failure);
void compared_close(compared *compared);

#endif
