/* Checks of pages that need no browser: tags are closed in order, numbers are finite, nothing comes from elsewhere. */
#ifndef HWS_TESTS_REPORT_MARKUP_H
#define HWS_TESTS_REPORT_MARKUP_H

#include "testing.h"

static inline size_t occurrences(const char *page, const char *word) {
    size_t count = 0;
    for (const char *at = page; (at = strstr(at, word)); at += strlen(word)) count++;
    return count;
}

static inline int is_void_tag(const char *name, size_t size) {
    static const char *const VOID[] = {"meta", "link", "img", "br"};
    for (size_t k = 0; k < sizeof VOID / sizeof *VOID; k++)
        if (strlen(VOID[k]) == size && strncmp(VOID[k], name, size) == 0) return 1;
    return 0;
}

/* What a style sheet or script holds is not markup. */
static inline const char *skip_raw(const char *at, const char *name, size_t size) {
    char end[16];
    if ((size != 5 || strncmp(name, "style", 5) != 0) && (size != 6 || strncmp(name, "script", 6) != 0)) return at;
    snprintf(end, sizeof end, "</%.*s>", (int)size, name);
    at = strstr(at, end);
    assert_non_null(at);
    return at;
}

static inline const char *end_of_tag(const char *at) {
    for (int quoted = 0; *at; at++) {
        if (*at == '"') quoted = !quoted;
        if (*at == '<') fail_msg("a < inside a tag: %.80s", at);
        if (*at == '>' && !quoted) return at;
    }
    fail_msg("a tag is not closed");
    return at;
}

static inline void assert_balanced(const char *page) {
    enum { DEEPEST = 40 };
    const char *names[DEEPEST];
    size_t sizes[DEEPEST], depth = 0;
    for (const char *at = page; (at = strchr(at, '<'));) {
        if (at[1] == '!') {
            at = end_of_tag(at + 1);
            continue;
        }
        const int closing = at[1] == '/';
        const char *name = at + 1 + closing, *end = end_of_tag(at + 1);
        const size_t size = strcspn(name, " />\n");
        at = end;
        if (closing) {
            if (!depth || sizes[depth - 1] != size || strncmp(names[depth - 1], name, size) != 0)
                fail_msg("</%.*s> closes nothing", (int)size, name);
            depth--;
        } else if (end[-1] != '/' && !is_void_tag(name, size)) {
            assert_true(depth < DEEPEST);
            names[depth] = name;
            sizes[depth++] = size;
            at = skip_raw(end, name, size);
        }
    }
    assert_int_equal(depth, 0);
}

static inline void assert_good_page(const char *page) {
    assert_balanced(page);
    static const char *const UNWANTED[] = {"\"nan", "\"-nan", "Mnan",  "Lnan",   " nan", " -nan",
                                           "inf ",  "inf\"",  "http:", "https:", "url(", "@import"};
    for (size_t k = 0; k < sizeof UNWANTED / sizeof *UNWANTED; k++)
        if (strstr(page, UNWANTED[k])) fail_msg("the page holds '%.60s'", strstr(page, UNWANTED[k]));
    assert_int_equal(occurrences(page, " src=\""), occurrences(page, " src=\"data:image/png;base64,"));
}

#endif
