#include "run/settings.h"
#include "testing.h"

static char *written(const train_settings *s) {
    text json = {0};
    json_writer writer = json_writer_start(&json);
    json_begin_object(&writer, NULL);
    settings_write(s, &writer);
    json_end(&writer);
    assert_false(json.failed);
    return json.bytes;
}

static status_code read_text(train_settings *s, const char *json, failure *failure) {
    return settings_read_text(s, json, "test.json", failure);
}

static void settings_come_back_as_they_were_written(void **state) {
    (void)state;
    train_settings s = settings_default(), back = settings_default();
    s.data = "digits:20,\"10\\\n";
    s.lr = 0.1 + 0.2;
    s.beta = 1e-3 / 3, s.tail = (double)NAN;
    s.seed = 9007199254740991;
    s.replacement = 1;
    s.importance = 1;
    s.weight_min = 0.3;
    s.weight_max = (double)INFINITY;
    s.keep[0] = (settings_keep){"3", 0.01};
    s.keep[1] = (settings_keep){"group:a \"b\"=c", 1.0 / 3};
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
    json_text_number(&json, 0.1);
    text_add(&json, " ");
    json_text_number(&json, 10);
    text_add(&json, " ");
    json_text_number(&json, 1.0 / 3);
    assert_string_equal(json.bytes, "0.1 10 0.3333333333333333");
    text_close(&json);
}

static void every_choice_comes_back(void **state) {
    (void)state;
    static const char *const VALUES[][2] = {{"objective", "erm"},         {"objective", "dro"},
                                            {"objective", "reweight"},    {"objective", "ohem"},
                                            {"objective", "group-dro"},   {"objective", "jtt"},
                                            {"objective", "cvar-batch"},  {"history", "exact"},
                                            {"history", "stale"},         {"optimizer", "adamw"},
                                            {"optimizer", "momentum"},    {"schedule", "poly"},
                                            {"precision", "bf16"},        {"conv", "direct"},
                                            {"divergence", "js"},         {"divergence", "cvar:0.05"},
                                            {"divergence", "chi2"},       {"divergence", "kl"},
                                            {"replacement", "on"},        {"divergence", "cressie-read:-1.5"},
                                            {"divergence", "reverse-kl"}, {"divergence", "hellinger"}};
    for (size_t k = 0; k < sizeof VALUES / sizeof *VALUES; k++) {
        train_settings s = settings_default(), back = settings_default();
        char entry[100];
        assert_int_equal(settings_set(&s, VALUES[k][0], VALUES[k][1], NULL), STATUS_OK);
        char *json = written(&s);
        snprintf(entry, sizeof entry, "\"%s\": \"%s\"", VALUES[k][0], VALUES[k][1]);
        if (strcmp(VALUES[k][1], "on") != 0 && !strstr(json, entry)) fail_msg("%s lacks %s", json, entry);
        assert_int_equal(read_text(&back, json, NULL), STATUS_OK);
        assert_null(settings_difference(&s, &back));
        free(json);
        settings_close(&back);
    }
}

static void defaults_are_the_tables(void **state) {
    (void)state;
    const train_settings images = settings_default(), volumes = settings_default_volumes();
    assert_true(isnan(images.beta) && isnan(volumes.beta));
    assert_true(isnan(images.loss_init) && isnan(volumes.loss_init));
    assert_true(images.tail == 0.1 && volumes.tail == 0.5);
    assert_true(images.warm_up == 0 && volumes.warm_up == 0.5);
    assert_true(!images.importance && !volumes.importance);
    assert_true(images.weight_min == 0.1 && images.weight_max == 10);
    assert_int_equal(images.objective, OBJECTIVE_DRO);
    assert_int_equal(images.optimizer, OPTIMIZER_SGD);
    assert_int_equal(volumes.optimizer, OPTIMIZER_NESTEROV);
    assert_int_equal(volumes.schedule, SCHEDULE_POLY);
    assert_true(volumes.momentum == 0.99 && volumes.weight_decay == 3e-5 && volumes.clip_norm == 12);
    assert_true(images.epochs == 6 && images.batch == 64 && images.epoch_length == 0);
    assert_true(volumes.epochs == 1000 && volumes.batch == 0 && volumes.epoch_length == 250);
    assert_string_equal(images.model, "wrn-16-1");
    assert_string_equal(volumes.model, "unet");
    assert_true(images.look_ahead == 1 && images.stop_grad_norm == -1 && images.loaders == 1);
    for (size_t k = 0; k < settings_count(); k++) { /* and they can be typed as --help prints them */
        const setting *one = settings_at(k);
        train_settings s = settings_default();
        if (one->images) assert_int_equal(settings_set(&s, one->key, one->images, NULL), STATUS_OK);
        if (one->volumes) assert_int_equal(settings_set(&s, one->key, one->volumes, NULL), STATUS_OK);
    }
}

