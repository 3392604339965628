/*
 * Cases that are evaluated together: all of them, and those of each group of a groups.csv (dataset/case_groups.h). If
 * it has a column `patient`, it is known whose each case is, and statistics count patients (statistics.h).
 */
#ifndef HWS_EVALUATE_STRATA_H
#define HWS_EVALUATE_STRATA_H

#include "core/text.h"
#include "dataset/case_groups.h"
#include "evaluate/scores.h"

/* Some cases of an evaluation that belong together. */
typedef struct stratum {
    char *column, *value; /* both NULL: all cases */
    size_t count;
    size_t *cases;   /* positions in the scores, ascending */
    int *whose;      /* the patient of each of them, -1: nobody's; NULL: not known */
    size_t patients; /* how many they are; `count` if they are not known */
} stratum;

typedef struct strata {
    size_t count, capacity;
    stratum *list;
} strata;

/* STATUS_BAD_INPUT unless each of these columns ("sex,centre") is there and none is named twice; NULL is right. */
status_code strata_check_columns(const case_groups *groups, const char *by, failure *failure);

/*
 * All cases, then for each column of `by` ("sex,centre"; NULL: every column but `patient`) each of its values that
 * some case has, in their natural order (g2 before g10). `groups` may be NULL. What cases are in no row of the file,
 * and so counted with all cases only, and which have an empty cell in a column, and so are in none of its groups, is
 * added to `lacking` in words.
 */
status_code strata_open(strata *strata, const case_groups *groups, const char *by, const scores *scores, text *lacking,
                        failure *failure);
void strata_close(strata *strata);

/* Whether patients are known, and some of them have several cases. */
int strata_share_patients(const strata *strata);

/* "all" or the value. */
const char *stratum_name(const stratum *stratum);

/* The same for a table's rows: "column: value" if there are several columns, whose values may be the same. */
void strata_label(const strata *strata, size_t which, char *words, size_t capacity);

#endif
