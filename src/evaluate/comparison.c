#include "evaluate/comparison.h"

#include "core/csv.h"
#include "evaluate/stratified.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static status_code test_row(const score_column columns[2], const stratum *stratum, wilcoxon *test, failure *failure) {
    double *values = malloc((2 * stratum->count + 1) * sizeof *values), *second = values + stratum->count;
    if (!values) return fail_memory(failure, "a comparison");
    stratum_values(&columns[0], stratum, values);
    stratum_values(&columns[1], stratum, second);
    const status_code status = wilcoxon_test(values, second, stratum->count, test, failure);
    free(values);
    return status;
}

static status_code fill_row(const comparison *comparison, size_t stratum, size_t region, comparison_row *row,
                            failure *failure) {
    const struct stratum *group = &comparison->strata->list[stratum];
    const score_column columns[2] = {{comparison->scores[0], region, comparison->metric},
                                     {comparison->scores[1], region, comparison->metric}};
    statistics_options options = statistics_options_default();
    options.confidence = 0;
    status_code status = STATUS_OK;
    for (int k = 0; k < 2 && status == STATUS_OK; k++)
        status = stratum_statistics(&columns[k], group, &options, &row->method[k], failure);
    return status == STATUS_OK ? test_row(columns, group, &row->test, failure) : status;
}

status_code comparison_open(comparison *comparison, const compared_methods *methods, const strata *strata,
                            metric metric, failure *failure) {
    const scores *a = methods->scores[0], *b = methods->scores[1];
    *comparison = (struct comparison){{a, b}, strata, {methods->names[0], methods->names[1]}, metric, NULL};
    if (!a->measured[metric] || !b->measured[metric])
        return fail(failure, STATUS_BAD_INPUT, "%s has no %s; evaluate it again with that metric",
                    methods->names[a->measured[metric] ? 1 : 0], metric_name(metric));
    const size_t regions = a->regions.count, rows = strata->count * regions;
    comparison->rows = calloc(rows ? rows : 1, sizeof *comparison->rows);
    if (!comparison->rows) return fail_memory(failure, "a comparison");
    status_code status = STATUS_OK;
    for (size_t row = 0; row < rows && status == STATUS_OK; row++)
        status = fill_row(comparison, row / regions, row % regions, &comparison->rows[row], failure);
    return status;
}

void comparison_close(comparison *comparison) {
    free(comparison->rows);
    comparison->rows = NULL;
}

const comparison_row *comparison_at(const comparison *comparison, size_t stratum, size_t region) {
    return &comparison->rows[stratum * comparison->scores[0]->regions.count + region];
}

/* ---- tables ---- */

/* What is shown of a method, in the order of the columns; spread is better small, whatever the metric. */
typedef struct shown_value {
    double value;
    int lower_is_better;
} shown_value;

enum { TALL_VALUES = 7, WIDE_VALUES = 3 };

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

static void format_p(double p, char *words, size_t capacity) {
    if (isnan(p)) snprintf(words, capacity, "-");
    else snprintf(words, capacity, p >= 0.001 ? "%.3f" : "%.1e", p);
}

static void put_group(table *table, const comparison *comparison, size_t stratum, int ruled) {
    char words[TABLE_CELL_BYTES];
    strata_label(comparison->strata, stratum, words, sizeof words);
    table_add_row(table, ruled);
    table_put(table, 0, "%s (%zu)", words, comparison->strata->list[stratum].count);
}

