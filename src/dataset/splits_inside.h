/* What splits.c and splits_file.c share. */
#ifndef HWS_DATASET_SPLITS_INSIDE_H
#define HWS_DATASET_SPLITS_INSIDE_H

#include "dataset/splits.h"

enum { SPLITS_SEED = 12345 }; /* nnU-Net's */

/* Folds without cases. */
status_code splits_open(splits *splits, int folds, failure *failure);

enum { PLACE_NONE, PLACE_TRAIN, PLACE_VAL };

/* Fills a fold from the place of each case. */
status_code split_fill(split *fold, const unsigned char *places, size_t cases, failure *failure);

/* The fold that each case is validated in, where `together` is given (splits_together.c). */
status_code splits_assign_together(const splits_request *request, int *fold_of, failure *failure);

#endif
