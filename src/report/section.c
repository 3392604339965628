#include "report/section.h"

#include "report/html.h"
#include "report/style.h"

size_t runs_without_held_out(const runs *runs) {
    size_t count = 0;
    for (size_t r = 0; r < runs->count; r++) count += run_trains_on_all(&runs->all[r]) != 0;
    return count;
}

void section_open(text *page, const runs *runs, const char *title, const char *words, int legend) {
    text_format(page, "<section>\n<h2>%s</h2>\n<p>%s</p>\n", title, words);
    if (legend && runs->count > 1) style_legend(page, runs->names, runs->styles, runs->count);
}

void section_close(text *page) { text_add(page, "</section>\n"); }

static void open_note(text *page, const runs *runs, const run *run) {
    text_add(page, "<p class=\"note\">");
    if (runs->count < 2) return;
    html_escape(page, run->name);
    text_add(page, ": ");
}

void section_note(text *page, const runs *runs, const run *run, const run_table *table) {
    if (table->problem[0]) {
        open_note(page, runs, run);
        html_escape(page, table->problem);
        text_add(page, ", so what it would show is not here.</p>\n");
    } else if (table->data.left_out) {
        open_note(page, runs, run);
        text_format(page, "%zu incomplete %s of the table left out.</p>\n", table->data.left_out,
                    table->data.left_out == 1 ? "row was" : "rows were");
    }
}

void section_run(text *page, const runs *runs, const run *run, const run_table *table) {
    if (runs->count > 1) {
        text_add(page, "<h3>");
        html_escape(page, run->name);
        text_add(page, "</h3>\n");
    }
    section_note(page, runs, run, table);
}
