/* Work that is dealt to several ranks: each item is done once, all know the results, the first rank hears of the
   progress of all, and a failure or a stop of one ends all. */
#undef NDEBUG
#include "ranks/shared_work.h"
#include "thread_ranks.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

enum { ITEMS = 20, THREADS = 2 };

/* What one rank does, and hears. */
typedef struct share {
    const ranks *ranks;
    size_t results[ITEMS];
    size_t last, told; /* progress: the last that it heard of, and how often */
    int stop;
    size_t fails[2];
    failure why;
    status_code status;
} share;

static share shares[THREAD_RANKS];
static _Atomic int done[ITEMS];
static void (*prepare)(share *share);
static int threads = THREADS;
static size_t held = ITEMS, until; /* the first one waits until the second has failed and its rank has long been told */

static void hear(void *context, const char *what, size_t count, size_t total) {
    share *s = context;
    assert(total == ITEMS && count <= total && count >= s->last && strcmp(what, "testing") == 0);
    s->last = count;
    s->told++;
}

static int stops(void *context) { return ((const share *)context)->stop; }

static status_code work_on(void *context, size_t item, failure *failure) {
    share *s = context;
    assert(ranks_has(s->ranks, item));
    atomic_fetch_add(&done[item], 1);
    s->results[item] = item * item;
    while (item == held && !done[until]) sched_yield();
    if (item == held) nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    const int breaks = item == s->fails[0] || item == s->fails[1];
    while (breaks && held == ITEMS && s->fails[1] < ITEMS && !(done[s->fails[0]] && done[s->fails[1]])) sched_yield();
    if (breaks) return (fail)(failure, STATUS_CORRUPT, "item %zu is broken", item);
    return STATUS_OK;
}

static void take_part(const ranks *r) {
    share *s = &shares[r->rank];
    *s = (share){.ranks = r, .fails = {ITEMS, ITEMS}};
    if (prepare) prepare(s);
    const struct listener hears = {.context = s, .progress = hear, .stop = stops};
    const parallel_work work = {work_on, s, &hears, "testing"};
    s->status = ranks_run(r, &work, ITEMS, threads, &s->why);
    if (s->status != STATUS_OK) return;
    for (int round = 0; round < 2; round++) { /* the notes of one piece of work do not reach the next */
        s->last = 0;
        assert(ranks_run(r, &work, ITEMS, threads, &s->why) == STATUS_OK);
    }
    assert(ranks_gather_items(r, s->results, ITEMS, sizeof *s->results, &s->why) == STATUS_OK);
}

static void run_with(void (*how)(share *share)) {
    for (int k = 0; k < ITEMS; k++) done[k] = 0;
    prepare = how;
    thread_ranks_run(take_part);
}

static void each_item_is_done_once_and_all_know(void **state) {
    (void)state;
    run_with(NULL);
    for (int k = 0; k < ITEMS; k++) assert_int_equal(done[k], 3);
    for (int rank = 0; rank < THREAD_RANKS; rank++) {
        assert_int_equal(shares[rank].status, STATUS_OK);
        for (size_t k = 0; k < ITEMS; k++) assert_int_equal(shares[rank].results[k], k * k);
    }
}

static void the_first_rank_hears_of_all(void **state) {
    (void)state;
    run_with(NULL);
    assert_int_equal(shares[0].last, ITEMS);
    assert_true(shares[0].told >= 3 * ITEMS / THREAD_RANKS);
    for (int rank = 1; rank < THREAD_RANKS; rank++) assert_int_equal(shares[rank].told, 0);
}

static void break_two(share *s) {
    s->fails[0] = 1; /* of rank 1 */
    s->fails[1] = 2;
}

/* Each of the two waits until the other has begun. */
static void the_failure_of_the_first_item_is_that_of_all(void **state) {
    (void)state;
    run_with(break_two);
    for (int rank = 0; rank < THREAD_RANKS; rank++) {
        assert_int_equal(shares[rank].status, STATUS_CORRUPT);
        assert_string_equal(shares[rank].why.message, "item 1 is broken");
    }
}

static void break_late(share *s) {
    s->fails[0] = 1 + THREAD_RANKS; /* the second of rank 1, whose first is held up */
    s->fails[1] = 2 * THREAD_RANKS; /* the third of rank 0 */
}

