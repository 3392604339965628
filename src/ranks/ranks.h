/*
 * The processes that work together on one thing: ranks 0 to count - 1, in MPI's words. A process that works alone is
 * the only rank, and all of this costs it nothing.
 *
 *     const ranks *r = ranks_here();
 *     status = ranks_agree(r, status, &failure);      all know whether one has failed, and why
 *     ranks_gather(r, values, sizes);                 all know what each has found
 *
 * What all ranks call, in the same order, is marked "together": who leaves one out lets the others wait forever. Only
 * the thread that started may call them.
 *
 * How messages travel is a backend's: ranks_mpi.c, the only file that includes mpi.h, in programs that were built with
 * it. Results must not depend on how many ranks there are: who sums over them takes what each rank has, in an order
 * that the data decide (model/gradient_join.h, nn/graph.h).
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

/* A word from one rank to another that does not wait to be heard. */
typedef struct ranks_note {
    int64_t kind, amount;
} ranks_note;

typedef struct ranks_backend {
    /* Together. Rank k has sizes[k] bytes of its own, behind those of the ranks before it; when it has ended, all have
       all. One at a time: in between only messages may be begun. */
    void (*begin_gather)(const ranks *ranks, void *bytes, const size_t *sizes);
    void (*end_gather)(const ranks *ranks);
    /* Begin to send or to receive; the bytes must stay until `wait` has returned. */
    void (*send)(const ranks *ranks, ranks_message message);
    void (*receive)(const ranks *ranks, ranks_message message);
    void (*advance)(const ranks *ranks); /* lets messages travel */
    void (*wait)(const ranks *ranks);    /* until all messages have arrived */
    /* Sends a note; returns at once. Those from one rank to another arrive in their order. */
    void (*post)(const ranks *ranks, int other, ranks_note note);
    /* 1: there was a note, which *note is now; returns at once. */
    int (*poll)(const ranks *ranks, ranks_note *note);
} ranks_backend;

struct ranks {
    int rank, count;
    int neighbours; /* ranks on this machine, itself included, which share its memory; 0 is 1 */
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
void ranks_begin_gather(const ranks *ranks, void *bytes, const size_t *sizes);
void ranks_end_gather(const ranks *ranks);
void ranks_gather(const ranks *ranks, void *bytes, const size_t *sizes); /* both */
/* Together: values[rank] is this rank's; afterwards all are there. */
void ranks_gather_each(const ranks *ranks, void *values, size_t size_of_one);
/* Together: the bytes of rank 0 go to all. */
void ranks_share_first(const ranks *ranks, void *bytes, size_t size);
/* Together: 1 if it is 1 on any rank. */
int ranks_any(const ranks *ranks, int yes);
/* Together: the failure of the first rank that has one becomes that of all. */
status_code ranks_agree(const ranks *ranks, status_code status, failure *failure);
/* The same, where each rank says which piece of work failed: the failure of the first piece is that of all. */
status_code ranks_agree_on(const ranks *ranks, status_code status, size_t piece, failure *failure);
/* Together: the first rank that gives another number than rank 0; 0 if all give the same. */
int ranks_first_other(const ranks *ranks, uint64_t number);
/* Together: STATUS_BAD_INPUT if the ranks do not all give the same number, which tells `what` apart from another. */
status_code ranks_check_same(const ranks *ranks, uint64_t number, const char *what, failure *failure);

/* Messages; nothing for the rank that works alone. */
void ranks_send(const ranks *ranks, ranks_message message);
void ranks_receive(const ranks *ranks, ranks_message message);
void ranks_advance(const ranks *ranks);
void ranks_wait(const ranks *ranks);

/*
 * `pieces` neighbouring pieces of work for all ranks, by weights such as their numbers of threads: rank k gets those
 * from starts[k] to starts[k + 1], of [count + 1]. Some may get none.
 */
void ranks_divide(int pieces, int count, const int *weights, int *starts);

/* The same for any number of pieces and equal ranks: where those of a rank begin. */
static inline int64_t ranks_start(const ranks *r, int64_t pieces, int rank) { return pieces * rank / r->count; }

/* Together: parallel_run of items that are dealt to the ranks in turn; with the failure of all. Progress is of all
   items (shared_work.h). Items of other ranks have been done when it returns. */
status_code ranks_run(const ranks *ranks, const parallel_work *work, size_t count, int threads, failure *failure);
/* Whether an item is this rank's. */
static inline int ranks_has(const ranks *r, size_t item) { return item % (size_t)r->count == (size_t)r->rank; }
/* Together: of [count] results of `size` bytes, each rank has those of its items; afterwards all have all. */
status_code ranks_gather_items(const ranks *ranks, void *results, size_t count, size_t size, failure *failure);

/* What a rank may have of the memory that its machine has. */
static inline double ranks_memory(const ranks *r, double available) {
    return r->neighbours > 1 ? available / r->neighbours : available;
}

enum { RANKS_MAX = 4096 };

#endif
