#include "evaluate/stratified.h"

#include "statistics/tolerance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void stratum_values(const score_column *column, const stratum *stratum, double *values) {
    for (size_t k = 0; k < stratum->count; k++)
        values[k] = scores_at(column->scores, stratum->cases[k], column->region)[column->metric];
}

status_code stratum_statistics(const score_column *column, const stratum *stratum, const statistics_options *options,
                               statistics *result, failure *failure) {
    double *values = malloc((stratum->count ? stratum->count : 1) * sizeof *values);
    if (!values) return fail_memory(failure, "statistics");
    stratum_values(column, stratum, values);
    statistics_options own = *options;
    own.lower_is_better = metric_lower_is_better(column->metric);
    own.patients = stratum->whose;
    const status_code status = statistics_of(values, stratum->count, &own, result, failure);
    if (status == STATUS_OK && result->count > 0) result->worst = stratum->cases[result->worst];
    free(values);
    return status;
}

static statistics *row_of(const stratified *stratified, size_t metric, size_t stratum, size_t region) {
    return stratified->rows + (metric * stratified->strata->count + stratum) * stratified->scores->regions.count +
           region;
}

const statistics *stratified_at(const stratified *stratified, size_t metric, size_t stratum, size_t region) {
    return row_of(stratified, metric, stratum, region);
}

static void choose_metrics(stratified *stratified) {
    static const metric shown[] = {METRIC_DICE, METRIC_NSD, METRIC_HD95, METRIC_ASSD};
    for (int k = 0; k < 4; k++)
        if (stratified->scores->measured[shown[k]]) stratified->metrics[stratified->metric_count++] = shown[k];
}

status_code stratified_open(stratified *stratified, const scores *scores, const strata *strata,
                            const statistics_options *options, failure *failure) {
    *stratified = (struct stratified){.scores = scores, .strata = strata};
    choose_metrics(stratified);
    const size_t regions = scores->regions.count, rows = stratified->metric_count * strata->count * regions;
    stratified->rows = calloc(rows ? rows : 1, sizeof *stratified->rows);
    if (!stratified->rows) return fail_memory(failure, "statistics");
    for (size_t row = 0; row < rows; row++) {
        const size_t stratum = row / regions % strata->count, metric = row / regions / strata->count;
        const score_column column = {scores, row % regions, stratified->metrics[metric]};
        const status_code status =
            stratum_statistics(&column, &strata->list[stratum], options, &stratified->rows[row], failure);
        if (status != STATUS_OK) return status;
    }
    return STATUS_OK;
}

void stratified_close(stratified *stratified) {
    free(stratified->rows);
    *stratified = (struct stratified){0};
}

void metric_format(metric metric, double value, char *words, size_t capacity) {
    if (isnan(value)) snprintf(words, capacity, "-");
    else
        snprintf(words, capacity, "%.*f", metric_is_share(metric) ? 1 : 2,
                 metric_is_share(metric) ? 100 * value : value);
}

static void put_number(table *table, size_t column, metric metric, double value) {
    char words[64];
    metric_format(metric, value, words, sizeof words);
    table_put(table, column, "%s", words);
}

static void put_names(table *table, const stratified *stratified, size_t stratum, size_t region) {
    char words[TABLE_CELL_BYTES];
    strata_label(stratified->strata, stratum, words, sizeof words);
    table_put(table, 0, "%s", words);
    table_put(table, 1, "%s", stratified->scores->regions.regions[region].name);
}

static void put_row(table *table, const stratified *stratified, metric metric, const statistics *row) {
    const int low = metric_lower_is_better(metric);
    const double shown[] = {row->std,
                            row->median,
                            row->iqr,
                            low ? row->p75 : row->p25,
                            low ? row->p90 : row->p10,
                            low ? row->p95 : row->p5,
                            row->worst_value};
    char from[32], to[32];
    metric_format(metric, row->ci.low, from, sizeof from);
    metric_format(metric, row->ci.high, to, sizeof to);
    if (row->missing) table_put(table, 2, "%zu of %zu", row->count, row->count + row->missing);
    else table_put(table, 2, "%zu", row->count);
    put_number(table, 3, metric, row->mean);
    if (isnan(row->ci.low)) table_put(table, 4, "-");
    else table_put(table, 4, "%s to %s", from, to);
    for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) put_number(table, 5 + k, metric, shown[k]);
    if (isnan(row->tolerance)) table_put(table, 12, "too few");
    else put_number(table, 12, metric, row->tolerance);
    table_put(table, 13, "%s", row->count ? stratified->scores->list[row->worst].name : "-");
}

static status_code write_metric(const stratified *stratified, size_t which, table_format format, text *out,
                                failure *failure) {
    const metric metric = stratified->metrics[which];
    char title[64];
    table table;
    snprintf(title, sizeof title, "%s (%s)", metric_name(metric), metric_unit(metric));
    if (metric == METRIC_NSD) snprintf(title, sizeof title, "NSD at %g mm (%%)", stratified->scores->nsd_tolerance);
    table_open(&table, title, 2,
               metric_lower_is_better(metric)
                   ? "group|label|cases|mean|95% CI|std|median|IQR|p75|p90|p95|worst|90% reach|worst case"
                   : "group|label|cases|mean|95% CI|std|median|IQR|p25|p10|p5|worst|90% reach|worst case");
    for (size_t stratum = 0; stratum < stratified->strata->count; stratum++) {
        for (size_t region = 0; region < stratified->scores->regions.count; region++) {
            table_add_row(&table, region == 0);
            put_names(&table, stratified, stratum, region);
            put_row(&table, stratified, metric, stratified_at(stratified, which, stratum, region));
        }
    }
    if (which > 0) text_add(out, "\n");
    const status_code status = table_write(&table, format, out, failure);
    table_close(&table);
    return status;
}

