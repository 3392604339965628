#include "core/array.h"
#include "testing.h"

static void an_array_grows_and_keeps_what_it_holds(void **state) {
    (void)state;
    int *numbers = NULL;
    size_t capacity = 0;
    for (int k = 0; k < 1000; k++) {
        int *grown = array_grow(numbers, (size_t)k, &capacity, sizeof *grown);
        assert_non_null(grown);
        numbers = grown;
        numbers[k] = k;
        assert_true(capacity > (size_t)k && capacity <= 2048);
    }
    for (int k = 0; k < 1000; k++) assert_int_equal(numbers[k], k);
    assert_ptr_equal(array_grow(numbers, 999, &capacity, sizeof *numbers), numbers);
    free(numbers);
}

static void more_than_memory_can_hold_is_refused(void **state) {
    (void)state;
    int number;
    size_t capacity = SIZE_MAX / 8;
    assert_null(array_grow(&number, capacity, &capacity, sizeof number));
    assert_int_equal(capacity, SIZE_MAX / 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_array_grows_and_keeps_what_it_holds),
                                       cmocka_unit_test(more_than_memory_can_hold_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
