/* The settings of all runs, with those that differ first and marked. */
#include "report/html.h"
#include "report/section.h"

#include <string.h>

static int is_first_with(const runs *runs, size_t r, const char *key) {
    for (size_t earlier = 0; earlier < r; earlier++)
        if (run_setting_text(&runs->all[earlier], key)) return 0;
    return 1;
}

static int differs(const runs *runs, const char *key) {
    const char *first = run_setting_text(&runs->all[0], key);
    for (size_t r = 1; r < runs->count; r++) {
        const char *value = run_setting_text(&runs->all[r], key);
        if (!first != !value || (first && strcmp(first, value) != 0)) return 1;
    }
    return 0;
}

static void add_row(text *page, const runs *runs, const char *key, int different) {
    text_format(page, "<tr%s><th scope=\"row\">", different ? " class=\"differs\"" : "");
    html_escape(page, key);
    if (different)
        text_add(page, " <span title=\"differs between the runs\" aria-label=\"differs\">\xE2\x89\xA0</span>");
    text_add(page, "</th>");
    for (size_t r = 0; r < runs->count; r++) {
        const char *value = run_setting_text(&runs->all[r], key);
        text_add(page, "<td>");
        html_escape(page, value ? value : "\xE2\x80\x93");
        text_add(page, "</td>");
        if (!different) break; /* one cell for all */
    }
    if (!different && runs->count > 1) text_format(page, "<td colspan=\"%zu\"></td>", runs->count - 1);
    text_add(page, "</tr>\n");
}

static void add_rows(text *page, const runs *runs, int different) {
    for (size_t r = 0; r < runs->count; r++)
        for (size_t k = 0; k < runs->all[r].setting_count; k++) {
            const char *key = runs->all[r].settings[k].key;
            if (is_first_with(runs, r, key) && differs(runs, key) == different) add_row(page, runs, key, different);
        }
}

void settings_section(text *page, const runs *runs) {
    section_open(page, runs, "Settings",
                 runs->count > 1 ? "What each run was told, from its config.json. What differs between the runs comes "
                                   "first (\xE2\x89\xA0); the rest is the same for all."
                                 : "What the run was told, from its config.json.",
                 0);
    text_add(
        page,
        "<div class=\"scroll whole\" tabindex=\"0\"><table class=\"settings\">\n<tr><th scope=\"col\">setting</th>");
    for (size_t r = 0; r < runs->count; r++) {
        text_add(page, "<th scope=\"col\">");
        html_escape(page, runs->all[r].name);
        text_add(page, "</th>");
    }
    text_add(page, "</tr>\n");
    if (runs->count > 1) add_rows(page, runs, 1);
    add_rows(page, runs, 0);
    text_add(page, "<tr><th scope=\"row\">folder</th>");
    for (size_t r = 0; r < runs->count; r++) {
        text_add(page, "<td>");
        html_escape(page, runs->all[r].folder);
        text_add(page, "</td>");
    }
    text_add(page, "</tr></table></div>\n");
    section_close(page);
}
