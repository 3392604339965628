/* What is told of a run's training examples, against tables that are small enough to count. */
#include "report/run_examples.h"

#include "testing.h"

static void fill(run_table *table, const char *csv) {
    failure why = {0};
    if (csv_parse(&table->data, "test", csv, strlen(csv), CSV_STRICT, &why) != STATUS_OK) fail_msg("%s", why.message);
}

static void doubts_are_counted_by_group(void **state) {
    (void)state;
    run run = {0};
    fill(&run.triage, "rank,example,doubt,group\n1,a,0.9,site 10\n2,b,0.4999,site 9\n3,c,0.5,site 9\n4,d,,\n");
    assert_int_equal(run_doubts(&run).examples, 4);
    assert_int_equal(run_doubts(&run).doubts, 2);
    assert_true(run_is_in_doubt(&run, 2) && !run_is_in_doubt(&run, 1) && !run_is_in_doubt(&run, 3));
    size_t count;
    group_doubts *groups = run_doubts_by_group(&run, &count);
    assert_int_equal(count, 2);
    assert_string_equal(groups[0].name, "site 9");
    assert_int_equal(groups[0].examples, 2);
    assert_int_equal(groups[0].doubts, 1);
    assert_int_equal(groups[1].examples, 1);
    assert_int_equal(groups[1].doubts, 1);
    free(groups);
    run_close(&run);
}

static void without_groups_there_are_none(void **state) {
    (void)state;
    run run = {0};
    size_t count = 7;
    fill(&run.triage, "rank,example,doubt\n1,a,0.9\n");
    fill(&run.losses, "example,stale_loss,draws\na,1,2\n");
    assert_null(run_doubts_by_group(&run, &count));
    assert_int_equal(count, 0);
    assert_null(run_losses_by_group(&run, (size_t[]){0}, 1, &count));
    assert_int_equal(count, 0);
    run_close(&run);
}

/* Examples 0 to 39 with the losses 0 to 39, and one without: the hardest twentieth are 39 and 38. */
static void losses_are_summed_by_group(void **state) {
    (void)state;
    run run = {0};
    text csv = {0};
    text_add(&csv, "example,stale_loss,draws,group\n");
    for (int k = 0; k < 40; k++) text_format(&csv, "e%d,%d,%d,%s\n", k, k, k % 4, k >= 30 && k % 2 ? "rare" : "common");
    text_add(&csv, "e40,,0,unseen\n");
    fill(&run.losses, text_string(&csv));
    fill(&run.hardest, "example,prediction\ne39,virus\n");
    size_t count, groups;
    size_t *rows = run_hardest(&run, &count);
    assert_int_equal(count, 40);
    const loss_summary all = run_loss_summary(&run, rows, count);
    assert_int_equal(all.examples, 41);
    assert_int_equal(all.never_drawn, 11);
    assert_true(all.mean == 19.5 && all.median == 19.5 && all.high == 37 && all.largest == 39);
    group_losses *found = run_losses_by_group(&run, rows, count, &groups);
    assert_int_equal(groups, 3);
    assert_string_equal(found[1].name, "rare"); /* 31, 33, 35, 37 and 39 */
    assert_int_equal(found[1].examples, 5);
    assert_int_equal(found[1].hardest, 1);
    assert_true(found[1].mean_loss == 35 && found[1].mean_draws == 11 / 5.0);
    assert_int_equal(found[0].examples, 35);
    assert_int_equal(found[0].hardest, 1);
    assert_int_equal(found[2].examples, 0);
    assert_string_equal(run_prediction(&run, "e39"), "virus");
    assert_string_equal(run_prediction(&run, "e38"), "");
    free(found);
    free(rows);
    text_close(&csv);
    run_close(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubts_are_counted_by_group),
        cmocka_unit_test(without_groups_there_are_none),
        cmocka_unit_test(losses_are_summed_by_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
