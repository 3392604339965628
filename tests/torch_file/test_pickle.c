#include "testing.h"
#include "torch_file/pickle.h"

/* A pickle as a string literal, without the zero at its end. */
#define PICKLE(text) text, sizeof(text) - 1

static status_code open_exactly(pickle **p, const void *bytes, size_t size, failure *failure) {
    unsigned char *exact = malloc(size + !size); /* so that a sanitizer sees reads beyond the end */
    memcpy(exact, bytes, size);
    const status_code status = pickle_open(p, exact, size, "it", failure);
    free(exact); /* values are copies */
    return status;
}

static pickle *opened(const void *bytes, size_t size) {
    pickle *p;
    failure failure = {0};
    if (open_exactly(&p, bytes, size, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    return p;
}

static void refused(const void *bytes, size_t size, const char *why) {
    pickle *p;
    failure failure = {0};
    assert_int_equal(open_exactly(&p, bytes, size, &failure), STATUS_CORRUPT);
    assert_null(p);
    if (!strstr(failure.message, why)) fail_msg("expected '%s' in: %s", why, failure.message);
}

/* What Python 3.11 makes of {'a': [1, -2, 3.5, None, True, False, 300, 70000, 2**40, -2**40], 'b': ('x', b'y'), 'c':
   {}} with protocols 2 and 4. */
static const char PROTOCOL_2[] =
    "\x80\x02}q\x00(X\x01\x00\x00\x00"
    "aq\x01]q\x02(K\x01J\xfe\xff\xff\xffG@\x0c\x00\x00\x00\x00\x00\x00N\x88\x89M,\x01Jp\x11\x01\x00\x8a\x06\x00\x00\x00"
    "\x00\x00\x01\x8a\x06\x00\x00\x00\x00\x00\xff"
    "eX\x01\x00\x00\x00"
    "bq\x03X\x01\x00\x00\x00xq\x04"
    "c_codecs\nencode\nq\x05X\x01\x00\x00\x00yq\x06X\x06\x00\x00\x00latin1q\x07\x86q\x08Rq\t\x86q\nX\x01\x00\x00\x00"
    "cq\x0b}q\x0cu.";
static const char PROTOCOL_4[] =
    "\x80\x04\x95L\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01"
    "a\x94]\x94(K\x01J\xfe\xff\xff\xffG@\x0c\x00\x00\x00\x00\x00\x00N\x88\x89M,\x01Jp\x11\x01\x00\x8a\x06\x00\x00\x00"
    "\x00\x00\x01\x8a\x06\x00\x00\x00\x00\x00\xff"
    "e\x8c\x01"
    "b\x94\x8c\x01x\x94"
    "C\x01y\x94\x86\x94\x8c\x01"
    "c\x94}\x94u.";

static void check_values(const pickle_value *root) {
    const pickle_value *a = pickle_get(root, "a"), *b = pickle_get(root, "b"), *c = pickle_get(root, "c");
    const int64_t wholes[] = {1, -2, 0, 0, 1, 0, 300, 70000, INT64_C(1) << 40, -(INT64_C(1) << 40)};
    assert_int_equal(a->kind, PICKLE_LIST);
    assert_int_equal(a->count, 10);
    for (size_t k = 0; k < 10; k++) assert_true(a->item[k]->whole == wholes[k]);
    assert_int_equal(a->item[2]->kind, PICKLE_NUMBER);
    assert_true(a->item[2]->number == 3.5);
    assert_int_equal(a->item[3]->kind, PICKLE_NONE);
    assert_int_equal(a->item[4]->kind, PICKLE_BOOL);
    assert_int_equal(b->kind, PICKLE_TUPLE);
    assert_true(pickle_is_string(b->item[0], "x"));
    assert_int_equal(c->kind, PICKLE_DICT);
    assert_int_equal(c->count, 0);
    assert_null(pickle_get(root, "d"));
    assert_null(pickle_get(a, "a"));
}

static void pythons_pickles_are_read(void **state) {
    (void)state;
    pickle *two = opened(PICKLE(PROTOCOL_2)), *four = opened(PICKLE(PROTOCOL_4));
    check_values(pickle_root(two));
    check_values(pickle_root(four));
    const pickle_value *call = pickle_get(pickle_root(two), "b")->item[1];
    assert_int_equal(call->kind, PICKLE_CALL);
    assert_true(pickle_is_name(call->item[0], "_codecs encode"));
    pickle_close(&two);
    pickle_close(&four);
}

static void the_last_of_equal_keys_counts(void **state) {
    (void)state;
    pickle *p = opened(PICKLE("\x80\x02}(X\x01\x00\x00\x00kK\x01X\x01\x00\x00\x00kK\x02u."));
    assert_int_equal(pickle_get(pickle_root(p), "k")->whole, 2);
    pickle_close(&p);
}

static void an_ordered_dict_is_a_dict_and_its_attributes_are_passed_over(void **state) {
    (void)state;
    pickle *p =
        opened(PICKLE("\x80\x02"
                      "ccollections\nOrderedDict\n)R(X\x01\x00\x00\x00kK\x07u}X\x09\x00\x00\x00_metadataK\x01sb."));
    assert_int_equal(pickle_get(pickle_root(p), "k")->whole, 7);
    pickle_close(&p);
}

static void names_that_no_checkpoint_needs_are_refused(void **state) {
    (void)state;
    refused(PICKLE("\x80\x02"
                   "cposix\nsystem\nX\x05\x00\x00\x00touch\x85R."),
            "'posix system'");
    refused(PICKLE("\x80\x02"
                   "c__builtin__\neval\n."),
            "'__builtin__ eval'");
    refused(PICKLE("\x80\x04\x8c\x08"
                   "builtins\x8c\x04"
                   "exec\x93."),
            "'builtins exec'");
    refused(PICKLE("\x80\x04\x8c\x02os\x8c\x06system\x93."), "nothing of it was executed");
    refused(PICKLE("\x80\x02(S'x'\ni__main__\nX\n."), "opcode 0x53"); /* the text opcodes of protocol 0 */
    refused(PICKLE("\x80\x02(i__main__\nX\n."), "opcode 0x69");
    refused(PICKLE("\x80\x02\x82\x01."), "opcode 0x82"); /* the registry of extensions */
    refused(PICKLE("\x80\x02Pname\n."), "opcode 0x50");
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    refused(PICKLE(""), "ends too early");
    refused(PICKLE("\x80\x01."), "protocol");
    refused(PICKLE("\x80\x02."), "takes a value where there is none");
    refused(PICKLE("\x80\x02(."), "takes a value where there is none");
    refused(PICKLE("\x80\x02X\xff\xff\xff\xffq."), "ends too early");
    refused(PICKLE("\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xffq."), "ends too early");
    refused(PICKLE("\x80\x02\x8b\xff\xff\xff\xff."), "more than 64 bits");
    refused(PICKLE("\x80\x02Nr\xff\xff\xff\xff."), "remembers");
    refused(PICKLE("\x80\x02j\x00\x00\x00\x01."), "recalls");
    refused(PICKLE("\x80\x02h\x00."), "recalls");
    refused(PICKLE("\x80\x02Nu."), "mark");
    refused(PICKLE("\x80\x02(K\x01u."), "not there");
    refused(PICKLE("\x80\x02}(K\x01u."), "no value");
    refused(PICKLE("\x80\x02N(K\x01"
                   "e."),
            "no list or dict");
    refused(PICKLE("\x80\x02)}R."), "no name");
    refused(PICKLE("\x80\x02NNR."), "no name");
    refused(PICKLE("\x80\x02"
                   "ctorch\nFloat"),
            "no end");
}

/* Lists in lists, each holding the one before it ten times: with copies it would be 10^20 elements. A list that holds
   itself. */
static void bombs_stay_small(void **state) {
    (void)state;
    char bytes[2000] = "\x80\x02]";
    size_t n = 3;
    for (int level = 0; level < 20; level++) {
        n += (size_t)sprintf(bytes + n, "q%c](", level + 1);
        for (int k = 0; k < 10; k++) n += (size_t)sprintf(bytes + n, "h%c", level + 1);
        bytes[n++] = 'e';
        bytes[n++] = '\x86'; /* a pair of the last list and this one */
    }
    bytes[n++] = '.';
    pickle *p = opened(bytes, n);
    assert_int_equal(pickle_root(p)->count, 2);
    pickle_close(&p);
    p = opened(PICKLE("\x80\x02]q\x01h\x01"
                      "a."));
    assert_ptr_equal(pickle_root(p)->item[0], pickle_root(p));
    pickle_close(&p);
}

static void what_is_cut_is_refused_and_what_is_altered_does_not_crash(void **state) {
    (void)state;
    char bytes[sizeof PROTOCOL_2];
    for (size_t cut = 0; cut < sizeof PROTOCOL_2 - 1; cut++) {
        pickle *p;
        failure failure = {0};
        assert_int_equal(open_exactly(&p, PROTOCOL_2, cut, &failure), STATUS_CORRUPT);
    }
    for (size_t at = 0; at < sizeof PROTOCOL_2 - 1; at++)
        for (int value = 0; value < 256; value++) {
            pickle *p;
            failure failure = {0};
            memcpy(bytes, PROTOCOL_2, sizeof bytes);
            bytes[at] = (char)value;
            open_exactly(&p, bytes, sizeof bytes - 1, &failure);
            pickle_close(&p);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pythons_pickles_are_read),
        cmocka_unit_test(the_last_of_equal_keys_counts),
        cmocka_unit_test(an_ordered_dict_is_a_dict_and_its_attributes_are_passed_over),
        cmocka_unit_test(names_that_no_checkpoint_needs_are_refused),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(bombs_stay_small),
        cmocka_unit_test(what_is_cut_is_refused_and_what_is_altered_does_not_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
