/* What a network that learns a dataset's labels has as outputs. */
#ifndef HWS_CACHE_DATASET_SCHEME_H
#define HWS_CACHE_DATASET_SCHEME_H

#include "dataset/dataset.h"
#include "plan/label_scheme.h"

/* STATUS_BAD_INPUT for too many labels or regions, and for regions without "regions_class_order". */
status_code dataset_scheme(const dataset *set, label_scheme *scheme, failure *failure);

#endif
