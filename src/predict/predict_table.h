/* The rows of a table classified: a part of predict_images. */
#ifndef HWS_PREDICT_PREDICT_TABLE_H
#define HWS_PREDICT_PREDICT_TABLE_H

#include "predict/class_ensemble.h"
#include "predict/predict.h"

/* Whether the input is a CSV file without file names; fails if it is called one and cannot be read. */
status_code predict_takes_table(const char *input, int *takes, failure *failure);

/* By how the runs' training tables became numbers, which each has kept; labels are not needed. */
status_code predict_table(const predict_request *request, class_ensemble *ensemble, const listener *listener,
                          size_t *done, failure *failure);

#endif
