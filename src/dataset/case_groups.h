/*
 * groups.csv: the groups that cases belong to. The first column is called `case`, each further
 * one holds a group per case.
 *
 *     case,condition,centre
 *     fetus_001,control,Leuven
 *     fetus_002,"spina bifida",Vienna
 *
 * Splits keep the shares of a column's groups, and evaluations are told by group (evaluate/strata.h). An empty cell
 * puts the case into no group of that column. The file may name cases that nobody asks for. A column called `patient`,
 * or as core/patient_column.h has it, says whose each case is.
 */
#ifndef HWS_DATASET_CASE_GROUPS_H
#define HWS_DATASET_CASE_GROUPS_H

#include "core/csv.h"
#include "dataset/dataset.h"

typedef struct case_groups {
    csv table;
    char *path;
    struct group_row *sorted; /* the rows by the names of their cases, to find them quickly */
} case_groups;

/*
 * Refused as STATUS_CORRUPT: a first column not called `case`, no further column, a case without a name or named twice.
 * Closed after a failure; closing it again does no harm.
 */
status_code case_groups_read(case_groups *groups, const char *path, failure *failure);

/* The same from memory; `name` is what messages call it. */
status_code case_groups_parse(case_groups *groups, const char *name, const char *bytes, size_t size, failure *failure);

void case_groups_close(case_groups *groups);

/* DATASET/groups.csv; the table is empty (no columns) if there is no such file. */
status_code case_groups_of_dataset(case_groups *groups, const dataset *set, failure *failure);

/* The column of patients, or -1. */
long case_groups_patients(const case_groups *groups);

/* The row of a case, or -1. */
long case_groups_find(const case_groups *groups, const char *name);

/*
 * The cell of a column for each training case of the dataset, in order, as splits_make wants it; the caller frees the
 * array, the strings belong to `groups`. Fails if there is no such column, or names the cases without a value.
 */
status_code case_groups_column(const case_groups *groups, const dataset *set, const char *column, const char ***values,
                               failure *failure);

/* Tells the listener of training cases that the file does not have, and of names in it that no
   case of the dataset has. */
void case_groups_tell_gaps(const case_groups *groups, const dataset *set, const listener *listener);

#endif
