#define _GNU_SOURCE /* sched_getaffinity */
#include "core/parallel.h"

#include "core/cgroup.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_THREADS = 256 };

typedef struct shared {
    const parallel_work *work;
    size_t count, next, done;
    size_t failed; /* the first item that failed; count: none */
    int stopped;   /* the listener said so */
    failure failure;
    pthread_mutex_t lock;
} shared;

/* The next item, or count if there is none, one failed or the listener wants no more. */
static size_t take(shared *shared) {
    pthread_mutex_lock(&shared->lock);
    size_t item = shared->failed < shared->count ? shared->count : shared->next;
    if (item < shared->count && !shared->stopped) shared->stopped = listener_stops(shared->work->listener);
    if (shared->stopped) item = shared->count;
    if (item < shared->count) shared->next++;
    pthread_mutex_unlock(&shared->lock);
    return item;
}

static void finish(shared *shared, size_t item, status_code status, const failure *failure) {
    pthread_mutex_lock(&shared->lock);
    if (status != STATUS_OK && item < shared->failed) {
        shared->failed = item;
        shared->failure = *failure;
        shared->failure.status = status;
    }
    shared->done++;
    if (status == STATUS_OK) listener_progress(shared->work->listener, shared->work->what, shared->done, shared->count);
    pthread_mutex_unlock(&shared->lock);
}

static void *run_items(void *argument) {
    shared *shared = argument;
    for (size_t item; (item = take(shared)) < shared->count;) {
        failure failure = {0};
        const status_code status = shared->work->run(shared->work->context, item, &failure);
        finish(shared, item, status, &failure);
    }
    return NULL;
}

status_code parallel_run(const parallel_work *work, size_t count, int threads, failure *failure) {
    shared shared = {.work = work, .count = count, .failed = count};
    pthread_mutex_init(&shared.lock, NULL);
    pthread_t helpers[MOST_THREADS];
    int started = 0;
    while (started + 1 < threads && started < MOST_THREADS && (size_t)started + 1 < count &&
           pthread_create(&helpers[started], NULL, run_items, &shared) == 0)
        started++;
    run_items(&shared);
    for (int k = 0; k < started; k++) pthread_join(helpers[k], NULL);
    pthread_mutex_destroy(&shared.lock);
    if (shared.failed == count && shared.stopped)
        return fail(failure, STATUS_STOPPED, "%s: stopped after %zu of %zu", work->what, shared.done, count);
    if (shared.failed == count) return STATUS_OK;
    if (failure) *failure = shared.failure;
    return shared.failure.status;
}

/* What OMP_NUM_THREADS begins with, or 0. */
static long asked_for(void) {
    const char *text = getenv("OMP_NUM_THREADS");
    return text ? strtol(text, NULL, 10) : 0;
}

static long within_affinity(void) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
    return sysconf(_SC_NPROCESSORS_ONLN);
}

static int sharers = 1;

void parallel_share_processors(int processes) { sharers = processes; }

int parallel_processors(void) {
    long count = asked_for();
    if (count < 1) {
        const double share = cgroup_processors("");
        count = within_affinity();
        if (share < (double)count) count = (long)(share + 0.5);
        count /= sharers;
    }
    return count < 1 ? 1 : count > MOST_THREADS ? MOST_THREADS : (int)count;
}
