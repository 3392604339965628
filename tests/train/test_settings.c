#include "run/settings.h"
#include "testing.h"

static char *written(const train_settings *s) {
    text json = {0};
    text_add(&json, "{\n");
    settings_write(s, &json);
    text_add(&json, "}\n");
    assert_false(json.failed);
    return json.bytes;
}

static status_code read_text(train_settings *s, const char *json, failure *failure) {
    json_error_t error;
    json_t *object = json_loads(json, JSON_REJECT_DUPLICATES, &error);
    assert_non_null(object);
    return settings_read(s, object, "test.json", failure);
}

static void settings_come_back_as_they_were_written(void **state) {
    (void)state;
    train_settings s = settings_default(), back = settings_default();
    s.data = "digits:20,\"10\\\n";
    s.lr = 0.1 + 0.2;
    s.beta = 1e-3 / 3;
    s.seed = 9007199254740991;
    s.replacement = 1;
    s.importance = 1;
    s.weight_min = 0.3;
    s.weight_max = (double)INFINITY;
    s.keep[0] = (settings_keep){3, 0.01};
    s.keep[1] = (settings_keep){7, 1.0 / 3};
    s.keep_count = 2;
    char *json = written(&s);
    assert_int_equal(read_text(&back, json, NULL), STATUS_OK);
    assert_null(settings_difference(&s, &back));
    assert_string_equal(back.data, s.data);
    char *again = written(&back);
    assert_string_equal(json, again);
    free(json);
    free(again);
    settings_close(&back);
}

static void numbers_are_written_in_few_digits(void **state) {
    (void)state;
    text json = {0};
    settings_number(&json, 0.1);
    text_add(&json, " ");
    settings_number(&json, 10);
    text_add(&json, " ");
    settings_number(&json, 1.0 / 3);
    assert_string_equal(json.bytes, "0.1 10 0.3333333333333333");
    text_close(&json);
}

static void a_difference_is_named(void **state) {
    (void)state;
    const train_settings s = settings_default();
    train_settings other = s;
    other.threads = 3;
    other.loaders = 5;
    other.checkpoint_every = 2;
    assert_null(settings_difference(&s, &other));
    other.lr = 1;
    assert_string_equal(settings_difference(&s, &other), "lr");
    other = s;
    other.importance = 1;
    assert_string_equal(settings_difference(&s, &other), "importance");
    other = s;
    other.keep_count = 1;
    assert_string_equal(settings_difference(&s, &other), "keep");
}

static void what_is_no_setting_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *json, *message;
    } CASES[] = {
        {"{\"lrr\": 1}", "no setting 'lrr'"},
        {"{\"lr\": \"1\"}", "value of 'lr'"},
        {"{\"lr\": -1}", "value of 'lr'"},
        {"{\"batch\": 1.5}", "value of 'batch'"},
        {"{\"batch\": -1}", "value of 'batch'"},
        {"{\"keep\": {\"x\": 1}}", "value of 'keep'"},
        {"{\"keep\": [1]}", "value of 'keep'"},
        {"{\"importance\": [1]}", "value of 'importance'"},
        {"{\"model\": 3}", "value of 'model'"},
        {"{\"replacement\": 1}", "value of 'replacement'"},
        {"[1]", "not a JSON object"},
    };
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        train_settings s = settings_default();
        failure why;
        assert_int_not_equal(read_text(&s, CASES[k].json, &why), STATUS_OK);
        if (!strstr(why.message, CASES[k].message)) fail_msg("'%s' lacks '%s'", why.message, CASES[k].message);
        settings_close(&s);
    }
}

static void settings_that_do_not_fit_together_are_refused(void **state) {
    (void)state;
    failure why;
    train_settings s = settings_default();
    assert_int_equal(settings_check(&s, &why), STATUS_OK);
    s.history = "exact";
    assert_int_equal(settings_check(&s, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "--look-ahead 0"));
    s.look_ahead = 0;
    assert_int_equal(settings_check(&s, &why), STATUS_OK);
    const char **const texts[] = {&s.objective, &s.optimizer, &s.schedule, &s.divergence,
                                  &s.history,   &s.precision, &s.conv};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        const char *good = *texts[k];
        *texts[k] = "nonsense";
        assert_int_equal(settings_check(&s, &why), STATUS_BAD_INPUT);
        assert_non_null(strstr(why.message, "nonsense"));
        *texts[k] = good;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_come_back_as_they_were_written),
        cmocka_unit_test(numbers_are_written_in_few_digits),
        cmocka_unit_test(a_difference_is_named),
        cmocka_unit_test(what_is_no_setting_is_refused),
        cmocka_unit_test(settings_that_do_not_fit_together_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
