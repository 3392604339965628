#define _POSIX_C_SOURCE 200809L
#include "evaluate/strata.h"

#include "example_scores.h"

#include <unistd.h>

static const char *write_groups(const char *contents) {
    static char path[64];
    snprintf(path, sizeof path, "groups_test_%ld.csv", (long)getpid());
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(contents, file);
    fclose(file);
    return path;
}

static void read_or_fail(case_groups *groups, const char *contents) {
    const char *path = write_groups(contents);
    assert_int_equal(case_groups_read(groups, path, NULL), STATUS_OK);
    remove(path);
}

static void strata_have_their_natural_order_and_lacking_cases_are_named(void **state) {
    (void)state;
    const double dice[10] = {0};
    scores scores;
    case_groups groups;
    strata strata;
    text lacking = {0};
    open_scores(&scores, 5, dice);
    read_or_fail(&groups, "case,condition,centre\n"
                          "case_3,\"spina bifida, open\",10\n"
                          "other,rare,C\n"
                          "case_0,control,10\n"
                          "case_2,control,\n"
                          "case_4,\"spina bifida, open\",2\n");
    assert_int_equal(strata_open(&strata, &groups, NULL, &scores, &lacking, NULL), STATUS_OK);
    static const char *const labels[] = {"all", "condition: control", "condition: spina bifida, open", "centre: 2",
                                         "centre: 10"};
    static const size_t counts[] = {5, 2, 2, 1, 2};
    assert_int_equal(strata.count, 5);
    for (size_t k = 0; k < 5; k++) {
        char words[64];
        strata_label(&strata, k, words, sizeof words);
        assert_string_equal(words, labels[k]);
        assert_int_equal(strata.list[k].count, counts[k]);
    }
    assert_int_equal(strata.list[2].cases[0], 3);
    assert_int_equal(strata.list[2].cases[1], 4);
    assert_int_equal(strata.list[4].cases[0], 0);
    assert_string_equal(text_string(&lacking),
                        "these cases are in no row of the groups and count in 'all' only: case_1; these cases have "
                        "nothing in the column 'centre' and are in none of its groups: case_2");
    strata_close(&strata);
    text_close(&lacking);
    assert_int_equal(strata_open(&strata, &groups, "centre", &scores, &lacking, NULL), STATUS_OK);
    assert_int_equal(strata.count, 3);
    assert_string_equal(stratum_name(&strata.list[1]), "2");
    strata_close(&strata);
    text_close(&lacking);
    assert_int_equal(strata_open(&strata, &groups, "condition", &scores, &lacking, NULL), STATUS_OK);
    assert_null(strstr(text_string(&lacking), "case_2")); /* the other column is not asked for */
    strata_close(&strata);
    failure failure;
    static const char *const wrong[] = {
        "", "age", "centre,", "case", "centre,age", "centre,centre", "centre,condition,centre"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(strata_open(&strata, &groups, wrong[k], &scores, &lacking, &failure), STATUS_BAD_INPUT);
        strata_close(&strata);
        assert_int_equal(strata_check_columns(&groups, wrong[k], &failure), STATUS_BAD_INPUT);
    }
    assert_string_equal(failure.message, "--by centre,condition,centre: names the column 'centre' twice");
    assert_int_equal(strata_open(&strata, NULL, NULL, &scores, &lacking, NULL), STATUS_OK);
    assert_int_equal(strata.count, 1);
    strata_close(&strata);
    text_close(&lacking);
    case_groups_close(&groups);
    scores_close(&scores);
}

/* The column `patient`, however it is written, is no group of its own accord; it says whose the
   cases of each group are. */
static void patients_are_known_in_every_stratum(void **state) {
    (void)state;
    const double dice[12] = {0};
    scores scores;
    case_groups groups;
    strata strata;
    text lacking = {0};
    open_scores(&scores, 6, dice);
    read_or_fail(&groups, "case,Patient,phase\n"
                          "case_0,b,ED\ncase_1,b,ES\ncase_2,a,ED\ncase_3,a,ES\ncase_4,,ED\n");
    assert_int_equal(strata_open(&strata, &groups, NULL, &scores, &lacking, NULL), STATUS_OK);
    assert_int_equal(strata.count, 3);
    static const size_t patients[] = {4, 3, 2}; /* the fifth is nobody's, and so is the sixth, which has no row */
    for (size_t k = 0; k < 3; k++) assert_int_equal(strata.list[k].patients, patients[k]);
    static const int whose[] = {2, 2, 1, 1, -1, -1};
    for (int k = 0; k < 6; k++)
        for (int other = 0; other < 6; other++)
            assert_int_equal(strata.list[0].whose[k] == strata.list[0].whose[other], whose[k] == whose[other]);
    assert_int_equal(strata.list[1].whose[2], -1);
    assert_true(strata_share_patients(&strata));
    strata_close(&strata);
    assert_int_equal(strata_open(&strata, &groups, "Patient", &scores, &lacking, NULL), STATUS_OK);
    assert_int_equal(strata.count, 3); /* asked for, it is a column like others */
    assert_int_equal(strata.list[1].patients, 1);
    strata_close(&strata);
    case_groups_close(&groups);
    read_or_fail(&groups, "case,phase\ncase_0,ED\n");
    text_close(&lacking);
    assert_int_equal(strata_open(&strata, &groups, NULL, &scores, &lacking, NULL), STATUS_OK);
    assert_null(strata.list[0].whose);
    assert_int_equal(strata.list[0].patients, 6);
    assert_int_equal(strata.list[1].patients, 1);
    assert_false(strata_share_patients(&strata));
    strata_close(&strata);
    text_close(&lacking);
    case_groups_close(&groups);
    scores_close(&scores);
}

static void wrong_files_are_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"",
                                        "case\na\n",
                                        "name,group\na,b\n",
                                        "case,group\na,b\na,c\n",
                                        "case,group\n,b\n",
                                        "case,group\na\n",
                                        "case,group\na,\"b\n",
                                        "a,b\nc,d\n"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        case_groups groups;
        failure failure = {0};
        const char *path = write_groups(wrong[k]);
        assert_int_not_equal(case_groups_read(&groups, path, &failure), STATUS_OK);
        assert_non_null(strstr(failure.message, path));
        case_groups_close(&groups);
        remove(path);
    }
    case_groups groups;
    assert_int_equal(case_groups_read(&groups, "no such file", NULL), STATUS_CANNOT_READ);
    case_groups_close(&groups);
}

static void cases_are_found_among_many(void **state) {
    (void)state;
    text contents = {0};
    text_add(&contents, "case,group\n");
    for (int k = 0; k < 5000; k++) text_format(&contents, "c%d,%d\n", k * 7919 % 5000, k);
    case_groups groups;
    read_or_fail(&groups, text_string(&contents));
    for (int k = 0; k < 5000; k++) {
        char name[16];
        snprintf(name, sizeof name, "c%d", k * 7919 % 5000);
        assert_int_equal(case_groups_find(&groups, name), k);
    }
    assert_int_equal(case_groups_find(&groups, "c5000"), -1);
    case_groups_close(&groups);
    text_close(&contents);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strata_have_their_natural_order_and_lacking_cases_are_named),
        cmocka_unit_test(patients_are_known_in_every_stratum),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(cases_are_found_among_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
