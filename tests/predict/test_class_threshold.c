/* Thresholds for a class: who is taken for it, also at the border, and what is refused. */
#include "predict/class_threshold.h"

#include "testing.h"

static const char *const NAMES[] = {"dark", "light", "a=b"};
static const run_facts FACTS = {.class_count = 3, .class_names = NAMES};

static class_threshold parsed(const char *words) {
    class_threshold threshold;
    failure failure;
    if (class_threshold_parse(words, &FACTS, &threshold, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    return threshold;
}

static void the_class_is_taken_from_the_threshold_on(void **state) {
    (void)state;
    const float likely[] = {0.1f, 0.3f, 0.6f}, unlikely[] = {0.6f, 0.29f, 0.11f};
    assert_int_equal(class_threshold_decide(parsed(NULL), likely, 3), 2);
    assert_int_equal(class_threshold_decide(parsed("light=0.3"), likely, 3), 1);
    assert_int_equal(class_threshold_decide(parsed("light=0.31"), likely, 3), 2);
    assert_int_equal(class_threshold_decide(parsed("light=0.3"), unlikely, 3), 0);
    assert_int_equal(class_threshold_decide(parsed("a=b=0.11"), unlikely, 3), 2);
}

/* hws evaluate chooses the probability of an example, and prints it with nine digits: that
   example is at the threshold. */
static void a_probability_that_was_printed_reaches_itself(void **state) {
    (void)state;
    for (int k = 1; k < 5000; k++) {
        const float p = (float)k / 5000 + 1e-5f, probabilities[] = {1 - p, p, 0};
        char words[64];
        snprintf(words, sizeof words, "light=%.9g", (double)p);
        assert_int_equal(class_threshold_decide(parsed(words), probabilities, 3), 1);
    }
}

static void what_is_no_threshold_is_refused(void **state) {
    (void)state;
    static const char *const WRONG[] = {"light",   "light=",    "light=2",  "light=-0.1",
                                        "light=x", "light=nan", "blue=0.5", "=0.5"};
    for (size_t k = 0; k < sizeof WRONG / sizeof *WRONG; k++) {
        class_threshold threshold;
        failure failure;
        assert_int_equal(class_threshold_parse(WRONG[k], &FACTS, &threshold, &failure), STATUS_BAD_INPUT);
        assert_non_null(strstr(failure.message, "write CLASS=P, one of dark, light, a=b"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_class_is_taken_from_the_threshold_on),
        cmocka_unit_test(a_probability_that_was_printed_reaches_itself),
        cmocka_unit_test(what_is_no_threshold_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
