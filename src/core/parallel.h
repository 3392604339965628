/* The same work on many items, spread over threads. */
#ifndef HWS_CORE_PARALLEL_H
#define HWS_CORE_PARALLEL_H

#include "core/failure.h"

#include <stddef.h>

typedef struct parallel_work {
    /* Does one item. Runs on several threads at once. */
    status_code (*run)(void *context, size_t item, failure *failure);
    /* Told after each item, one call at a time; may be NULL. */
    void (*progress)(void *progress_context, size_t done, size_t total);
    void *context, *progress_context;
} parallel_work;

/*
 * Runs items 0 to count - 1 on up to `threads` threads, which take the next item when they are done with one. After a
 * failure no new items are begun; of several failures that of the first item is returned. Works with fewer threads
 * when the system gives no more.
 */
status_code parallel_run(const parallel_work *work, size_t count, int threads, failure *failure);

/* How many processors there are. */
int parallel_processors(void);

#endif
