/* What hardness weighted sampling did: how losses and probabilities spread over the examples, run by run. */
#include "report/html.h"

#include "core/quantile.h"
#include "report/panel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const LOSSES[QUANTILES] = {"l0", "l5", "l25", "l50", "l75", "l95", "l100"};
static const char *const SHARES[QUANTILES] = {"p0", "p5", "p25", "p50", "p75", "p95", "p100"};
enum { MOST_ROWS = 400 };

/* The range of what is drawn of all runs, and its smallest positive value, which is what decades can begin with. */
typedef struct range {
    double low, positive, high;
} range;

static void range_widen(range *range, double value) {
    if (!isfinite(value)) return;
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
    if (value > 0) range->positive = fmin(range->positive, value);
}

/* Of a long run some rows are drawn, the last among them: which one is the k-th, and how many there are. */
static size_t step_of(const run_table *table) { return 1 + table->data.rows / MOST_ROWS; }
static size_t drawn_rows(const run_table *table) { return (table->data.rows + step_of(table) - 1) / step_of(table); }
static size_t drawn_row(const run_table *table, size_t k) {
    return k + 1 == drawn_rows(table) ? table->data.rows - 1 : k * step_of(table);
}

static range common_range(const runs *runs, const char *const *columns) {
    range range = {HUGE_VAL, HUGE_VAL, -HUGE_VAL};
    for (size_t r = 0; r < runs->count; r++) {
        const run_table *table = &runs->all[r].distribution;
        for (size_t k = 0; k < drawn_rows(table); k++)
            for (int q = 0; q < QUANTILES; q++) range_widen(&range, run_number(table, drawn_row(table, k), columns[q]));
    }
    return range;
}

/* One scale for all runs, so that they can be compared by looking. Decades have no place for negative losses, which
   segmentation has; a loss or chance of exactly 0 is only too small for its number, and lies at their lower end. */
static scale common_scale(const runs *runs, const char *const *columns, int decades) {
    const range range = common_range(runs, columns);
    if (range.low < 0) return scale_round(range.low, range.high);
    return range.high > 0 ? scale_logarithmic(range.positive, range.high, decades)
                          : scale_logarithmic(0.1, 10, decades);
}

/* Quantiles of which a figure shows how they change. */
typedef struct bands {
    const char *const *columns;
    const char *title, *explanation;
    int decades;
} bands;

static const bands LOSS_BANDS = {
    LOSSES, "Losses of the training examples",
    "The line is the median example; half of all examples lie in the darkest band, nine of "
    "ten in the middle one, all of them in the lightest.",
    5};
static const bands SHARE_BANDS = {SHARES, "Chance to be drawn",
                                  "How many times as often as with equal chances (1) an example is drawn; bands as on "
                                  "the losses.",
                                  6};

/* The rows that are whole, column by column in `numbers`, each with room for `count`; how many they are. */
static size_t fill_bands(double *numbers, size_t count, const run_table *table, const char *const *columns) {
    size_t known = 0;
    for (size_t k = 0; k < count; k++) {
        const size_t row = drawn_row(table, k);
        int whole = isfinite(numbers[known] = run_number(table, row, "epoch"));
        for (int q = 0; q < QUANTILES; q++)
            whole &= isfinite(numbers[(size_t)(q + 1) * count + known] = run_number(table, row, columns[q])) != 0;
        known += whole ? 1 : 0;
    }
    return known;
}

static void write_bands(text *page, const run *run, const bands *bands, int alone, scale scale) {
    const run_table *table = &run->distribution;
    const size_t count = drawn_rows(table);
    double *numbers = malloc((count + 1) * (QUANTILES + 1) * sizeof *numbers);
    if (!numbers) {
        page->failed = 1;
        return;
    }
    band_chart chart = {.title = alone ? bands->title : run->name,
                        .explanation = alone ? bands->explanation : NULL,
                        .label = bands->title,
                        .x_title = "epoch",
                        .style = run->style,
                        .count = fill_bands(numbers, count, table, bands->columns),
                        .x = numbers,
                        .scale = scale};
    for (int q = 0; q < QUANTILES; q++) chart.quantiles[q] = numbers + (size_t)(q + 1) * count;
    band_chart_write(page, &chart);
    free(numbers);
}

