#include "report/html.h"

#include <string.h>

enum { LONGEST = 2000 };

static int continues(unsigned char byte) { return (byte & 0xC0) == 0x80; }

/* The length of the UTF-8 character at `s`, 0 if there is none: overlong forms, surrogates and the like included. */
static size_t character(const unsigned char *s) {
    if (s[0] < 0x80) return s[0] >= 0x20 && s[0] != 0x7F;
    if (s[0] >= 0xC2 && s[0] <= 0xDF) return continues(s[1]) && !(s[0] == 0xC2 && s[1] < 0xA0) ? 2 : 0;
    if (s[0] >= 0xE0 && s[0] <= 0xEF) {
        if (!continues(s[1]) || !continues(s[2])) return 0;
        const int overlong = s[0] == 0xE0 && s[1] < 0xA0, surrogate = s[0] == 0xED && s[1] > 0x9F;
        return overlong || surrogate ? 0 : 3;
    }
    if (s[0] >= 0xF0 && s[0] <= 0xF4) {
        if (!continues(s[1]) || !continues(s[2]) || !continues(s[3])) return 0;
        const int overlong = s[0] == 0xF0 && s[1] < 0x90, too_large = s[0] == 0xF4 && s[1] > 0x8F;
        return overlong || too_large ? 0 : 4;
    }
    return 0;
}

void html_escape(text *page, const char *string) {
    const unsigned char *at = (const unsigned char *)string, *begin = at;
    while (*at) {
        if (at - begin >= LONGEST) return text_add(page, "\xE2\x80\xA6");
        const size_t size = character(at);
        switch (*at) {
        case '&': text_add(page, "&amp;"); break;
        case '<': text_add(page, "&lt;"); break;
        case '>': text_add(page, "&gt;"); break;
        case '"': text_add(page, "&quot;"); break;
        case '\'': text_add(page, "&#39;"); break;
        case '\t':
        case '\n': text_add(page, " "); break;
        default:
            if (size) text_add_bytes(page, at, size);
            else text_add(page, "\xEF\xBF\xBD");
        }
        at += size ? size : 1;
    }
}

void html_bold(text *page, const char *string) {
    text_add(page, "<b>");
    html_escape(page, string);
    text_add(page, "</b>");
}

void html_base64(text *page, const void *bytes, size_t size) {
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = bytes;
    for (; size >= 3; at += 3, size -= 3) {
        const unsigned word = (unsigned)at[0] << 16 | (unsigned)at[1] << 8 | at[2];
        const char four[4] = {DIGITS[word >> 18], DIGITS[word >> 12 & 63], DIGITS[word >> 6 & 63], DIGITS[word & 63]};
        text_add_bytes(page, four, 4);
    }
    if (!size) return;
    const unsigned word = (unsigned)at[0] << 16 | (size > 1 ? (unsigned)at[1] << 8 : 0);
    const char four[4] = {DIGITS[word >> 18], DIGITS[word >> 12 & 63], size > 1 ? DIGITS[word >> 6 & 63] : '=', '='};
    text_add_bytes(page, four, 4);
}
