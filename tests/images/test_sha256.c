/* SHA-256 against the standard's own examples. */
#include "images/sha256.h"

#include "testing.h"

static void check(const char *text, size_t size, const char *expected) {
    for (size_t split = 0; split <= size && split < 200; split++) {
        sha256 sum;
        char result[SHA256_TEXT];
        sha256_start(&sum);
        sha256_add(&sum, text, split);
        sha256_add(&sum, text + split, size - split);
        sha256_text(&sum, result);
        assert_string_equal(result, expected);
    }
}

static void the_standard_s_examples_come_out_however_they_are_split(void **state) {
    (void)state;
    check("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const char *two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    check(two_blocks, 56, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    const char *longer = "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnop"
                         "qrsmnopqrstnopqrstu";
    check(longer, 112, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}

static void a_million_letters_come_out(void **state) {
    (void)state;
    char *letters = malloc(1000000), result[SHA256_TEXT];
    memset(letters, 'a', 1000000);
    sha256 sum;
    sha256_start(&sum);
    for (size_t at = 0, part = 1; at < 1000000; at += part, part = part * 3 + 1) {
        if (part > 1000000 - at) part = 1000000 - at;
        sha256_add(&sum, letters + at, part);
    }
    sha256_text(&sum, result);
    assert_string_equal(result, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(letters);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_standard_s_examples_come_out_however_they_are_split),
        cmocka_unit_test(a_million_letters_come_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