/* The same quantiles of all runs beside each other, explained once. */
static void write_block(text *page, const runs *runs, const bands *bands) {
    const scale scale = common_scale(runs, bands->columns, bands->decades);
    text_format(page, "<h3>%s</h3>\n<p class=\"explain\">%s</p>\n<div class=\"panels\">\n", bands->title,
                bands->explanation);
    for (size_t r = 0; r < runs->count; r++)
        if (runs->all[r].distribution.data.rows) write_bands(page, &runs->all[r], bands, 0, scale);
    text_add(page, "</div>\n");
}

/* A single run has its bands beside the other figures. */
static void write_alone(text *page, const runs *runs) {
    if (!runs->all[0].distribution.data.rows) return;
    write_bands(page, &runs->all[0], &LOSS_BANDS, 1, common_scale(runs, LOSSES, LOSS_BANDS.decades));
    write_bands(page, &runs->all[0], &SHARE_BANDS, 1, common_scale(runs, SHARES, SHARE_BANDS.decades));
}

static int any_rows(const runs *runs) {
    for (size_t r = 0; r < runs->count; r++)
        if (runs->all[r].distribution.data.rows) return 1;
    return 0;
}

/* What share of all draws went to the hundredth of the examples that was drawn most; NaN if it is not known. */
static double top_draws(text *page, const run *run) {
    const size_t count = run->losses.data.rows, top = (count + 99) / 100;
    double *draws = malloc((count + 1) * sizeof *draws), all = 0, most = 0;
    if (!draws) return page->failed = 1, (double)NAN;
    for (size_t k = 0; k < count; k++) {
        draws[k] = fmax(0, run_number(&run->losses, k, "draws"));
        all += draws[k];
    }
    sort_numbers(draws, count);
    for (size_t k = 1; k <= top; k++) most += draws[count - k];
    free(draws);
    return all > 0 ? most / all : (double)NAN;
}

static void write_top_draws(text *page, const runs *runs) {
    char label[NUMBER_SIZE];
    const char *before = "<p>The hundredth of the examples that was drawn most often got ";
    for (size_t r = 0; r < runs->count; r++) {
        const double share = top_draws(page, &runs->all[r]);
        if (!isfinite(share)) continue;
        number_percent(share, label);
        text_format(page, "%s<b>%s</b>%s", before, label, *before == '<' ? " of all draws" : "");
        if (runs->count > 1) text_add(page, " with "), html_escape(page, runs->all[r].name);
        before = ", ";
    }
    if (*before == ',') text_add(page, ".</p>\n");
}

/* Whether some run has a value of the column in some epoch that is not the usual one. */
static int any_other_than(const runs *runs, const char *column, double usual) {
    for (size_t r = 0; r < runs->count; r++)
        for (size_t row = 0; row < runs->all[r].history.data.rows; row++) {
            const double value = run_number(&runs->all[r].history, row, column);
            if (isfinite(value) && value != usual) return 1;
        }
    return 0;
}

/* Whether it is not the same in all epochs of some run. */
static int any_that_moves(const runs *runs, const char *column) {
    for (size_t r = 0; r < runs->count; r++) {
        const double last = run_last(&runs->all[r].history, column);
        for (size_t row = 0; row < runs->all[r].history.data.rows; row++)
            if (isfinite(last) && run_number(&runs->all[r].history, row, column) != last) return 1;
    }
    return 0;
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
    const panel unseen = {.title = "Never trained on",
                          .explanation = "The share of the training examples that no batch has held yet.",
                          .column = "unseen",
                          .unit = UNIT_PERCENT,
                          .floor = 0,
                          .ceiling = 1};
    int any = panel_write(page, runs, &ess);
    any |= panel_write(page, runs, &largest);
    if (any_other_than(runs, "unseen", 0)) any |= panel_write(page, runs, &unseen);
    return any;
}

static int beta_panel(text *page, const runs *runs) {
    const panel beta = {.title = "\xCE\xB2 over time",
                        .explanation = "How strongly hard examples are preferred: with a tail or a wanted effective "
                                       "size it follows from the losses and grows as they shrink.",
                        .column = "beta",
                        .unit = UNIT_NUMBER,
                        .logarithmic = 1,
                        .floor = (double)NAN,
                        .ceiling = (double)NAN};
    return any_that_moves(runs, "beta") && panel_write(page, runs, &beta);
}

