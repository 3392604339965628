/* The worst cases of an evaluation, with their pictures. */
#include "report/gallery_picture.h"
#include "report/html.h"
#include "report/scale.h"
#include "report/section.h"

#include <math.h>

enum { SHOWN_ALONE = 12, SHOWN_AMONG_OTHERS = 6 };

static void add_dice(text *page, const run_table *table, size_t row, const char *column, const char *words) {
    const double dice = run_number(table, row, column);
    if (isfinite(dice)) text_format(page, "<span>Dice %.1f %% %s", 100 * dice, words);
    else text_format(page, "<span>no Dice %s", words);
}

static void add_card(text *page, const run *run, size_t row) {
    const run_table *table = &run->worst;
    const char *example = run_cell(table, row, "example");
    text_add(page, "<li>");
    gallery_picture(page, run, RUN_WORST_PICTURES, example);
    html_bold(page, example);
    add_dice(page, table, row, "dice", "in the mean</span>");
    add_dice(page, table, row, "label_dice", "for ");
    html_escape(page, run_class_name(run, run_cell(table, row, "label")));
    text_add(page, "</span></li>\n");
}

static void write_run(text *page, const runs *runs, const run *run) {
    if (run->worst.data.rows == 0 || !run->is_segmentation) return;
    section_run(page, runs, run, &run->worst);
    text_add(page, "<ul class=\"gallery sheets\">\n");
    const size_t limit = runs->count > 1 ? SHOWN_AMONG_OTHERS : SHOWN_ALONE;
    for (size_t row = 0; row < run->worst.data.rows && row < limit; row++) add_card(page, run, row);
    text_add(page, "</ul>\n");
}

void worst_section(text *page, const runs *runs) {
    size_t rows = 0;
    for (size_t r = 0; r < runs->count; r++) rows += runs->all[r].is_segmentation ? runs->all[r].worst.data.rows : 0;
    if (rows == 0) return; /* only evaluated segmentations have them */
    section_open(
        page, runs, "Worst cases: what failure looks like",
        "The evaluated cases with the lowest mean Dice, in three planes, each in the slice with the most wrong "
        "voxels: the image, the reference, the prediction, and the errors, in the colours that are named below them.",
        0);
    for (size_t r = 0; r < runs->count; r++) write_run(page, runs, &runs->all[r]);
    section_close(page);
}
