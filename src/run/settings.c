#include "run/settings.h"

#include "hws.h"
#include "nn/optimizer.h"
#include "nn/schedule.h"
#include "run/objective.h"
#include "json/json_file.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WHERE(field) offsetof(train_settings, field)
static const setting TABLE[] = {
    {"data", SETTING_TEXT, WHERE(data), 0, 0, 1},
    {"objective", SETTING_TEXT, WHERE(objective), 0, 0, 1},
    {"beta", SETTING_NUMBER, WHERE(beta), 0, 1e15, 1},
    {"divergence", SETTING_TEXT, WHERE(divergence), 0, 0, 1},
    {"loss_init", SETTING_NUMBER, WHERE(loss_init), -1e30, 1e30, 1},
    {"history", SETTING_TEXT, WHERE(history), 0, 0, 1},
    {"history_momentum", SETTING_NUMBER, WHERE(history_momentum), 0, 0.999999, 1},
    {"floor", SETTING_NUMBER, WHERE(floor), 0, 1, 1},
    {"uniform_mix", SETTING_NUMBER, WHERE(uniform_mix), 0, 1, 1},
    {"replacement", SETTING_FLAG, WHERE(replacement), 0, 1, 1},
    {"target_ess", SETTING_NUMBER, WHERE(target_ess), 0, 1e15, 1},
    {"ohem_factor", SETTING_WHOLE, WHERE(ohem_factor), 1, 1000, 1},
    {"model", SETTING_TEXT, WHERE(model), 0, 0, 1},
    {"optimizer", SETTING_TEXT, WHERE(optimizer), 0, 0, 1},
    {"lr", SETTING_NUMBER, WHERE(lr), 0, 1e6, 1},
    {"momentum", SETTING_NUMBER, WHERE(momentum), 0, 0.999999, 1},
    {"weight_decay", SETTING_NUMBER, WHERE(weight_decay), 0, 1e6, 1},
    {"clip_norm", SETTING_NUMBER, WHERE(clip_norm), 0, 1e15, 1},
    {"schedule", SETTING_TEXT, WHERE(schedule), 0, 0, 1},
    {"epochs", SETTING_WHOLE, WHERE(epochs), 1, 1e9, 1},
    {"iterations", SETTING_WHOLE, WHERE(iterations), 0, 1e12, 1},
    {"epoch_length", SETTING_WHOLE, WHERE(epoch_length), 0, 1e9, 1},
    {"batch", SETTING_WHOLE, WHERE(batch), 0, 1 << 20, 1},
    {"fold", SETTING_WHOLE, WHERE(fold), -1, 1000, 1},
    {"cache", SETTING_TEXT, WHERE(cache), 0, 0, 0},
    {"stratify", SETTING_TEXT, WHERE(stratify), 0, 0, 1},
    {"split_volumes", SETTING_TEXT, WHERE(split_volumes), 0, 0, 1},
    {"look_ahead", SETTING_WHOLE, WHERE(look_ahead), 0, 1000, 1},
    {"stop_grad_norm", SETTING_NUMBER, WHERE(stop_grad_norm), -1, 1e15, 1},
    {"precision", SETTING_TEXT, WHERE(precision), 0, 0, 1},
    {"conv", SETTING_TEXT, WHERE(conv), 0, 0, 1},
    {"seed", SETTING_WHOLE, WHERE(seed), 0, 9007199254740991.0, 1},
    {"threads", SETTING_WHOLE, WHERE(threads), 0, 4096, 0},
    {"loaders", SETTING_WHOLE, WHERE(loaders), 0, 256, 0},
    {"checkpoint_every", SETTING_WHOLE, WHERE(checkpoint_every), 0, 1e12, 0},
};

/* What config.json records beside the settings: facts about the data, the network and the program. */
static const char *const FACTS[] = {
    "hws_version",      "task",      "examples",         "test_examples",    "classes",    "image_size",
    "pixel_mean",       "pixel_std", "data_fingerprint", "epoch_iterations", "parameters", "convolutions",
    "validation_cases", "patch"};

train_settings settings_default(void) {
    return (train_settings){.data = "",
                            .objective = "dro",
                            .beta = 10,
                            .divergence = "kl",
                            .weight_min = 0.1,
                            .weight_max = 10,
                            .loss_init = 10,
                            .history = "stale",
                            .ohem_factor = 2,
                            .model = "wrn-16-1",
                            .optimizer = "sgd",
                            .lr = 0.01,
                            .momentum = 0.9,
                            .schedule = "constant",
                            .epochs = 6,
                            .batch = 64,
                            .cache = "",
                            .stratify = "",
                            .split_volumes = "",
                            .look_ahead = 1,
                            .stop_grad_norm = -1,
                            .precision = "f32",
                            .conv = "auto",
                            .loaders = 1};
}

