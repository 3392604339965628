/* What splits.c and splits_file.c share. */
#ifndef HWS_FOLDER_SPLITS_INSIDE_H
#define HWS_FOLDER_SPLITS_INSIDE_H

#include "folder/splits.h"

/* Folds without cases. */
hws_status splits_open(splits *splits, int folds, failure *failure);

enum { PLACE_NONE, PLACE_TRAIN, PLACE_VAL };

/* Fills a fold from the place of each case. */
hws_status split_fill(split *fold, const unsigned char *places, size_t cases, failure *failure);

#endif