/* The better of what is shown is bold; both, if they look the same. */
static void mark_better(table *table, size_t row_a, size_t row_b, size_t column, shown_value a, shown_value b) {
    if (table->failed || isnan(a.value) || isnan(b.value)) return;
    table_cell *cell_a = table_at(table, row_a, column), *cell_b = table_at(table, row_b, column);
    const int same = strcmp(cell_a->words, cell_b->words) == 0;
    const int b_is_better = a.lower_is_better ? b.value < a.value : b.value > a.value;
    cell_a->bold = same || !b_is_better;
    cell_b->bold = same || b_is_better;
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

static void put_value_differences(table *table, const comparison *comparison, const comparison_row *row, size_t column,
                                  size_t count) {
    shown_value a[TALL_VALUES], b[TALL_VALUES];
    char words[64];
    values_of(comparison, &row->method[0], a);
    values_of(comparison, &row->method[1], b);
    for (size_t k = 0; k < count; k++) {
        format_difference(comparison, b[k].value - a[k].value, words, sizeof words);
        table_put(table, column + k, "%s", words);
    }
}

/* Where values of the two methods stand. */
typedef struct value_places {
    size_t row_a, row_b, column, count;
} value_places;

static void mark_values(table *table, const comparison *comparison, const comparison_row *row, value_places at) {
    shown_value a[TALL_VALUES], b[TALL_VALUES];
    values_of(comparison, &row->method[0], a);
    values_of(comparison, &row->method[1], b);
    for (size_t k = 0; k < at.count; k++) mark_better(table, at.row_a, at.row_b, at.column + k, a[k], b[k]);
}

static void put_p(table *table, const comparison_row *row, size_t column) {
    char words[64];
    format_p(row->test.p, words, sizeof words);
    table_put(table, column, "%s", words);
}

static void put_method(table *table, const comparison *comparison, size_t stratum, int method) {
    for (size_t region = 0; region < comparison->scores[0]->regions.count; region++) {
        put_group(table, comparison, stratum, method == 0 && region == 0);
        table_put(table, 1, "%s", comparison->names[method]);
        table_put(table, 2, "%s", comparison->scores[0]->regions.regions[region].name);
        put_values(table, comparison, &comparison_at(comparison, stratum, region)->method[method], 3, TALL_VALUES);
    }
}

static void put_differences(table *table, const comparison *comparison, size_t stratum) {
    for (size_t region = 0; region < comparison->scores[0]->regions.count; region++) {
        const comparison_row *row = comparison_at(comparison, stratum, region);
        put_group(table, comparison, stratum, 0);
        table_put(table, 1, "difference");
        table_put(table, 2, "%s", comparison->scores[0]->regions.regions[region].name);
        put_value_differences(table, comparison, row, 3, TALL_VALUES);
        put_p(table, row, 3 + TALL_VALUES);
    }
}

static void mark_stratum(table *table, const comparison *comparison, size_t stratum) {
    const size_t regions = comparison->scores[0]->regions.count;
    for (size_t region = 0; region < regions; region++) {
        const size_t first = stratum * 3 * regions + region;
        mark_values(table, comparison, comparison_at(comparison, stratum, region),
                    (value_places){first, first + regions, 3, TALL_VALUES});
    }
}

static void fill_tall(table *table, const comparison *comparison, const char *title) {
    table_open(table, title, 3,
               metric_lower_is_better(comparison->metric)
                   ? "group|method|label|mean|median|IQR|p75|p90|p95|worst|Wilcoxon p"
                   : "group|method|label|mean|median|IQR|p25|p10|p5|worst|Wilcoxon p");
    for (size_t stratum = 0; stratum < comparison->strata->count; stratum++) {
        put_method(table, comparison, stratum, 0);
        put_method(table, comparison, stratum, 1);
        put_differences(table, comparison, stratum);
        mark_stratum(table, comparison, stratum);
    }
}

static void put_wide_method(table *table, const comparison *comparison, size_t stratum, int method) {
    put_group(table, comparison, stratum, method == 0);
    table_put(table, 1, "%s", comparison->names[method]);
    for (size_t region = 0; region < comparison->scores[0]->regions.count; region++) {
        const comparison_row *row = comparison_at(comparison, stratum, region);
        put_values(table, comparison, &row->method[method], 2 + region * WIDE_VALUES, WIDE_VALUES);
    }
}

static void put_wide_differences(table *table, const comparison *comparison, size_t stratum, size_t first) {
    put_group(table, comparison, stratum, 0);
    table_put(table, 1, "difference");
    for (size_t region = 0; region < comparison->scores[0]->regions.count; region++) {
        const comparison_row *row = comparison_at(comparison, stratum, region);
        const size_t column = 2 + region * WIDE_VALUES;
        put_value_differences(table, comparison, row, column, WIDE_VALUES);
        mark_values(table, comparison, row, (value_places){first, first + 1, column, WIDE_VALUES});
    }
    put_group(table, comparison, stratum, 0);
    table_put(table, 1, "Wilcoxon p");
    for (size_t region = 0; region < comparison->scores[0]->regions.count; region++)
        put_p(table, comparison_at(comparison, stratum, region), 2 + region * WIDE_VALUES);
}

static void fill_wide(table *table, const comparison *comparison, const char *title) {
    text headings = {0};
    text_add(&headings, "group|method");
    for (size_t region = 0; region < comparison->scores[0]->regions.count; region++) {
        const char *name = comparison->scores[0]->regions.regions[region].name;
        text_format(&headings, "|%s mean|median|IQR", name);
    }
    table_open(table, title, 2, text_string(&headings));
    table->failed |= headings.failed;
    text_close(&headings);
    for (size_t stratum = 0; stratum < comparison->strata->count; stratum++) {
        const size_t first = table->rows;
        put_wide_method(table, comparison, stratum, 0);
        put_wide_method(table, comparison, stratum, 1);
        put_wide_differences(table, comparison, stratum, first);
    }
}

/* ---- CSV ---- */

static void add_method(text *out, const statistics *row) {
    const double numbers[] = {row->mean, row->median, row->iqr, row->p5,  row->p10,
                              row->p25,  row->p75,    row->p90, row->p95, row->worst_value};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) csv_add_number(out, numbers[k]);
}

