#include "run/setting_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_CLASS = 1 << 20 };

/* An enum is accessed as the int that it is represented by. */
_Static_assert(sizeof(objective_kind) == sizeof(int) && sizeof(history_kind) == sizeof(int) &&
                   sizeof(optimizer_kind) == sizeof(int) && sizeof(schedule_kind) == sizeof(int) &&
                   sizeof(precision) == sizeof(int) && sizeof(convolution_algorithm) == sizeof(int),
               "enums are not of int's size");

static void *target_of(train_settings *settings, const setting *s) { return (char *)settings + s->offset; }
static const void *value_of(const train_settings *settings, const setting *s) {
    return (const char *)settings + s->offset;
}

/* "--history-momentum" */
static const char *option_name(const setting *s, char name[64]) {
    snprintf(name, 64, "--%s", s->key);
    for (char *at = name; *at; at++)
        if (*at == '_') *at = '-';
    return name;
}

/* ---- choices and divergences ------------------------------------------------------------------------------------- */

static int find_choice(const setting *s, const char *text, int *value) {
    for (int k = 0; s->choice(k); k++)
        if (strcmp(s->choice(k), text) == 0) {
            *value = k;
            return 1;
        }
    return 0;
}

static status_code refuse_choice(const setting *s, const char *given, failure *failure) {
    text known = {0};
    for (int k = 0; s->choice(k); k++)
        text_format(&known, "%s%s", !k ? "" : s->choice(k + 1) ? ", " : " and ", s->choice(k));
    const status_code status =
        fail(failure, STATUS_BAD_INPUT, "there is no %s '%.100s'; %s are known", s->key, given, text_string(&known));
    text_close(&known);
    return status;
}

static const char *const DIVERGENCES[] = {"kl", "chi2", "reverse-kl", "hellinger", "cressie-read", "js", "cvar"};

static int has_parameter(hws_divergence_kind kind) { return kind == HWS_CRESSIE_READ || kind == HWS_CVAR; }

static void write_divergence(const hws_divergence *divergence, json_writer *json, const char *key) {
    text name = {0};
    text_add(&name, DIVERGENCES[divergence->kind]);
    if (has_parameter(divergence->kind)) {
        text_add(&name, ":");
        json_text_number(&name, divergence->parameter);
    }
    json_add_string(json, key, text_string(&name));
    text_close(&name);
}

static int same_divergence(const hws_divergence *a, const hws_divergence *b) {
    return a->kind == b->kind && (!has_parameter(a->kind) || a->parameter == b->parameter);
}

/* ---- importance weights and classes that are thinned out --------------------------------------------------------- */

static int set_importance(train_settings *settings, double low, double high) {
    if (!(low >= 0 && low <= high)) return 0;
    settings->importance = 1;
    settings->weight_min = low;
    settings->weight_max = high;
    return 1;
}

static status_code parse_importance(train_settings *settings, const char *given, failure *failure) {
    if (strcmp(given, "off") == 0) {
        settings->importance = 0;
        return STATUS_OK;
    }
    if (!*given) given = "0.1,10";
    char *end, *last;
    const double low = strtod(given, &end), high = *end == ',' ? strtod(end + 1, &last) : 0;
    if (end == given || *end != ',' || last == end + 1 || *last || !isfinite(low) || isnan(high))
        return fail(failure, STATUS_BAD_INPUT, "--importance %.100s is not two numbers such as 0.1,10", given);
    if (set_importance(settings, low, high)) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "--importance %.100s: the first number must not be negative, nor larger than the second", given);
}

static int read_importance(train_settings *settings, const json_t *value) {
    if (json_is_null(value)) {
        settings->importance = 0;
        return 1;
    }
    const json_t *low = json_array_get(value, 0), *high = json_array_get(value, 1);
    return json_array_size(value) == 2 && json_is_number(low) && (json_is_number(high) || json_is_null(high)) &&
           set_importance(settings, json_number_value(low),
                          json_is_null(high) ? (double)INFINITY : json_number_value(high));
}

static void write_importance(const train_settings *settings, json_writer *json, const char *key) {
    if (!settings->importance) {
        json_add_raw(json, key, "null");
        return;
    }
    json_begin_row(json, key);
    json_add_number(json, 0, settings->weight_min);
    json_add_number(json, 0, settings->weight_max);
    json_end(json);
}

/* 0 if the class or the fraction cannot be, or the class is there already. */
static int add_keep(train_settings *settings, long label, double fraction) {
    if (label < 0 || label > LARGEST_CLASS || !(fraction >= 0 && fraction <= 1)) return 0;
    for (int k = 0; k < settings->keep_count; k++)
        if (settings->keep[k].class_label == label) return 0;
    if (settings->keep_count == SETTINGS_KEEP_MAX) return 0;
    settings->keep[settings->keep_count++] = (settings_keep){(int)label, fraction};
    return 1;
}

static status_code parse_keep(train_settings *settings, const char *given, failure *failure) {
    char *end;
    const long label = strtol(given, &end, 10);
    const char *rest = *end == '=' && end != given ? end + 1 : "";
    const double fraction = strtod(rest, &end);
    if (*rest && !*end && add_keep(settings, label, fraction)) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "--keep %.100s is not CLASS=FRACTION such as 3=0.01, once for a class",
                given);
}

static int read_keep(train_settings *settings, json_t *object) {
    const char *key;
    json_t *value;
    if (!json_is_object(object)) return 0;
    settings->keep_count = 0;
    json_object_foreach(object, key, value) {
        char *end;
        const long label = strtol(key, &end, 10);
        if (end == key || *end || !json_is_number(value) || !add_keep(settings, label, json_number_value(value)))
            return 0;
    }
    return 1;
}

