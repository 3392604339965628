#include "run/config.h"

#include "run/run_folder.h"
#include "json/json_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const TASKS[] = {"something unknown", "classification", "segmentation"};

const char *task_kind_name(task_kind kind) { return TASKS[kind]; }

/* ---- the two halves ---------------------------------------------------------------------------------------------- */

/* What stands beside the settings in a config.json of one object. */
static const char *const FACTS[] = {
    "hws_version",      "task",      "examples",         "test_examples",    "classes",    "image_size",
    "pixel_mean",       "pixel_std", "data_fingerprint", "epoch_iterations", "parameters", "convolutions",
    "validation_cases", "patch"};

static int is_fact(const char *key) {
    for (size_t k = 0; k < sizeof FACTS / sizeof *FACTS; k++)
        if (strcmp(FACTS[k], key) == 0) return 1;
    return 0;
}

static int is_divided(const json_t *root) {
    return json_is_object(json_object_get(root, "settings")) || json_is_object(json_object_get(root, "facts"));
}

/* Old ones become {"settings": ..., "facts": ...}, too. */
static status_code divide(json_t **root, failure *failure) {
    const char *key;
    json_t *value;
    json_t *settings = json_object(), *facts = json_object();
    int good = settings && facts;
    json_object_foreach(*root, key, value) good =
        good && json_object_set(is_fact(key) ? facts : settings, key, value) == 0;
    json_t *divided = good ? json_pack("{s:O,s:O}", "settings", settings, "facts", facts) : 0;
    json_decref(settings);
    json_decref(facts);
    if (!divided) return fail_memory(failure, "the settings");
    json_decref(*root);
    *root = divided;
    return STATUS_OK;
}

/* {"settings": ..., "facts": ...}, whichever form the file has. */
static status_code read_divided(const char *path, json_t **root, failure *failure) {
    status_code status = json_file_read(path, root, failure);
    if (status == STATUS_OK && !json_is_object(*root))
        status = fail(failure, STATUS_CORRUPT, "%s, line 1: is not a JSON object", path);
    if (status == STATUS_OK && !is_divided(*root)) status = divide(root, failure);
    if (status != STATUS_OK) {
        json_decref(*root);
        *root = 0;
    }
    return status;
}

static status_code read_folder(const char *folder, char path[PATH_SIZE], json_t **root, failure *failure) {
    *root = 0;
    status_code status = run_require(folder, failure);
    if (status == STATUS_OK) status = run_path(path, folder, RUN_CONFIG, failure);
    return status == STATUS_OK ? read_divided(path, root, failure) : status;
}

/* The root becomes the settings'. */
static status_code take_settings(train_settings *settings, json_t *root, const char *path, failure *failure) {
    json_t *object = json_object_get(root, "settings");
    json_decref(settings->document);
    settings->document = root;
    return object ? settings_read(settings, object, path, failure) : STATUS_OK;
}

static task_kind read_task(const json_t *facts) {
    const char *task = json_string_value(json_object_get(facts, "task"));
    for (int k = TASK_CLASSIFICATION; task && k <= TASK_SEGMENTATION; k++)
        if (strcmp(task, TASKS[k]) == 0) return (task_kind)k;
    return TASK_UNKNOWN;
}

status_code run_config_read_settings(train_settings *settings, const char *path, failure *failure) {
    json_t *root;
    const status_code status = read_divided(path, &root, failure);
    if (status != STATUS_OK) return status;
    const task_kind task = read_task(json_object_get(root, "facts"));
    if (task != TASK_UNKNOWN) {
        settings_close(settings);
        *settings = run_config_defaults(task);
    }
    return take_settings(settings, root, path, failure);
}

int run_config_is_of_run(const train_settings *settings) {
    const json_t *root = settings->document;
    return root && read_task(json_object_get(root, "facts")) != TASK_UNKNOWN;
}

int run_config_chooses(const train_settings *settings, const char *key) {
    const json_t *root = settings->document;
    return root && !run_config_is_of_run(settings) && json_object_get(json_object_get(root, "settings"), key) != 0;
}

/* ---- facts ------------------------------------------------------------------------------------------------------- */

static int read_whole(const json_t *value, long long least, long long most, long long *whole) {
    if (!value) return 1;
    *whole = json_integer_value(value);
    return json_is_integer(value) && *whole >= least && *whole <= most;
}

