/*
 * Cases that were read to be checked and wait in memory for their preprocessing, so that no file is read twice.
 *
 * They may take a quarter of the memory that was available. Cases beyond that are not kept: their files are read again
 * when it is their turn, with the same result.
 */
#ifndef HWS_CACHE_KEPT_CASES_H
#define HWS_CACHE_KEPT_CASES_H

#include "nifti/volume.h"

#include <stdatomic.h>

typedef struct kept_case {
    int wanted;
    volume image; /* zeroed unless it is here */
    label_map labels;
} kept_case;

typedef struct kept_cases {
    size_t count;
    kept_case *cases;
    size_t limit; /* bytes */
    atomic_size_t used;
} kept_cases;

/* Nothing is wanted yet. `available` are bytes (core/available.h). Close it; closing it twice is fine. */
status_code kept_cases_open(kept_cases *kept, size_t count, double available, failure *failure);
void kept_cases_close(kept_cases *kept);

/* Which cases will be preprocessed. */
void kept_cases_want(kept_cases *kept, const size_t *indices, size_t count);
void kept_cases_want_all(kept_cases *kept);

/* Takes the case over and zeroes both, if it is wanted and fits; else they stay the caller's. On any thread. */
void kept_cases_put(kept_cases *kept, size_t index, volume *image, label_map *labels);

/* Gives the case to the caller; 0 if it is not here. On any thread. */
int kept_cases_take(kept_cases *kept, size_t index, volume *image, label_map *labels);

#endif
