#include "testing.h"

#include "core/utf8.h"

/* Letters of one to four bytes. */
static const char TEXT[] = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z";

static void letters_stay_whole(void **state) {
    (void)state;
    static const size_t whole[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    for (size_t size = 0; size < sizeof whole / sizeof *whole; size++) {
        char copy[16];
        assert_int_equal(utf8_whole(TEXT, size), whole[size]);
        utf8_copy(copy, size + 1, TEXT);
        assert_int_equal(strlen(copy), whole[size]);
        assert_memory_equal(copy, TEXT, whole[size]);
        utf8_mend(copy, size + 1, (size_t)snprintf(copy, size + 1, "%s", TEXT));
        assert_int_equal(strlen(copy), whole[size]);
    }
}

/* There is nothing to save, but nothing is read in front of it either. */
static void what_is_no_utf8_is_cut_anywhere(void **state) {
    (void)state;
    char copy[8];
    utf8_copy(copy, 6, "\x80\x80\x80\x80\x80\x80\x80");
    assert_int_equal(strlen(copy), 5);
    utf8_copy(copy, 3, "\x80\x80\x80");
    assert_int_equal(strlen(copy), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(letters_stay_whole),
                                       cmocka_unit_test(what_is_no_utf8_is_cut_anywhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