static void the_help_tells_every_option_and_its_defaults(void **state) {
    (void)state;
    text help = {0};
    for (int group = SETTING_OBJECTIVE; group <= SETTING_RUN; group++) settings_help((setting_group)group, &help);
    for (size_t k = 0; k < settings_count(); k++) {
        const setting *one = settings_at(k);
        char option[64];
        if (one->group == SETTING_DATA) continue;
        snprintf(option, sizeof option, "\n  --%s ", one->key);
        for (char *at = option; *at; at++)
            if (*at == '_') *at = '-';
        if (!strstr(help.bytes, option) && strncmp(help.bytes, option + 1, strlen(option + 1)) != 0)
            fail_msg("--help lacks %s", option);
    }
    assert_non_null(strstr(help.bytes, "(0.1; 0.5)"));
    assert_non_null(strstr(help.bytes, "(sgd; nesterov)"));
    assert_non_null(strstr(help.bytes, "(DATASET_FOLDER/hws_cache)"));
    text_close(&help);
}

static void values_of_the_command_line_are_checked(void **state) {
    (void)state;
    static const struct {
        const char *key, *value, *message;
    } CASES[] = {
        {"beta", "three", "--beta three is not a number from 0"},
        {"batch", "1.5", "--batch 1.5 is not a whole number"},
        {"history_momentum", "1", "--history-momentum 1 is not a number"},
        {"lr", "", "is not a number"},
        {"lr", "nan", "is not a number"},
        {"objective", "dor",
         "there is no objective 'dor'; erm, dro, reweight, ohem, group-dro, jtt and cvar-batch are known"},
        {"importance", "1,x", "not two numbers"},
        {"importance", "1", "not two numbers"},
        {"importance", "2,1", "larger than the second"},
        {"importance", "normalized", "normalised or exact"},
        {"importance", "exact,", "not two numbers"},
        {"importance", "exact,1", "not two numbers"},
        {"importance", "normalised,2,1", "larger than the second"},
        {"tail", "0", "--tail 0 is not a number from"},
        {"tail", "2", "--tail 2 is not a number from"},
        {"tail", "-0.1", "--tail -0.1 is not a number from"},
        {"tail", "nan", "--tail nan is not a number from"},
        {"tail", "", "is not a number from"},
        {"lr", "none", "is not a number"},
        {"loss_init", "1e31", "neither a number from"},
        {"loss_init", "nan", "neither a number from"},
        {"loss_init", "inf", "neither a number from"},
        {"loss_init", "", "neither a number from"},
        {"keep", "3", "CLASS=FRACTION"},
        {"keep", "3=2", "CLASS=FRACTION"},
        {"keep", "=0.5", "CLASS=FRACTION"},
        {"keep", "7=0.5", "once for each"},
        {"replacement", "yes", "on or off"},
        {"lrr", "1", "no setting 'lrr'"},
    };
    train_settings s = settings_default();
    assert_int_equal(settings_set(&s, "keep", "7=0.25", NULL), STATUS_OK);
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        failure why = {0};
        assert_int_equal(settings_set(&s, CASES[k].key, CASES[k].value, &why), STATUS_BAD_INPUT);
        if (!strstr(why.message, CASES[k].message)) fail_msg("'%s' lacks '%s'", why.message, CASES[k].message);
    }
    assert_int_equal(s.keep_count, 1);
    assert_int_equal(settings_set(&s, "importance", "", NULL), STATUS_OK);
    assert_true(s.importance && s.weight_min == 0.1 && s.weight_max == 10);
    assert_int_equal(settings_set(&s, "importance", "0.5,2", NULL), STATUS_OK);
    assert_true(s.importance && s.weight_min == 0.5 && s.weight_max == 2);
    assert_int_equal(settings_set(&s, "importance", "off", NULL), STATUS_OK);
    assert_false(s.importance);
}

