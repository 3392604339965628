#include "core/failure.h"

#include <stdarg.h>
#include <stdio.h>

status_code fail(failure *failure, status_code status, const char *format, ...) {
    if (!failure) return status;
    failure->status = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->message, sizeof failure->message, format, arguments);
    va_end(arguments);
    return status;
}

status_code fail_memory(failure *failure, const char *what) {
    return fail(failure, STATUS_OUT_OF_MEMORY, "out of memory for %s", what);
}