static void write_keep(const train_settings *settings, json_writer *json, const char *key) {
    text object = {0};
    text_add(&object, "{");
    for (int k = 0; k < settings->keep_count; k++) {
        text_format(&object, "%s\"%d\": ", k ? ", " : "", settings->keep[k].class_label);
        json_text_number(&object, settings->keep[k].fraction);
    }
    text_add(&object, "}");
    json_add_raw(json, key, text_string(&object));
    text_close(&object);
}

static int same_keep(const train_settings *a, const train_settings *b) {
    if (a->keep_count != b->keep_count) return 0;
    for (int k = 0; k < a->keep_count; k++)
        if (a->keep[k].class_label != b->keep[k].class_label || a->keep[k].fraction != b->keep[k].fraction) return 0;
    return 1;
}

static int same_importance(const train_settings *a, const train_settings *b) {
    if (!a->importance || !b->importance) return a->importance == b->importance;
    return a->weight_min == b->weight_min && a->weight_max == b->weight_max;
}

/* ---- all kinds --------------------------------------------------------------------------------------------------- */

static int take_number(train_settings *settings, const setting *s, double number) {
    if (!(number >= s->low && number <= s->high)) return 0;
    if (s->kind == SETTING_NUMBER) *(double *)target_of(settings, s) = number;
    else if (number == floor(number)) *(long long *)target_of(settings, s) = (long long)number;
    else return 0;
    return 1;
}

static int parse_flag(train_settings *settings, const setting *s, const char *given) {
    const int on = strcmp(given, "on") == 0;
    if (!on && strcmp(given, "off") != 0) return 0;
    *(int *)target_of(settings, s) = on;
    return 1;
}

static status_code parse_number(train_settings *settings, const setting *s, const char *given, failure *failure) {
    char *end, name[64];
    const double number = strtod(given, &end);
    if (end != given && !*end && isfinite(number) && take_number(settings, s, number)) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "%s %.100s is not a %snumber from %.15g to %.15g", option_name(s, name),
                given, s->kind == SETTING_WHOLE ? "whole " : "", s->low, s->high);
}

status_code setting_value_parse(train_settings *settings, const setting *s, const char *given, failure *failure) {
    char name[64];
    hws_error error;
    switch (s->kind) {
    case SETTING_FLAG:
        if (parse_flag(settings, s, given)) return STATUS_OK;
        return fail(failure, STATUS_BAD_INPUT, "%s is on or off, not %.100s", option_name(s, name), given);
    case SETTING_WHOLE:
    case SETTING_NUMBER: return parse_number(settings, s, given, failure);
    case SETTING_TEXT: *(const char **)target_of(settings, s) = given; return STATUS_OK;
    case SETTING_CHOICE:
        if (find_choice(s, given, target_of(settings, s))) return STATUS_OK;
        return refuse_choice(s, given, failure);
    case SETTING_DIVERGENCE:
        if (hws_divergence_parse(given, target_of(settings, s), &error) == HWS_OK) return STATUS_OK;
        return fail(failure, STATUS_BAD_INPUT, "--divergence: %s", error.message);
    case SETTING_IMPORTANCE: return parse_importance(settings, given, failure);
    case SETTING_KEEP: return parse_keep(settings, given, failure);
    }
    return STATUS_FAILED;
}

int setting_value_read(train_settings *settings, const setting *s, json_t *value) {
    switch (s->kind) {
    case SETTING_FLAG: *(int *)target_of(settings, s) = json_is_true(value); return json_is_boolean(value);
    case SETTING_WHOLE:
    case SETTING_NUMBER: return json_is_number(value) && take_number(settings, s, json_number_value(value));
    case SETTING_TEXT:
    case SETTING_CHOICE:
    case SETTING_DIVERGENCE:
        return json_is_string(value) && setting_value_parse(settings, s, json_string_value(value), 0) == STATUS_OK;
    case SETTING_IMPORTANCE: return read_importance(settings, value);
    case SETTING_KEEP: return read_keep(settings, value);
    }
    return 0;
}

void setting_value_write(const train_settings *settings, const setting *s, json_writer *json) {
    const void *value = value_of(settings, s);
    switch (s->kind) {
    case SETTING_FLAG: json_add_bool(json, s->key, *(const int *)value); return;
    case SETTING_WHOLE: json_add_integer(json, s->key, *(const long long *)value); return;
    case SETTING_NUMBER: json_add_number(json, s->key, *(const double *)value); return;
    case SETTING_TEXT: json_add_string(json, s->key, *(const char *const *)value); return;
    case SETTING_CHOICE: json_add_string(json, s->key, s->choice(*(const int *)value)); return;
    case SETTING_DIVERGENCE: write_divergence(value, json, s->key); return;
    case SETTING_IMPORTANCE: write_importance(settings, json, s->key); return;
    case SETTING_KEEP: write_keep(settings, json, s->key); return;
    }
}

int setting_value_same(const train_settings *a, const train_settings *b, const setting *s) {
    const void *x = value_of(a, s), *y = value_of(b, s);
    switch (s->kind) {
    case SETTING_FLAG:
    case SETTING_CHOICE: return *(const int *)x == *(const int *)y;
    case SETTING_WHOLE: return *(const long long *)x == *(const long long *)y;
    case SETTING_NUMBER: return *(const double *)x == *(const double *)y;
    case SETTING_TEXT: return strcmp(*(const char *const *)x, *(const char *const *)y) == 0;
    case SETTING_DIVERGENCE: return same_divergence(x, y);
    case SETTING_IMPORTANCE: return same_importance(a, b);
    case SETTING_KEEP: return same_keep(a, b);
    }
    return 0;
}
