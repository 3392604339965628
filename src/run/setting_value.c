#include "run/setting_value.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An enum is accessed as the int that it is represented by. */
_Static_assert(sizeof(objective_kind) == sizeof(int) && sizeof(history_kind) == sizeof(int) &&
                   sizeof(optimizer_kind) == sizeof(int) && sizeof(schedule_kind) == sizeof(int) &&
                   sizeof(precision) == sizeof(int) && sizeof(colour_kind) == sizeof(int) &&
                   sizeof(best_kind) == sizeof(int) && sizeof(convolution_algorithm) == sizeof(int),
               "enums are not of int's size");

static void *target_of(train_settings *settings, const setting *s) { return (char *)settings + s->offset; }
static const void *value_of(const train_settings *settings, const setting *s) {
    return (const char *)settings + s->offset;
}

const char *setting_option(const setting *s, char name[SETTING_OPTION_SIZE]) {
    snprintf(name, SETTING_OPTION_SIZE, "--%s", s->key);
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

status_code settings_choose(const char *key, const char *name, int *value, failure *failure) {
    const setting *s = settings_find(key);
    return find_choice(s, name, value) ? STATUS_OK : refuse_choice(s, name, failure);
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
    json->out->failed |= name.failed;
    text_close(&name);
}

static int same_divergence(const hws_divergence *a, const hws_divergence *b) {
    return a->kind == b->kind && (!has_parameter(a->kind) || a->parameter == b->parameter);
}

/* ---- importance weights ------------------------------------------------------------------------------------------ */

static const char *const IMPORTANCE[] = {"off", "paper", "normalised", "exact"};
enum { IMPORTANCE_KINDS = 4 };

static int set_importance(train_settings *settings, importance_kind kind, double low, double high) {
    if (!(low >= 0 && low <= high)) return 0;
    settings->importance = kind;
    settings->weight_min = low;
    settings->weight_max = high;
    return 1;
}

/* The kind whose name the text is, or begins with before a comma; the paper's if there is none. */
static importance_kind importance_named(const char *given, const char **rest) {
    for (int k = IMPORTANCE_PAPER; k < IMPORTANCE_KINDS; k++) {
        const size_t length = strlen(IMPORTANCE[k]);
        if (strncmp(given, IMPORTANCE[k], length) != 0 || (given[length] && given[length] != ',')) continue;
        *rest = given + length + (given[length] == ',' && given[length + 1]);
        return (importance_kind)k;
    }
    *rest = given;
    return IMPORTANCE_PAPER;
}

int settings_names_importance(const char *word) {
    char *end;
    const char *rest;
    strtod(word, &end);
    importance_named(word, &rest);
    return rest != word || (end != word && *end == ',');
}

static status_code parse_importance(train_settings *settings, const char *given, failure *failure) {
    if (strcmp(given, "off") == 0) {
        settings->importance = IMPORTANCE_OFF;
        return STATUS_OK;
    }
    const char *limits;
    const importance_kind kind = importance_named(given, &limits);
    if (!*limits) limits = "0.1,10";
    char *end, *last;
    const double low = strtod(limits, &end), high = *end == ',' ? strtod(end + 1, &last) : 0;
    if (end == limits || *end != ',' || last == end + 1 || *last || !isfinite(low) || isnan(high))
        return fail(
            failure, STATUS_BAD_INPUT,
            "--importance %.100s: the limits are not two numbers such as 0.1,10; paper, normalised or exact may "
            "stand before them or alone",
            given);
    if (set_importance(settings, kind, low, high)) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "--importance %.100s: the first number must not be negative, nor larger than the second", given);
}

static int importance_at(const json_t *value, importance_kind *kind) {
    const char *rest, *name = json_string_value(value);
    if (name) *kind = importance_named(name, &rest);
    return name && strcmp(name, IMPORTANCE[*kind]) == 0;
}

/* null, [MIN, MAX] for the paper's, or [KIND, MIN, MAX]; null for MAX is infinity. */
static int read_importance(train_settings *settings, const json_t *value) {
    const size_t size = json_array_size(value);
    importance_kind kind = IMPORTANCE_PAPER;
    if (json_is_null(value)) {
        settings->importance = IMPORTANCE_OFF;
        return 1;
    }
    if (size != 2 && (size != 3 || !importance_at(json_array_get(value, 0), &kind))) return 0;
    const json_t *low = json_array_get(value, size - 2), *high = json_array_get(value, size - 1);
    return json_is_number(low) && (json_is_number(high) || json_is_null(high)) &&
           set_importance(settings, kind, json_number_value(low),
                          json_is_null(high) ? (double)INFINITY : json_number_value(high));
}

