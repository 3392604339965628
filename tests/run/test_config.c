#define _POSIX_C_SOURCE 200809L
/* config.json, as it is written now and as older versions wrote it. */
#include "run/config.h"
#include "run/run_folder.h"
#include "train/folders.h"

#include <jansson.h>

/* The allocation that fails: the so many-th from now on; 0: none. */
static long fails_at;

static int fails(void) { return fails_at > 0 && --fails_at == 0; }

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *block, size_t size) { return fails() ? NULL : __real_realloc(block, size); }

static const char OLD_IMAGES[] =
    "{\n"
    "    \"hws_version\": \"0.1.0\",\n    \"task\": \"classification\",\n    \"examples\": 200,\n"
    "    \"test_examples\": 40,\n    \"image_size\": [28, 20, 1],\n    \"classes\": [\"0\", \"1\", \"2\"],\n"
    "    \"pixel_mean\": 0.125,\n    \"pixel_std\": 0.25,\n    \"data_fingerprint\": \"00c0ffee00000001\",\n"
    "    \"epoch_iterations\": 12,\n    \"parameters\": 1234,\n"
    "    \"convolutions\": [\n        \"one\",\n        \"two\"\n    ],\n"
    "    \"data\": \"digits:200,40\",\n    \"objective\": \"ohem\",\n    \"beta\": 3.5,\n    \"divergence\": "
    "\"cvar:0.1\",\n"
    "    \"loss_init\": 10,\n    \"history\": \"stale\",\n    \"history_momentum\": 0,\n    \"floor\": 0,\n"
    "    \"uniform_mix\": 0,\n    \"replacement\": true,\n    \"target_ess\": 0,\n    \"ohem_factor\": 3,\n"
    "    \"model\": \"mlp-1-16\",\n    \"optimizer\": \"adam\",\n    \"lr\": 0.001,\n    \"momentum\": 0.9,\n"
    "    \"weight_decay\": 0,\n    \"clip_norm\": 0,\n    \"schedule\": \"poly\",\n    \"epochs\": 2,\n"
    "    \"iterations\": 0,\n    \"epoch_length\": 0,\n    \"batch\": 16,\n    \"fold\": 0,\n    \"cache\": \"\",\n"
    "    \"stratify\": \"\",\n    \"split_volumes\": \"\",\n    \"look_ahead\": 2,\n    \"stop_grad_norm\": -1,\n"
    "    \"precision\": \"bf16\",\n    \"conv\": \"direct\",\n    \"seed\": 7,\n    \"threads\": 2,\n"
    "    \"loaders\": 1,\n    \"checkpoint_every\": 0,\n    \"keep\": {\"2\": 0.5},\n    \"importance\": [0.5, "
    "null]\n}\n";

static const char OLD_VOLUMES[] = "{\"task\": \"segmentation\", \"data\": \"/heads\", \"validation_cases\": 2, "
                                  "\"patch\": [8, 16, 24], \"classes\": [\"background\", \"left, or \\\"right\\\"\"], "
                                  "\"fold\": 3}";

static const char *config_folder(const char *name, const char *json) {
    const char *where = folder(name);
    assert_int_equal(folder_make(where, NULL), STATUS_OK);
    file_write(where, "config.json", json, strlen(json));
    return where;
}

static run_config opened(const char *where) {
    run_config config;
    failure why = {0};
    if (run_config_open(&config, where, &why) != STATUS_OK) fail_msg("%s", why.message);
    return config;
}

static void assert_old_images(const run_config *c) {
    const train_settings *s = &c->settings;
    const run_facts *f = &c->facts;
    assert_string_equal(s->data, "digits:200,40");
    assert_int_equal(s->objective, OBJECTIVE_OHEM);
    assert_true(s->beta == 3.5 && s->lr == 0.001 && s->ohem_factor == 3 && s->batch == 16 && s->look_ahead == 2);
    assert_true(s->divergence.kind == HWS_CVAR && s->divergence.parameter == 0.1);
    assert_true(s->optimizer == OPTIMIZER_ADAM && s->schedule == SCHEDULE_POLY && s->history == HISTORY_STALE);
    assert_true(s->precision == PRECISION_BF16 && s->conv == CONVOLUTION_DIRECT && s->replacement);
    assert_true(s->keep_count == 1 && strcmp(s->keep[0].part, "2") == 0 && s->keep[0].fraction == 0.5);
    assert_true(s->importance && s->weight_min == 0.5 && isinf(s->weight_max));
    assert_int_equal(f->task, TASK_CLASSIFICATION);
    assert_string_equal(f->version, "0.1.0");
    assert_true(f->examples == 200 && f->test_examples == 40 && f->epoch_iterations == 12 && f->parameters == 1234);
    assert_true(f->height == 28 && f->width == 20 && f->channels == 1);
    assert_true(f->pixel_mean == 0.125 && f->pixel_std == 0.25);
    assert_true(f->data_fingerprint == UINT64_C(0x00c0ffee00000001));
    assert_int_equal(f->class_count, 3);
    assert_string_equal(f->class_names[2], "2");
}

