/* The comparison as CSV and JSON, for programs: numbers not rounded. */
#include "core/csv.h"
#include "core/json_writer.h"
#include "evaluate/comparison.h"

#include <math.h>

/* What both tell of a method's statistics, and of its difference to the first. */
enum { STATISTIC_COUNT = 14, DIFFERENCE_COUNT = 9 };

static const char *const STATISTICS[STATISTIC_COUNT] = {
    "mean", "ci_low", "ci_high", "std", "median", "iqr", "p5", "p10", "p25", "p75", "p90", "p95", "worst", "tolerance"};

static const char *const DIFFERENCES[DIFFERENCE_COUNT] = {
    "difference", "difference_low", "difference_high", "higher", "lower", "equal", "wilcoxon", "p", "p_holm"};

static void statistics_values(const statistics *n, double values[STATISTIC_COUNT]) {
    const double all[STATISTIC_COUNT] = {n->mean, n->ci.low, n->ci.high,     n->std,      n->median,
                                         n->iqr,  n->p5,     n->p10,         n->p25,      n->p75,
                                         n->p90,  n->p95,    n->worst_value, n->tolerance};
    for (int k = 0; k < STATISTIC_COUNT; k++) values[k] = all[k];
}

static void difference_values(const paired *d, double values[DIFFERENCE_COUNT]) {
    const double all[DIFFERENCE_COUNT] = {
        d->mean,           d->ci.low, d->ci.high, (double)d->test.better, (double)d->test.worse, (double)d->test.equal,
        d->test.statistic, d->test.p, d->holm};
    for (int k = 0; k < DIFFERENCE_COUNT; k++) values[k] = all[k];
}

static const char *worst_case(const comparison *comparison, const compared_row *row) {
    return row->numbers.count ? comparison->methods.scores[0].list[row->numbers.worst].name : "";
}

/* ---- CSV ---- */

static void add_csv_row(text *out, const comparison *comparison, size_t stratum, size_t region, size_t method) {
    const compared_row *row = comparison_at(comparison, stratum, region, method);
    const struct stratum *group = &comparison->strata->list[stratum];
    const struct region *labels = &comparison->methods.scores[0].regions.regions[region];
    char key[REGION_KEY_BYTES];
    double numbers[STATISTIC_COUNT], differences[DIFFERENCE_COUNT];
    region_key(labels, key);
    const char *const fields[] = {
        metric_name(comparison->metric),  group->column ? group->column : "", stratum_name(group), labels->name, key,
        comparison->methods.names[method]};
    for (int k = 0; k < 6; k++) {
        if (k) text_add(out, ",");
        csv_add_field(out, fields[k]);
    }
    text_format(out, ",%zu,%zu,%zu", row->numbers.count, row->numbers.missing, row->rightly_empty);
    statistics_values(&row->numbers, numbers);
    difference_values(&row->difference, differences);
    for (int k = 0; k < STATISTIC_COUNT; k++) csv_add_number(out, numbers[k]);
    text_add(out, ",");
    csv_add_field(out, worst_case(comparison, row));
    for (int k = 0; k < DIFFERENCE_COUNT; k++) {
        if (method) csv_add_number(out, differences[k]);
        else text_add(out, ",");
    }
    text_add(out, ",");
    if (group->whose) text_format(out, "%zu", row->numbers.patients);
    text_add(out, "\n");
}

status_code comparison_write_csv(const comparison *comparison, text *out, failure *failure) {
    text_add(out, "metric,column,group,label,key,method,cases,missing,rightly_empty");
    for (int k = 0; k < STATISTIC_COUNT; k++) text_format(out, ",%s", STATISTICS[k]);
    text_add(out, ",worst_case");
    for (int k = 0; k < DIFFERENCE_COUNT; k++) text_format(out, ",%s", DIFFERENCES[k]);
    text_add(out, ",patients\n");
    for (size_t stratum = 0; stratum < comparison->strata->count; stratum++)
        for (size_t region = 0; region < comparison_regions(comparison); region++)
            for (size_t method = 0; method < comparison->methods.count; method++)
                add_csv_row(out, comparison, stratum, region, method);
    return out->failed ? fail_memory(failure, "a comparison") : STATUS_OK;
}

/* ---- JSON ---- */

static void add_json_method(json_writer *json, const comparison *comparison, const compared_row *row, size_t method) {
    double numbers[STATISTIC_COUNT], differences[DIFFERENCE_COUNT];
    statistics_values(&row->numbers, numbers);
    difference_values(&row->difference, differences);
    json_begin_object(json, NULL);
    json_add_string(json, "method", comparison->methods.names[method]);
    json_add_integer(json, "rightly_empty", (long long)row->rightly_empty);
    for (int k = 0; k < STATISTIC_COUNT; k++) json_add_number(json, STATISTICS[k], numbers[k]);
    json_add_string(json, "worst_case", row->numbers.count ? worst_case(comparison, row) : NULL);
    for (int k = 0; k < DIFFERENCE_COUNT; k++)
        json_add_number(json, DIFFERENCES[k], method ? differences[k] : (double)NAN);
    json_end(json);
}

static void add_json_row(json_writer *json, const comparison *comparison, size_t stratum, size_t region) {
    const struct stratum *group = &comparison->strata->list[stratum];
    const struct region *labels = &comparison->methods.scores[0].regions.regions[region];
    const compared_row *first = comparison_at(comparison, stratum, region, 0);
    char key[REGION_KEY_BYTES];
    region_key(labels, key);
    json_begin_object(json, NULL);
    json_add_string(json, "column", group->column);
    json_add_string(json, "group", stratum_name(group));
    json_add_string(json, "label", labels->name);
    json_add_string(json, "key", key);
    json_add_integer(json, "cases", (long long)first->numbers.count);
    json_add_integer(json, "missing", (long long)first->numbers.missing);
    json_add_number(json, "patients", group->whose ? (double)first->numbers.patients : (double)NAN);
    json_begin_list(json, "methods");
    for (size_t m = 0; m < comparison->methods.count; m++) add_json_method(json, comparison, first + m, m);
    json_end(json);
    json_end(json);
}

status_code comparison_write_json(const comparison *comparison, text *out, failure *failure) {
    json_writer json = json_writer_start(out);
    json_begin_object(&json, NULL);
    json_add_string(&json, "metric", metric_name(comparison->metric));
    json_add_string(&json, "unit", metric_is_share(comparison->metric) ? "share" : metric_unit(comparison->metric));
    json_add_bool(&json, "lower_is_better", metric_lower_is_better(comparison->metric));
    json_begin_list(&json, "methods");
    for (size_t m = 0; m < comparison->methods.count; m++) json_add_string(&json, NULL, comparison->methods.names[m]);
    json_end(&json);
    json_add_integer(&json, "cases", (long long)comparison->strata->list[0].count);
    json_begin_list(&json, "rows");
    for (size_t stratum = 0; stratum < comparison->strata->count; stratum++)
        for (size_t region = 0; region < comparison_regions(comparison); region++)
            add_json_row(&json, comparison, stratum, region);
    json_end(&json);
    json_end(&json);
    return out->failed ? fail_memory(failure, "a comparison") : STATUS_OK;
}
