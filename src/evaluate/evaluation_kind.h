/* What evaluations are of: classified examples (classified.h) or segmented cases (evaluated.h). */
#ifndef HWS_EVALUATE_EVALUATION_KIND_H
#define HWS_EVALUATE_EVALUATION_KIND_H

#include "core/failure.h"

#include <stddef.h>

/* Whether these are of classifiers, as far as the files or the runs tell; else of segmentations. Fails where some are
   the one and some the other. */
status_code evaluation_kind(const char *const *paths, size_t count, int *are_classified, failure *failure);

#endif
