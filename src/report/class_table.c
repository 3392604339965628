#include "report/class_table.h"

#include "report/html.h"
#include "report/score_cell.h"

#include <string.h>

enum { MOST_CLASSES = 30 };

static const char *const RATES[] = {"sensitivity", "specificity", "precision", "f1"};
static const char *const TITLES[] = {"sensitivity, %", "specificity, %", "precision, %", "F1, %"};
enum { RATE_COUNT = sizeof RATES / sizeof *RATES };

static int has_rates(const run *run) { return run->rates.data.rows && csv_column(&run->rates.data, RATES[0]) >= 0; }

/* The last row is that of all classes, of which there is a mean F1 only; a class may be called so, too. */
static size_t last_row(const run *run) { return run->rates.data.rows - 1; }

/* The row of a class, or the number of rows; NULL: that of all. */
static size_t row_of(const run *run, const char *name) {
    size_t row = 0;
    if (!name) return last_row(run);
    while (row < last_row(run) && strcmp(run_cell(&run->rates, row, "class"), name) != 0) row++;
    return row < last_row(run) ? row : run->rates.data.rows;
}

static int was_shown(const runs *runs, size_t before, const char *name) {
    for (size_t r = 0; r < before; r++)
        if (has_rates(&runs->all[r]) && row_of(&runs->all[r], name) < runs->all[r].rates.data.rows) return 1;
    return 0;
}

static void add_row(text *page, const runs *runs, const run *run, size_t row, int ruled) {
    text_format(page, "<tr%s><th scope=\"row\">", ruled ? " class=\"first\"" : "");
    html_escape(page, row == last_row(run) ? "all, mean F1" : run_cell(&run->rates, row, "class"));
    text_add(page, "</th>");
    run_name_cell(page, runs, run);
    text_add(page, "<td>");
    html_escape(page, run_cell(&run->rates, row, "images"));
    text_add(page, "</td>");
    for (size_t k = 0; k < RATE_COUNT; k++) score_cell(page, &run->rates, row, RATES[k], 1);
    text_add(page, "</tr>\n");
}

/* A class of all runs that have it; NULL: their means. */
static void add_class(text *page, const runs *runs, const char *name, int first) {
    int ruled = runs->count > 1 && !first;
    for (size_t r = 0; r < runs->count; r++) {
        const run *run = &runs->all[r];
        const size_t row = has_rates(run) ? row_of(run, name) : run->rates.data.rows;
        if (row == run->rates.data.rows) continue;
        add_row(page, runs, run, row, ruled);
        ruled = 0;
    }
}

static void add_head(text *page, const runs *runs) {
    text_add(page,
             "<h3>By class</h3>\n<p class=\"explain\">Sensitivity: of the examples of the class, the share that is "
             "recognised. Specificity: of all others, the share that is not taken for it. Precision: of those that "
             "are taken for it, the share that is right.</p>\n"
             "<div class=\"scroll whole\" tabindex=\"0\"><table class=\"scores\">\n<tr><th "
             "scope=\"col\">class</th>");
    if (runs->count > 1) text_add(page, "<th scope=\"col\" class=\"word\">run</th>");
    text_add(page, "<th scope=\"col\">examples</th>");
    for (size_t k = 0; k < RATE_COUNT; k++) text_format(page, "<th scope=\"col\">%s</th>", TITLES[k]);
    text_add(page, "</tr>\n");
}

static size_t most_rows(const runs *runs) {
    size_t most = 0;
    for (size_t r = 0; r < runs->count; r++)
        if (has_rates(&runs->all[r]) && runs->all[r].rates.data.rows > most) most = runs->all[r].rates.data.rows;
    return most;
}

void class_table(text *page, const runs *runs) {
    const size_t most = most_rows(runs);
    if (!most) return;
    if (most > MOST_CLASSES + 1)
        return text_format(
            page, "<p class=\"note\">The rates of %zu classes are too many for this page: see classes.csv.</p>\n",
            most - 1);
    int first = 1;
    add_head(page, runs);
    for (size_t r = 0; r < runs->count; r++)
        for (size_t row = 0; has_rates(&runs->all[r]) && row < last_row(&runs->all[r]); row++) {
            const char *name = run_cell(&runs->all[r].rates, row, "class");
            if (was_shown(runs, r, name)) continue;
            add_class(page, runs, name, first);
            first = 0;
        }
    add_class(page, runs, NULL, 0);
    text_add(page, "</table></div>\n");
}
