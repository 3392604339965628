/* What splits.c and splits_file.c share. */
#ifndef HWS_DATASET_SPLITS_INSIDE_H
#define HWS_DATASET_SPLITS_INSIDE_H

#include "dataset/splits.h"

/* Folds without cases. */
status_code splits_open(splits *splits, int folds, failure *failure);

enum { PLACE_NONE, PLACE_TRAIN, PLACE_VAL };

/* Fills a fold from the place of each case. */
status_code split_fill(split *fold, const unsigned char *places, size_t cases, failure *failure);

#endif
