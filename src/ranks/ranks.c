#include "ranks/ranks.h"

#include "ranks/shared_work.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

const ranks RANKS_ALONE = {.rank = 0, .count = 1};
static const ranks *here = &RANKS_ALONE;

const ranks *ranks_here(void) { return here; }
void ranks_set(const ranks *r) { here = r ? r : &RANKS_ALONE; }

void ranks_begin_gather(const ranks *r, void *bytes, const size_t *sizes) {
    if (r->count > 1) r->backend->begin_gather(r, bytes, sizes);
}

void ranks_end_gather(const ranks *r) {
    if (r->count > 1) r->backend->end_gather(r);
}

void ranks_gather(const ranks *r, void *bytes, const size_t *sizes) {
    ranks_begin_gather(r, bytes, sizes);
    ranks_end_gather(r);
}

void ranks_gather_each(const ranks *r, void *values, size_t size) {
    size_t sizes[RANKS_MAX];
    for (int k = 0; k < r->count; k++) sizes[k] = size;
    ranks_gather(r, values, sizes);
}

void ranks_share_first(const ranks *r, void *bytes, size_t size) {
    size_t sizes[RANKS_MAX] = {size};
    ranks_gather(r, bytes, sizes);
}

int ranks_any(const ranks *r, int yes) {
    unsigned char each[RANKS_MAX];
    each[r->rank] = yes != 0;
    ranks_gather_each(r, each, 1);
    return memchr(each, 1, (size_t)r->count) != 0;
}

/* The message travels only when there is one. */
status_code ranks_agree_on(const ranks *r, status_code status, size_t piece, failure *why) {
    struct {
        size_t piece;
        int status;
    } each[RANKS_MAX];
    size_t sizes[RANKS_MAX] = {0};
    failure told = {0};
    int first = -1;
    if (r->count == 1) return status;
    memset(&each[r->rank], 0, sizeof *each);
    each[r->rank].piece = piece;
    each[r->rank].status = (int)status;
    ranks_gather_each(r, each, sizeof *each);
    for (int k = 0; k < r->count; k++)
        if (each[k].status != STATUS_OK && (first < 0 || each[k].piece < each[first].piece)) first = k;
    if (first < 0) return STATUS_OK;
    if (first == r->rank && why) told = *why;
    sizes[first] = sizeof told;
    ranks_gather(r, &told, sizes);
    if (why) *why = told;
    return (status_code)each[first].status;
}

status_code ranks_agree(const ranks *r, status_code status, failure *why) { return ranks_agree_on(r, status, 0, why); }

int ranks_first_other(const ranks *r, uint64_t number) {
    uint64_t each[RANKS_MAX];
    each[r->rank] = number;
    ranks_gather_each(r, each, sizeof *each);
    for (int k = 1; k < r->count; k++)
        if (each[k] != each[0]) return k;
    return 0;
}

status_code ranks_check_same(const ranks *r, uint64_t number, const char *what, failure *failure) {
    const int other = ranks_first_other(r, number);
    if (!other) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%.500s is not the same for rank %d as for rank 0: all ranks must see the same files", what, other);
}

void ranks_send(const ranks *r, ranks_message message) {
    if (r->count > 1) r->backend->send(r, message);
}
void ranks_receive(const ranks *r, ranks_message message) {
    if (r->count > 1) r->backend->receive(r, message);
}
void ranks_advance(const ranks *r) {
    if (r->count > 1) r->backend->advance(r);
}
void ranks_wait(const ranks *r) {
    if (r->count > 1) r->backend->wait(r);
}

void ranks_divide(int pieces, int count, const int *weights, int *starts) {
    double all = 0, before = 0;
    for (int k = 0; k < count; k++) all += weights[k];
    for (int k = 0; k < count; k++) {
        starts[k] = (int)(pieces * before / all + 0.5);
        before += weights[k];
    }
    starts[count] = pieces;
}

/* ---- work on items ----------------------------------------------------------------------------------------------- */

typedef struct own_items {
    const parallel_work *work;
    const ranks *ranks;
    shared_work *shared;
    _Atomic size_t failed; /* the first item that did */
} own_items;

static status_code run_own(void *context, size_t mine, failure *failure) {
    own_items *own = context;
    const size_t item = mine * (size_t)own->ranks->count + (size_t)own->ranks->rank;
    shared_work_at(own->shared, item);
    const status_code status = own->work->run(own->work->context, item, failure);
    size_t before = atomic_load(&own->failed);
    while (status != STATUS_OK && item < before && !atomic_compare_exchange_weak(&own->failed, &before, item)) continue;
    return status;
}

/* How many of the items a rank has. */
static size_t items_of(const ranks *r, size_t count, int rank) {
    const size_t before = (size_t)rank, every = (size_t)r->count;
    return count > before ? (count - before + every - 1) / every : 0;
}

status_code ranks_run(const ranks *r, const parallel_work *work, size_t count, int threads, failure *failure) {
    shared_work shared;
    own_items own = {work, r, &shared, count};
    const parallel_work mine = {run_own, &own, shared_work_begin(&shared, r, work->listener, count), work->what};
    const status_code status = parallel_run(&mine, items_of(r, count, r->rank), threads, failure);
    return shared_work_end(&shared, status, atomic_load(&own.failed), failure);
}

/* Those of a rank lie together while they travel. `to` 1: from the results to where they travel, 0: back. */
static void sort_by_rank(const ranks *r, char *results, char *sorted, size_t count, size_t size, int to) {
    for (int k = 0; k < r->count; k++)
        for (size_t item = (size_t)k; item < count; item += (size_t)r->count, sorted += size) {
            if (to) memcpy(sorted, results + item * size, size);
            else memcpy(results + item * size, sorted, size);
        }
}

/* Few enough that a message can be that long. */
static void gather_some(const ranks *r, char *results, char *sorted, size_t count, size_t size) {
    size_t sizes[RANKS_MAX];
    for (int k = 0; k < r->count; k++) sizes[k] = items_of(r, count, k) * size;
    sort_by_rank(r, results, sorted, count, size, 1);
    ranks_gather(r, sorted, sizes);
    sort_by_rank(r, results, sorted, count, size, 0);
}

status_code ranks_gather_items(const ranks *r, void *results, size_t count, size_t size, failure *failure) {
    enum { MOST_BYTES = 1 << 28 };
    if (r->count == 1 || count == 0) return STATUS_OK;
    const size_t rounds = MOST_BYTES / size / (size_t)r->count, some = (rounds ? rounds : 1) * (size_t)r->count;
    char *sorted = malloc((count < some ? count : some) * size);
    const status_code status =
        ranks_agree(r, sorted ? STATUS_OK : fail_memory(failure, "the results of several ranks"), failure);
    for (size_t k = 0; k < count && status == STATUS_OK; k += some)
        gather_some(r, (char *)results + k * size, sorted, count - k < some ? count - k : some, size);
    free(sorted);
    return status;
}
