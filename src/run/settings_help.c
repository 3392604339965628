#include "run/settings.h"

#include <string.h>

enum { HELP_COLUMN = 23, DEFAULT_COLUMN = 77 };

/* Up to the column; beyond it, so many spaces. */
static void pad(text *help, size_t line, size_t column, int beyond) {
    const size_t width = help->size - line;
    for (size_t k = width; k < column; k++) text_add(help, " ");
    for (int k = 0; k < beyond && width >= column; k++) text_add(help, " ");
}

/* "  --history-momentum M " */
static void add_option(const setting *s, text *help, size_t line) {
    char name[SETTING_OPTION_SIZE];
    text_format(help, "  %s", setting_option(s, name));
    if (s->value) text_format(help, " %s", s->value);
    pad(help, line, HELP_COLUMN, 2);
}

static void add_default(const setting *s, text *help, size_t line) {
    if (s->otherwise && !*s->otherwise) return;
    pad(help, line, DEFAULT_COLUMN, 3);
    if (s->otherwise) text_format(help, "(%s)", s->otherwise);
    else if (s->volumes) text_format(help, "(%s; %s)", s->images, s->volumes);
    else text_format(help, "(%s)", s->images);
}

static void add_setting(const setting *s, text *help) {
    size_t line = help->size;
    add_option(s, help, line);
    for (const char *at = s->help; at;) {
        const size_t length = strcspn(at, "\n");
        text_add_bytes(help, at, length);
        at = at[length] ? at + length + 1 : 0;
        if (!at) break;
        text_add(help, "\n");
        line = help->size;
        pad(help, line, HELP_COLUMN, 0);
    }
    add_default(s, help, line);
    text_add(help, "\n");
}

void settings_help(setting_group group, text *help) {
    for (size_t k = 0; k < settings_count(); k++)
        if (settings_at(k)->group == group) add_setting(settings_at(k), help);
}
