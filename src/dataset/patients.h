/* Whose each training case is, by the column of patients in groups.csv. */
#ifndef HWS_DATASET_PATIENTS_H
#define HWS_DATASET_PATIENTS_H

#include "core/text.h"
#include "dataset/case_groups.h"

/* A case that is nobody's stands for itself, under a name that no patient has. */
typedef struct patients {
    const char **of; /* [training case]; the strings belong to the groups or are kept here */
    text nobody;
    size_t named, blocks; /* patients with a name; the same and the cases of nobody */
} patients;

/* There must be such a column. To be closed after a failure, too. */
status_code patients_open(patients *patients, const case_groups *groups, const dataset *set, failure *failure);
void patients_close(patients *patients);

#endif