/* How bad it is for the worst of the training examples, and what training for the robust loss promises about it. */
static int tail_panels(text *page, const runs *runs) {
    panel panels[] = {
        {.title = "Mean loss of the hardest 5 %",
         .explanation =
             "The mean over the twentieth of the training examples with the largest losses (CVaR): how bad it "
             "is where it is worst.",
         .column = "cvar_5"},
        {.title = "95th percentile of the losses",
         .explanation = "One training example in twenty has a larger loss than this.",
         .column = "loss_p95"},
        {.title = "Bound of the 95th percentile",
         .explanation =
             "What the robust loss guarantees at the run\xE2\x80\x99s \xCE\xB2: whatever the losses are, at most "
             "one training example in twenty has a larger one. The percentile itself is lower.",
         .column = "loss_p95_bound"},
    };
    int any = 0;
    for (size_t k = 0; k < sizeof panels / sizeof *panels; k++) {
        panels[k].floor = 0;
        panels[k].ceiling = (double)NAN;
        any |= panel_write(page, runs, &panels[k]);
    }
    return any;
}

/* Nothing where all weights are 1. */
static int weight_panels(text *page, const runs *runs) {
    const panel mean = {.title = "Mean importance weight",
                        .explanation = "Below 1, training is slower than the learning rate says; above, faster.",
                        .column = "weight_mean",
                        .unit = UNIT_NUMBER,
                        .floor = 0,
                        .ceiling = (double)NAN};
    const panel clipped = {.title = "Importance weights at their limit",
                           .explanation = "The share of importance weights that had to be clipped.",
                           .column = "clip_rate",
                           .unit = UNIT_PERCENT,
                           .floor = 0,
                           .ceiling = 1};
    int any = any_other_than(runs, "weight_mean", 1) && panel_write(page, runs, &mean);
    if (any_other_than(runs, "clip_rate", 0)) any |= panel_write(page, runs, &clipped);
    return any;
}

/* Columns that few runs have; a panel without numbers is not written. */
static int rare_panels(text *page, const runs *runs) {
    const panel stale = {.title = "Distance of the stale losses",
                         .explanation =
                             "How far the chances by the losses as last seen are from those by all losses as "
                             "they are: 0 if they are equal, 1 if they have nothing in common.",
                         .column = "stale_distance",
                         .unit = UNIT_NUMBER,
                         .floor = 0,
                         .ceiling = 1};
    const panel group = {.title = "Largest weight of a group",
                         .explanation = "Group DRO gives each known group a weight; 1 means that training looks at a "
                                        "single group.",
                         .column = "group_weight_max",
                         .unit = UNIT_NUMBER,
                         .floor = 0,
                         .ceiling = 1};
    const int any = panel_write(page, runs, &stale);
    return panel_write(page, runs, &group) | any;
}

/* The chances of these runs are recorded too, but nothing was drawn by them. */
static void tell_others(text *page, const runs *runs) {
    const char *before = "<p>";
    for (size_t r = 0; r < runs->count; r++) {
        if (run_draws_by_loss(&runs->all[r])) continue;
        text_add(page, before);
        html_bold(page, runs->all[r].name);
        before = ", ";
    }
    if (*before == ',')
        text_add(page, " did not draw by hardness: chances and shares below are those that DRO would give to such "
                       "losses, at the run\xE2\x80\x99s \xCE\xB2.</p>\n");
}

void distribution_section(text *page, const runs *runs) {
    section_open(page, runs, "What the sampler did",
                 "Hardness weighted sampling draws an example more often the larger its last known loss is. These "
                 "figures show how unequal the losses were, and how unequal the draws.",
                 1);
    tell_others(page, runs);
    write_top_draws(page, runs);
    for (size_t r = 0; r < runs->count; r++) section_note(page, runs, &runs->all[r], &runs->all[r].distribution);
    text_add(page, "<div class=\"panels\">\n");
    sampler_panels(page, runs);
    beta_panel(page, runs);
    tail_panels(page, runs);
    weight_panels(page, runs);
    rare_panels(page, runs);
    if (runs->count == 1) write_alone(page, runs);
    text_add(page, "</div>\n");
    if (runs->count > 1 && any_rows(runs)) {
        write_block(page, runs, &LOSS_BANDS);
        write_block(page, runs, &SHARE_BANDS);
    }
    section_close(page);
}
