/*
 * Writes JSON as text, indented, in the order of the calls.
 *
 *     text out = {0};
 *     json_writer json = json_writer_start(&out);
 *     json_begin_object(&json, NULL);
 *     json_add_string(&json, "name", "left");
 *     json_begin_list(&json, "spacing");
 *     json_add_number(&json, NULL, 0.5);         what stands in a list has no key
 *     json_end(&json);
 *     json_end(&json);                           writes the last line's end
 *
 * json_begin_row begins a list that is written in one line. A failed allocation is remembered by the text.
 */
#ifndef HWS_CORE_JSON_WRITER_H
#define HWS_CORE_JSON_WRITER_H

#include "core/text.h"

enum { JSON_WRITER_DEPTH = 32 };

typedef struct json_writer {
    text *out;
    int depth;
    struct {
        char closing; /* ] or } */
        int in_line;  /* a list in one line */
        int filled;   /* something stands in it already */
    } levels[JSON_WRITER_DEPTH];
} json_writer;

json_writer json_writer_start(text *out);

void json_begin_object(json_writer *json, const char *key);
void json_begin_list(json_writer *json, const char *key);
void json_begin_row(json_writer *json, const char *key);
void json_end(json_writer *json);

void json_add_string(json_writer *json, const char *key, const char *string); /* NULL becomes null */
void json_add_integer(json_writer *json, const char *key, long long value);
void json_add_bool(json_writer *json, const char *key, int value);
/* In the fewest digits that give the number back. NaN and infinity, which JSON does not have, become null. */
void json_add_number(json_writer *json, const char *key, double value);
/* In 17 digits, and NaN as the word NaN: for readers that expect it, as nnU-Net's do. This is not JSON, strictly. */
void json_add_number_or_nan(json_writer *json, const char *key, double value);
/* A value that is JSON already. */
void json_add_raw(json_writer *json, const char *key, const char *value);

/* A string with its quotes and escapes, and a number as above, without a writer. Bytes that are not UTF-8 become
   U+FFFD, so that what is written can always be read. */
void json_text_string(text *out, const char *string);
void json_text_number(text *out, double value);

/* Whether a string is UTF-8, so that it is read back as it was. */
int json_is_text(const char *string);

#endif