static int read_sizes(const json_t *list, int sizes[3]) {
    if (!list) return 1;
    if (json_array_size(list) != 3) return 0;
    for (size_t k = 0; k < 3; k++) {
        long long size = 0;
        if (!read_whole(json_array_get(list, k), 1, 1 << 20, &size)) return 0;
        sizes[k] = (int)size;
    }
    return 1;
}

static int read_number(const json_t *value, double *number) {
    if (!value) return 1;
    *number = json_number_value(value);
    return json_is_number(value) && isfinite(*number);
}

static int read_fingerprint(const json_t *value, uint64_t *fingerprint) {
    char *end;
    const char *digits = json_string_value(value);
    if (!value) return 1;
    if (!digits || strlen(digits) != 16) return 0;
    *fingerprint = strtoull(digits, &end, 16);
    return !*end;
}

static int read_classes(run_config *config, const json_t *list) {
    const size_t count = json_array_size(list);
    if (!list) return 1;
    if (!json_is_array(list) || count > 1 << 20) return 0;
    for (size_t k = 0; k < count; k++)
        if (!(config->class_names[k] = json_string_value(json_array_get(list, k)))) return 0;
    config->facts.class_names = config->class_names;
    config->facts.class_count = (int)count;
    return 1;
}

/* NULL, or the fact that cannot be. */
static const char *read_facts(run_config *config, const json_t *facts) {
    run_facts *f = &config->facts;
    const long long most = 1LL << 53;
    long long parameters = 0;
    int size[3] = {0};
    f->version = json_string_value(json_object_get(facts, "hws_version"));
    f->task = read_task(facts);
    if (!read_whole(json_object_get(facts, "examples"), 0, most, &f->examples)) return "examples";
    if (!read_whole(json_object_get(facts, "test_examples"), 0, most, &f->test_examples)) return "test_examples";
    if (!read_whole(json_object_get(facts, "validation_cases"), 0, most, &f->validation_cases))
        return "validation_cases";
    if (!read_whole(json_object_get(facts, "epoch_iterations"), 0, most, &f->epoch_iterations))
        return "epoch_iterations";
    if (!read_whole(json_object_get(facts, "parameters"), 0, most, &parameters)) return "parameters";
    if (!read_sizes(json_object_get(facts, "image_size"), size)) return "image_size";
    if (!read_sizes(json_object_get(facts, "patch"), f->patch)) return "patch";
    if (!read_number(json_object_get(facts, "pixel_mean"), &f->pixel_mean)) return "pixel_mean";
    if (!read_number(json_object_get(facts, "pixel_std"), &f->pixel_std)) return "pixel_std";
    if (!read_fingerprint(json_object_get(facts, "data_fingerprint"), &f->data_fingerprint)) return "data_fingerprint";
    if (!read_classes(config, json_object_get(facts, "classes"))) return "classes";
    f->parameters = (size_t)parameters;
    f->height = size[0];
    f->width = size[1];
    f->channels = size[2];
    return 0;
}

static status_code check_facts(const run_facts *f, const char *path, failure *failure) {
    if (f->task != TASK_CLASSIFICATION || (f->height && f->pixel_std > 0 && f->class_count)) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT, "%s: does not tell the size, classes and mean of the images it was trained on",
                path);
}

