/*
 * The scores of all cases and regions: what an evaluation yields and what a summary.json holds.
 */
#ifndef HWS_EVALUATE_SCORES_H
#define HWS_EVALUATE_SCORES_H

#include "evaluate/regions.h"

/* In the order of files. The first eight are nnU-Net's, under its names; the last three are of
   surfaces (distance.h). */
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
    METRIC_NSD,    /* at a tolerance in mm */
    METRICS
} metric;

const char *metric_name(metric metric);
/* METRICS if there is none of this name. */
metric metric_by_name(const char *name);
int metric_lower_is_better(metric metric);
/* Dice, IoU and NSD are shown in percent. */
int metric_is_share(metric metric);
/* "%", "mm" or "voxels". */
const char *metric_unit(metric metric);

/* Of what is empty in prediction and reference and counts as right: 1 for shares, 0 for distances; NaN for counts of
   voxels, which always exist. */
double metric_when_right(metric metric);

/* What a label counts that neither prediction nor reference holds. */
typedef enum empty_rule {
    EMPTY_NAN, /* there is no score, as in nnU-Net */
    EMPTY_ONE  /* it is right, as in BraTS: Dice, IoU and NSD are 1, distances 0 */
} empty_rule;

/* "nan" or "1"; NULL behind the last. */
const char *empty_rule_name(int rule);
status_code empty_rule_parse(const char *name, empty_rule *rule, failure *failure);

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
    empty_rule empty;
    double nsd_tolerance; /* mm; 0: NSD was not measured */
    double *values;       /* [case][region][METRICS]; NaN where there is no score */
} scores;

/* All values NaN, nothing measured, no names. Copies the regions. Close it, also after a failure. */
status_code scores_open(scores *scores, size_t cases, const region_list *regions, failure *failure);
void scores_close(scores *scores);

/* The METRICS values of a case and region. */
double *scores_at(const scores *scores, size_t which, size_t region);

/* Copies by what rules scores were given: `empty`, `ignored` and `nsd_tolerance`. */
void scores_copy_rules(scores *scores, const struct scores *from);

/* Whether neither prediction nor reference has it. */
int scores_is_empty(const scores *scores, size_t which, size_t region);

/* Gives all that is empty in prediction and reference the score of a rule, whatever it had. */
void scores_apply_empty(scores *scores, empty_rule rule);

/* Copies what names a case. */
status_code scores_name(scores *scores, size_t which, const char *name, const char *prediction, const char *reference,
                        failure *failure);

/* The name of a case from the path of its file: what is behind the last slash, without .nii.gz, .nii or one other
   ending. */
void case_name_of(const char *path, char *name, size_t capacity);

/* The case's position, or -1. */
long scores_find(const scores *scores, const char *name);

#endif
