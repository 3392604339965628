/* Tells how far the preparation of a dataset is, and what was found in it. */
#ifndef HWS_CLI_CACHE_PROGRESS_H
#define HWS_CLI_CACHE_PROGRESS_H

#include "cache/cache.h"
#include "progress.h"

/* For cache_options; `progress` must live as long. */
cache_listener cache_progress_listener(cli_progress *progress, int quiet);

#endif
