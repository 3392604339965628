/* Tells how far the preparation of a dataset is, and what was found in it. */
#ifndef HWS_CLI_CACHE_PROGRESS_H
#define HWS_CLI_CACHE_PROGRESS_H

#include "cache/cache.h"
#include "progress.h"

typedef struct cache_progress {
    cli_progress progress;
    int started, quiet;
    cache_stage stage;
} cache_progress;

/* For cache_options; `progress` must live as long. */
cache_listener cache_progress_listener(cache_progress *progress);
void cache_progress_end(cache_progress *progress);

#endif
