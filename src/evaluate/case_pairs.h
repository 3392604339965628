/* Predictions and references in two folders, matched by name. */
#ifndef HWS_EVALUATE_CASE_PAIRS_H
#define HWS_EVALUATE_CASE_PAIRS_H

#include "core/failure.h"
#include "core/text.h"
#include "nifti/spacing_doubts.h"

#include <stddef.h>

typedef struct case_pair {
    char *name, *prediction, *reference;
    char *image; /* of which pictures are made; NULL: not known */
} case_pair;

typedef struct case_pairs {
    size_t count, capacity;
    case_pair *list; /* by name */
} case_pairs;

/*
 * Finds the .nii and .nii.gz files of both folders. A case that only one of them has is STATUS_BAD_INPUT and named,
 * unless `common`: then it is left out and named in `left_out`. Close the list, also after a failure.
 */
status_code case_pairs_open(case_pairs *pairs, const char *predictions, const char *references, int common,
                            text *left_out, failure *failure);
void case_pairs_close(case_pairs *pairs);

/* Adds a case of files that lie anywhere, to a list that begins zeroed; names must come in ascending order,
   or be sorted afterwards. */
status_code case_pairs_add(case_pairs *pairs, const char *name, const char *prediction, const char *reference,
                           const char *image, failure *failure);

/* By name. STATUS_BAD_INPUT if a case is there twice. */
status_code case_pairs_sort(case_pairs *pairs, failure *failure);

/* Reads all headers: STATUS_BAD_INPUT, with the case's name, unless both files of each case lie on the same grid.
   `doubts`, about references, may be NULL. */
status_code case_pairs_check(const case_pairs *pairs, spacing_doubts *doubts, failure *failure);

#endif