/* Also if its rank has not begun it when another fails at a later one. */
static void a_slow_rank_still_finds_the_first_failure(void **state) {
    (void)state;
    threads = 1;
    held = 1;
    until = 2 * THREAD_RANKS;
    run_with(break_late);
    threads = THREADS;
    held = ITEMS;
    for (int rank = 0; rank < THREAD_RANKS; rank++) {
        assert_int_equal(shares[rank].status, STATUS_CORRUPT);
        assert_string_equal(shares[rank].why.message, shares[1].why.message);
    }
    char expected[64];
    snprintf(expected, sizeof expected, "item %d is broken", 1 + THREAD_RANKS);
    assert_string_equal(shares[1].why.message, expected);
    assert_int_equal(done[1 + 2 * THREAD_RANKS], 0);
}

static void stop_last(share *s) { s->stop = s->ranks->rank == THREAD_RANKS - 1; }

static void a_rank_that_is_told_to_stop_stops_all(void **state) {
    (void)state;
    run_with(stop_last);
    for (int rank = 0; rank < THREAD_RANKS; rank++) assert_int_equal(shares[rank].status, STATUS_STOPPED);
    for (int k = THREAD_RANKS - 1; k < ITEMS; k += THREAD_RANKS) assert_int_equal(done[k], 0);
}

/* A failure tells more than that somebody wanted to stop. */
static void stop_and_break(share *s) {
    s->stop = s->ranks->rank == 0;
    s->fails[0] = 1;
}

static void a_failure_goes_before_a_stop(void **state) {
    (void)state;
    run_with(stop_and_break);
    for (int rank = 0; rank < THREAD_RANKS; rank++) assert_true(shares[rank].status != STATUS_OK);
    if (done[1])
        for (int rank = 0; rank < THREAD_RANKS; rank++) assert_int_equal(shares[rank].status, STATUS_CORRUPT);
}

/* Others do nothing but wait for the first rank, who goes on until it is stopped by one of those who wait. */
static void wait_to_be_stopped(const ranks *r) {
    share *s = &shares[r->rank];
    *s = (share){.ranks = r, .stop = r->rank == 1};
    const struct listener hears = {.context = s, .stop = stops};
    shared_work work;
    const listener *mine = shared_work_begin(&work, r, &hears, 1);
    status_code status = STATUS_OK;
    while (r->rank == 0 && status == STATUS_OK)
        if (listener_stops(mine)) status = (fail)(&s->why, STATUS_STOPPED, "the first rank stops");
    s->status = shared_work_end(&work, status, 0, &s->why);
}

static void who_waits_can_stop_who_works(void **state) {
    (void)state;
    thread_ranks_run(wait_to_be_stopped);
    for (int rank = 0; rank < THREAD_RANKS; rank++) {
        assert_int_equal(shares[rank].status, STATUS_STOPPED);
        assert_string_equal(shares[rank].why.message, "stopped");
    }
}

static void agree(const ranks *r) {
    share *s = &shares[r->rank];
    *s = (share){0};
    assert(ranks_agree(r, STATUS_OK, &s->why) == STATUS_OK);
    assert(ranks_check_same(r, 7, "it", &s->why) == STATUS_OK);
    assert(ranks_check_same(r, r->rank == 1 ? 8 : 7, "it", &s->why) == STATUS_BAD_INPUT);
    assert(strstr(s->why.message, "it is not the same for rank 1"));
    status_code status = r->rank ? (fail)(&s->why, STATUS_CORRUPT, "rank %d", r->rank) : STATUS_OK;
    assert(ranks_agree(r, status, &s->why) == STATUS_CORRUPT && strcmp(s->why.message, "rank 1") == 0);
    status = r->rank ? (fail)(&s->why, STATUS_CORRUPT, "rank %d", r->rank) : STATUS_OK;
    assert(ranks_agree_on(r, status, (size_t)(9 - r->rank), &s->why) == STATUS_CORRUPT);
    assert(strcmp(s->why.message, "rank 2") == 0);
    assert(ranks_any(r, r->rank == 2) && !ranks_any(r, 0));
}

static void ranks_agree_on_failures(void **state) {
    (void)state;
    thread_ranks_run(agree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item_is_done_once_and_all_know),
        cmocka_unit_test(the_first_rank_hears_of_all),
        cmocka_unit_test(the_failure_of_the_first_item_is_that_of_all),
        cmocka_unit_test(a_slow_rank_still_finds_the_first_failure),
        cmocka_unit_test(a_rank_that_is_told_to_stop_stops_all),
        cmocka_unit_test(a_failure_goes_before_a_stop),
        cmocka_unit_test(who_waits_can_stop_who_works),
        cmocka_unit_test(ranks_agree_on_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
