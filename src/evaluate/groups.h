/*
 * Groups of cases: a CSV file whose first column is called `case` and whose further columns are strata.
 *
 *     case,condition,centre
 *     sub-01,control,Leuven
 *     sub-02,"spina bifida",Vienna
 *
 * An empty cell puts the case into no group of that column. The file may name more cases than are evaluated.
 */
#ifndef HWS_EVALUATE_GROUPS_H
#define HWS_EVALUATE_GROUPS_H

#include "core/csv.h"
#include "core/text.h"
#include "evaluate/scores.h"

typedef struct groups {
    csv table;
    struct group_case *sorted; /* the cases by name, to find them quickly */
} groups;

/* Refuses a case without a name and one that comes twice. Close it, also after a failure. */
status_code groups_read(groups *groups, const char *path, failure *failure);
void groups_close(groups *groups);

/* STATUS_BAD_INPUT unless each of these columns ("sex,centre") is there; NULL is right. */
status_code groups_check_columns(const groups *groups, const char *by, failure *failure);

/* The row of a case, or -1. */
long groups_find(const groups *groups, const char *name);

/* Some cases of an evaluation that belong together. */
typedef struct stratum {
    char *column, *value; /* both NULL: all cases */
    size_t count;
    size_t *cases; /* positions in the scores, ascending */
} stratum;

typedef struct strata {
    size_t count;
    stratum *list;
} strata;

/*
 * All cases, then for each column of `by` ("sex,centre"; NULL: every column) each of its values that some case has, in
 * the order of the file. `groups` may be NULL. Names of cases that the file lacks are added to `lacking`, separated by
 * commas; they are counted with all cases only.
 */
status_code strata_open(strata *strata, const groups *groups, const char *by, const scores *scores, text *lacking,
                        failure *failure);
void strata_close(strata *strata);

/* "all" or the value. */
const char *stratum_name(const stratum *stratum);

/* The same for a table's rows: "column: value" if there are several columns, whose values may be the same. */
void strata_label(const strata *strata, size_t which, char *words, size_t room);

#endif
