#define _XOPEN_SOURCE 700
#include "dataset/case_groups.h"

#include "dataset_folder.h"

static void a_column_is_given_in_the_order_of_the_cases(void **state) {
    (void)state;
    start_two_cases();
    write_text("groups.csv", "case,condition,age\nq,spina bifida,20\nother,control,1\np,control,\n");
    dataset set;
    case_groups groups;
    const char **values;
    failure failure;
    assert_int_equal(dataset_open(&set, dataset_root(), NULL), STATUS_OK);
    assert_int_equal(case_groups_of_dataset(&groups, &set, NULL), STATUS_OK);
    assert_int_equal(case_groups_column(&groups, &set, "condition", &values, NULL), STATUS_OK);
    assert_string_equal(values[0], "control");
    assert_string_equal(values[1], "spina bifida");
    free(values);
    assert_int_equal(case_groups_column(&groups, &set, "age", &values, &failure), STATUS_CORRUPT);
    assert_lacks_nothing(failure.message, "1 of 2 training cases has no value in column 'age': p; add it");
    assert_int_equal(case_groups_column(&groups, &set, "sex", &values, &failure), STATUS_BAD_INPUT);
    assert_lacks_nothing(failure.message, "has no column 'sex'");
    assert_null(values);
    case_groups_close(&groups);
    dataset_close(&set);
}

static void the_file_may_be_missing_unless_it_is_named(void **state) {
    (void)state;
    start_two_cases();
    dataset set;
    case_groups groups;
    const char **values;
    failure failure;
    assert_int_equal(dataset_open(&set, dataset_root(), NULL), STATUS_OK);
    assert_int_equal(case_groups_of_dataset(&groups, &set, NULL), STATUS_OK);
    assert_int_equal(groups.table.columns, 0);
    assert_int_equal(case_groups_column(&groups, &set, "x", &values, &failure), STATUS_BAD_INPUT);
    assert_lacks_nothing(failure.message, "there is no such file");
    case_groups_close(&groups);
    assert_int_equal(case_groups_read(&groups, "no_such_groups.csv", &failure), STATUS_CANNOT_READ);
    dataset_close(&set);
}

static void wrong_files_are_refused(void **state) {
    (void)state;
    static const char *const wrong[][2] = {
        {"case\np\n", "at least one of groups must follow"},
        {"id,condition\np,x\n", "must be called 'case'"},
        {"case,condition\np,x\np,y\n", "the case 'p' comes twice"},
        {"case,condition\np,x\n,y\n", "line 3: the case has no name"},
        {"case,condition\np\n", "line 2"},
    };
    start_two_cases();
    dataset set;
    assert_int_equal(dataset_open(&set, dataset_root(), NULL), STATUS_OK);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        case_groups groups;
        failure failure;
        write_text("groups.csv", wrong[k][0]);
        assert_int_equal(case_groups_of_dataset(&groups, &set, &failure), STATUS_CORRUPT);
        assert_lacks_nothing(failure.message, wrong[k][1]);
        case_groups_close(&groups);
    }
    dataset_close(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_column_is_given_in_the_order_of_the_cases),
        cmocka_unit_test(the_file_may_be_missing_unless_it_is_named),
        cmocka_unit_test(wrong_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, remove_root_at_the_end);
}
