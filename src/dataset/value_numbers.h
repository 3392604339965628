/* Texts as numbers: the groups of a column. */
#ifndef HWS_DATASET_VALUE_NUMBERS_H
#define HWS_DATASET_VALUE_NUMBERS_H

#include "core/failure.h"

#include <stddef.h>

/* Numbers the values from 0 on, in the order of their bytes, equal ones alike; how many different ones there are. */
status_code value_numbers(const char *const *values, size_t count, size_t *numbers, size_t *different,
                          failure *failure);

#endif
