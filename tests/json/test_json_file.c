/* Reading JSON while memory runs out: at every allocation, a failure that says so. */
#include "json/json_file.h"

#include "testing.h"

/* Of what json_file.c allocates for jansson, the allocation that fails: the so many-th from now on; 0: none. */
static long fails_at;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size) { return fails_at > 0 && --fails_at == 0 ? NULL : __real_malloc(size); }

static const char TEXT[] =
    "{\"settings\": {\"history_momentum\": 0.25, \"data\": \"a longer name, \\u00e9, \\\"quoted\\\"\", "
    "\"keep\": {\"3\": 0.01, \"group:virus\": 0.02}}, \"facts\": {\"classes\": [\"zero\", \"one\"], "
    "\"examples\": 123456, \"nothing\": null, \"yes\": true}}";

static void memory_that_runs_out_is_told_at_every_allocation(void **state) {
    (void)state;
    json_t *whole, *root;
    failure why = {0};
    json_watch_memory();
    assert_int_equal(json_parse("x", TEXT, sizeof TEXT - 1, &whole, &why), STATUS_OK);
    long at = 1;
    for (; at < 1000; at++) {
        fails_at = at;
        const status_code status = json_parse("x", TEXT, sizeof TEXT - 1, &root, &why);
        const int failed = fails_at == 0;
        fails_at = 0;
        assert_int_equal(status, failed ? STATUS_OUT_OF_MEMORY : STATUS_OK);
        if (!failed) break;
        assert_null(root);
    }
    assert_in_range(at, 20, 999);
    assert_true(json_equal(root, whole));
    json_decref(root);
    json_decref(whole);
}

static void what_is_no_json_is_refused_with_its_line(void **state) {
    (void)state;
    static const char *const BAD[] = {"",       "{",           "[1,]", "{\"a\": 1, \"a\": 2}", "{\"a\": \"\xff\"}",
                                      "[1]\n]", "{\"a\n\": 1}"};
    for (size_t k = 0; k < sizeof BAD / sizeof *BAD; k++) {
        json_t *root = NULL;
        failure why = {0};
        assert_int_equal(json_parse("some.json", BAD[k], strlen(BAD[k]), &root, &why), STATUS_CORRUPT);
        assert_null(root);
        assert_non_null(strstr(why.message, "some.json, line "));
    }
}

/* What was read of it is given back, the oldest first: in a time that grows with it, not with its
   square, or this never ends. */
static void a_large_file_that_is_cut_is_refused_at_once(void **state) {
    (void)state;
    enum { NUMBERS = 2000000 };
    char *bytes = malloc(2 * NUMBERS + 1);
    json_t *root = NULL;
    failure why = {0};
    assert_non_null(bytes);
    bytes[0] = '[';
    for (size_t k = 0; k < NUMBERS; k++) memcpy(bytes + 1 + 2 * k, "1,", 2);
    json_watch_memory();
    assert_int_equal(json_parse("cut.json", bytes, 2 * NUMBERS + 1, &root, &why), STATUS_CORRUPT);
    assert_null(root);
    free(bytes);
}

static void files_that_cannot_be_read_are_told(void **state) {
    (void)state;
    json_t *root = NULL;
    failure why = {0};
    assert_int_equal(json_file_read("/nonexistent/x.json", &root, &why), STATUS_CANNOT_READ);
    assert_null(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_runs_out_is_told_at_every_allocation),
        cmocka_unit_test(what_is_no_json_is_refused_with_its_line),
        cmocka_unit_test(a_large_file_that_is_cut_is_refused_at_once),
        cmocka_unit_test(files_that_cannot_be_read_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
