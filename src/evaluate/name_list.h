/* The columns that --by names in one text, separated by commas: "sex,site". */
#ifndef HWS_EVALUATE_NAME_LIST_H
#define HWS_EVALUATE_NAME_LIST_H

#include "core/failure.h"

typedef status_code name_use(void *context, const char *name, failure *failure);

/*
 * Hands over one name after the other until one fails; NULL has none. A name that comes twice is refused before any is
 * handed over: the groups of a column that counts twice would be tested twice. Between commas that have nothing between
 * them the name is empty.
 */
status_code name_list_each(const char *list, name_use *use, void *context, failure *failure);

#endif
