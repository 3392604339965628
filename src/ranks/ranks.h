/*
 * The processes that work together on one thing: ranks 0 to count - 1, in MPI's words. A process that works alone is the
 * only rank, and all of this costs it nothing.
 *
 *     const ranks *r = ranks_here();
 *     status = ranks_agree(r, status, &failure);      all know whether one has failed, and why
 *     ranks_gather(r, values, sizes);                 all know what each has found
 *
 * What all ranks call, in the same order, is marked "together": who leaves one out lets the others wait forever. Only the
 * thread that started may call them.
 *
 * How messages travel is a backend's: ranks_mpi.c, the only file that includes mpi.h, in programs that were built with it.
 * Results must not depend on how many ranks there are: who sums over them takes what each rank has, in an order that the
 * data decide (model/gradient_join.h, nn/graph.h).
 */
#ifndef HWS_RANKS_RANKS_H
#define HWS_RANKS_RANKS_H

#include "core/failure.h"
#include "core/parallel.h"

#include <stddef.h>
#include <stdint.h>

typedef struct ranks ranks;

/* A message between this rank and another, both of whom must name the same tag and size. */
typedef struct ranks_message {
    int other, tag;
    void *bytes;
    size_t size;
} ranks_message;

typedef struct ranks_backend {
    /* Together. Rank k has sizes[k] bytes of its own, behind those of the ranks before it; afterwards all have all. */
    void (*gather)(const ranks *ranks, void *bytes, const size_t *sizes);
    /* Begin to send or to receive; the bytes must stay until `wait` has returned. */
    void (*send)(const ranks *ranks, ranks_message message);
    void (*receive)(const ranks *ranks, ranks_message message);
    void (*advance)(const ranks *ranks); /* lets messages travel */
    void (*wait)(const ranks *ranks);    /* until all messages have arrived */
} ranks_backend;

struct ranks {
    int rank, count;
    const ranks_backend *backend;
    void *context;
};

/* The one process that works alone. */
extern const ranks RANKS_ALONE;

/* Those of this process: RANKS_ALONE until the program has set others, which it does before it works. */
const ranks *ranks_here(void);
void ranks_set(const ranks *ranks);

static inline int ranks_is_first(const ranks *r) { return r->rank == 0; }

/* Together: see ranks_backend. */
void ranks_gather(const ranks *ranks, void *bytes, const size_t *sizes);
/* Together: values[rank] is this rank's; afterwards all are there. */
void ranks_gather_each(const ranks *ranks, void *values, size_t size_of_one);
/* Together: the bytes of rank 0 go to all. */
void ranks_share_first(const ranks *ranks, void *bytes, size_t size);
/* Together: 1 if it is 1 on any rank. */
int ranks_any(const ranks *ranks, int yes);
/* Together: the failure of the first rank that has one becomes that of all. */
status_code ranks_agree(const ranks *ranks, status_code status, failure *failure);

/* Messages; nothing for the rank that works alone. */
void ranks_send(const ranks *ranks, ranks_message message);
void ranks_receive(const ranks *ranks, ranks_message message);
void ranks_advance(const ranks *ranks);
void ranks_wait(const ranks *ranks);

/*
 * `pieces` neighbouring pieces of work for all ranks, by weights such as their numbers of threads: rank k gets those from
 * starts[k] to starts[k + 1], of [count + 1]. Some may get none.
 */
void ranks_divide(int pieces, int count, const int *weights, int *starts);

/* The same for any number of pieces and equal ranks: where those of a rank begin. */
static inline int64_t ranks_start(const ranks *r, int64_t pieces, int rank) { return pieces * rank / r->count; }

/* Together: parallel_run of the items of all ranks, of which each does every count-th; with the failure of all. Items of
   other ranks have been done when it returns. */
status_code ranks_run(const ranks *ranks, const parallel_work *work, size_t count, int threads, failure *failure);

enum { RANKS_MAX = 4096 };

#endif
