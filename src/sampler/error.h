/* Filling an hws_error: every function accepts NULL for it, and returns the status. */
#ifndef HWS_SAMPLER_ERROR_H
#define HWS_SAMPLER_ERROR_H

#include "core/printf_like.h"
#include "hws.h"

#include <stdarg.h>

/* Success, which is how every call that takes an error begins. */
hws_status error_clear(hws_error *error);

hws_status error_set(hws_error *error, hws_status status, const char *format, ...) PRINTF_LIKE(3, 4);

/* The fault lies with one example, at a position of the caller's array; either may be -1. */
hws_status error_at(hws_error *error, hws_status status, int64_t position, int64_t example, const char *format, ...)
    PRINTF_LIKE(5, 6);
hws_status error_at_list(hws_error *error, hws_status status, int64_t position, int64_t example, const char *format,
                         va_list arguments);

/* A path as messages show it: by its end, if it is long. */
enum { PATH_SHOWN = 104 };
void path_shown(const char *path, char shown[PATH_SHOWN]);

/* HWS_ERROR_IO: "cannot `verb` `path`: ", then what this errno means. */
hws_status error_path(hws_error *error, const char *verb, const char *path, int reason);

/* "nan", "inf" or "-inf", where printf would say "-nan" for some. */
const char *not_finite_name(float loss);

#endif
