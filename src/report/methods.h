/*
 * The evaluations among the runs of a page, side by side on the cases that all of them have: what its headline, its
 * table of scores and its pictures are made from.
 */
#ifndef HWS_REPORT_METHODS_H
#define HWS_REPORT_METHODS_H

#include "evaluate/comparison.h"
#include "evaluate/evaluated.h"
#include "report/report.h"
#include "report/section.h"

typedef struct methods {
    size_t count;       /* 0: nothing was evaluated in full */
    evaluated *files;   /* where each has its files; its scores are below */
    scores *scores;     /* aligned */
    const char **names; /* the runs' */
    const run **runs;
    case_groups groups;
    strata strata; /* of all cases, then of each group of each column */
    comparison dice;
    text left_out;     /* cases and labels that not all have; empty: none */
    char problem[512]; /* why evaluations that are there cannot be shown; empty: none */
} methods;

/* An evaluation that cannot be read is told in `problem`; only lack of memory is a failure.
   Close it, also after one. */
status_code methods_open(methods *methods, const runs *runs, const report_request *request, failure *failure);
void methods_close(methods *methods);

/* The mean Dice over the labels of each case of a stratum, by a method; NaN where there is none. */
void methods_case_means(const methods *methods, size_t method, const stratum *stratum, double *values);

/* The sections about them; each writes nothing if there is nothing. */
void scores_section(text *page, const methods *methods);
/* Whether any picture was shown. */
int cases_viewer_section(text *page, const methods *methods, const report_request *request);
/* The sentences of the headline. */
void verdict_write(text *page, const methods *methods, int fair);

#endif