static status_code take_facts(run_config *config, const char *path, failure *failure) {
    const json_t *facts = json_object_get(config->settings.document, "facts");
    config->class_names = calloc(json_array_size(json_object_get(facts, "classes")) + 1, sizeof *config->class_names);
    if (!config->class_names) return fail_memory(failure, path);
    const char *wrong = read_facts(config, facts);
    if (wrong) return fail(failure, STATUS_CORRUPT, "%s: the fact '%s' has a value that is not possible", path, wrong);
    return check_facts(&config->facts, path, failure);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

train_settings run_config_defaults(task_kind task) { return settings_before(task == TASK_SEGMENTATION); }

status_code run_config_open(run_config *config, const char *folder, failure *failure) {
    char path[PATH_SIZE];
    json_t *root;
    *config = (run_config){0};
    status_code status = read_folder(folder, path, &root, failure);
    if (status != STATUS_OK) return status;
    config->settings = run_config_defaults(read_task(json_object_get(root, "facts")));
    status = take_settings(&config->settings, root, path, failure);
    if (status == STATUS_OK) status = settings_check(&config->settings, failure);
    if (status == STATUS_OK) status = take_facts(config, path, failure);
    if (status != STATUS_OK) run_config_close(config);
    return status;
}

void run_config_close(run_config *config) {
    settings_close(&config->settings);
    free(config->class_names);
    *config = (run_config){0};
}

status_code run_config_task(const char *folder, task_kind *task, failure *failure) {
    char path[PATH_SIZE];
    json_t *root;
    const status_code status = read_folder(folder, path, &root, failure);
    if (status == STATUS_OK) *task = read_task(json_object_get(root, "facts"));
    json_decref(root);
    return status;
}

status_code run_config_entries(const char *folder, json_t **entries, failure *failure) {
    char path[PATH_SIZE];
    json_t *root;
    *entries = 0;
    const status_code status = read_folder(folder, path, &root, failure);
    if (status != STATUS_OK) return status;
    json_t *settings = json_object_get(root, "settings"), *facts = json_object_get(root, "facts");
    *entries = json_object();
    const int good = *entries && (!facts || json_object_update(*entries, facts) == 0) &&
                     (!settings || json_object_update(*entries, settings) == 0);
    json_decref(root);
    if (good) return STATUS_OK;
    json_decref(*entries);
    *entries = 0;
    return fail_memory(failure, path);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void write_sizes(json_writer *json, const char *key, const int sizes[3]) {
    json_begin_row(json, key);
    for (int k = 0; k < 3; k++) json_add_integer(json, 0, sizes[k]);
    json_end(json);
}

static void write_classes(json_writer *json, const run_facts *facts) {
    char number[16];
    json_begin_row(json, "classes");
    for (int k = 0; k < facts->class_count; k++) {
        snprintf(number, sizeof number, "%d", k);
        json_add_string(json, 0, facts->class_names ? facts->class_names[k] : number);
    }
    json_end(json);
}

static void write_lines(json_writer *json, const char *key, const char *lines) {
    json_begin_list(json, key);
    for (const char *at = lines ? lines : ""; *at;) {
        text line = {0};
        const size_t length = strcspn(at, "\n");
        text_add_bytes(&line, at, length);
        json_add_string(json, 0, text_string(&line));
        json->out->failed |= line.failed;
        text_close(&line);
        at += length + (at[length] == '\n');
    }
    json_end(json);
}

static void write_task(json_writer *json, const run_facts *facts) {
    const int image_size[3] = {facts->height, facts->width, facts->channels};
    if (facts->task == TASK_CLASSIFICATION) {
        json_add_integer(json, "test_examples", facts->test_examples);
        write_sizes(json, "image_size", image_size);
        json_add_number(json, "pixel_mean", facts->pixel_mean);
        json_add_number(json, "pixel_std", facts->pixel_std);
    } else {
        json_add_integer(json, "validation_cases", facts->validation_cases);
        write_sizes(json, "patch", facts->patch);
    }
}

static void write_facts(json_writer *json, const run_facts *facts) {
    char fingerprint[17];
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, facts->data_fingerprint);
    json_add_string(json, "hws_version", facts->version);
    json_add_string(json, "task", TASKS[facts->task]);
    json_add_integer(json, "examples", facts->examples);
    write_classes(json, facts);
    write_task(json, facts);
    json_add_string(json, "data_fingerprint", fingerprint);
    json_add_integer(json, "epoch_iterations", facts->epoch_iterations);
    json_add_integer(json, "parameters", (long long)facts->parameters);
    write_lines(json, "convolutions", facts->convolutions);
}

status_code run_config_write(const char *folder, const train_settings *settings, const run_facts *facts,
                             failure *failure) {
    text out = {0};
    json_writer json = json_writer_start(&out);
    json_begin_object(&json, 0);
    json_begin_object(&json, "settings");
    settings_write(settings, &json);
    json_end(&json);
    json_begin_object(&json, "facts");
    write_facts(&json, facts);
    json_end(&json);
    json_end(&json);
    const status_code status = run_write(folder, RUN_CONFIG, &out, failure);
    text_close(&out);
    return status;
}
