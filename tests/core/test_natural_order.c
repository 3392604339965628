#include "core/natural_order.h"

#include "testing.h"

/* Each comes before all that follow. */
static const char *const ORDER[] = {"",
                                    "1",
                                    "2",
                                    "10",
                                    "010x",
                                    "99999999999999999999",
                                    "100000000000000000000",
                                    "A",
                                    "a",
                                    "a b",
                                    "a01",
                                    "a1",
                                    "a1b",
                                    "a2",
                                    "a2.9",
                                    "a2.10",
                                    "a10",
                                    "B",
                                    "b",
                                    "g2",
                                    "g10",
                                    "\xC3\xA4"};

static void names_come_in_the_order_in_which_people_look_for_them(void **state) {
    (void)state;
    enum { COUNT = sizeof ORDER / sizeof *ORDER };
    for (int a = 0; a < COUNT; a++)
        for (int b = 0; b < COUNT; b++) {
            const int order = natural_compare(ORDER[a], ORDER[b]);
            assert_int_equal((order > 0) - (order < 0), (a > b) - (a < b));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_come_in_the_order_in_which_people_look_for_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
