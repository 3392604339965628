/*
 * groups.csv beside a dataset: strata of its cases.
 *
 *     case,condition,gestational_age
 *     fetus_001,control,27.4
 *     fetus_002,spina_bifida,24.1
 *
 * Looked up here for splits that keep the shares of a stratum; evaluate/groups.h evaluates by the same file.
 */
#ifndef HWS_DATASET_CASE_GROUPS_H
#define HWS_DATASET_CASE_GROUPS_H

#include "core/csv.h"
#include "dataset/dataset.h"

typedef struct case_groups {
    csv table;
    char *path;
} case_groups;

/*
 * `path` may be NULL for DATASET/groups.csv; the table is empty (no columns) if that one is not there. Refused: a
 * first column not called `case`, no further column, a case without a name or named twice. Cases that the dataset does
 * not have are allowed.
 */
status_code case_groups_open(case_groups *groups, const dataset *set, const char *path, failure *failure);
void case_groups_close(case_groups *groups);

/*
 * The cell of a column for each training case of the dataset, in order, as splits_make wants it; the caller frees the
 * array, the strings belong to `groups`. Fails if there is no such column, or names the first case without a value.
 */
status_code case_groups_column(const case_groups *groups, const dataset *set, const char *column, const char ***values,
                               failure *failure);

#endif
