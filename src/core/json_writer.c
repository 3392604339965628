#include "core/json_writer.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* How many bytes the UTF-8 character at the start of a string has; 0 if it is none. */
static size_t utf8_length(const unsigned char *at) {
    if (at[0] < 0x80) return 1;
    const size_t length = at[0] >= 0xc2 && at[0] < 0xe0   ? 2
                          : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                          : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                          : 0;
    for (size_t k = 1; k < length; k++)
        if ((at[k] & 0xc0) != 0x80) return 0;
    /* Longer than needed, a surrogate, or beyond the last character. */
    const int refused = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
                        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f);
    return refused ? 0 : length;
}

int json_is_text(const char *string) {
    for (const unsigned char *at = (const unsigned char *)string; *at; at += utf8_length(at))
        if (utf8_length(at) == 0) return 0;
    return 1;
}

static void add_escaped(text *out, unsigned char byte) {
    static const char SHORT[][2] = {{'"', '"'},  {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'},
                                    {'\n', 'n'}, {'\r', 'r'},  {'\t', 't'}};
    for (size_t k = 0; k < sizeof SHORT / sizeof *SHORT; k++)
        if (byte == (unsigned char)SHORT[k][0]) {
            text_format(out, "\\%c", SHORT[k][1]);
            return;
        }
    text_format(out, "\\u%04X", (unsigned)byte);
}

void json_text_string(text *out, const char *string) {
    text_add(out, "\"");
    for (const unsigned char *at = (const unsigned char *)string; *at;) {
        const size_t length = utf8_length(at);
        if (*at == '"' || *at == '\\' || *at < 0x20) add_escaped(out, *at);
        else if (length) text_add_bytes(out, at, length);
        else text_add(out, "\xef\xbf\xbd");
        at += length ? length : 1;
    }
    text_add(out, "\"");
}

void json_text_number(text *out, double value) {
    char digits[40];
    if (!isfinite(value)) {
        text_add(out, "null");
        return;
    }
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, 0) == value) break;
    }
    text_add(out, digits);
}

json_writer json_writer_start(text *out) { return (json_writer){.out = out}; }

static void start_line(json_writer *json) {
    text_add(json->out, "\n");
    for (int k = 0; k < json->depth; k++) text_add(json->out, "    ");
}

/* What comes before a value: a comma behind the one before, its line, its key. */
static void start_value(json_writer *json, const char *key) {
    if (json->depth > 0) {
        const int level = json->depth - 1, in_line = json->levels[level].in_line;
        if (json->levels[level].filled) text_add(json->out, in_line ? ", " : ",");
        if (!in_line) start_line(json);
        json->levels[level].filled = 1;
    }
    if (!key) return;
    json_text_string(json->out, key);
    text_add(json->out, ": ");
}

static void begin(json_writer *json, const char *key, char closing, int in_line) {
    assert(json->depth < JSON_WRITER_DEPTH);
    start_value(json, key);
    text_add(json->out, closing == '}' ? "{" : "[");
    json->levels[json->depth].closing = closing;
    json->levels[json->depth].in_line = in_line;
    json->levels[json->depth].filled = 0;
    json->depth++;
}

void json_begin_object(json_writer *json, const char *key) { begin(json, key, '}', 0); }
void json_begin_list(json_writer *json, const char *key) { begin(json, key, ']', 0); }
void json_begin_row(json_writer *json, const char *key) { begin(json, key, ']', 1); }

void json_end(json_writer *json) {
    assert(json->depth > 0);
    json->depth--;
    if (json->levels[json->depth].filled && !json->levels[json->depth].in_line) start_line(json);
    text_add_bytes(json->out, &json->levels[json->depth].closing, 1);
    if (json->depth == 0) text_add(json->out, "\n");
}

void json_add_raw(json_writer *json, const char *key, const char *value) {
    start_value(json, key);
    text_add(json->out, value);
}

void json_add_string(json_writer *json, const char *key, const char *string) {
    start_value(json, key);
    if (string) json_text_string(json->out, string);
    else text_add(json->out, "null");
}

void json_add_number(json_writer *json, const char *key, double value) {
    start_value(json, key);
    json_text_number(json->out, value);
}

void json_add_number_or_nan(json_writer *json, const char *key, double value) {
    start_value(json, key);
    if (isnan(value)) text_add(json->out, "NaN");
    else text_format(json->out, "%.17g", value);
}

void json_add_integer(json_writer *json, const char *key, long long value) {
    start_value(json, key);
    text_format(json->out, "%lld", value);
}

void json_add_bool(json_writer *json, const char *key, int value) { json_add_raw(json, key, value ? "true" : "false"); }