static void set(train_settings *s, const char *key, const char *value) {
    failure why = {0};
    if (settings_set(s, key, value, &why) != STATUS_OK) fail_msg("%s", why.message);
}

static void importance_weights_are_of_a_kind(void **state) {
    (void)state;
    static const struct {
        const char *value;
        importance_kind kind;
        double low, high;
        const char *json;
    } CASES[] = {
        {"paper", IMPORTANCE_PAPER, 0.1, 10, "\"importance\": [0.1, 10]"},
        {"paper,0,inf", IMPORTANCE_PAPER, 0, (double)INFINITY, "\"importance\": [0, null]"},
        {"normalised", IMPORTANCE_NORMALISED, 0.1, 10, "\"importance\": [\"normalised\", 0.1, 10]"},
        {"normalised,0.5,2", IMPORTANCE_NORMALISED, 0.5, 2, "\"importance\": [\"normalised\", 0.5, 2]"},
        {"exact,0,inf", IMPORTANCE_EXACT, 0, (double)INFINITY, "\"importance\": [\"exact\", 0, null]"},
        {"3,4", IMPORTANCE_PAPER, 3, 4, "\"importance\": [3, 4]"},
    };
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        train_settings s = settings_default(), back = settings_default();
        set(&s, "importance", CASES[k].value);
        assert_true(settings_names_importance(CASES[k].value));
        assert_true(s.importance == CASES[k].kind && s.weight_min == CASES[k].low && s.weight_max == CASES[k].high);
        char *json = written(&s);
        if (!strstr(json, CASES[k].json)) fail_msg("%s lacks %s", json, CASES[k].json);
        assert_int_equal(read_text(&back, json, NULL), STATUS_OK);
        assert_null(settings_difference(&s, &back));
        back.importance = back.importance == IMPORTANCE_PAPER ? IMPORTANCE_EXACT : IMPORTANCE_PAPER;
        assert_string_equal(settings_difference(&s, &back), "importance");
        free(json);
        settings_close(&back);
    }
    static const char *const DATA[] = {"digits", "exactly", "papers", "normalised.csv", "mnist:x", "1"};
    for (size_t k = 0; k < sizeof DATA / sizeof *DATA; k++) assert_false(settings_names_importance(DATA[k]));
}

static void beta_and_tail_take_each_others_place(void **state) {
    (void)state;
    train_settings s = settings_default(), back = settings_default();
    failure why;
    set(&s, "tail", "0.05");
    assert_true(s.tail == 0.05 && isnan(s.beta));
    assert_int_equal(settings_check(&s, &why), STATUS_OK);
    char *json = written(&s);
    assert_non_null(strstr(json, "\"beta\": null"));
    assert_int_equal(read_text(&back, json, NULL), STATUS_OK);
    assert_null(settings_difference(&s, &back));
    free(json);
    s.target_ess = 5;
    assert_int_equal(settings_check(&s, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "--target-ess cannot be used together"));
    s.target_ess = 0;
    set(&s, "tail", "none");
    assert_int_equal(settings_check(&s, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "either --tail or --beta"));
    set(&s, "tail", "1");
    set(&s, "beta", "3");
    assert_true(s.beta == 3 && isnan(s.tail));
    assert_string_equal(settings_difference(&s, &back), "beta");
    /* A file of before there was a tail has beta alone. */
    set(&s, "tail", "0.5");
    settings_close(&back);
    assert_int_equal(read_text(&s, "{\"beta\": 7}", NULL), STATUS_OK);
    assert_true(s.beta == 7 && isnan(s.tail));
    settings_close(&s);
}

static void first_losses_are_none_a_number_or_a_file(void **state) {
    (void)state;
    static const char *const VALUES[][2] = {
        {"none", "\"loss_init\": null"}, {"-2.5", "\"loss_init\": -2.5"}, {"runs/a", "\"loss_init\": \"runs/a\""}};
    train_settings s = settings_default(), before = s;
    for (size_t k = 0; k < 3; k++) {
        train_settings back = settings_default();
        set(&s, "loss_init", VALUES[k][0]);
        if (k) assert_string_equal(settings_difference(&s, &before), "loss_init");
        char *json = written(&s);
        if (!strstr(json, VALUES[k][1])) fail_msg("%s lacks %s", json, VALUES[k][1]);
        assert_int_equal(read_text(&back, json, NULL), STATUS_OK);
        assert_null(settings_difference(&s, &back));
        free(json);
        settings_close(&back);
    }
    assert_string_equal(s.loss_init_file, "runs/a");
    set(&s, "loss_init", "4");
    assert_true(s.loss_init == 4 && !*s.loss_init_file);
}

