#define _POSIX_C_SOURCE 200809L /* strndup */
#include "evaluate/name_list.h"

#include <stdlib.h>
#include <string.h>

/* Moves behind a name and its comma; NULL behind the last. */
static const char *next(const char *list, size_t length) { return list[length] ? list + length + 1 : NULL; }

static status_code check_different(const char *list, failure *failure) {
    for (const char *one = list; one;) {
        const size_t length = strcspn(one, ",");
        const char *behind = next(one, length);
        for (const char *other = behind; other; other = next(other, strcspn(other, ",")))
            if (length && strcspn(other, ",") == length && memcmp(one, other, length) == 0)
                return fail(failure, STATUS_BAD_INPUT, "--by %.200s: names the column '%.*s' twice", list,
                            length < 100 ? (int)length : 100, one);
        one = behind;
    }
    return STATUS_OK;
}

status_code name_list_each(const char *list, name_use *use, void *context, failure *failure) {
    status_code status = check_different(list, failure);
    while (list && status == STATUS_OK) {
        const size_t length = strcspn(list, ",");
        char *name = strndup(list, length);
        status = name ? use(context, name, failure) : fail_memory(failure, "a list of names");
        free(name);
        list = next(list, length);
    }
    return status;
}