static void add_names(text *out, const stratified *stratified, size_t which, size_t stratum, size_t region) {
    const struct stratum *group = &stratified->strata->list[stratum];
    const struct region *labels = &stratified->scores->regions.regions[region];
    char key[REGION_KEY_BYTES];
    region_key(labels, key);
    const char *const fields[] = {metric_name(stratified->metrics[which]), group->column ? group->column : "",
                                  stratum_name(group), labels->name, key};
    for (int k = 0; k < 5; k++) {
        if (k) text_add(out, ",");
        csv_add_field(out, fields[k]);
    }
}

static void add_row(text *out, const stratified *stratified, const statistics *row) {
    text_format(out, ",%zu,%zu", row->count, row->missing);
    const double numbers[] = {row->mean, row->ci.low, row->ci.high,     row->std,      row->median,
                              row->iqr,  row->p5,     row->p10,         row->p25,      row->p75,
                              row->p90,  row->p95,    row->worst_value, row->tolerance};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) csv_add_number(out, numbers[k]);
    text_add(out, ",");
    csv_add_field(out, row->count ? stratified->scores->list[row->worst].name : "");
    text_add(out, ",");
    if (stratified->strata->list[0].whose) text_format(out, "%zu", row->patients);
    text_add(out, "\n");
}

static status_code write_csv(const stratified *stratified, text *out, failure *failure) {
    text_add(out, "metric,column,group,label,key,cases,missing,mean,ci_low,ci_high,std,median,iqr,p5,p10,p25,p75,p90,"
                  "p95,worst,tolerance,worst_case,patients\n");
    for (size_t which = 0; which < stratified->metric_count; which++)
        for (size_t stratum = 0; stratum < stratified->strata->count; stratum++)
            for (size_t region = 0; region < stratified->scores->regions.count; region++) {
                add_names(out, stratified, which, stratum, region);
                add_row(out, stratified, stratified_at(stratified, which, stratum, region));
            }
    return out->failed ? fail_memory(failure, "a table") : STATUS_OK;
}

static void add_notes(const strata *strata, text *out) {
    const size_t needed = tolerance_cases_needed();
    if (!strata_share_patients(strata))
        text_format(
            out,
            "95%% CI: bootstrap of the mean, from %d cases on. 90%% reach: with 95%% confidence at least 90%% of "
            "such cases have\nthis score or a better one, whatever the distribution; that takes %zu cases.\n",
            STATISTICS_INTERVAL_CASES, needed);
    else
        text_format(
            out,
            "95%% CI: bootstrap of the mean, resampling %zu patients, from %d patients on. 90%% reach: with 95%% "
            "confidence at least\n90%% of such patients have this score or a better one in each of their cases, "
            "whatever the distribution;\nthat takes %zu patients.\n",
            strata->list[0].patients, STATISTICS_INTERVAL_CASES, needed);
}

status_code stratified_write(const stratified *stratified, table_format format, text *out, failure *failure) {
    if (format == TABLE_CSV) return write_csv(stratified, out, failure);
    status_code status = STATUS_OK;
    for (size_t which = 0; which < stratified->metric_count && status == STATUS_OK; which++)
        status = write_metric(stratified, which, format, out, failure);
    if (format == TABLE_TEXT) add_notes(stratified->strata, out);
    return status;
}

/* ---- every case ---- */

/* Columns of groups that are called as one of ours would make the file ambiguous, and are left out. */
static int is_shown(const case_groups *groups, size_t column) {
    const char *name = csv_name(&groups->table, column);
    return strcmp(name, "label") != 0 && strcmp(name, "key") != 0 && metric_by_name(name) == METRICS;
}

static void add_header(const scores *scores, const case_groups *groups, text *out) {
    text_add(out, "case,label,key");
    for (size_t column = 1; groups && column < groups->table.columns; column++) {
        if (!is_shown(groups, column)) continue;
        text_add(out, ",");
        csv_add_field(out, csv_name(&groups->table, column));
    }
    for (int k = 0; k < METRICS; k++)
        if (scores->measured[k]) text_format(out, ",%s", metric_name((metric)k));
    text_add(out, "\n");
}

static void add_case_names(const scores *scores, const case_groups *groups, size_t which, size_t region, text *out) {
    const long row = groups ? case_groups_find(groups, scores->list[which].name) : -1;
    char key[REGION_KEY_BYTES];
    region_key(&scores->regions.regions[region], key);
    csv_add_field(out, scores->list[which].name);
    text_add(out, ",");
    csv_add_field(out, scores->regions.regions[region].name);
    text_add(out, ",");
    csv_add_field(out, key);
    for (size_t column = 1; groups && column < groups->table.columns; column++) {
        if (!is_shown(groups, column)) continue;
        text_add(out, ",");
        if (row >= 0) csv_add_field(out, csv_cell(&groups->table, (size_t)row, column));
    }
}

status_code scores_write_csv(const scores *scores, const case_groups *groups, text *out, failure *failure) {
    add_header(scores, groups, out);
    for (size_t which = 0; which < scores->cases; which++)
        for (size_t region = 0; region < scores->regions.count; region++) {
            add_case_names(scores, groups, which, region, out);
            for (int k = 0; k < METRICS; k++)
                if (scores->measured[k]) csv_add_number(out, scores_at(scores, which, region)[k]);
            text_add(out, "\n");
        }
    return out->failed ? fail_memory(failure, "the table of cases") : STATUS_OK;
}
