#include "evaluate/regions.h"

#include "testing.h"

static void labels_and_named_regions_are_parsed(void **state) {
    (void)state;
    region_list list = {0};
    failure failure;
    char key[REGION_KEY_BYTES];
    assert_int_equal(regions_add_labels(&list, "3,1", &failure), STATUS_OK);
    assert_int_equal(regions_add_named(&list, "whole tumour=1+2+3,ET=2", &failure), STATUS_OK);
    assert_int_equal(list.count, 4);
    static const char *const names[] = {"3", "1", "whole tumour", "ET"}, *const keys[] = {"3", "1", "(1, 2, 3)", "2"};
    for (int k = 0; k < 4; k++) {
        assert_string_equal(list.regions[k].name, names[k]);
        region_key(&list.regions[k], key);
        assert_string_equal(key, keys[k]);
    }
    const region turned = {"", 3, {3, 1, 2}}, other = {"", 2, {1, 2}};
    assert_int_equal(regions_find(&list, &turned), 2);
    assert_int_equal(regions_find(&list, &other), -1);
    regions_close(&list);
}

static void keys_come_back_as_nnunet_and_python_write_them(void **state) {
    (void)state;
    region_list list = {0};
    failure failure;
    assert_int_equal(regions_add_key(&list, "(1, 2)", NULL, &failure), STATUS_OK);
    assert_int_equal(regions_add_key(&list, "(3,)", "edema", &failure), STATUS_OK);
    assert_int_equal(regions_add_key(&list, "(4,5)", "", &failure), STATUS_OK);
    assert_int_equal(regions_add_key(&list, "12", NULL, &failure), STATUS_OK);
    assert_string_equal(list.regions[0].name, "(1, 2)");
    assert_string_equal(list.regions[1].name, "edema");
    assert_string_equal(list.regions[2].name, "(4, 5)");
    assert_int_equal(list.regions[3].labels[0], 12);
    static const char *const wrong[] = {"",      "a",       "1 ",   "(",  "()",    "(1",
                                        "(1 2)", "(1, 2)x", "1, 2", "-1", "40000", "(1, 1)"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        assert_int_not_equal(regions_add_key(&list, wrong[k], NULL, &failure), STATUS_OK);
    assert_int_equal(list.count, 4);
    regions_close(&list);
}

/* 40 letters of two bytes: 31 of them have a place, and half of the next. */
static void long_names_are_cut_between_letters(void **state) {
    (void)state;
    region_list list = {0};
    char name[81] = "";
    for (int k = 0; k < 40; k++) strcat(name, "\xC3\xA4");
    assert_int_equal(regions_add_key(&list, "1", name, NULL), STATUS_OK);
    assert_int_equal(strlen(list.regions[0].name), 62);
    assert_memory_equal(list.regions[0].name, name, 62);
    regions_close(&list);
}

static void wrong_lists_change_nothing(void **state) {
    (void)state;
    static const char *const labels[] = {
        "", ",", "1,", ",1", "2,2", "a", "-1", "1.5", "32768", "99999999999999999999", "1 2"};
    static const char *const named[] = {"",       "WT",     "WT=",     "=1",      "WT=1+", "WT=+1",  "WT=1,",
                                        "WT=1+1", "WT=2-3", "A=2,A=3", "A=2,B=2", "a|b=2", "a\tb=2", "WT=7"};
    region_list list = {0};
    failure failure;
    assert_int_equal(regions_add_named(&list, "seven=7", &failure), STATUS_OK);
    for (size_t k = 0; k < sizeof labels / sizeof *labels; k++)
        assert_int_equal(regions_add_labels(&list, labels[k], &failure), STATUS_BAD_INPUT);
    for (size_t k = 0; k < sizeof named / sizeof *named; k++)
        assert_int_equal(regions_add_named(&list, named[k], &failure), STATUS_BAD_INPUT);
    char long_name[200] = {0};
    memset(long_name, 'x', 190);
    memcpy(long_name + 100, "=1", 3);
    assert_int_equal(regions_add_named(&list, long_name, &failure), STATUS_BAD_INPUT);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.regions[0].name, "seven");
    regions_close(&list);
}

/* A dataset may have 999 labels, and a region all of them. */
static void a_region_may_have_every_label_of_a_dataset(void **state) {
    (void)state;
    enum { ALL = 999 };
    region_list list = {0}, read = {0};
    failure failure;
    char *named = malloc(6 * ALL + 16), key[REGION_KEY_BYTES];
    assert_non_null(named);
    size_t used = (size_t)sprintf(named, "all=1");
    for (int k = 2; k <= ALL; k++) used += (size_t)sprintf(named + used, "+%d", k);
    if (regions_add_named(&list, named, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    snprintf(strrchr(named, '+'), 8, "+%d", 1500);
    memcpy(named, "few", 3);
    assert_int_equal(regions_add_named(&list, named, &failure), STATUS_OK);
    for (size_t k = 0; k < 2; k++) { /* from a file without names, in which both are cut to the same */
        region_key(&list.regions[k], key);
        assert_int_equal(regions_add_key(&read, key, NULL, &failure), STATUS_OK);
        assert_int_equal(read.regions[k].count, ALL);
        assert_int_equal(regions_find(&list, &read.regions[k]), k);
    }
    assert_string_equal(read.regions[1].name, "R2");
    regions_close(&list);
    regions_close(&read);
    free(named);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_and_named_regions_are_parsed),
        cmocka_unit_test(keys_come_back_as_nnunet_and_python_write_them),
        cmocka_unit_test(long_names_are_cut_between_letters),
        cmocka_unit_test(a_region_may_have_every_label_of_a_dataset),
        cmocka_unit_test(wrong_lists_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
