/*
 * Any number of evaluations of the same cases side by side: the work of hws compare.
 *
 *     compared compared;
 *     const char *names[] = {"runs/erm", "runs/dro"};
 *     status = compare_evaluations(&compared, &(compare_request){.count = 2, .paths = names}, 0, &failure);
 *     if (status == STATUS_OK) comparison_write(&compared.comparison, COMPARISON_TALL, TABLE_TEXT, &out, &failure);
 *     compared_close(&compared);
 */
#ifndef HWS_EVALUATE_COMPARE_H
#define HWS_EVALUATE_COMPARE_H

#include "core/listener.h"
#include "evaluate/comparison.h"
#include "evaluate/method_names.h"

typedef struct compare_request {
    size_t count;             /* 2 to COMPARED_MAX */
    const char *const *paths; /* evaluations, see evaluated.h; the others are held against the first */
    const char *names;        /* "ERM,DRO"; NULL: after the folders or files */
    const char *groups;       /* a groups.csv; NULL: that of the dataset, or else those that were evaluated by */
    const char *by;           /* which of its columns, "sex,centre"; NULL: all */
    const char *dataset;      /* whose dataset.json names the labels; NULL: see evaluated.h */
    const char *empty;        /* "nan" or "1", for all; NULL: as each says, which must be the same */
    const char *out;          /* a folder for comparison.txt, .csv, .md, .tex and .json; NULL: none */
    metric metric;
    comparison_layout layout; /* of text, Markdown and LaTeX */
    int common;               /* compare what all have; else a missing case or label is a failure */
} compare_request;

/* What comes out. Its members point to each other: it must stay where it is. */
typedef struct compared {
    size_t count;
    method_name names[COMPARED_MAX];
    const char *name_list[COMPARED_MAX];
    scores scores[COMPARED_MAX];
    case_groups groups;
    strata strata;
    comparison comparison;
} compared;

/* The listener, who may be NULL, is given notice of cases that are left out or in no group, and of runs that were
   trained further after they were evaluated. Close it, also after a failure. */
status_code compare_evaluations(compared *compared, const compare_request *request, const listener *listener,
                                failure *failure);
void compared_close(compared *compared);

#endif
