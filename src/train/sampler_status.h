/* What a call of the sampler means for the trainer. */
#ifndef HWS_TRAIN_SAMPLER_STATUS_H
#define HWS_TRAIN_SAMPLER_STATUS_H

#include "core/failure.h"
#include "hws.h"

/* STATUS_OK for HWS_OK; else the failure "what: why", where `error` is the call's own or, for calls on a sampler,
   hws_sampler_error. */
status_code sampler_status(const hws_error *error, hws_status status, const char *what, failure *failure);

#endif
