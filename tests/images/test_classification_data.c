/* DATA on the command line. */
#define _XOPEN_SOURCE 700 /* mkdtemp, setenv */
#include "images/classification_data.h"
#include "images/mnist.h"

#include "testing.h"

#include <unistd.h>

static void refuse(const char *data, const char *words) {
    classification_data sets;
    failure failure = {0};
    const classification_source source = classification_source_of(data);
    assert_int_not_equal(classification_data_open(&sets, &source, NULL, &failure), STATUS_OK);
    if (!strstr(failure.message, words)) fail_msg("'%s' lacks '%s'", failure.message, words);
    assert_null(sets.train.pixels);
    assert_null(sets.test.pixels);
}

static void digits_come_in_the_sizes_that_are_asked_for(void **state) {
    (void)state;
    classification_data sets;
    const classification_source source = classification_source_of("digits:30,12");
    assert_int_equal(classification_data_open(&sets, &source, NULL, NULL), STATUS_OK);
    assert_int_equal(sets.train.count, 30);
    assert_int_equal(sets.test.count, 12);
    assert_memory_not_equal(sets.train.pixels, sets.test.pixels, 12 * 784);
    classification_data_close(&sets);
}

static void malformed_specifications_are_refused(void **state) {
    (void)state;
    const char *bad[] = {"digits:",          "digits:5",
                         "digits:5,",        "digits:,5",
                         "digits:0,5",       "digits:5,0",
                         "digits:-5,5",      "digits:5,5,5",
                         "digits: 5,5",      "digits:5,5 ",
                         "digits:5;5",       "digits:+5,5",
                         "digits:1e3,5",     "digits:5,9999999999999999999999",
                         "digits:10000001,5"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) refuse(bad[k], "digits:TRAIN,TEST");
    refuse("", "digits, digits:TRAIN,TEST, mnist, mnist:DIR, a folder");
    refuse("cifar", "no data 'cifar'");
    refuse("digitsx", "no data 'digitsx'");
    refuse("mnist:", "mnist:DIR");
    refuse("mnist:/no/such/folder", "hws fetch mnist --out /no/such/folder");
}

static void mnist_alone_is_looked_for_in_the_cache(void **state) {
    (void)state;
    char path[100];
    setenv("XDG_CACHE_HOME", "/no/such/cache", 1);
    refuse("mnist", "/no/such/cache/hws/mnist");
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "/no/such/home", 1);
    refuse("mnist", "/no/such/home/.cache/hws/mnist");
    assert_int_equal(mnist_cache_folder(path, 10, NULL), STATUS_BAD_INPUT);
    unsetenv("XDG_CACHE_HOME");
    assert_int_equal(mnist_cache_folder(path, sizeof path, NULL), STATUS_OK);
    assert_string_equal(path, "/no/such/home/.cache/hws/mnist");
    unsetenv("HOME");
    refuse("mnist", "HOME");
}

static void classification_is_known_by_its_name(void **state) {
    (void)state;
    assert_true(classification_data_named("digits"));
    assert_true(classification_data_named("digits:what"));
    assert_true(classification_data_named("mnist"));
    assert_true(classification_data_named("mnist:somewhere"));
    assert_false(classification_data_named("phantom"));
    assert_false(classification_data_named("mnist/folder"));
    assert_false(classification_data_named("./digits"));
    assert_false(classification_data_named(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_come_in_the_sizes_that_are_asked_for),
        cmocka_unit_test(malformed_specifications_are_refused),
        cmocka_unit_test(mnist_alone_is_looked_for_in_the_cache),
        cmocka_unit_test(classification_is_known_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
