/* The comparison as tables for people. */
#include "core/utf8.h"
#include "evaluate/comparison.h"
#include "evaluate/stratified.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is shown of a method, in the order of the columns; spread is better small, whatever the metric. */
typedef struct shown_value {
    double value;
    int lower_is_better;
} shown_value;

enum { TALL_WORDS = 3, TALL_VALUES = 7, WIDE_WORDS = 2, WIDE_VALUES = 3, WIDE_COLUMNS = 5 };

static void values_of(const comparison *comparison, const statistics *numbers, shown_value values[TALL_VALUES]) {
    const int low = metric_lower_is_better(comparison->metric);
    const shown_value all[TALL_VALUES] = {
        {numbers->mean, low},
        {numbers->median, low},
        {numbers->iqr, 1},
        {low ? numbers->p75 : numbers->p25, low},
        {low ? numbers->p90 : numbers->p10, low},
        {low ? numbers->p95 : numbers->p5, low},
        {numbers->worst_value, low},
    };
    memcpy(values, all, sizeof all);
}

static void format_difference(const comparison *comparison, double difference, char *words, size_t capacity) {
    char plain[48];
    metric_format(comparison->metric, fabs(difference), plain, sizeof plain);
    const int is_zero = strspn(plain, "0.") == strlen(plain);
    snprintf(words, capacity, "%s%s", isnan(difference) || is_zero ? "" : difference > 0 ? "+" : "-", plain);
}

static void format_interval(const comparison *comparison, interval ci, char *words, size_t capacity) {
    char low[56], high[56];
    format_difference(comparison, ci.low, low, sizeof low);
    format_difference(comparison, ci.high, high, sizeof high);
    if (isnan(ci.low)) snprintf(words, capacity, "-");
    else snprintf(words, capacity, "%s to %s", low, high);
}

/* "spina bifida (12)": all methods have the same cases. */
static void put_group(table *table, const comparison *comparison, size_t stratum, int ruled) {
    char words[TABLE_CELL_BYTES];
    strata_label(comparison->strata, stratum, words, sizeof words);
    table_add_row(table, ruled);
    table_put(table, 0, "%s (%zu)", words, comparison->strata->list[stratum].count);
}

/* The first `count` values of a method, from a column on. */
static void put_values(table *table, const comparison *comparison, const statistics *numbers, size_t column,
                       size_t count) {
    shown_value values[TALL_VALUES];
    char words[64];
    values_of(comparison, numbers, values);
    for (size_t k = 0; k < count; k++) {
        metric_format(comparison->metric, values[k].value, words, sizeof words);
        table_put(table, column + k, "%s", words);
    }
}

/* The difference to the first method; `all` also its interval and the p-value that is not corrected. */
static void put_difference(table *table, const comparison *comparison, const paired *difference, size_t column,
                           int all) {
    char words[128];
    format_difference(comparison, difference->mean, words, sizeof words);
    table_put(table, column++, "%s", words);
    if (all) {
        format_interval(comparison, difference->ci, words, sizeof words);
        table_put(table, column++, "%s", words);
        table_put_p(table, column++, difference->test.p);
    }
    table_put_p(table, column, difference->holm);
}

/* Where one value of each method stands: in one column, `step` rows apart. */
typedef struct value_places {
    size_t first, step, column;
} value_places;

/* The best is bold, if no other looks the same. */
static void mark_best(table *table, const shown_value *values, size_t methods, value_places at) {
    size_t best = 0;
    int tied = table->failed;
    for (size_t m = 0; m < methods; m++) {
        tied |= isnan(values[m].value);
        const int better =
            values[m].lower_is_better ? values[m].value < values[best].value : values[m].value > values[best].value;
        if (better) best = m;
    }
    for (size_t m = 0; m < methods && !tied; m++)
        tied = m != best && strcmp(table_at(table, at.first + m * at.step, at.column)->words,
                                   table_at(table, at.first + best * at.step, at.column)->words) == 0;
    if (!tied) table_at(table, at.first + best * at.step, at.column)->bold = 1;
}

