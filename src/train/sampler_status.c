#include "train/sampler_status.h"

static status_code code_of(hws_status status) {
    switch (status) {
    case HWS_OK: return STATUS_OK;
    case HWS_ERROR_MEMORY: return STATUS_OUT_OF_MEMORY;
    case HWS_ERROR_NOT_FINITE: return STATUS_NOT_FINITE;
    case HWS_ERROR_CORRUPT:
    case HWS_ERROR_VERSION: return STATUS_CORRUPT;
    case HWS_ERROR_TOO_FEW: return STATUS_FAILED;
    default: return STATUS_BAD_INPUT;
    }
}

status_code sampler_status(const hws_error *error, hws_status status, const char *what, failure *failure) {
    if (status == HWS_OK) return STATUS_OK;
    return fail(failure, code_of(status), "%.700s: %s", what, error->message);
}