static void write_importance(const train_settings *settings, json_writer *json, const char *key) {
    if (settings->importance == IMPORTANCE_OFF) {
        json_add_raw(json, key, "null");
        return;
    }
    json_begin_row(json, key);
    if (settings->importance != IMPORTANCE_PAPER) json_add_string(json, 0, IMPORTANCE[settings->importance]);
    json_add_number(json, 0, settings->weight_min);
    json_add_number(json, 0, settings->weight_max);
    json_end(json);
}

/* ---- first losses ------------------------------------------------------------------------------------------------ */

static void set_loss_init(train_settings *settings, double loss, const char *file) {
    settings->loss_init = loss;
    settings->loss_init_file = file;
}

static status_code parse_loss_init(train_settings *settings, const setting *s, const char *given, failure *failure) {
    char *end;
    const double loss = strtod(given, &end);
    const int is_number = end != given && !*end;
    if (!*given || (is_number && !(loss >= s->low && loss <= s->high)))
        return fail(failure, STATUS_BAD_INPUT,
                    "--loss-init %.100s is neither a number from %g to %g nor none nor a losses.csv", given, s->low,
                    s->high);
    if (is_number) set_loss_init(settings, loss, "");
    else set_loss_init(settings, (double)NAN, strcmp(given, "none") == 0 ? "" : given);
    return STATUS_OK;
}

static int read_loss_init(train_settings *settings, const setting *s, const json_t *value) {
    const double loss = json_is_number(value) ? json_number_value(value) : (double)NAN;
    const char *file = json_is_string(value) ? json_string_value(value) : "";
    set_loss_init(settings, loss, file);
    return json_is_null(value) || *file || (loss >= s->low && loss <= s->high);
}

static void write_loss_init(const train_settings *settings, json_writer *json, const char *key) {
    if (*settings->loss_init_file) json_add_string(json, key, settings->loss_init_file);
    else json_add_number(json, key, settings->loss_init);
}

/* ---- classes that are thinned out -------------------------------------------------------------------------------- */

/* 0 if the class or the fraction cannot be, or the class is there already. */
static int add_keep(train_settings *settings, const char *part, size_t length, double fraction) {
    if (!length || length >= SETTINGS_KEEP_NAME || !(fraction >= 0 && fraction <= 1)) return 0;
    for (int k = 0; k < settings->keep_count; k++)
        if (strlen(settings->keep[k].part) == length && memcmp(settings->keep[k].part, part, length) == 0) return 0;
    if (settings->keep_count == SETTINGS_KEEP_MAX) return 0;
    settings_keep *added = &settings->keep[settings->keep_count++];
    *added = (settings_keep){.fraction = fraction};
    memcpy(added->part, part, length);
    return 1;
}

/* Names may hold an equals sign: the last one counts. */
static status_code parse_keep(train_settings *settings, const char *given, failure *failure) {
    char *end = NULL;
    const char *equals = strrchr(given, '=');
    const double fraction = equals ? strtod(equals + 1, &end) : -1;
    if (equals && equals[1] && !*end && add_keep(settings, given, (size_t)(equals - given), fraction)) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "--keep %.100s is not CLASS=FRACTION such as 3=0.01, or COLUMN:VALUE=FRACTION such as group:rare=0.1, "
                "once for each",
                given);
}

static int read_keep(train_settings *settings, json_t *object) {
    const char *key;
    json_t *value;
    if (!json_is_object(object)) return 0;
    settings->keep_count = 0;
    json_object_foreach(object, key, value) {
        if (!json_is_number(value) || !add_keep(settings, key, strlen(key), json_number_value(value))) return 0;
    }
    return 1;
}

static void write_keep(const train_settings *settings, json_writer *json, const char *key) {
    text object = {0};
    text_add(&object, "{");
    for (int k = 0; k < settings->keep_count; k++) {
        text_add(&object, k ? ", " : "");
        json_text_string(&object, settings->keep[k].part);
        text_add(&object, ": ");
        json_text_number(&object, settings->keep[k].fraction);
    }
    text_add(&object, "}");
    json_add_raw(json, key, text_string(&object));
    json->out->failed |= object.failed;
    text_close(&object);
}

static int same_keep(const train_settings *a, const train_settings *b) {
    if (a->keep_count != b->keep_count) return 0;
    for (int k = 0; k < a->keep_count; k++)
        if (strcmp(a->keep[k].part, b->keep[k].part) != 0 || a->keep[k].fraction != b->keep[k].fraction) return 0;
    return 1;
}

