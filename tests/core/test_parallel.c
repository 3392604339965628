#include "testing.h"

#include "core/parallel.h"

enum { ITEMS = 500 };

typedef struct record {
    int runs[ITEMS];
    size_t told, fails_from;
    int told_in_order;
} record;

static status_code count_run(void *context, size_t item, failure *failure) {
    record *record = context;
    record->runs[item]++;
    if (item >= record->fails_from) return fail(failure, STATUS_CANNOT_READ, "item %zu", item);
    return STATUS_OK;
}

static void count_told(void *context, size_t done, size_t total) {
    record *record = context;
    record->told_in_order &= done == record->told + 1 && total == ITEMS;
    record->told = done;
}

static status_code run(record *record, int threads, failure *failure) {
    *record = (struct record){.fails_from = record->fails_from, .told_in_order = 1};
    const parallel_work work = {count_run, count_told, record, record};
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

static void nothing_to_do_is_done(void **state) {
    (void)state;
    const parallel_work work = {count_run, NULL, NULL, NULL};
    assert_int_equal(parallel_run(&work, 0, 4, NULL), STATUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_is_done_once_whatever_the_threads),
        cmocka_unit_test(the_first_failure_is_returned_and_work_ends),
        cmocka_unit_test(nothing_to_do_is_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
