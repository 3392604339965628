/* What is written as JSON, to the byte. That other programs read it is for the tests of the files to show. */
#include "core/json_writer.h"
#include "testing.h"

static void objects_and_lists_are_indented(void **state) {
    (void)state;
    text out = {0};
    json_writer json = json_writer_start(&out);
    json_begin_object(&json, NULL);
    json_add_string(&json, "name", "left \"ear\"\\\n\t\x1f");
    json_begin_row(&json, "spacing");
    json_add_number(&json, NULL, 0.1);
    json_add_number(&json, NULL, 1e300);
    json_add_number(&json, NULL, 0.0 / 0.0);
    json_add_number_or_nan(&json, NULL, 0.0 / 0.0);
    json_add_number_or_nan(&json, NULL, 0.1);
    json_end(&json);
    json_begin_list(&json, "lines");
    json_add_integer(&json, NULL, -7);
    json_begin_object(&json, NULL);
    json_add_bool(&json, "yes", 1);
    json_add_raw(&json, "raw", "[1]");
    json_add_string(&json, "nothing", NULL);
    json_end(&json);
    json_end(&json);
    json_begin_object(&json, "empty");
    json_end(&json);
    json_end(&json);
    assert_string_equal(text_string(&out), "{\n"
                                           "    \"name\": \"left \\\"ear\\\"\\\\\\n\\t\\u001F\",\n"
                                           "    \"spacing\": [0.1, 1e+300, null, NaN, 0.10000000000000001],\n"
                                           "    \"lines\": [\n"
                                           "        -7,\n"
                                           "        {\n"
                                           "            \"yes\": true,\n"
                                           "            \"raw\": [1],\n"
                                           "            \"nothing\": null\n"
                                           "        }\n"
                                           "    ],\n"
                                           "    \"empty\": {}\n"
                                           "}\n");
    text_close(&out);
}

/* Every sequence that Unicode's table 3-7 refuses becomes U+FFFD, all others stay. */
static void bytes_that_are_not_utf8_are_replaced(void **state) {
    (void)state;
    static const struct {
        const char *in, *out;
    } known[] = {
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\xa7\xa0", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\xa7\xa0\""},
        {"a\xff"
         "b",
         "\"a\xef\xbf\xbd"
         "b\""},
        {"\xc3", "\"\xef\xbf\xbd\""},
        {"\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        text out = {0};
        json_text_string(&out, known[k].in);
        assert_string_equal(text_string(&out), known[k].out);
        assert_int_equal(json_is_text(known[k].in), k == 0);
        text_close(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(objects_and_lists_are_indented),
                                       cmocka_unit_test(bytes_that_are_not_utf8_are_replaced)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
