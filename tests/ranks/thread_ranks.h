/* Ranks that are threads of this process, so that what ranks do together can be tested without MPI. */
#ifndef HWS_TESTS_RANKS_THREAD_RANKS_H
#define HWS_TESTS_RANKS_THREAD_RANKS_H

#include "ranks/ranks.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

enum { THREAD_RANKS = 3, MOST_NOTES = 4096 };

typedef struct thread_world {
    pthread_barrier_t barrier;
    pthread_mutex_t lock;
    char *bytes[THREAD_RANKS]; /* of those who gather */
    size_t sizes[THREAD_RANKS][THREAD_RANKS];
    ranks_note notes[THREAD_RANKS][MOST_NOTES]; /* to each rank */
    int posted[THREAD_RANKS], heard[THREAD_RANKS];
    void (*body)(const ranks *ranks);
    ranks all[THREAD_RANKS];
} thread_world;

static void thread_begin_gather(const ranks *r, void *bytes, const size_t *sizes) {
    thread_world *w = r->context;
    w->bytes[r->rank] = bytes;
    memcpy(w->sizes[r->rank], sizes, sizeof w->sizes[r->rank]);
}

static void thread_end_gather(const ranks *r) {
    thread_world *w = r->context;
    const size_t *sizes = w->sizes[r->rank];
    size_t at = 0;
    pthread_barrier_wait(&w->barrier);
    for (int k = 0; k < r->count; at += sizes[k++])
        if (k != r->rank) memcpy(w->bytes[r->rank] + at, w->bytes[k] + at, sizes[k]);
    pthread_barrier_wait(&w->barrier);
}

static void thread_post(const ranks *r, int other, ranks_note note) {
    thread_world *w = r->context;
    pthread_mutex_lock(&w->lock);
    assert(w->posted[other] < MOST_NOTES);
    w->notes[other][w->posted[other]++] = note;
    pthread_mutex_unlock(&w->lock);
}

static int thread_poll(const ranks *r, ranks_note *note) {
    thread_world *w = r->context;
    pthread_mutex_lock(&w->lock);
    const int there = w->heard[r->rank] < w->posted[r->rank];
    if (there) *note = w->notes[r->rank][w->heard[r->rank]++];
    pthread_mutex_unlock(&w->lock);
    return there;
}

static void *thread_begin(void *rank) {
    const ranks *r = rank;
    ((thread_world *)r->context)->body(r);
    return NULL;
}

/* `body` runs as each rank; afterwards no note may be left. */
static void thread_ranks_run(void (*body)(const ranks *ranks)) {
    static const ranks_backend BACKEND = {
        .begin_gather = thread_begin_gather, .end_gather = thread_end_gather, .post = thread_post, .poll = thread_poll};
    static thread_world world; /* large */
    pthread_t threads[THREAD_RANKS];
    memset(&world, 0, sizeof world);
    world.body = body;
    pthread_barrier_init(&world.barrier, NULL, THREAD_RANKS);
    pthread_mutex_init(&world.lock, NULL);
    for (int k = 0; k < THREAD_RANKS; k++) {
        world.all[k] = (ranks){.rank = k, .count = THREAD_RANKS, .backend = &BACKEND, .context = &world};
        assert(pthread_create(&threads[k], NULL, thread_begin, &world.all[k]) == 0);
    }
    for (int k = 0; k < THREAD_RANKS; k++) pthread_join(threads[k], NULL);
    for (int k = 0; k < THREAD_RANKS; k++) assert(world.posted[k] == world.heard[k]);
    pthread_mutex_destroy(&world.lock);
    pthread_barrier_destroy(&world.barrier);
}

#endif
