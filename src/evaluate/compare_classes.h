/*
 * Any number of classifiers on the same examples side by side: the work of hws compare where it is given evaluations of
 * images or tables (classified.h).
 *
 *     static compared_classes compared;
 *     status = compare_classes(&compared, &(compare_classes_request){.count = 2, .paths = names}, NULL, &failure);
 *     if (status == STATUS_OK) status = compared_classes_write(&compared, TABLE_TEXT, &out, &failure);
 *     compared_classes_close(&compared);
 */
#ifndef HWS_EVALUATE_COMPARE_CLASSES_H
#define HWS_EVALUATE_COMPARE_CLASSES_H

#include "core/listener.h"
#include "evaluate/classified.h"
#include "evaluate/method_names.h"
#include "evaluate/table.h"

typedef struct compare_classes_request {
    size_t count;             /* 2 to COMPARED_MAX */
    const char *const *paths; /* the others are held against the first */
    const char *names;        /* "ERM,DRO"; NULL: after the folders */
    const char *by;           /* columns of groups, "sex,site"; NULL: the column `group`, if there is one */
    const char *out;          /* a folder for comparison.txt, .csv, .md, .tex and .json; NULL: none */
    int common;               /* compare the examples that all have; else a missing one is a failure */
} compare_classes_request;

/* One method on the examples of one stratum. */
typedef struct compared_class_row {
    class_scored scored;
    class_difference difference; /* to the first method */
    double holm;                 /* its p, corrected for all tests of the table; NaN where there is none */
    class_worst worst;           /* of a stratum that stands for the worst group of a column */
} compared_class_row;

/* All examples, a group of a column, or with a column and no value: its worst group. */
typedef struct compared_stratum {
    const char *column, *value;
    int64_t count;
    compared_class_row rows[COMPARED_MAX];
} compared_stratum;

typedef struct compared_classes {
    size_t count;
    method_name names[COMPARED_MAX];
    classified methods[COMPARED_MAX]; /* aligned to the first */
    classified_groups patients;       /* of the first evaluation that names them; `of` is NULL where none does */
    compared_stratum *strata;
    size_t stratum_count, stratum_capacity;
} compared_classes;

/* The listener, who may be NULL, is given notice of examples that are left out or in no group, and of runs that were
   trained further after they were evaluated. Close it, also after a failure. */
status_code compare_classes(compared_classes *compared, const compare_classes_request *request,
                            const listener *listener, failure *failure);
void compared_classes_close(compared_classes *compared);

/* Adds the table; CSV and JSON have all scores, with numbers not rounded. */
status_code compared_classes_write(const compared_classes *compared, table_format format, text *out, failure *failure);

#endif
