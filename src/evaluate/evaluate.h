/*
 * How good predicted label maps are, by group and in the tail: the work of hws evaluate.
 *
 *     evaluation evaluation;
 *     status = evaluate_folders(&evaluation, &(evaluate_request){.predictions = "p", .references = "r"}, 0, &failure);
 *     if (status == STATUS_OK) stratified_write(&evaluation.stratified, TABLE_TEXT, &out, &failure);
 *     evaluation_close(&evaluation);
 *
 * Everything that can be wrong with the input is found before the work begins and before anything is written.
 */
#ifndef HWS_EVALUATE_EVALUATE_H
#define HWS_EVALUATE_EVALUATE_H

#include "core/listener.h"
#include "evaluate/case_pairs.h"
#include "evaluate/stratified.h"

typedef struct evaluate_request {
    const char *predictions, *references; /* folders of .nii and .nii.gz files with the same names in both */
    const char *labels;                   /* "1,2", or NULL */
    const char *regions;     /* "WT=1+2+3,ET=3", or NULL; without labels too: all above 0 of the references */
    const char *groups;      /* a groups.csv, or NULL */
    const char *by;          /* which of its columns, "sex,centre"; NULL: all */
    const char *images;      /* the folder of images that the worst cases are drawn over, or NULL */
    const char *out;         /* the folder that is made for all files; NULL: nothing is written */
    int ignore;              /* where the reference has this label, nothing counts; 0: there is none */
    int threads;             /* 0: one per processor */
    int hd95, surface;       /* measure these distances too */
    double nsd;              /* and NSD at this tolerance, in mm; 0: do not */
    const char *empty;       /* "nan" or "1": what is empty in both counts (scores.h); NULL: nan */
    int find_postprocessing; /* 1: find_postprocessing.h, into `out` */
    int common;              /* score what both folders have; else a missing case is a failure */
} evaluate_request;

/* What comes out. Its members point to each other: it must stay where it is. */
typedef struct evaluation {
    case_groups groups; /* empty without request.groups */
    scores scores;
    strata strata;
    stratified stratified;
} evaluation;

/*
 * Together with the other ranks (ranks/ranks.h), to whom the cases are dealt; all have all
 * scores, the first one writes.
 *
 * Scores the cases of two folders. With request.out, writes there summary.json (as nnU-Net does), cases.csv, table.txt,
 * table.csv, table.md, table.tex, worst.csv, and with images worst/CASE.png. The listener, who may be NULL, is given
 * notice of cases that are left out or in no group and of labels that are not scored. Close it, also after a failure.
 */
status_code evaluate_folders(evaluation *evaluation, const evaluate_request *request, const listener *listener,
                             failure *failure);

/* The same for files that lie anywhere; the request's predictions, references and `common` are ignored. */
status_code evaluate_pairs(evaluation *evaluation, const case_pairs *pairs, const evaluate_request *request,
                           const listener *listener, failure *failure);

/* What both refuse without looking at a label map: labels, regions, groups, folders and rules that are wrong. */
status_code evaluate_check(const evaluate_request *request, failure *failure);

void evaluation_close(evaluation *evaluation);

#endif
