/* DATA on the command line. */
#define _XOPEN_SOURCE 700 /* mkdtemp, setenv */
#include "images/classification_data.h"
#include "images/mnist.h"

#include "testing.h"

#include <unistd.h>

static void refuse(const char *data, const char *words) {
    labelled_images train, test;
    failure failure = {0};
    assert_int_not_equal(classification_data_open(data, &train, &test, &failure), STATUS_OK);
    if (!strstr(failure.message, words)) fail_msg("'%s' lacks '%s'", failure.message, words);
    assert_null(train.pixels);
    assert_null(test.pixels);
}

static void digits_come_in_the_sizes_that_are_asked_for(void **state) {
    (void)state;
    labelled_images train, test;
    assert_int_equal(classification_data_open("digits:30,12", &train, &test, NULL), STATUS_OK);
    assert_int_equal(train.count, 30);
    assert_int_equal(test.count, 12);
    assert_memory_not_equal(train.pixels, test.pixels, 12 * 784);
    labelled_images_close(&train);
    labelled_images_close(&test);
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
    refuse("", "digits, digits:TRAIN,TEST, mnist and mnist:DIR");
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
