/* The same work on many items, spread over threads. */
#ifndef HWS_CORE_PARALLEL_H
#define HWS_CORE_PARALLEL_H

#include "core/failure.h"
#include "core/listener.h"

#include <stddef.h>

typedef struct parallel_work {
    /* Does one item. Runs on several threads at once. */
    status_code (*run)(void *context, size_t item, failure *failure);
    void *context;
    const listener *listener; /* may be NULL; told of `what` after each item, and asked before each whether to stop */
    const char *what;
} parallel_work;

/*
 * Runs items 0 to count - 1 on up to `threads` threads, which take the next item when they are done with one. After a
 * failure no new items are begun; of several failures that of the first item is returned. The same when the listener
 * says stop while there are items left: STATUS_STOPPED. Works with fewer threads when the system gives no more.
 */
status_code parallel_run(const parallel_work *work, size_t count, int threads, failure *failure);

/* How many processors this process may use: OMP_NUM_THREADS if it is set, else those that its affinity allows, within
   the share of time of its cgroup (cgroup.h), divided by the processes that share them. */
int parallel_processors(void);
/* So many processes, this one included, work together on the same processors. Before any work is begun. */
void parallel_share_processors(int processes);

#endif
