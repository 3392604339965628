/*
 * Text that grows. A failed allocation is remembered, later additions do nothing, and the end asks once:
 *
 *     text page = {0};
 *     text_add(&page, "<p>");
 *     text_format(&page, "%d runs", count);
 *     if (page.failed) ...
 *     text_close(&page);
 */
#ifndef HWS_CORE_TEXT_H
#define HWS_CORE_TEXT_H

#include "core/printf_like.h"

#include <stddef.h>

typedef struct text {
    char *bytes; /* ends with a zero; NULL while nothing was added */
    size_t size, capacity;
    int failed;
} text;

void text_add(text *text, const char *string);
void text_add_bytes(text *text, const void *bytes, size_t size);
void text_format(text *text, const char *format, ...) PRINTF_LIKE(2, 3);

/* What was added so far as a string, never NULL. */
const char *text_string(const text *text);

/* Frees the text and makes it empty. */
void text_close(text *text);

#endif