train_settings settings_default_volumes(void) {
    train_settings settings = settings_default();
    settings.beta = 100;
    settings.importance = 1;
    settings.loss_init = 1;
    settings.model = "unet";
    settings.optimizer = "nesterov";
    settings.momentum = 0.99;
    settings.weight_decay = 3e-5;
    settings.clip_norm = 12;
    settings.schedule = "poly";
    settings.epochs = 1000;
    settings.epoch_length = 250;
    settings.batch = 0;
    return settings;
}

void settings_close(train_settings *settings) {
    json_decref(settings->document);
    settings->document = 0;
}

size_t settings_count(void) { return sizeof TABLE / sizeof *TABLE; }
const setting *settings_at(size_t index) { return &TABLE[index]; }

static const void *value_at(const train_settings *settings, const setting *s) {
    return (const char *)settings + s->offset;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

void settings_number(text *json, double value) {
    char digits[40];
    if (!isfinite(value)) {
        text_add(json, "null");
        return;
    }
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, 0) == value) break;
    }
    text_add(json, digits);
}

void settings_string(text *json, const char *string) {
    json_t *value = json_string(string);
    char *quoted = value ? json_dumps(value, JSON_ENCODE_ANY) : 0;
    text_add(json, quoted ? quoted : "null");
    free(quoted);
    json_decref(value);
}

static void write_setting(const setting *s, const void *value, text *json) {
    text_format(json, "    \"%s\": ", s->key);
    if (s->kind == SETTING_TEXT) settings_string(json, *(const char *const *)value);
    if (s->kind == SETTING_WHOLE) text_format(json, "%lld", *(const long long *)value);
    if (s->kind == SETTING_FLAG) text_add(json, *(const int *)value ? "true" : "false");
    if (s->kind == SETTING_NUMBER) settings_number(json, *(const double *)value);
    text_add(json, ",\n");
}

static void write_keep(const train_settings *settings, text *json) {
    text_add(json, "    \"keep\": {");
    for (int k = 0; k < settings->keep_count; k++) {
        text_format(json, "%s\"%d\": ", k ? ", " : "", settings->keep[k].class_label);
        settings_number(json, settings->keep[k].fraction);
    }
    text_add(json, "},\n");
}

