#include "core/failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

status_code fail(failure *failure, status_code status, const char *format, ...) {
    if (!failure) return status;
    failure->status = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->message, sizeof failure->message, format, arguments);
    va_end(arguments);
    return status;
}

status_code fail_unreadable(failure *failure, const char *path, int error) {
    if (error == ENOMEM) return fail_memory(failure, path);
    return fail(failure, STATUS_CANNOT_READ, "%s: cannot be read: %s", path, strerror(error));
}
