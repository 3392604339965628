/*
 * The scores of all cases and regions: what an evaluation yields and what a summary.json holds.
 */
#ifndef HWS_EVALUATE_SCORES_H
#define HWS_EVALUATE_SCORES_H

#include "evaluate/regions.h"

/* In the order of files. The first eight are nnU-Net's, under its names. */
typedef enum metric {
    METRIC_DICE,
    METRIC_IOU,
    METRIC_TP,
    METRIC_FP,
    METRIC_FN,
    METRIC_TN,
    METRIC_N_PRED, /* voxels of the prediction */
    METRIC_N_REF,  /* voxels of the reference */
    METRIC_HD95,   /* mm */
    METRIC_ASSD,   /* mm */
    METRICS
} metric;

const char *metric_name(metric metric);
/* METRICS if there is none of this name. */
metric metric_by_name(const char *name);
int metric_lower_is_better(metric metric);
/* Dice and IoU are shown in percent. */
int metric_is_share(metric metric);

typedef struct scored_case {
    char *name;                   /* the files' name without .nii or .nii.gz */
    char *prediction, *reference; /* paths */
    char *image;                  /* the path of its first channel; NULL: not known */
} scored_case;

typedef struct scores {
    region_list regions;
    size_t cases;
    scored_case *list;
    int measured[METRICS]; /* which metrics are there */
    int ignored;           /* the label of references whose voxels counted for nothing; 0: none */
    double *values;        /* [case][region][METRICS]; NaN where there is no score */
} scores;

/* All values NaN, nothing measured, no names. Copies the regions. Close it, also after a failure. */
status_code scores_open(scores *scores, size_t cases, const region_list *regions, failure *failure);
void scores_close(scores *scores);

/* The METRICS values of a case and region. */
double *scores_at(const scores *scores, size_t which, size_t region);

/* Copies what names a case. */
status_code scores_name(scores *scores, size_t which, const char *name, const char *prediction, const char *reference,
                        failure *failure);

/* The name of a case from the path of its file: what is behind the last slash, without .nii.gz, .nii or one other
   ending. */
void case_name_of(const char *path, char *name, size_t capacity);

/* The case's position, or -1. */
long scores_find(const scores *scores, const char *name);

#endif