void settings_write(const train_settings *settings, text *json) {
    for (size_t k = 0; k < settings_count(); k++) write_setting(&TABLE[k], value_at(settings, &TABLE[k]), json);
    write_keep(settings, json);
    text_add(json, "    \"importance\": ");
    if (settings->importance) {
        text_add(json, "[");
        settings_number(json, settings->weight_min);
        text_add(json, ", ");
        settings_number(json, settings->weight_max);
        text_add(json, "]\n");
    } else {
        text_add(json, "null\n");
    }
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const setting *find(const char *key) {
    for (size_t k = 0; k < settings_count(); k++)
        if (strcmp(TABLE[k].key, key) == 0) return &TABLE[k];
    return 0;
}

static int is_fact(const char *key) {
    for (size_t k = 0; k < sizeof FACTS / sizeof *FACTS; k++)
        if (strcmp(FACTS[k], key) == 0) return 1;
    return 0;
}

/* Whether the value is of the setting's kind and within its range; then it is taken. */
static int read_setting(train_settings *settings, const setting *s, const json_t *value) {
    void *target = (char *)settings + s->offset;
    if (s->kind == SETTING_TEXT) {
        if (!json_is_string(value)) return 0;
        *(const char **)target = json_string_value(value);
        return 1;
    }
    if (s->kind == SETTING_FLAG) {
        if (!json_is_boolean(value)) return 0;
        *(int *)target = json_is_true(value);
        return 1;
    }
    const double number = json_number_value(value);
    if (!json_is_number(value) || !(number >= s->low && number <= s->high)) return 0;
    if (s->kind == SETTING_WHOLE) {
        if (number != floor(number)) return 0;
        *(long long *)target = (long long)number;
    } else {
        *(double *)target = number;
    }
    return 1;
}

static int read_importance(train_settings *settings, const json_t *value) {
    settings->importance = json_is_array(value);
    if (!settings->importance) return json_is_null(value);
    const json_t *low = json_array_get(value, 0), *high = json_array_get(value, 1);
    if (json_array_size(value) != 2 || !json_is_number(low) || !(json_is_number(high) || json_is_null(high))) return 0;
    settings->weight_min = json_number_value(low);
    settings->weight_max = json_is_null(high) ? (double)INFINITY : json_number_value(high);
    return 1;
}

static int read_keep(train_settings *settings, json_t *object) {
    const char *key;
    json_t *value;
    if (!json_is_object(object) || json_object_size(object) > SETTINGS_KEEP_MAX) return 0;
    settings->keep_count = 0;
    json_object_foreach(object, key, value) {
        char *end;
        const long label = strtol(key, &end, 10);
        if (end == key || *end || label < 0 || label > 1 << 20 || !json_is_number(value)) return 0;
        settings->keep[settings->keep_count++] = (settings_keep){(int)label, json_number_value(value)};
    }
    return 1;
}

static int read_entry(train_settings *settings, const char *key, json_t *value, int *known) {
    const setting *s = find(key);
    *known = 1;
    if (s) return read_setting(settings, s, value);
    if (strcmp(key, "importance") == 0) return read_importance(settings, value);
    if (strcmp(key, "keep") == 0) return read_keep(settings, value);
    return *known = is_fact(key);
}

status_code settings_read(train_settings *settings, json_t *object, const char *name, failure *failure) {
    const char *key;
    json_t *value;
    json_decref(settings->document);
    settings->document = object;
    if (!json_is_object(object)) return fail(failure, STATUS_CORRUPT, "%s: is not a JSON object", name);
    json_object_foreach(object, key, value) {
        int known;
        if (read_entry(settings, key, value, &known)) continue;
        if (!known)
            return fail(failure, STATUS_BAD_INPUT, "%s: there is no setting '%.100s'; remove or correct it", name, key);
        return fail(failure, STATUS_BAD_INPUT, "%s: the value of '%.100s' is not one that it can have", name, key);
    }
    return STATUS_OK;
}

status_code settings_read_file(train_settings *settings, const char *path, failure *failure) {
    json_t *root;
    const status_code status = json_file_read(path, &root, failure);
    return status == STATUS_OK ? settings_read(settings, root, path, failure) : status;
}

/* ---- comparing and checking -------------------------------------------------------------------------------------- */

static int is_same(const setting *s, const void *a, const void *b) {
    if (s->kind == SETTING_TEXT) return strcmp(*(const char *const *)a, *(const char *const *)b) == 0;
    if (s->kind == SETTING_FLAG) return *(const int *)a == *(const int *)b;
    if (s->kind == SETTING_WHOLE) return *(const long long *)a == *(const long long *)b;
    return *(const double *)a == *(const double *)b;
}

static int is_same_keep(const train_settings *a, const train_settings *b) {
    if (a->keep_count != b->keep_count) return 0;
    for (int k = 0; k < a->keep_count; k++)
        if (a->keep[k].class_label != b->keep[k].class_label || a->keep[k].fraction != b->keep[k].fraction) return 0;
    return 1;
}

static int may_be_longer(const train_settings *s) { return strcmp(s->schedule, "constant") == 0 && !s->iterations; }

const char *settings_difference(const train_settings *a, const train_settings *b) {
    for (size_t k = 0; k < settings_count(); k++) {
        if (strcmp(TABLE[k].key, "epochs") == 0 && may_be_longer(a) && may_be_longer(b)) continue;
        if (TABLE[k].bits && !is_same(&TABLE[k], value_at(a, &TABLE[k]), value_at(b, &TABLE[k]))) return TABLE[k].key;
    }
    if (!is_same_keep(a, b)) return "keep";
    if (a->importance != b->importance) return "importance";
    return a->importance && (a->weight_min != b->weight_min || a->weight_max != b->weight_max) ? "importance" : 0;
}

static int is_one_of(const char *text, const char *a, const char *b) {
    return strcmp(text, a) == 0 || strcmp(text, b) == 0;
}

status_code settings_check(const train_settings *s, failure *failure) {
    objective_kind objective;
    optimizer_kind optimizer;
    schedule_kind schedule;
    hws_divergence divergence;
    hws_error error;
    status_code status = objective_parse(s->objective, &objective, failure);
    if (status == STATUS_OK) status = optimizer_parse(s->optimizer, &optimizer, failure);
    if (status == STATUS_OK) status = schedule_parse(s->schedule, &schedule, failure);
    if (status != STATUS_OK) return status;
    if (hws_divergence_parse(s->divergence, &divergence, &error) != HWS_OK)
        return fail(failure, STATUS_BAD_INPUT, "--divergence: %s", error.message);
    if (!is_one_of(s->history, "stale", "exact"))
        return fail(failure, STATUS_BAD_INPUT, "--history %.100s is neither stale nor exact", s->history);
    if (strcmp(s->history, "exact") == 0 && s->look_ahead > 0)
        return fail(failure, STATUS_BAD_INPUT,
                    "--history exact draws each batch from losses of that very moment: it needs --look-ahead 0");
    if (!is_one_of(s->precision, "f32", "bf16"))
        return fail(failure, STATUS_BAD_INPUT, "--precision %.100s is neither f32 nor bf16", s->precision);
    if (!is_one_of(s->conv, "auto", "direct"))
        return fail(failure, STATUS_BAD_INPUT, "--conv %.100s is neither auto nor direct", s->conv);
    return STATUS_OK;
}
