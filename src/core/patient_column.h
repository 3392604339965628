/*
 * Which column of some data says whose each example or case is. A column called `patient` does; where there is none,
 * one of the other usual names: patient_id, subject, subject_id, participant, participant_id, the first of these that
 * is there. Case, blanks, underscores and hyphens do not matter ("Patient ID", PatientID).
 */
#ifndef HWS_CORE_PATIENT_COLUMN_H
#define HWS_CORE_PATIENT_COLUMN_H

#include "core/csv.h"

/* Of `count` columns, whose names `name` tells; -1: none does. */
long patient_column(const void *table, size_t count, const char *(*name)(const void *table, size_t column));

/* The same of a table. */
long patient_column_of_csv(const csv *table);

/* Whether a name is one of those above; and whether it is `patient`, in any case: others are told of, as they
   may mean something else. */
int patient_column_is_usual(const char *name);
int patient_column_is_plain(const char *name);

#endif