static void mark_values(table *table, const comparison *comparison, size_t stratum, size_t region, value_places at,
                        size_t count) {
    const size_t methods = comparison->methods.count;
    for (size_t k = 0; k < count; k++) {
        shown_value values[TALL_VALUES], column[COMPARED_MAX];
        for (size_t m = 0; m < methods; m++) {
            values_of(comparison, &comparison_at(comparison, stratum, region, m)->numbers, values);
            column[m] = values[k];
        }
        mark_best(table, column, methods, (value_places){at.first, at.step, at.column + k});
    }
}

/* ---- tall ---- */

static void put_tall_row(table *table, const comparison *comparison, size_t stratum, size_t region, size_t method) {
    const compared_row *row = comparison_at(comparison, stratum, region, method);
    put_group(table, comparison, stratum, method == 0 && region == 0);
    table_put(table, 1, "%s", comparison->methods.names[method]);
    table_put(table, 2, "%s", comparison->methods.scores[0].regions.regions[region].name);
    table_put(table, TALL_WORDS, "%zu", row->numbers.count);
    put_values(table, comparison, &row->numbers, TALL_WORDS + 1, TALL_VALUES);
    if (method > 0) put_difference(table, comparison, &row->difference, TALL_WORDS + 1 + TALL_VALUES, 1);
}

static void fill_tall(table *table, const comparison *comparison, const char *title) {
    const size_t regions = comparison_regions(comparison);
    char headings[256];
    snprintf(headings, sizeof headings,
             "group|method|label|n|mean|median|IQR|%s|worst|difference|95%% CI|Wilcoxon p|Holm p",
             metric_lower_is_better(comparison->metric) ? "p75|p90|p95" : "p25|p10|p5");
    table_open(table, title, TALL_WORDS, headings);
    for (size_t stratum = 0; stratum < comparison->strata->count; stratum++) {
        const size_t first = table->rows;
        for (size_t method = 0; method < comparison->methods.count; method++)
            for (size_t region = 0; region < regions; region++)
                put_tall_row(table, comparison, stratum, region, method);
        for (size_t region = 0; region < regions; region++)
            mark_values(table, comparison, stratum, region, (value_places){first + region, regions, TALL_WORDS + 1},
                        TALL_VALUES);
    }
}

/* ---- wide ---- */

static void put_wide_row(table *table, const comparison *comparison, size_t stratum, size_t method) {
    put_group(table, comparison, stratum, method == 0);
    table_put(table, 1, "%s", comparison->methods.names[method]);
    for (size_t region = 0; region < comparison_regions(comparison); region++) {
        const compared_row *row = comparison_at(comparison, stratum, region, method);
        const size_t column = WIDE_WORDS + region * WIDE_COLUMNS;
        put_values(table, comparison, &row->numbers, column, WIDE_VALUES);
        if (method > 0) put_difference(table, comparison, &row->difference, column + WIDE_VALUES, 0);
    }
}

static void open_wide(table *table, const comparison *comparison, const char *title) {
    text headings = {0};
    text_add(&headings, "group|method");
    for (size_t region = 0; region < comparison_regions(comparison); region++)
        text_format(&headings, "|%s mean|median|IQR|difference|Holm p",
                    comparison->methods.scores[0].regions.regions[region].name);
    table_open(table, title, WIDE_WORDS, text_string(&headings));
    table->failed |= headings.failed;
    text_close(&headings);
}

static void fill_wide(table *table, const comparison *comparison, const char *title) {
    open_wide(table, comparison, title);
    for (size_t stratum = 0; stratum < comparison->strata->count; stratum++) {
        const size_t first = table->rows;
        for (size_t method = 0; method < comparison->methods.count; method++)
            put_wide_row(table, comparison, stratum, method);
        for (size_t region = 0; region < comparison_regions(comparison); region++)
            mark_values(table, comparison, stratum, region,
                        (value_places){first, 1, WIDE_WORDS + region * WIDE_COLUMNS}, WIDE_VALUES);
    }
}

/* ---- what the numbers mean ---- */

