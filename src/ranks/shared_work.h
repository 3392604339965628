/*
 * Long work of which each rank does a share by itself.
 *
 *     shared_work work;
 *     const listener *mine = shared_work_begin(&work, ranks, listener, total);
 *     ...                     each begins its pieces in order (shared_work_at), tells `mine` how much of its share is
 *                             done, and asks it whether to stop
 *     status = shared_work_end(&work, status, piece, &failure);
 *
 * The first rank's listener hears of what all have done, of `total`. When one rank is told to stop, the listeners
 * `mine` of the others say stop, too. When it fails at a piece, they say so once their ranks are beyond that piece:
 * pieces before it are still done, since the failure of the first piece is to be told, whoever was faster. Ranks hear
 * of each other when the thread that began the work calls `mine`, and at the end: it should do so often.
 */
#ifndef HWS_RANKS_SHARED_WORK_H
#define HWS_RANKS_SHARED_WORK_H

#include "core/listener.h"
#include "ranks/ranks.h"

#include <pthread.h>

/* Its members are its own. */
typedef struct shared_work {
    const ranks *ranks;
    const listener *outer; /* of this rank's user */
    listener mine;
    const char *what;
    size_t total, own, sent, others; /* done: here, of that known to the first rank; on the first one, by the others */
    int stopped;                     /* by the outer listener */
    size_t end_at;                   /* pieces from this one on need not be done any more; SIZE_MAX: all are */
    _Atomic size_t reached;          /* the piece that is being worked on */
    int over;                        /* all have finished */
    int finished, left;              /* on the first rank: others that have, and that know that all have */
    double last;                     /* when it was told to the first rank; seconds */
    pthread_t thread;
} shared_work;

/* Together. The listener may be NULL. */
const listener *shared_work_begin(shared_work *work, const ranks *ranks, const listener *listener, size_t total);

/* This rank begins a piece; from any thread. */
void shared_work_at(shared_work *work, size_t piece);

/*
 * Together. Waits for the others. `status` is that of this rank's share, `piece` which piece of the work failed: the
 * failure of the first piece becomes that of all. A rank that was stopped because of another has none of its own.
 */
status_code shared_work_end(shared_work *work, status_code status, size_t piece, failure *failure);

#endif
