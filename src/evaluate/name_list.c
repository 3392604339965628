#define _POSIX_C_SOURCE 200809L /* strndup */
#include "evaluate/name_list.h"

#include <stdlib.h>
#include <string.h>

status_code name_list_each(const char *list, name_use *use, void *context, failure *failure) {
    status_code status = STATUS_OK;
    while (list && *list && status == STATUS_OK) {
        const size_t length = strcspn(list, ",");
        char *name = strndup(list, length);
        status = name ? use(context, name, failure) : fail_memory(failure, "a list of names");
        free(name);
        list += length + (list[length] == ',');
    }
    return status;
}
