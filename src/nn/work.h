/*
 * Pieces of work that the threads of a parallel region divide among them. Each thread has a share, which it
 * takes piece by piece in order, so that it finds in its caches what it left there; one that has finished its
 * own goes on with what is left of the others'. Processors are never equally fast for long (other programs,
 * other guests of the machine, their own clocks), and at the end of an operation all wait for the last. Who does
 * a piece does not matter to its bits.
 */
#ifndef HWS_NN_WORK_H
#define HWS_NN_WORK_H

#include "nn/team.h"

#include <stdatomic.h>
#include <stddef.h>

#ifdef _OPENMP
#include <omp.h>
#endif

/* Number `index` of `count` nearly equal shares of some pieces: the pieces [share_start, share_end). */
typedef struct share {
    int index, count;
} share;

static inline size_t share_start(size_t pieces, share s) { return pieces * (size_t)s.index / (size_t)s.count; }
static inline size_t share_end(size_t pieces, share s) { return pieces * (size_t)(s.index + 1) / (size_t)s.count; }

/* The share of this thread among those of its parallel region. */
static inline share thread_share(void) {
#ifdef _OPENMP
    return (share){omp_get_thread_num(), omp_get_num_threads()};
#else
    return (share){0, 1};
#endif
}

enum { WORK_SHARES = 64, CACHE_LINE = 64 };

/* The pieces of one share that nobody has taken yet, on a cache line of its own. Where there are more
   threads than WORK_SHARES, several begin with the same share. */
typedef struct work_left {
    _Alignas(CACHE_LINE) atomic_size_t next;
    size_t first, end;
} work_left;

typedef struct work {
    int threads, shares;
    int backwards; /* 1: each share is taken from its end on */
    work_left left[WORK_SHARES];
} work;

/* Divides the pieces anew, while nobody takes any: within a region each thread calls it, and a barrier comes before the
   first is taken. */
static inline void work_redivide(work *w, size_t pieces) {
    const share own = thread_share();
    for (int k = own.index; k < w->shares; k += own.count) {
        const share s = {k, w->shares};
        w->left[k].first = share_start(pieces, s);
        w->left[k].end = share_end(pieces, s);
        atomic_store_explicit(&w->left[k].next, w->left[k].first, memory_order_relaxed);
    }
}

/* Before a region of `threads` threads: as many of those planned as may work now. */
static inline void work_divide(work *w, size_t pieces, int planned) {
    w->threads = team_size(planned);
    w->shares = w->threads < WORK_SHARES ? w->threads : WORK_SHARES;
    w->backwards = 0;
    work_redivide(w, pieces);
}

/* The same for one of many passes over more than the caches hold: each begins where the one before ended, and finds
   there what the caches still hold of it. */
static inline void work_divide_turned(work *w, size_t pieces, int planned) {
    work_divide(w, pieces, planned);
    w->backwards = team_turn();
}

/* The next piece for this thread; 0 if none is left. */
static inline int work_take(work *w, size_t *piece) {
    const int own = thread_share().index;
    for (int k = 0; k < w->shares; k++) {
        work_left *left = &w->left[(own + k) % w->shares];
        if (atomic_load_explicit(&left->next, memory_order_relaxed) >= left->end) continue;
        *piece = atomic_fetch_add_explicit(&left->next, 1, memory_order_relaxed);
        if (*piece >= left->end) continue;
        if (w->backwards) *piece = left->first + (left->end - 1 - *piece);
        return 1;
    }
    return 0;
}

#endif