static void the_help_tells_what_recipes_stand_for(void **state) {
    (void)state;
    text help = {0};
    settings_recipes_help(&help);
    static const char *const WORDS[] = {
        "paper       as in the paper, for images --beta 10 --warm-up 0 --no-importance --loss-init 10\n",
        "for volumes --beta 100 --warm-up 0 --importance 0.1,10 --loss-init 1;\n",
        "photos      how pictures are augmented: --flip --resized-crop 0.25 --jitter 0.2 --erase 0.1\n",
        "xrays       how pictures are augmented: --crop 4 --rotate 10 --jitter 0.2\n"};
    for (size_t k = 0; k < sizeof WORDS / sizeof *WORDS; k++)
        if (!strstr(text_string(&help), WORDS[k])) fail_msg("'%s' lacks '%s'", text_string(&help), WORDS[k]);
    text_close(&help);
}

static void the_papers_recipe_is_one_word(void **state) {
    (void)state;
    failure why;
    train_settings images = settings_default(), volumes = settings_default_volumes();
    set(&images, "tail", "0.1");
    set(&images, "importance", "normalised,1,2");
    assert_int_equal(settings_follow_recipe(&images, "paper", 0, &why), STATUS_OK);
    assert_int_equal(settings_follow_recipe(&volumes, "paper", 1, &why), STATUS_OK);
    assert_true(images.beta == 10 && isnan(images.tail) && images.importance == IMPORTANCE_OFF);
    assert_true(images.loss_init == 10 && volumes.loss_init == 1);
    assert_true(volumes.beta == 100 && isnan(volumes.tail) && volumes.importance == IMPORTANCE_PAPER);
    assert_true(volumes.weight_min == 0.1 && volumes.weight_max == 10 && volumes.warm_up == 0);
    assert_int_equal(settings_follow_recipe(&images, "pepper", 0, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "no recipe 'pepper'"));
}

static void what_an_old_run_does_not_tell_is_as_it_was(void **state) {
    (void)state;
    const train_settings images = settings_before(0), volumes = settings_before(1);
    assert_true(images.best_by_test && !settings_default().best_by_test && images.validation == 0);
    assert_true(images.beta == 10 && isnan(images.tail) && !images.importance && images.warm_up == 0);
    assert_true(volumes.beta == 100 && isnan(volumes.tail) && volumes.importance && volumes.warm_up == 0);
    assert_true(isnan(volumes.loss_init) && volumes.momentum == 0.99 && volumes.epochs == 1000);
}

