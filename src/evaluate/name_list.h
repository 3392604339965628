/* Names in one text, separated by commas: "sex,site". */
#ifndef HWS_EVALUATE_NAME_LIST_H
#define HWS_EVALUATE_NAME_LIST_H

#include "core/failure.h"

typedef status_code name_use(void *context, const char *name, failure *failure);

/* Hands over one name after the other until one fails. A list that is NULL or empty has none. */
status_code name_list_each(const char *list, name_use *use, void *context, failure *failure);

#endif
