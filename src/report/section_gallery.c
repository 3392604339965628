/* The hardest examples with their pictures: hard, or mislabelled? */
#include "report/gallery_picture.h"
#include "report/html.h"
#include "report/scale.h"
#include "report/section.h"

#include <stdlib.h>
#include <string.h>

enum { LISTED = 20 };

static void add_card(text *page, const run *run, size_t row) {
    const run_table *table = &run->hardest;
    const char *example = run_cell(table, row, "example"), *draws = run_cell(table, row, "draws");
    char loss[NUMBER_SIZE], drawn[NUMBER_SIZE];
    number_loss(run_number(table, row, "loss"), loss);
    number_format(run_number(table, row, "draws"), drawn);
    text_add(page, "<li title=\"example ");
    html_escape(page, example);
    text_add(page, ", last seen ");
    html_escape(page, run_cell(table, row, "age"));
    text_add(page, " iterations ago\">");
    gallery_picture(page, run, RUN_HARDEST_PICTURES, example);
    if (run->is_segmentation) gallery_identity(page, "b", "b", example);
    gallery_verdict(page, run, run_cell(table, row, "label"), run_cell(table, row, "prediction"));
    text_format(page, "<span>loss %s</span>", loss);
    if (*draws) text_format(page, "<span>drawn %s\xC3\x97</span>", drawn);
    if (!run->is_segmentation) gallery_identity(page, "span class=\"id\"", "span", example);
    text_add(page, "</li>\n");
}

/* Without hardest.csv: the examples with the largest losses of losses.csv, as a table of the columns that it has. */
static const struct {
    const char *column, *title;
} LIST[] = {{"label", "label"}, {"prediction", "prediction"}, {"stale_loss", "loss"}, {"draws", "draws"}};
enum { LIST_COLUMNS = sizeof LIST / sizeof *LIST };

static int is_listed(const run *run, size_t k) { return csv_column(&run->losses.data, LIST[k].column) >= 0; }

static void add_list_head(text *page, const run *run) {
    text_add(page, "<tr><th scope=\"col\">example</th>");
    for (size_t k = 0; k < LIST_COLUMNS; k++)
        if (is_listed(run, k)) text_format(page, "<th scope=\"col\">%s</th>", LIST[k].title);
    text_add(page, "</tr>\n");
}

/* A label is a class number in losses.csv. */
static const char *list_cell(const run *run, size_t row, const char *column) {
    const char *cell = run_cell(&run->losses, row, column);
    if (run->is_segmentation) return cell;
    if (strcmp(column, "label") == 0) return run_class_at(run, cell);
    return strcmp(column, "prediction") == 0 ? run_class_name(run, cell) : cell;
}

static void add_list_row(text *page, const run *run, size_t row) {
    char loss[NUMBER_SIZE];
    number_loss(run_number(&run->losses, row, "stale_loss"), loss);
    text_add(page, "<tr><th scope=\"row\">");
    html_escape(page, run_cell(&run->losses, row, "example"));
    text_add(page, "</th>");
    for (size_t k = 0; k < LIST_COLUMNS; k++) {
        if (!is_listed(run, k)) continue;
        const int is_loss = strcmp(LIST[k].title, "loss") == 0;
        text_add(page, "<td>");
        html_escape(page, is_loss ? loss : list_cell(run, row, LIST[k].column));
        text_add(page, "</td>");
    }
    text_add(page, "</tr>\n");
}

static void add_list(text *page, const run *run) {
    size_t count;
    size_t *rows = run_hardest(run, &count);
    if (!rows) page->failed = 1;
    if (rows && count) {
        text_add(page, "<div class=\"scroll\" tabindex=\"0\"><table>\n");
        add_list_head(page, run);
        for (size_t k = 0; k < LISTED && k < count; k++) add_list_row(page, run, rows[k]);
        text_add(page, "</table></div>\n");
    }
    free(rows);
}

static void write_run(text *page, const runs *runs, const run *run) {
    section_run(page, runs, run, &run->hardest);
    if (!run->hardest.data.rows) return add_list(page, run);
    gallery_cards(page, runs, run, &(gallery_list){&run->hardest, NULL, run->hardest.data.rows, add_card});
}

static const char CLASSIFICATION_WORDS[] =
    "The training examples with the largest losses at the end. An arrow leads from the label to what the network says "
    "instead. If the picture fits the label, the example is hard, and drawing it often is right; if it does not, the "
    "label is wrong and should be corrected, because DRO will insist on it.";

static const char SEGMENTATION_WORDS[] =
    "The training cases with the largest losses at the end, with reference and prediction outlined. If the reference "
    "fits the picture, the case is hard, and drawing it often is right; if it does not, the reference should be "
    "corrected, because DRO will insist on it.";

void gallery_section(text *page, const runs *runs) {
    const int cases = runs->all[0].is_segmentation;
    section_open(page, runs,
                 cases ? "Hardest cases: hard, or badly labelled?" : "Hardest examples: hard, or mislabelled?",
                 cases ? SEGMENTATION_WORDS : CLASSIFICATION_WORDS, 0);
    for (size_t r = 0; r < runs->count; r++) write_run(page, runs, &runs->all[r]);
    section_close(page);
}
