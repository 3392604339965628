/*
 * Folds for cross-validation, as nnU-Net makes them.
 *
 * Cases are positions in a list that is sorted by name. Without strata the folds are those of sklearn's KFold(5,
 * shuffle=True, random_state=12345), which nnU-Net uses, so that results can be compared case by case. With strata
 * the cases of each stratum are dealt to the folds in turn, in the same shuffled order: no two folds differ by more
 * than one case, neither in total nor in any stratum. Cases that belong together (those of a patient) can be kept in
 * one fold: such blocks are placed one by one, the largest first, where they meet the fewest cases of their own
 * strata, and where that is equal, in the smallest fold. Blocks of equal size with a stratum each are so shared out
 * as evenly as single cases.
 *
 * splits_final.json is a list of {"train": [names], "val": [names]}, one per fold.
 */
#ifndef HWS_DATASET_SPLITS_H
#define HWS_DATASET_SPLITS_H

#include "core/failure.h"

#include <stddef.h>

enum { SPLITS_FOLDS = 5, SPLITS_MAX_FOLDS = 1000 };

typedef struct split {
    size_t train_count, val_count;
    size_t *train, *val; /* positions of cases, ascending */
} split;

typedef struct splits {
    int count;
    split *folds;
} splits;

/* There must be at least as many cases (or blocks of them) as folds, and two folds. */
typedef struct splits_request {
    size_t cases;
    int folds;
    const char *const *strata;   /* a value for each case, or NULL */
    const char *const *together; /* a value for each case: equal ones stay in one fold; or NULL */
} splits_request;

status_code splits_make(splits *splits, const splits_request *request, failure *failure);

/*
 * `names` are the dataset's cases, sorted. Refused: names that the dataset does not have, a name twice in a fold (in
 * one list or in both), and folds without cases to train on or to validate on. A fold need not name every case.
 */
status_code splits_read(splits *splits, const char *path, const char *const *names, size_t cases, failure *failure);
status_code splits_write(const splits *splits, const char *path, const char *const *names, failure *failure);

/* Accepts what was zeroed or closed before. */
void splits_close(splits *splits);

#endif