static int same_number(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static int same_loss_init(const train_settings *a, const train_settings *b) {
    return same_number(a->loss_init, b->loss_init) && strcmp(a->loss_init_file, b->loss_init_file) == 0;
}

static int same_importance(const train_settings *a, const train_settings *b) {
    if (a->importance != b->importance || a->importance == IMPORTANCE_OFF) return a->importance == b->importance;
    return a->weight_min == b->weight_min && a->weight_max == b->weight_max;
}

/* ---- all kinds --------------------------------------------------------------------------------------------------- */

/* What a setting stands in the place of is none then. */
static void make_none(train_settings *settings, const char *key) {
    const setting *other = key ? settings_find(key) : 0;
    if (other) *(double *)target_of(settings, other) = (double)NAN;
}

static int take_none(train_settings *settings, const setting *s) {
    if (s->or_none) make_none(settings, s->key);
    return s->or_none;
}

static int take_number(train_settings *settings, const setting *s, double number) {
    if (!(number >= s->low && number <= s->high)) return 0;
    if (s->kind == SETTING_NUMBER) *(double *)target_of(settings, s) = number;
    else if (number == floor(number)) *(long long *)target_of(settings, s) = (long long)number;
    else return 0;
    make_none(settings, s->instead_of);
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
    if (strcmp(given, "none") == 0 && take_none(settings, s)) return STATUS_OK;
    if (strcmp(given, "all") == 0 && s->or_all && take_number(settings, s, s->low)) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "%s %.100s is not a %snumber from %.15g to %.15g", setting_option(s, name),
                given, s->kind == SETTING_WHOLE ? "whole " : "", s->low, s->high);
}

status_code setting_value_parse(train_settings *settings, const setting *s, const char *given, failure *failure) {
    char name[64];
    hws_error error;
    switch (s->kind) {
    case SETTING_FLAG:
        if (parse_flag(settings, s, given)) return STATUS_OK;
        return fail(failure, STATUS_BAD_INPUT, "%s is on or off, not %.100s", setting_option(s, name), given);
    case SETTING_WHOLE:
    case SETTING_NUMBER: return parse_number(settings, s, given, failure);
    case SETTING_TEXT: *(const char **)target_of(settings, s) = given; return STATUS_OK;
    case SETTING_CHOICE: return settings_choose(s->key, given, target_of(settings, s), failure);
    case SETTING_DIVERGENCE:
        if (hws_divergence_parse(given, target_of(settings, s), &error) == HWS_OK) return STATUS_OK;
        return fail(failure, STATUS_BAD_INPUT, "--divergence: %s", error.message);
    case SETTING_IMPORTANCE: return parse_importance(settings, given, failure);
    case SETTING_LOSS_INIT: return parse_loss_init(settings, s, given, failure);
    case SETTING_KEEP: return parse_keep(settings, given, failure);
    }
    return STATUS_FAILED;
}

int setting_value_read(train_settings *settings, const setting *s, json_t *value) {
    switch (s->kind) {
    case SETTING_FLAG: *(int *)target_of(settings, s) = json_is_true(value); return json_is_boolean(value);
    case SETTING_WHOLE:
    case SETTING_NUMBER:
        if (json_is_null(value)) return take_none(settings, s);
        return json_is_number(value) && take_number(settings, s, json_number_value(value));
    case SETTING_TEXT:
    case SETTING_CHOICE:
    case SETTING_DIVERGENCE:
        return json_is_string(value) && setting_value_parse(settings, s, json_string_value(value), 0) == STATUS_OK;
    case SETTING_IMPORTANCE: return read_importance(settings, value);
    case SETTING_LOSS_INIT: return read_loss_init(settings, s, value);
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
    case SETTING_LOSS_INIT: write_loss_init(settings, json, s->key); return;
    case SETTING_KEEP: write_keep(settings, json, s->key); return;
    }
}

int setting_value_same(const train_settings *a, const train_settings *b, const setting *s) {
    const void *x = value_of(a, s), *y = value_of(b, s);
    switch (s->kind) {
    case SETTING_FLAG:
    case SETTING_CHOICE: return *(const int *)x == *(const int *)y;
    case SETTING_WHOLE: return *(const long long *)x == *(const long long *)y;
    case SETTING_NUMBER: return same_number(*(const double *)x, *(const double *)y);
    case SETTING_TEXT: return strcmp(*(const char *const *)x, *(const char *const *)y) == 0;
    case SETTING_DIVERGENCE: return same_divergence(x, y);
    case SETTING_IMPORTANCE: return same_importance(a, b);
    case SETTING_LOSS_INIT: return same_loss_init(a, b);
    case SETTING_KEEP: return same_keep(a, b);
    }
    return 0;
}
