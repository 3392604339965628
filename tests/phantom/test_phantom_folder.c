#define _XOPEN_SOURCE 700
#include "phantom/phantom_folder.h"

#include "core/path.h"
#include "core/whole_file.h"
#include "dataset/case_groups.h"
#include "remove_tree.h"
#include "testing.h"

#include <sys/stat.h>
#include <unistd.h>

static const char *root(int which) {
    static char roots[2][64];
    snprintf(roots[which], 64, "phantom_test_%ld_%d", (long)getpid(), which);
    return roots[which];
}

static void remove_root(int which) { remove_tree(root(which)); }

static phantom_options small_options(void) {
    phantom_options options = phantom_options_default();
    options.cases = 9;
    options.spina_bifida = 2;
    options.other = 1;
    options.test = 6;
    options.size[0] = options.size[2] = 20;
    options.size[1] = 24;
    options.spacing = 6;
    return options;
}

static void count_calls(void *context, const char *what, size_t done, size_t total) {
    assert_string_equal(what, "drawing phantoms");
    assert_int_equal(total, 15);
    assert_int_equal(done, ++*(int *)context);
}

static void write_root(int which, int threads, uint64_t seed) {
    phantom_options options = small_options();
    options.threads = threads;
    options.seed = seed;
    failure failure;
    int calls = 0;
    const listener listener = {.context = &calls, .progress = count_calls};
    remove_root(which);
    if (phantom_write_folder(root(which), &options, &listener, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    assert_int_equal(calls, 15);
}

static int file_count, differing;

static int compare_one(const char *path, const struct stat *info, int kind, struct FTW *where) {
    (void)info, (void)where;
    if (kind != FTW_F) return 0;
    char other[400], *bytes[2];
    size_t sizes[2];
    snprintf(other, sizeof other, "%s%s", root(1), path + strlen(root(0)));
    assert_int_equal(whole_file_read(path, 1 << 24, &bytes[0], &sizes[0], NULL), STATUS_OK);
    assert_int_equal(whole_file_read(other, 1 << 24, &bytes[1], &sizes[1], NULL), STATUS_OK);
    file_count++;
    differing += sizes[0] != sizes[1] || memcmp(bytes[0], bytes[1], sizes[0]) != 0;
    free(bytes[0]);
    free(bytes[1]);
    return 0;
}

static void files_do_not_depend_on_threads(void **state) {
    (void)state;
    write_root(0, 1, 7);
    write_root(1, 4, 7);
    file_count = differing = 0;
    assert_int_equal(nftw(root(0), compare_one, 8, FTW_PHYS), 0);
    assert_int_equal(file_count, 2 * 15 + 3);
    assert_int_equal(differing, 0);
    write_root(1, 4, 8);
    assert_int_equal(nftw(root(0), compare_one, 8, FTW_PHYS), 0);
    assert_true(differing >= 20);
}

static void the_folder_is_a_good_dataset_with_the_promised_groups(void **state) {
    (void)state;
    write_root(0, 2, 7);
    dataset set;
    dataset_report report;
    case_groups groups;
    const char **conditions;
    failure failure;
    if (dataset_open(&set, root(0), &failure) != STATUS_OK) fail_msg("%s", failure.message);
    assert_int_equal(set.train_count, 9);
    assert_int_equal(set.test_count, 6);
    assert_int_equal(set.values, PHANTOM_LABELS);
    assert_string_equal(set.train[0].id, "phantom_001");
    assert_string_equal(set.test[5].id, "test_006");
    assert_non_null(set.test[5].labels);
    if (dataset_check(&set, &(dataset_check_options){.threads = 2}, &report, &failure) != STATUS_OK)
        fail_msg("%s", failure.message);
    assert_int_equal(report.count, 0);
    assert_int_equal(case_groups_of_dataset(&groups, &set, NULL), STATUS_OK);
    assert_int_equal(groups.table.rows, 15);
    assert_int_equal(case_groups_column(&groups, &set, "condition", &conditions, NULL), STATUS_OK);
    int counts[3] = {0};
    for (int k = 0; k < 9; k++)
        for (int c = 0; c < 3; c++)
            counts[c] += strcmp(conditions[k], phantom_condition_name((phantom_condition)c)) == 0;
    assert_int_equal(counts[PHANTOM_CONTROL], 6);
    assert_int_equal(counts[PHANTOM_SPINA_BIFIDA], 2);
    assert_int_equal(counts[PHANTOM_OTHER], 1);
    free(conditions);
    case_groups_close(&groups);
    dataset_report_close(&report);
    dataset_close(&set);
}

static void a_folder_with_something_in_it_is_left_alone(void **state) {
    (void)state;
    write_root(0, 2, 7);
    const phantom_options options = small_options();
    failure failure;
    assert_int_equal(phantom_write_folder(root(0), &options, NULL, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "is not empty"));
}

static int stop_after_three(void *calls) { return *(int *)calls >= 3; }

static void a_folder_that_is_given_up_is_as_it_was(void **state) {
    (void)state;
    const phantom_options options = small_options();
    failure failure;
    remove_root(0);
    for (int there = 0; there < 2; there++) {
        int calls = 0;
        const listener listener = {.context = &calls, .progress = count_calls, .stop = stop_after_three};
        assert_int_equal(phantom_write_folder(root(0), &options, &listener, &failure), STATUS_STOPPED);
        assert_int_equal(calls, 3);
        assert_int_equal(path_exists(root(0)), there);
        if (there) assert_int_equal(rmdir(root(0)), 0); /* and empty */
        else assert_int_equal(folder_make(root(0), &failure), STATUS_OK);
    }
}

static void wrong_options_are_refused(void **state) {
    (void)state;
    remove_root(0);
    failure failure;
    for (int k = 0; k < 7; k++) {
        phantom_options options = small_options();
        if (k == 0) options.cases = 0;
        if (k == 1) options.test = -1;
        if (k == 2) options.spina_bifida = 9;
        if (k == 3) options.other = -1;
        if (k == 4) options.spacing = NAN;
        if (k == 5) options.size[2] = 7;
        if (k == 6) options.size[1] = 513;
        assert_int_equal(phantom_write_folder(root(0), &options, NULL, &failure), STATUS_BAD_INPUT);
        assert_false(path_exists(root(0)));
    }
}

static int clean(void **state) {
    (void)state;
    remove_root(0);
    remove_root(1);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_do_not_depend_on_threads),
        cmocka_unit_test(the_folder_is_a_good_dataset_with_the_promised_groups),
        cmocka_unit_test(a_folder_with_something_in_it_is_left_alone),
        cmocka_unit_test(a_folder_that_is_given_up_is_as_it_was),
        cmocka_unit_test(wrong_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, clean);
}
