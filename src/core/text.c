#include "core/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory for `size` more bytes and a zero. */
static int reserve(text *text, size_t size) {
    if (text->failed || size > SIZE_MAX / 4 || text->size > SIZE_MAX / 4) return text->failed = 1, 0;
    const size_t needed = text->size + size + 1;
    if (needed <= text->capacity) return 1;
    size_t capacity = text->capacity ? text->capacity : 256;
    while (capacity < needed) capacity *= 2;
    char *grown = realloc(text->bytes, capacity);
    if (!grown) return text->failed = 1, 0;
    text->bytes = grown;
    text->capacity = capacity;
    return 1;
}

void text_add_bytes(text *text, const void *bytes, size_t size) {
    if (!reserve(text, size)) return;
    if (size) memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = 0;
}

void text_add(text *text, const char *string) { text_add_bytes(text, string, strlen(string)); }

void text_format(text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (size < 0) {
        text->failed = 1;
        return;
    }
    if (!reserve(text, (size_t)size)) return;
    va_start(arguments, format);
    vsnprintf(text->bytes + text->size, (size_t)size + 1, format, arguments);
    va_end(arguments);
    text->size += (size_t)size;
}

const char *text_string(const text *text) { return text->bytes ? text->bytes : ""; }

void text_close(text *text) {
    free(text->bytes);
    *text = (struct text){0};
}
