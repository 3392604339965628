/* Text for HTML pages: whatever comes from a file goes through html_escape. */
#ifndef HWS_REPORT_HTML_H
#define HWS_REPORT_HTML_H

#include "core/text.h"

#include <stddef.h>

/*
 * Adds a string so that it is safe as text and inside a quoted attribute: & < > " ' become entities, control characters
 * and what is not UTF-8 become U+FFFD. At most 2000 bytes of it; what is longer ends with an ellipsis.
 */
void html_escape(text *page, const char *string);

/* The same in bold. */
void html_bold(text *page, const char *string);

/* The bytes in base 64, as data: addresses want them. */
void html_base64(text *page, const void *bytes, size_t size);

#endif
