/* What checking a dataset found in one case: cases are examined in any order, and by any rank,
   and gathered in theirs. */
#ifndef HWS_DATASET_FINDINGS_H
#define HWS_DATASET_FINDINGS_H

#include "dataset/dataset.h"

typedef struct findings {
    size_t count, problems, capacity;
    dataset_finding *list;
    int out_of_memory;
} findings;

void findings_add(findings *found, const char *id, int fatal, const char *sentence);

/* Makes all of them worth knowing only. */
void findings_allow(findings *found);

/* Together: of the findings of all cases, training cases first, each rank has its own; afterwards all have all. */
status_code findings_share(findings *found, const dataset *set, failure *failure);

/* Moves those of [count] cases into the report. */
status_code findings_gather(findings *found, size_t count, dataset_report *report, failure *failure);

void findings_close(findings *found, size_t count);

#endif
