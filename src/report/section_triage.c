/* The examples whose labels are in doubt, with their pictures (docs/triage.md). */
#include "report/gallery_picture.h"
#include "report/html.h"
#include "report/run_examples.h"
#include "report/scale.h"
#include "report/section.h"

#include <math.h>
#include <stdlib.h>

static void add_share(text *page, const char *words, double share) {
    text_format(page, "<span>%s %.0f\xE2\x80\xAF%%</span>", words, 100 * share);
}

/* What speaks against the label: its losses beside those of its peers, and how often it was given a chance. */
static void add_reasons(text *page, const run_table *table, size_t row) {
    char mean[NUMBER_SIZE], peers[NUMBER_SIZE], drawn[NUMBER_SIZE];
    number_loss(run_number(table, row, "loss_mean"), mean);
    number_loss(run_number(table, row, "peers"), peers);
    number_format(run_number(table, row, "draws"), drawn);
    text_format(page, "<span>loss %s, peers %s</span><span>drawn %s\xC3\x97</span>", mean, peers, drawn);
}

static void add_card(text *page, const run *run, size_t row) {
    const run_table *table = &run->triage;
    const char *example = run_cell(table, row, "example");
    text_add(page, "<li title=\"example ");
    html_escape(page, example);
    text_add(page, "\">");
    gallery_picture(page, run, RUN_TRIAGE_PICTURES, example);
    if (run->is_segmentation) gallery_identity(page, "b", "b", example);
    gallery_verdict(page, run, run_cell(table, row, "label"), run_cell(table, row, "prediction"));
    add_share(page, "doubt", run_number(table, row, "doubt"));
    add_reasons(page, table, row);
    if (!run->is_segmentation) gallery_identity(page, "span class=\"id\"", "span", example);
    text_add(page, "</li>\n");
}

/* The rows in doubt, in the order of the table: it is not sorted by the doubt alone, so that
   others stand between them. */
static size_t find_doubts(const run *run, size_t *rows) {
    size_t count = 0;
    for (size_t row = 0; row < run->triage.data.rows; row++)
        if (run_is_in_doubt(run, row)) rows[count++] = row;
    return count;
}

static void write_run(text *page, const runs *runs, const run *run) {
    section_run(page, runs, run, &run->triage);
    if (!run->triage.data.rows) return;
    size_t *rows = malloc(run->triage.data.rows * sizeof *rows);
    if (!rows) {
        page->failed = 1;
        return;
    }
    const size_t doubts = find_doubts(run, rows);
    text_format(page, "<p>%zu of %zu %s %s in doubt%s</p>\n", doubts, run->triage.data.rows,
                run->is_segmentation ? "cases" : "labels", doubts == 1 ? "is" : "are",
                doubts > GALLERY_MOST ? "; those with the most evidence:"
                : doubts              ? ":"
                                      : ".");
    gallery_cards(page, runs, run, &(gallery_list){&run->triage, rows, doubts, add_card});
    free(rows);
}

static const char CLASSIFICATION_WORDS[] = "Training examples whose losses stayed above those of the same label "
                                           "although they were drawn: a wrong label does so, "
                                           "a rare example falls once its kind is learnt. An arrow leads from the "
                                           "label to what the network says instead. Look at "
                                           "each before you correct it: this is evidence, no proof.";

static const char SEGMENTATION_WORDS[] = "Training cases whose losses stayed above those of the others although they "
                                         "were drawn, with reference and prediction "
                                         "outlined: a reference that is wrong or missing does so, and so does a case "
                                         "unlike all others. Look at each before you "
                                         "correct it: this is evidence, no proof.";

/* Runs of before there were records have nothing to show, and say nothing. */
static int any_has_triage(const runs *runs) {
    for (size_t r = 0; r < runs->count; r++)
        if (runs->all[r].triage.data.rows) return 1;
    return 0;
}

void triage_section(text *page, const runs *runs) {
    if (!any_has_triage(runs)) return;
    section_open(page, runs, "Labels in doubt",
                 runs->all[0].is_segmentation ? SEGMENTATION_WORDS : CLASSIFICATION_WORDS, 0);
    for (size_t r = 0; r < runs->count; r++) write_run(page, runs, &runs->all[r]);
    section_close(page);
}
