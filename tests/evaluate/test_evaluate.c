#define _XOPEN_SOURCE 700
#include "evaluate/evaluate.h"

#include "core/path.h"
#include "evaluate/compare.h"
#include "test_maps.h"

typedef struct heard {
    text notices;
    size_t done, total;
    int stop_after; /* so many steps; 0: never */
} heard;

static void hear_progress(void *context, const char *what, size_t done, size_t total) {
    heard *heard = context;
    assert_string_equal(what, "scored");
    assert_true(done == heard->done + 1);
    heard->done = done;
    heard->total = total;
}

static void hear_notice(void *context, const char *message) {
    text_format(&((heard *)context)->notices, "%s\n", message);
}

static int stop(void *context) {
    const heard *heard = context;
    return heard->stop_after && heard->done >= (size_t)heard->stop_after;
}

static listener listen_to(heard *heard) { return (listener){heard, hear_progress, hear_notice, stop}; }

static char out[160], summary[200];

static void write_cases(void) {
    static const char *const NAMES[] = {"a", "b", "c", "d"};
    for (int k = 0; k < 4; k++) {
        char file[16];
        snprintf(file, sizeof file, "%s.nii", NAMES[k]);
        write_map(references, file, "11220000", 1);
        write_map(predictions, file, k == 2 ? "10220000" : "11220000", 1);
    }
    snprintf(out, sizeof out, "%s/out", root);
    snprintf(summary, sizeof summary, "%s/summary.json", out);
}

static void the_listener_hears_of_every_case_and_of_what_is_left_out(void **state) {
    (void)state;
    write_cases();
    write_map(predictions, "lonely.nii", "11220000", 1);
    heard heard = {0};
    const listener listener = listen_to(&heard);
    evaluation evaluation;
    failure failure;
    const evaluate_request request = {
        .predictions = predictions, .references = references, .labels = "1", .common = 1, .out = out, .threads = 2};
    assert_int_equal(evaluate_folders(&evaluation, &request, &listener, &failure), STATUS_OK);
    assert_int_equal(heard.done, 4);
    assert_int_equal(heard.total, 4);
    assert_non_null(strstr(heard.notices.bytes, "lacks lonely; these cases are left out\n"));
    assert_non_null(strstr(heard.notices.bytes, "4 cases hold labels that are not evaluated, such as 2 in a\n"));
    const statistics *all = stratified_at(&evaluation.stratified, 0, 0, 0);
    assert_int_equal(all->count, 4);
    assert_int_equal(all->worst, 2);
    assert_true(path_exists(summary));
    evaluation_close(&evaluation);
    text_close(&heard.notices);
    remove_tree(out);
    char lonely[200];
    snprintf(lonely, sizeof lonely, "%s/lonely.nii", predictions);
    remove(lonely);
}

static void work_that_is_told_to_stop_writes_nothing(void **state) {
    (void)state;
    write_cases();
    heard heard = {.stop_after = 1};
    const listener listener = listen_to(&heard);
    evaluation evaluation;
    failure failure;
    const evaluate_request request = {.predictions = predictions, .references = references, .out = out, .threads = 1};
    assert_int_equal(evaluate_folders(&evaluation, &request, &listener, &failure), STATUS_STOPPED);
    assert_int_equal(heard.done, 1);
    assert_false(path_exists(summary));
    evaluation_close(&evaluation);
    assert_int_equal(evaluate_folders(&evaluation, &request, NULL, &failure), STATUS_OK);
    assert_true(path_exists(summary));
    evaluation_close(&evaluation);
}

static void what_is_wrong_is_found_before_the_work(void **state) {
    (void)state;
    write_cases();
    static const struct {
        evaluate_request request;
        const char *words;
    } WRONG[] = {
        {{.images = "nowhere"}, "--images needs --out"},
        {{.images = "nowhere", .out = "never"}, "no folder of this name"},
        {{.by = "sex"}, "--by needs --groups"},
        {{.labels = "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,"
                    "35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64",
          .find_postprocessing = 1,
          .out = "never"},
         "at most 63 labels and regions are possible, not 64"},
        {{.labels = "x"}, "does not begin with a label"},
        {{.groups = "nowhere.csv"}, "nowhere.csv: there is no such file"}};
    for (size_t k = 0; k < sizeof WRONG / sizeof *WRONG; k++) {
        heard heard = {0};
        const listener listener = listen_to(&heard);
        evaluate_request request = WRONG[k].request;
        evaluation evaluation;
        failure failure;
        request.predictions = predictions;
        request.references = references;
        assert_int_not_equal(evaluate_folders(&evaluation, &request, &listener, &failure), STATUS_OK);
        assert_non_null(strstr(failure.message, WRONG[k].words));
        assert_int_equal(heard.done, 0);
        evaluation_close(&evaluation);
        failure.message[0] = 0;
        assert_int_not_equal(evaluate_check(&request, &failure), STATUS_OK);
        assert_non_null(strstr(failure.message, WRONG[k].words));
    }
    assert_int_equal(evaluate_check(&(evaluate_request){.labels = "1"}, NULL), STATUS_OK);
    assert_false(path_exists("never"));
}

static void two_summaries_are_compared_under_the_names_of_their_folders(void **state) {
    (void)state;
    heard heard = {0};
    const listener listener = listen_to(&heard);
    compared compared;
    failure failure;
    char groups[200];
    snprintf(groups, sizeof groups, "%s/groups.csv", root);
    FILE *file = fopen(groups, "wb");
    fputs("case,sex\na,f\nb,m\nc,\n", file);
    fclose(file);
    const char *paths[] = {summary, summary};
    compare_request request = {.count = 2, .paths = paths, .groups = groups};
    assert_int_equal(compare_evaluations(&compared, &request, &listener, &failure), STATUS_OK);
    assert_string_equal(compared.names[0], "A"); /* both are called out */
    assert_int_equal(compared.strata.count, 3);
    assert_string_equal(
        heard.notices.bytes,
        "these cases are in no row of the groups and count in 'all' only: d; these cases have nothing in "
        "the column 'sex' and are in none of its groups: c\n");
    compared_close(&compared);
    text_close(&heard.notices);
    request.names = "ERM,DRO";
    assert_int_equal(compare_evaluations(&compared, &request, NULL, &failure), STATUS_OK);
    assert_string_equal(compared.names[1], "DRO");
    compared_close(&compared);
    paths[1] = out; /* a folder stands for its summary */
    assert_int_equal(compare_evaluations(&compared, &request, NULL, &failure), STATUS_OK);
    compared_close(&compared);
    paths[1] = root;
    assert_int_equal(compare_evaluations(&compared, &request, NULL, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "it is neither an evaluation"));
    compared_close(&compared);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_listener_hears_of_every_case_and_of_what_is_left_out),
        cmocka_unit_test(work_that_is_told_to_stop_writes_nothing),
        cmocka_unit_test(what_is_wrong_is_found_before_the_work),
        cmocka_unit_test(two_summaries_are_compared_under_the_names_of_their_folders),
    };
    return cmocka_run_group_tests(tests, maps_setup, maps_teardown);
}
