#define _GNU_SOURCE /* sched_setaffinity */
#include "testing.h"

#include "core/parallel.h"

#include <sched.h>
#include <stdlib.h>

enum { ITEMS = 500 };

typedef struct record {
    int runs[ITEMS];
    size_t told, fails_from, stops_at;
    int told_in_order;
} record;

static status_code count_run(void *context, size_t item, failure *failure) {
    record *record = context;
    record->runs[item]++;
    if (item >= record->fails_from) return fail(failure, STATUS_CANNOT_READ, "item %zu", item);
    return STATUS_OK;
}

static void count_told(void *context, const char *what, size_t done, size_t total) {
    record *record = context;
    assert_string_equal(what, "counting");
    record->told_in_order &= done == record->told + 1 && total == ITEMS;
    record->told = done;
}

static int is_enough(void *context) {
    const record *record = context;
    return record->stops_at && record->told >= record->stops_at;
}

static status_code run(record *record, int threads, failure *failure) {
    *record = (struct record){.fails_from = record->fails_from, .stops_at = record->stops_at, .told_in_order = 1};
    const listener listener = {.context = record, .progress = count_told, .stop = is_enough};
    const parallel_work work = {.run = count_run, .context = record, .listener = &listener, .what = "counting"};
    return parallel_run(&work, ITEMS, threads, failure);
}

static void every_item_is_done_once_whatever_the_threads(void **state) {
    (void)state;
    static record record = {.fails_from = ITEMS};
    static const int threads[] = {-1, 0, 1, 2, 7, 1000};
    for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
        assert_int_equal(run(&record, threads[k], NULL), STATUS_OK);
        for (int i = 0; i < ITEMS; i++) assert_int_equal(record.runs[i], 1);
        assert_int_equal(record.told, ITEMS);
        assert_true(record.told_in_order);
    }
    assert_true(parallel_processors() >= 1);
}

/* Also those that are bound to one, as by taskset or SLURM, or share them with another process. */
static void processors_are_those_one_may_use(void **state) {
    (void)state;
    cpu_set_t before, one;
    unsetenv("OMP_NUM_THREADS");
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    const int all = parallel_processors();
    assert_in_range(all, 1, CPU_COUNT(&before));
    parallel_share_processors(2);
    assert_int_equal(parallel_processors(), all / 2 > 1 ? all / 2 : 1);
    parallel_share_processors(1);
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &before)) cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(parallel_processors(), 1);
    setenv("OMP_NUM_THREADS", "3", 1);
    assert_int_equal(parallel_processors(), 3);
    unsetenv("OMP_NUM_THREADS");
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(parallel_processors(), all);
}

static void the_first_failure_is_returned_and_work_ends(void **state) {
    (void)state;
    static record record = {.fails_from = 100};
    failure failure;
    for (int threads = 1; threads <= 4; threads++) {
        assert_int_equal(run(&record, threads, &failure), STATUS_CANNOT_READ);
        assert_string_equal(failure.message, "item 100");
        int runs = 0;
        for (int i = 0; i < ITEMS; i++) runs += record.runs[i];
        assert_true(runs <= 100 + threads);
        assert_int_equal(run(&record, threads, NULL), STATUS_CANNOT_READ);
    }
}

static void work_stops_when_the_listener_says_so(void **state) {
    (void)state;
    static record record = {.fails_from = ITEMS, .stops_at = 100};
    failure failure;
    for (int threads = 1; threads <= 4; threads++) {
        assert_int_equal(run(&record, threads, &failure), STATUS_STOPPED);
        assert_non_null(strstr(failure.message, "counting: stopped after 10"));
        assert_in_range(record.told, 100, 100 + threads - 1);
        assert_int_equal(run(&record, threads, NULL), STATUS_STOPPED);
    }
    record.stops_at = ITEMS; /* too late */
    assert_int_equal(run(&record, 2, NULL), STATUS_OK);
    record.stops_at = 100;
    record.fails_from = 50; /* a failure is told rather */
    assert_int_equal(run(&record, 2, &failure), STATUS_CANNOT_READ);
}

static void nothing_to_do_is_done(void **state) {
    (void)state;
    const parallel_work work = {.run = count_run};
    assert_int_equal(parallel_run(&work, 0, 4, NULL), STATUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_is_done_once_whatever_the_threads),
        cmocka_unit_test(processors_are_those_one_may_use),
        cmocka_unit_test(the_first_failure_is_returned_and_work_ends),
        cmocka_unit_test(work_stops_when_the_listener_says_so),
        cmocka_unit_test(nothing_to_do_is_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
