#define _POSIX_C_SOURCE 200809L
/* Pieces of work that threads divide: each is done once, whoever is slow, however many threads there are. */
#include "nn/work.h"
#include "testing.h"

#include <time.h>

enum { MOST = 1000 };

static atomic_int done[MOST];

static void each_is_done_once(size_t pieces) {
    for (size_t k = 0; k < MOST; k++) assert_int_equal(atomic_exchange(&done[k], 0), k < pieces);
}

static const int THREADS[] = {1, 2, 3, 7, WORK_SHARES, WORK_SHARES + 5};
static const size_t PIECES[] = {0, 1, 2, 6, 65, MOST};

static void every_piece_is_done_once(void **state) {
    (void)state;
    for (size_t t = 0; t < sizeof THREADS / sizeof *THREADS; t++)
        for (size_t p = 0; p < sizeof PIECES / sizeof *PIECES; p++) {
            work all;
            work_divide_turned(&all, PIECES[p], THREADS[t]);
#pragma omp parallel num_threads(all.threads)
            for (size_t piece; work_take(&all, &piece);) done[piece]++;
            each_is_done_once(PIECES[p]);
        }
}

static void fewer_threads_than_planned_do_all(void **state) {
    (void)state;
    work all;
    work_divide(&all, MOST, 16);
#pragma omp parallel num_threads(3)
    for (size_t piece; work_take(&all, &piece);) done[piece]++;
    each_is_done_once(MOST);
}

/* Within one region, a barrier apart; while some still take pieces of one, others divide the next. */
static void work_is_divided_anew_while_threads_are_busy(void **state) {
    (void)state;
    work first, second;
    atomic_long sums[2] = {0};
    work_divide(&first, MOST, 5);
    work_divide(&second, 0, 5);
#pragma omp parallel num_threads(first.threads)
    for (int round = 0; round < 50; round++) {
        for (size_t piece; work_take(&first, &piece);) sums[0] += (long)piece;
        work_redivide(&second, 77);
#pragma omp barrier
        for (size_t piece; work_take(&second, &piece);) sums[1] += (long)piece;
        work_redivide(&first, MOST);
#pragma omp barrier
    }
    assert_int_equal(sums[0], 50L * MOST * (MOST - 1) / 2);
    assert_int_equal(sums[1], 50L * 77 * 76 / 2);
}

/* One thread takes a piece and does not finish it before all others are done: they do the rest of its share. */
static void others_do_the_work_of_a_slow_thread(void **state) {
    (void)state;
    enum { TEAM = 4 };
    atomic_int finished = 0, by_slow = 0;
    work all;
    work_divide(&all, MOST, TEAM);
#pragma omp parallel num_threads(all.threads)
    for (size_t piece; work_take(&all, &piece); finished++) {
        done[piece]++;
        if (thread_share().index != 1) continue;
        by_slow++;
        while (finished < MOST - 1) nanosleep(&(struct timespec){.tv_nsec = 100000}, 0);
    }
    each_is_done_once(MOST);
    assert_true(by_slow <= 1);
}

static void a_share_is_taken_in_order(void **state) {
    (void)state;
    work all;
    work_divide(&all, 10, 1);
    for (size_t expected = 0, piece; work_take(&all, &piece); expected++) assert_int_equal(piece, expected);
}

/* Passes go to and fro: each begins with what the one before did last. */
static void every_other_pass_takes_a_share_from_its_end(void **state) {
    (void)state;
    work all;
    size_t last = 0;
    for (int pass = 0; pass < 4; pass++) {
        size_t piece = 0;
        work_divide_turned(&all, 10, 1);
        assert_true(work_take(&all, &piece));
        if (pass) assert_int_equal(piece, last);
        for (last = piece; work_take(&all, &piece); last = piece) assert_true(piece == last + 1 || piece + 1 == last);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_is_done_once),
        cmocka_unit_test(fewer_threads_than_planned_do_all),
        cmocka_unit_test(work_is_divided_anew_while_threads_are_busy),
        cmocka_unit_test(others_do_the_work_of_a_slow_thread),
        cmocka_unit_test(a_share_is_taken_in_order),
        cmocka_unit_test(every_other_pass_takes_a_share_from_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
