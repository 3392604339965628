/* What methods that are compared are called. */
#ifndef HWS_EVALUATE_METHOD_NAMES_H
#define HWS_EVALUATE_METHOD_NAMES_H

#include "core/failure.h"

#include <stddef.h>

enum { COMPARED_MAX = 32, COMPARED_NAME_BYTES = 64 };

typedef char method_name[COMPARED_NAME_BYTES];

/* "ERM,DRO": as many different names as there are methods. */
status_code method_names_choose(method_name *names, size_t count, const char *list, failure *failure);

/* Names that do not tell all of them apart are no use: then it is A, B, C. */
void method_names_make_different(method_name *names, size_t count);

#endif
