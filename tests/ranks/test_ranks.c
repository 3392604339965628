/* Who gets which pieces of work, and what the rank that works alone does. */
#include "ranks/ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void pieces_go_to_ranks_by_weight(void **state) {
    (void)state;
    int starts[5];
    ranks_divide(4, 4, (const int[]){1, 1, 1, 1}, starts);
    for (int k = 0; k <= 4; k++) assert_int_equal(starts[k], k);
    ranks_divide(8, 2, (const int[]){3, 1}, starts);
    assert_int_equal(starts[1], 6);
    ranks_divide(2, 4, (const int[]){1, 1, 1, 1}, starts);
    assert_int_equal(starts[4], 2);
    for (int k = 0; k < 4; k++) assert_in_range(starts[k + 1] - starts[k], 0, 1);
    for (int pieces = 0; pieces < 50; pieces++) {
        ranks_divide(pieces, 4, (const int[]){5, 1, 16, 2}, starts);
        assert_int_equal(starts[0], 0);
        assert_int_equal(starts[4], pieces);
        for (int k = 0; k < 4; k++) assert_true(starts[k] <= starts[k + 1]);
    }
}

static status_code mark(void *context, size_t item, failure *why) {
    int *done = context;
    done[item]++;
    return item == 5 ? (fail)(why, STATUS_CORRUPT, "item 5") : STATUS_OK;
}

static void alone_all_is_done_here(void **state) {
    (void)state;
    const ranks *r = ranks_here();
    int done[8] = {0}, value = 7;
    failure why = {0};
    assert_int_equal(r->count, 1);
    assert_true(ranks_is_first(r));
    assert_int_equal(ranks_run(r, &(parallel_work){.run = mark, .context = done}, 5, 2, &why), STATUS_OK);
    for (int k = 0; k < 5; k++) assert_int_equal(done[k], 1);
    assert_int_equal(ranks_run(r, &(parallel_work){.run = mark, .context = done}, 6, 1, &why), STATUS_CORRUPT);
    assert_string_equal(why.message, "item 5");
    ranks_share_first(r, &value, sizeof value);
    assert_int_equal(value, 7);
    assert_int_equal(ranks_any(r, 1), 1);
    assert_int_equal(ranks_any(r, 0), 0);
    assert_int_equal(ranks_agree(r, STATUS_CORRUPT, &why), STATUS_CORRUPT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_go_to_ranks_by_weight),
        cmocka_unit_test(alone_all_is_done_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