/* A longer run would warm up for longer. */
static void the_end_of_a_run_that_warms_up_is_fixed(void **state) {
    (void)state;
    train_settings s = settings_default(), longer = s;
    longer.epochs = 7;
    assert_null(settings_difference(&s, &longer));
    s.warm_up = longer.warm_up = 0.5;
    assert_string_equal(settings_difference(&s, &longer), "epochs");
    s.objective = longer.objective = OBJECTIVE_ERM;
    assert_null(settings_difference(&s, &longer));
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
        {"{\"keep\": {\"\": 1}}", "value of 'keep'"},
        {"{\"keep\": [1]}", "value of 'keep'"},
        {"{\"importance\": [1]}", "value of 'importance'"},
        {"{\"model\": 3}", "value of 'model'"},
        {"{\"replacement\": 1}", "value of 'replacement'"},
        {"{\"objective\": \"nonsense\"}", "value of 'objective'"},
        {"{\"objective\": 1}", "value of 'objective'"},
        {"{\"divergence\": \"cvar:2\"}", "value of 'divergence'"},
        {"{\"keep\": {\"3\": 1.5}}", "value of 'keep'"},
        {"{\"importance\": [2, 1]}", "value of 'importance'"},
        {"{\"importance\": [\"fast\", 1, 2]}", "value of 'importance'"},
        {"{\"importance\": [\"exact,\", 1, 2]}", "value of 'importance'"},
        {"{\"importance\": [\"exact\", 1]}", "value of 'importance'"},
        {"{\"tail\": 0}", "value of 'tail'"},
        {"{\"tail\": 1.5}", "value of 'tail'"},
        {"{\"lr\": null}", "value of 'lr'"},
        {"{\"tail\": 0.1, \"beta\": 3}", "cannot be used together"},
        {"{\"loss_init\": true}", "value of 'loss_init'"},
        {"{\"loss_init\": 1e40}", "value of 'loss_init'"},
        {"{\"loss_init\": \"\"}", "value of 'loss_init'"},
        {"{", "not JSON"},
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
    s.history = HISTORY_EXACT;
    assert_int_equal(settings_check(&s, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "--look-ahead 0"));
    s.look_ahead = 0;
    assert_int_equal(settings_check(&s, &why), STATUS_OK);
    static const char *const WRONG[][3] = {{"divergence", "cvar:0.3", "contradict each other"},
                                           {"target_ess", "0.5", "no effective size is below 1"},
                                           {"doubt", "on", "leave some out"},
                                           {"trim", "0.05", "leave some out"}};
    for (size_t k = 0; k < sizeof WRONG / sizeof *WRONG; k++) {
        train_settings wrong = s;
        if (k == 1) assert_int_equal(settings_set(&wrong, "beta", "10", NULL), STATUS_OK);
        if (k > 1) wrong.stop_grad_norm = 0;
        assert_int_equal(settings_set(&wrong, WRONG[k][0], WRONG[k][1], NULL), STATUS_OK);
        assert_int_equal(settings_check(&wrong, &why), STATUS_BAD_INPUT);
        assert_non_null(strstr(why.message, WRONG[k][2]));
    }
    static const char *const KEYS[] = {"objective", "optimizer", "schedule", "divergence",
                                       "history",   "precision", "conv"};
    for (size_t k = 0; k < sizeof KEYS / sizeof *KEYS; k++) {
        const train_settings before = s;
        assert_int_equal(settings_set(&s, KEYS[k], "nonsense", &why), STATUS_BAD_INPUT);
        assert_non_null(strstr(why.message, "nonsense"));
        assert_null(settings_difference(&before, &s));
    }
}

static void what_decides_no_bit_is_forgotten(void **state) {
    (void)state;
    static const char *const FREE[][2] = {{"tensorboard", "on"},    {"cache", "elsewhere"}, {"picture_memory", "7"},
                                          {"threads", "3"},         {"loaders", "4"},       {"checkpoint_every", "5"},
                                          {"budget_costs", "1 1 1"}};
    train_settings s = settings_default(), plain = settings_default();
    text words = {0}, expected = {0};
    for (size_t k = 0; k < sizeof FREE / sizeof *FREE; k++)
        assert_int_equal(settings_set(&s, FREE[k][0], FREE[k][1], NULL), STATUS_OK);
    s.lr = plain.lr = 0.5;
    settings_forget_free(&s, 0);
    json_writer json = json_writer_start(&words);
    settings_write(&s, &json);
    json = json_writer_start(&expected);
    settings_write(&plain, &json);
    assert_string_equal(text_string(&words), text_string(&expected));
    text_close(&words);
    text_close(&expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_decides_no_bit_is_forgotten),
        cmocka_unit_test(settings_come_back_as_they_were_written),
        cmocka_unit_test(numbers_are_written_in_few_digits),
        cmocka_unit_test(every_choice_comes_back),
        cmocka_unit_test(defaults_are_the_tables),
        cmocka_unit_test(the_help_tells_every_option_and_its_defaults),
        cmocka_unit_test(values_of_the_command_line_are_checked),
        cmocka_unit_test(importance_weights_are_of_a_kind),
        cmocka_unit_test(beta_and_tail_take_each_others_place),
        cmocka_unit_test(first_losses_are_none_a_number_or_a_file),
        cmocka_unit_test(the_papers_recipe_is_one_word),
        cmocka_unit_test(the_help_tells_what_recipes_stand_for),
        cmocka_unit_test(what_an_old_run_does_not_tell_is_as_it_was),
        cmocka_unit_test(the_end_of_a_run_that_warms_up_is_fixed),
        cmocka_unit_test(a_difference_is_named),
        cmocka_unit_test(what_is_no_setting_is_refused),
        cmocka_unit_test(settings_that_do_not_fit_together_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
