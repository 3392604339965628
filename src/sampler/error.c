#include "sampler/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

hws_status error_clear(hws_error *error) {
    if (error) *error = (hws_error){.status = HWS_OK, .position = -1, .example = -1};
    return HWS_OK;
}

hws_status error_at_list(hws_error *error, hws_status status, int64_t position, int64_t example, const char *format,
                         va_list arguments) {
    if (!error) return status;
    error_clear(error);
    error->status = status;
    error->position = position;
    error->example = example;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    return status;
}

hws_status error_at(hws_error *error, hws_status status, int64_t position, int64_t example, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    error_at_list(error, status, position, example, format, arguments);
    va_end(arguments);
    return status;
}

hws_status error_set(hws_error *error, hws_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    error_at_list(error, status, -1, -1, format, arguments);
    va_end(arguments);
    return status;
}

const char *not_finite_name(float loss) { return isnan(loss) ? "nan" : loss > 0 ? "inf" : "-inf"; }

void path_shown(const char *path, char shown[PATH_SHOWN]) {
    const size_t length = strlen(path), room = PATH_SHOWN - sizeof "...";
    snprintf(shown, PATH_SHOWN, "%s%s", length > room ? "..." : "", length > room ? path + length - room : path);
}

hws_status error_path(hws_error *error, const char *verb, const char *path, int reason) {
    char shown[PATH_SHOWN];
    path_shown(path, shown);
    error_set(error, HWS_ERROR_IO, "cannot %s %s: %s", verb, shown, strerror(reason));
    if (error) error->system_error = reason;
    return HWS_ERROR_IO;
}
