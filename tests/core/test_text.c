#include "testing.h"

#include "core/text.h"

static void text_grows(void **state) {
    (void)state;
    text page = {0};
    assert_string_equal(text_string(&page), "");
    for (int k = 0; k < 1000; k++) text_format(&page, "%d,", k);
    text_add(&page, "end");
    text_add_bytes(&page, "", 0);
    assert_false(page.failed);
    assert_int_equal(page.size, 10 * 2 + 90 * 3 + 900 * 4 + 3);
    assert_int_equal(page.size, strlen(page.bytes));
    assert_memory_equal(page.bytes, "0,1,2,", 6);
    assert_string_equal(page.bytes + page.size - 7, "999,end");
    text_close(&page);
    assert_string_equal(text_string(&page), "");
}

static void a_failure_stays(void **state) {
    (void)state;
    text page = {.failed = 1};
    text_add(&page, "x");
    text_format(&page, "%d", 1);
    assert_int_equal(page.size, 0);
    assert_true(page.failed);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(text_grows), cmocka_unit_test(a_failure_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
