/* What hardness weighted sampling did: how losses and probabilities spread over the examples, run by run. */
#include "report/html.h"
#include "report/panel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const LOSSES[QUANTILES] = {"l0", "l5", "l25", "l50", "l75", "l95", "l100"};
static const char *const SHARES[QUANTILES] = {"p0", "p5", "p25", "p50", "p75", "p95", "p100"};
enum { MOST_ROWS = 400 };

/* One scale for all runs, so that they can be compared by looking. */
static scale common_scale(const runs *runs, const char *const columns[QUANTILES], int decades) {
    double low = HUGE_VAL, high = 0;
    for (size_t r = 0; r < runs->count; r++) {
        const run_table *table = &runs->all[r].distribution;
        const size_t step = 1 + table->data.rows / MOST_ROWS;
        for (size_t row = 0; row < table->data.rows; row += step)
            for (int q = 0; q < QUANTILES; q++) {
                const double value = run_number(table, row, columns[q]);
                if (!(value > 0)) continue;
                low = fmin(low, value);
                high = fmax(high, value);
            }
    }
    return high > 0 ? scale_logarithmic(low, high, decades) : scale_logarithmic(0.1, 10, decades);
}

static void write_bands(text *page, const run *run, const char *const columns[QUANTILES], const char *what,
                        scale scale) {
    const run_table *table = &run->distribution;
    const size_t step = 1 + table->data.rows / MOST_ROWS, count = (table->data.rows + step - 1) / step;
    double *numbers = malloc((count + 1) * (QUANTILES + 1) * sizeof *numbers);
    if (!numbers) {
        page->failed = 1;
        return;
    }
    band_chart chart = {.title = run->name,
                        .label = what,
                        .x_title = "epoch",
                        .style = run->style,
                        .count = count,
                        .x = numbers,
                        .scale = scale};
    for (int q = 0; q < QUANTILES; q++) chart.quantiles[q] = numbers + (size_t)(q + 1) * count;
    for (size_t k = 0; k < count; k++) {
        numbers[k] = run_number(table, k * step, "epoch");
        for (int q = 0; q < QUANTILES; q++)
            numbers[(size_t)(q + 1) * count + k] = run_number(table, k * step, columns[q]);
    }
    band_chart_write(page, &chart);
    free(numbers);
}

/* The same quantiles of all runs beside each other, explained once. */
static void write_block(text *page, const runs *runs, const char *const columns[QUANTILES], const char *title,
                        const char *words, int decades) {
    const scale scale = common_scale(runs, columns, decades);
    text_format(page, "<h3>%s</h3>\n<p class=\"explain\">%s</p>\n<div class=\"panels\">\n", title, words);
    for (size_t r = 0; r < runs->count; r++)
        if (runs->all[r].distribution.data.rows) write_bands(page, &runs->all[r], columns, title, scale);
    text_add(page, "</div>\n");
}

static int any_rows(const runs *runs) {
    for (size_t r = 0; r < runs->count; r++)
        if (runs->all[r].distribution.data.rows) return 1;
    return 0;
}

static void write_blocks(text *page, const runs *runs) {
    for (size_t r = 0; r < runs->count; r++) section_note(page, runs, &runs->all[r], &runs->all[r].distribution);
    if (!any_rows(runs)) return;
    write_block(
        page, runs, LOSSES, "Losses of the training examples",
        "The line is the median example; half of all examples lie in the darkest band, nine of ten in the middle "
        "one, all of them in the lightest.",
        5);
    write_block(page, runs, SHARES, "Chance to be drawn",
                "How many times as often as with equal chances (1) an example is drawn; the bands are as above.", 6);
}

static int sampler_panels(text *page, const runs *runs) {
    const panel ess = {.title = "Effective share of the training set",
                       .explanation = "100 % when all examples are drawn equally often; the lower, the more training "
                                      "looks at few hard ones.",
                       .column = "ess",
                       .per = "examples",
                       .unit = UNIT_PERCENT,
                       .floor = 0,
                       .ceiling = 1};
    const panel largest = {.title = "Largest chance of an example",
                           .explanation = "How probable it is that a draw picks the hardest example.",
                           .column = "p_max",
                           .unit = UNIT_NUMBER,
                           .logarithmic = 1,
                           .floor = (double)NAN,
                           .ceiling = (double)NAN};
    const panel clipped = {.title = "Importance weights at their limit",
                           .explanation = "The share of importance weights that had to be clipped.",
                           .column = "clip_rate",
                           .unit = UNIT_PERCENT,
                           .floor = 0,
                           .ceiling = 1};
    int any = panel_write(page, runs, &ess);
    any |= panel_write(page, runs, &largest);
    int clips = 0;
    for (size_t r = 0; r < runs->count; r++) clips |= run_last(&runs->all[r].history, "clip_rate") > 0;
    if (clips) any |= panel_write(page, runs, &clipped);
    return any;
}

void distribution_section(text *page, const runs *runs) {
    section_open(page, runs, "What the sampler did",
                 "Hardness weighted sampling draws an example more often the larger its last known loss is. These "
                 "figures show how unequal the losses were, and how unequal the draws.",
                 1);
    text_add(page, "<div class=\"panels\">\n");
    sampler_panels(page, runs);
    text_add(page, "</div>\n");
    write_blocks(page, runs);
    section_close(page);
}