static void a_config_of_one_object_is_read(void **state) {
    (void)state;
    run_config c = opened(config_folder("old-images", OLD_IMAGES));
    assert_old_images(&c);
    run_config_close(&c);
    c = opened(config_folder("old-volumes", OLD_VOLUMES));
    assert_int_equal(c.facts.task, TASK_SEGMENTATION);
    assert_true(c.facts.patch[0] == 8 && c.facts.patch[2] == 24 && c.facts.validation_cases == 2);
    assert_string_equal(c.facts.class_names[1], "left, or \"right\"");
    assert_int_equal(c.settings.fold, 3);
    assert_true(c.settings.beta == 100); /* what is not told is as for volumes */
    run_config_close(&c);
}

static void what_is_written_comes_back_in_two_halves(void **state) {
    (void)state;
    run_config old = opened(config_folder("to-copy", OLD_IMAGES));
    const char *where = folder("new");
    assert_int_equal(folder_make(where, NULL), STATUS_OK);
    old.facts.convolutions = "first line\nsecond \"line\"\n";
    assert_int_equal(run_config_write(where, &old.settings, &old.facts, NULL), STATUS_OK);
    run_config back = opened(where);
    assert_old_images(&back);
    assert_null(settings_difference(&old.settings, &back.settings));
    json_t *root = json_load_file(folder("new/config.json"), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_int_equal(json_object_size(root), 2);
    const json_t *settings = json_object_get(root, "settings"), *facts = json_object_get(root, "facts");
    assert_string_equal(json_string_value(json_object_get(settings, "objective")), "ohem");
    assert_string_equal(json_string_value(json_object_get(facts, "task")), "classification");
    assert_null(json_object_get(facts, "objective"));
    assert_null(json_object_get(settings, "task"));
    const json_t *lines = json_object_get(facts, "convolutions");
    assert_int_equal(json_array_size(lines), 2);
    assert_string_equal(json_string_value(json_array_get(lines, 1)), "second \"line\"");
    json_decref(root);
    run_config_close(&old);
    run_config_close(&back);
}

static void what_memory_was_lacking_for_is_not_written(void **state) {
    (void)state;
    run_config old = opened(config_folder("to-write", OLD_IMAGES));
    const char *whole = folder("whole"), *lacking = folder("lacking");
    int ran_out = 1;
    old.facts.convolutions = "first line\nsecond \"line\"\n";
    assert_int_equal(folder_make(whole, NULL), STATUS_OK);
    assert_int_equal(folder_make(lacking, NULL), STATUS_OK);
    assert_int_equal(run_config_write(whole, &old.settings, &old.facts, NULL), STATUS_OK);
    for (long k = 1; ran_out; k++) {
        fails_at = k;
        const status_code status = run_config_write(lacking, &old.settings, &old.facts, NULL);
        ran_out = fails_at == 0;
        fails_at = 0;
        assert_int_equal(status, ran_out ? STATUS_OUT_OF_MEMORY : STATUS_OK);
    }
    assert_same_file(whole, lacking, "config.json");
    run_config_close(&old);
}

static void what_memory_is_lacking_for_is_not_called_damaged(void **state) {
    (void)state;
    const char *where = config_folder("to-read", OLD_IMAGES);
    int ran_out = 1;
    for (long k = 1; ran_out; k++) {
        run_config config;
        fails_at = k;
        const status_code status = run_config_open(&config, where, NULL);
        ran_out = fails_at == 0;
        fails_at = 0;
        if (status == STATUS_OK) assert_old_images(&config), run_config_close(&config);
        else assert_int_equal(status, STATUS_OUT_OF_MEMORY);
    }
}

static void entries_are_flat_in_both_forms(void **state) {
    (void)state;
    run_config old = opened(config_folder("flat-old", OLD_IMAGES));
    const char *where = folder("flat-new");
    assert_int_equal(folder_make(where, NULL), STATUS_OK);
    assert_int_equal(run_config_write(where, &old.settings, &old.facts, NULL), STATUS_OK);
    run_config_close(&old);
    const char *const folders[] = {folder("flat-old"), where};
    for (int k = 0; k < 2; k++) {
        json_t *entries;
        assert_int_equal(run_config_entries(folders[k], &entries, NULL), STATUS_OK);
        assert_string_equal(json_string_value(json_object_get(entries, "objective")), "ohem");
        assert_string_equal(json_string_value(json_object_get(entries, "task")), "classification");
        assert_int_equal(json_array_size(json_object_get(entries, "classes")), 3);
        json_decref(entries);
    }
}

static void the_task_is_told(void **state) {
    (void)state;
    task_kind task;
    assert_int_equal(run_config_task(config_folder("task-1", OLD_IMAGES), &task, NULL), STATUS_OK);
    assert_int_equal(task, TASK_CLASSIFICATION);
    assert_int_equal(run_config_task(config_folder("task-2", OLD_VOLUMES), &task, NULL), STATUS_OK);
    assert_int_equal(task, TASK_SEGMENTATION);
    assert_int_equal(run_config_task(config_folder("task-3", "{\"facts\": {\"task\": \"dancing\"}}"), &task, NULL),
                     STATUS_OK);
    assert_int_equal(task, TASK_UNKNOWN);
    failure why = {0};
    assert_int_equal(run_config_task(folder("nowhere"), &task, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "is not a run's folder"));
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *json, *message;
    } CASES[] = {
        {"[1]", "not a JSON object"},
        {"{", "config.json, line"},
        {"{\"settings\": {\"lrr\": 1}}", "no setting 'lrr'"},
        {"{\"settings\": {\"task\": \"segmentation\"}, \"facts\": {}}", "no setting 'task'"},
        {"{\"settings\": {\"lr\": -1}}", "value of 'lr'"},
        {"{\"facts\": {\"task\": \"classification\"}}", "does not tell the size"},
        {"{\"facts\": {\"image_size\": [28, 28]}}", "'image_size'"},
        {"{\"facts\": {\"image_size\": [28, 28, 0]}}", "'image_size'"},
        {"{\"facts\": {\"patch\": [1, 2, 3.5]}}", "'patch'"},
        {"{\"facts\": {\"examples\": -1}}", "'examples'"},
        {"{\"facts\": {\"classes\": [1]}}", "'classes'"},
        {"{\"facts\": {\"classes\": \"all\"}}", "'classes'"},
        {"{\"facts\": {\"pixel_std\": \"1\"}}", "'pixel_std'"},
        {"{\"facts\": {\"data_fingerprint\": \"xyz\"}}", "'data_fingerprint'"},
    };
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        run_config config;
        failure why = {0};
        const status_code status = run_config_open(&config, config_folder("wrong", CASES[k].json), &why);
        assert_true(status == STATUS_CORRUPT || status == STATUS_BAD_INPUT);
        if (!strstr(why.message, CASES[k].message)) fail_msg("'%s' lacks '%s'", why.message, CASES[k].message);
    }
}

static void facts_of_later_versions_are_passed_over(void **state) {
    (void)state;
    run_config c = opened(config_folder("later", "{\"settings\": {\"beta\": 2}, \"facts\": {\"weather\": \"fine\"}}"));
    assert_true(c.settings.beta == 2);
    assert_int_equal(c.facts.task, TASK_UNKNOWN);
    run_config_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_config_of_one_object_is_read),
        cmocka_unit_test(what_is_written_comes_back_in_two_halves),
        cmocka_unit_test(what_memory_was_lacking_for_is_not_written),
        cmocka_unit_test(what_memory_is_lacking_for_is_not_called_damaged),
        cmocka_unit_test(entries_are_flat_in_both_forms),
        cmocka_unit_test(the_task_is_told),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(facts_of_later_versions_are_passed_over),
    };
    return cmocka_run_group_tests(tests, folders_setup, folders_teardown);
}