static void add_csv_row(text *out, const comparison *comparison, size_t stratum, size_t region) {
    const comparison_row *row = comparison_at(comparison, stratum, region);
    const struct stratum *group = &comparison->strata->list[stratum];
    const struct region *labels = &comparison->scores[0]->regions.regions[region];
    char key[REGION_KEY_BYTES];
    region_key(labels, key);
    const char *const fields[] = {metric_name(comparison->metric), group->column ? group->column : "",
                                  stratum_name(group), labels->name, key};
    for (int k = 0; k < 5; k++) {
        if (k) text_add(out, ",");
        csv_add_field(out, fields[k]);
    }
    text_format(out, ",%zu", group->count);
    add_method(out, &row->method[0]);
    add_method(out, &row->method[1]);
    text_format(out, ",%zu,%zu,%zu,%zu", row->test.better, row->test.worse, row->test.equal, row->test.missing);
    csv_add_number(out, row->test.statistic);
    csv_add_number(out, row->test.p);
    text_add(out, "\n");
}

static status_code write_csv(const comparison *comparison, text *out, failure *failure) {
    static const char *const columns[] = {"mean", "median", "iqr", "p5", "p10", "p25", "p75", "p90", "p95", "worst"};
    text_add(out, "metric,column,group,label,key,cases");
    for (int k = 0; k < 20; k++) text_format(out, ",%s_%s", k < 10 ? "a" : "b", columns[k % 10]);
    text_add(out, ",b_higher,b_lower,equal,missing,wilcoxon,p\n");
    for (size_t stratum = 0; stratum < comparison->strata->count; stratum++)
        for (size_t region = 0; region < comparison->scores[0]->regions.count; region++)
            add_csv_row(out, comparison, stratum, region);
    return out->failed ? fail_memory(failure, "a comparison") : STATUS_OK;
}

status_code comparison_write(const comparison *comparison, comparison_layout layout, table_format format, text *out,
                             failure *failure) {
    if (format == TABLE_CSV) return write_csv(comparison, out, failure);
    char title[256];
    table table;
    snprintf(title, sizeof title, "%s (%s): %.80s and %.80s", metric_name(comparison->metric),
             metric_is_share(comparison->metric)          ? "%"
             : metric_lower_is_better(comparison->metric) ? "mm"
                                                          : "voxels",
             comparison->names[0], comparison->names[1]);
    (layout == COMPARISON_TALL ? fill_tall : fill_wide)(&table, comparison, title);
    const status_code status = table_write(&table, format, out, failure);
    table_close(&table);
    return status;
}