static void put_title(const comparison *comparison, char *title, size_t capacity) {
    const char *unit = metric_unit(comparison->metric);
    size_t used = (size_t)snprintf(title, capacity, "%s (%s):", metric_name(comparison->metric), unit);
    for (size_t m = 0; m < comparison->methods.count && used < capacity; m++)
        used += (size_t)snprintf(title + used, capacity - used, "%s %.*s",
                                 m == 0                               ? ""
                                 : m + 1 == comparison->methods.count ? " and"
                                                                      : ",",
                                 (int)utf8_whole(comparison->methods.names[m], 60), comparison->methods.names[m]);
    utf8_mend(title, capacity, used);
}

void comparison_add_empty_notes(const comparison *comparison, text *out) {
    const size_t methods = comparison->methods.count, cases = comparison->strata->list[0].count;
    size_t missing = 0, right = 0;
    for (size_t k = 0; k < comparison_regions(comparison) * methods; k++) {
        const compared_row *row = comparison_at(comparison, 0, k / methods, k % methods);
        if (row->numbers.missing > missing) missing = row->numbers.missing;
        if (row->rightly_empty > right) right = row->rightly_empty;
    }
    if (missing)
        text_format(out,
                    "Up to %zu of %zu cases have a label neither in the reference nor in a prediction: they have no "
                    "score for it and are\nleft out of its rows; --empty 1 of hws evaluate counts them as right.\n",
                    missing, cases);
    if (right)
        text_format(out,
                    "In up to %zu of %zu cases a label is not in the reference, and some methods predicted it: the "
                    "others are right there,\nwhich counts as %d %s.\n",
                    right, cases, metric_is_share(comparison->metric) ? 100 : 0, metric_unit(comparison->metric));
}

static void add_notes(const comparison *comparison, text *out) {
    if (strata_share_patients(comparison->strata))
        text_format(
            out,
            "Differences are to %s, over the same n cases; 95%% CI: bootstrap of the mean difference, resampling "
            "%zu patients,\nfrom %d patients on; Wilcoxon: of the patients' mean differences, two-sided, where at "
            "least %d patients differ;\nHolm: corrected for all tests of this table.\n",
            comparison->methods.names[0], comparison->strata->list[0].patients, STATISTICS_INTERVAL_CASES,
            PAIRED_TEST_CASES);
    else
        text_format(
            out,
            "Differences are to %s, over the same n cases; 95%% CI: bootstrap of the mean difference, from %d cases "
            "on;\nWilcoxon: paired and two-sided, where at least %d cases differ; Holm: corrected for all tests of "
            "this table.\n",
            comparison->methods.names[0], STATISTICS_INTERVAL_CASES, PAIRED_TEST_CASES);
    comparison_add_empty_notes(comparison, out);
}

/* The paragraph below a table in Markdown; comments below one in LaTeX, for who writes its caption. */
static void add_marked_notes(const comparison *comparison, table_format format, text *out) {
    text notes = {0};
    comparison_add_empty_notes(comparison, &notes);
    const char *line = text_string(&notes);
    if (*line && format == TABLE_MARKDOWN) text_format(out, "\n%s", line);
    for (size_t length; *line && format == TABLE_LATEX; line += length + 1) {
        length = strcspn(line, "\n");
        text_format(out, "%% %.*s\n", (int)length, line);
    }
    out->failed |= notes.failed;
    text_close(&notes);
}

status_code comparison_write(const comparison *comparison, comparison_layout layout, table_format format, text *out,
                             failure *failure) {
    if (format == TABLE_CSV) return comparison_write_csv(comparison, out, failure);
    if (format == TABLE_JSON) return comparison_write_json(comparison, out, failure);
    char title[256];
    table table;
    put_title(comparison, title, sizeof title);
    /* cppcheck-suppress uninitvar ; both fill it in */
    (layout == COMPARISON_TALL ? fill_tall : fill_wide)(&table, comparison, title);
    const status_code status = table_write(&table, format, out, failure);
    table_close(&table);
    if (format == TABLE_TEXT) add_notes(comparison, out);
    else add_marked_notes(comparison, format, out);
    return status == STATUS_OK && out->failed ? fail_memory(failure, "a comparison") : status;
}
