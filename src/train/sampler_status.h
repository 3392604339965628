/* What a call of the sampler means for the trainer. */
#ifndef HWS_TRAIN_SAMPLER_STATUS_H
#define HWS_TRAIN_SAMPLER_STATUS_H

#include "core/failure.h"
#include "hws.h"

/* STATUS_OK for HWS_OK; else the failure "what: why", where the reason is the sampler's, or the code's text if there is
   none (NULL). */
status_code sampler_status(const hws_sampler *sampler, hws_status status, const char *what, failure *failure);

#endif
