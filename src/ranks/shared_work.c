#define _POSIX_C_SOURCE 200809L
#include "ranks/shared_work.h"

#include "core/clock.h"

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* All words go through the first rank. It says that all is over when all have finished, and hears from each that it
   knows: then no word is left under way. */
enum { WORD_DONE = 1, WORD_END, WORD_FINISHED, WORD_OVER, WORD_BYE };

static const double PAUSE = 0.1; /* seconds between words about progress */

static void post(const shared_work *w, int other, int64_t kind, size_t amount) {
    w->ranks->backend->post(w->ranks, other, (ranks_note){kind, (int64_t)amount});
}

/* From the first rank to all others. */
static void post_all(const shared_work *w, int64_t kind, size_t amount) {
    for (int k = 1; k < w->ranks->count; k++) post(w, k, kind, amount);
}

static void tell(const shared_work *w) {
    if (w->what && ranks_is_first(w->ranks)) listener_progress(w->outer, w->what, w->own + w->others, w->total);
}

static int is_ended(const shared_work *w) { return w->end_at < SIZE_MAX; }

/* From this piece on. Whoever has caused it hears of it, too, and does not mind. */
static void end_all(shared_work *w, size_t piece) {
    if (w->over || piece >= w->end_at) return;
    w->end_at = piece;
    if (ranks_is_first(w->ranks)) post_all(w, WORD_END, piece);
    else post(w, 0, WORD_END, piece);
}

static void hear(shared_work *w, ranks_note note) {
    if (note.kind == WORD_DONE) w->others += (size_t)note.amount;
    if (note.kind == WORD_FINISHED) w->finished++;
    if (note.kind == WORD_OVER) w->over = 1;
    if (note.kind == WORD_BYE) w->left++;
    if (note.kind != WORD_END) return;
    if (ranks_is_first(w->ranks)) end_all(w, (size_t)note.amount);
    else if ((size_t)note.amount < w->end_at) w->end_at = (size_t)note.amount;
}

/* 1: there was something new. */
static int hear_all(shared_work *w) {
    ranks_note note;
    int heard = 0;
    while (w->ranks->backend->poll(w->ranks, &note)) {
        hear(w, note);
        heard = 1;
    }
    return heard;
}

static void send_progress(shared_work *w) {
    if (ranks_is_first(w->ranks) || w->own == w->sent) return;
    post(w, 0, WORD_DONE, w->own - w->sent);
    w->sent = w->own;
    w->last = clock_seconds();
}

/* Only the thread that began may. */
static void exchange(shared_work *w) {
    if (!pthread_equal(pthread_self(), w->thread)) return;
    if (clock_seconds() - w->last >= PAUSE) send_progress(w);
    hear_all(w);
}

static void take_progress(void *context, const char *what, size_t done, size_t total) {
    shared_work *w = context;
    (void)total;
    w->what = what;
    w->own = done;
    exchange(w);
    tell(w);
}

static void pass_notice(void *context, const char *message) {
    listener_notice(((const shared_work *)context)->outer, message);
}

static int stops(void *context) {
    shared_work *w = context;
    exchange(w);
    if (!w->stopped) w->stopped = listener_stops(w->outer);
    return w->stopped || atomic_load(&w->reached) >= w->end_at;
}

const listener *shared_work_begin(shared_work *w, const ranks *r, const listener *outer, size_t total) {
    *w = (shared_work){.ranks = r, .outer = outer, .total = total, .end_at = SIZE_MAX, .thread = pthread_self()};
    w->mine = (listener){.context = w, .progress = take_progress, .notice = pass_notice, .stop = stops};
    return r->count == 1 ? outer : &w->mine;
}

void shared_work_at(shared_work *w, size_t piece) { atomic_store(&w->reached, piece); }

static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, 0); }

/* Others may be busy for hours: this rank sleeps rather than spins. */
static status_code wait_for_others(shared_work *w, status_code status, failure *failure) {
    const int others = w->ranks->count - 1, first = ranks_is_first(w->ranks);
    while (first ? w->finished < others : !w->over) {
        if (hear_all(w)) tell(w);
        if (w->end_at > 0 && listener_stops(w->outer)) {
            if (status == STATUS_OK && !is_ended(w)) status = fail(failure, STATUS_STOPPED, "stopped");
            end_all(w, 0);
        }
        rest();
    }
    return status;
}

static void part(shared_work *w) {
    if (!ranks_is_first(w->ranks)) {
        post(w, 0, WORD_BYE, 0);
        return;
    }
    w->over = 1;
    post_all(w, WORD_OVER, 0);
    for (; w->left < w->ranks->count - 1; rest()) hear_all(w);
}

status_code shared_work_end(shared_work *w, status_code status, size_t piece, failure *failure) {
    if (w->ranks->count == 1) return status;
    if (status == STATUS_STOPPED && is_ended(w) && !w->stopped)
        status = STATUS_OK; /* another's failure is that of all */
    if (status != STATUS_OK) end_all(w, status == STATUS_STOPPED ? 0 : piece);
    send_progress(w);
    if (!ranks_is_first(w->ranks)) post(w, 0, WORD_FINISHED, 0);
    status = wait_for_others(w, status, failure);
    part(w);
    return ranks_agree_on(w->ranks, status, piece, failure);
}
