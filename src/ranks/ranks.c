#include "ranks/ranks.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ranks RANKS_ALONE = {.rank = 0, .count = 1};
static const ranks *here = &RANKS_ALONE;

const ranks *ranks_here(void) { return here; }
void ranks_set(const ranks *r) { here = r ? r : &RANKS_ALONE; }

void ranks_gather(const ranks *r, void *bytes, const size_t *sizes) {
    if (r->count > 1) r->backend->gather(r, bytes, sizes);
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
status_code ranks_agree(const ranks *r, status_code status, failure *why) {
    int each[RANKS_MAX], first = 0;
    size_t sizes[RANKS_MAX] = {0};
    failure told = {0};
    if (r->count == 1) return status;
    each[r->rank] = (int)status;
    ranks_gather_each(r, each, sizeof *each);
    while (first < r->count && each[first] == STATUS_OK) first++;
    if (first == r->count) return STATUS_OK;
    if (first == r->rank && why) told = *why;
    sizes[first] = sizeof told;
    ranks_gather(r, &told, sizes);
    if (why) *why = told;
    return (status_code)each[first];
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
} own_items;

static status_code run_own(void *context, size_t item, failure *failure) {
    const own_items *own = context;
    return own->work->run(own->work->context, item * (size_t)own->ranks->count + (size_t)own->ranks->rank, failure);
}

status_code ranks_run(const ranks *r, const parallel_work *work, size_t count, int threads, failure *failure) {
    own_items own = {work, r};
    parallel_work mine = *work;
    mine.run = run_own;
    mine.context = &own;
    const size_t before = (size_t)r->rank, every = (size_t)r->count;
    const size_t items = count > before ? (count - before + every - 1) / every : 0;
    return ranks_agree(r, parallel_run(&mine, items, threads, failure), failure);
}
