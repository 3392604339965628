#include "base/failure.h"

#include <stdarg.h>
#include <stdio.h>

hws_status fail(failure *failure, hws_status status, const char *format, ...) {
    if (!failure) return status;
    failure->status = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->message, sizeof failure->message, format, arguments);
    va_end(arguments);
    return status;
}

hws_status fail_memory(failure *failure, const char *what) {
    return fail(failure, HWS_ERROR_MEMORY, "out of memory for %s", what);
}
