#include "evaluate/summary.h"

#include "core/json_writer.h"
#include "core/whole_file.h"
#include "json/json_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

/* Python's json sorts the keys, capitals first. */
static const metric SORTED[] = {METRIC_ASSD, METRIC_DICE, METRIC_FN, METRIC_FP,     METRIC_HD95, METRIC_IOU,
                                METRIC_NSD,  METRIC_TN,   METRIC_TP, METRIC_N_PRED, METRIC_N_REF};

static void add_metrics(json_writer *json, const char *key, const scores *scores, const double values[METRICS]) {
    json_begin_object(json, key);
    for (size_t k = 0; k < sizeof SORTED / sizeof *SORTED; k++)
        if (scores->measured[SORTED[k]]) json_add_number_or_nan(json, metric_name(SORTED[k]), values[SORTED[k]]);
    json_end(json);
}

static void add_region(json_writer *json, const scores *scores, size_t region, const double values[METRICS]) {
    char key[REGION_KEY_BYTES];
    region_key(&scores->regions.regions[region], key);
    add_metrics(json, key, scores, values);
}

static void mean_over_cases(const scores *scores, size_t region, double means[METRICS]) {
    for (int metric = 0; metric < METRICS; metric++) {
        double sum = 0;
        size_t count = 0;
        for (size_t k = 0; k < scores->cases; k++) {
            const double value = scores_at(scores, k, region)[metric];
            if (isnan(value)) continue;
            sum += value;
            count++;
        }
        means[metric] = count ? sum / (double)count : (double)NAN;
    }
}

static void mean_over_regions(const scores *scores, double means[METRICS]) {
    size_t count = 0;
    for (int metric = 0; metric < METRICS; metric++) means[metric] = 0;
    for (size_t region = 0; region < scores->regions.count; region++) {
        if (scores->regions.regions[region].count == 1 && scores->regions.regions[region].labels[0] == 0) continue;
        double one[METRICS];
        mean_over_cases(scores, region, one);
        for (int metric = 0; metric < METRICS; metric++) means[metric] += one[metric];
        count++;
    }
    for (int metric = 0; metric < METRICS; metric++)
        means[metric] = count ? means[metric] / (double)count : (double)NAN;
}

static void add_means(json_writer *json, const scores *scores) {
    double means[METRICS];
    mean_over_regions(scores, means);
    json_add_string(json, "empty", empty_rule_name((int)scores->empty));
    add_metrics(json, "foreground_mean", scores, means);
    json_begin_object(json, "label_names");
    for (size_t region = 0; region < scores->regions.count; region++) {
        char key[REGION_KEY_BYTES];
        region_key(&scores->regions.regions[region], key);
        json_add_string(json, key, scores->regions.regions[region].name);
    }
    json_end(json);
    json_begin_object(json, "mean");
    for (size_t region = 0; region < scores->regions.count; region++) {
        mean_over_cases(scores, region, means);
        add_region(json, scores, region, means);
    }
    json_end(json);
}

static void add_case(json_writer *json, const scores *scores, size_t which) {
    json_begin_object(json, NULL);
    json_begin_object(json, "metrics");
    for (size_t region = 0; region < scores->regions.count; region++)
        add_region(json, scores, region, scores_at(scores, which, region));
    json_end(json);
    json_add_string(json, "prediction_file", scores->list[which].prediction);
    json_add_string(json, "reference_file", scores->list[which].reference);
    json_end(json);
}

status_code summary_write(const char *path, const scores *scores, failure *failure) {
    text out = {0};
    json_writer json = json_writer_start(&out);
    json_begin_object(&json, NULL);
    add_means(&json, scores);
    json_begin_list(&json, "metric_per_case");
    for (size_t which = 0; which < scores->cases; which++) add_case(&json, scores, which);
    json_end(&json);
    if (scores->measured[METRIC_NSD]) json_add_number(&json, "nsd_tolerance", scores->nsd_tolerance);
    json_end(&json);
    const status_code status = whole_file_write_text(path, &out, failure);
    text_close(&out);
    return status;
}

/* ---- reading ---- */

/* JSON has no NaN; null takes its place, outside strings. */
static void replace_nan(const char *bytes, size_t size, text *out) {
    int in_string = 0;
    for (size_t i = 0; i < size; i++) {
        if (in_string && bytes[i] == '\\' && i + 1 < size) {
            text_add_bytes(out, bytes + i++, 2);
            continue;
        }
        if (bytes[i] == '"') in_string = !in_string;
        if (!in_string && size - i >= 3 && memcmp(bytes + i, "NaN", 3) == 0) {
            text_add(out, "null");
            i += 2;
        } else {
            text_add_bytes(out, bytes + i, 1);
        }
    }
}

typedef struct summary_reader {
    const char *name;
    json_t *cases, *names;
    scores *scores;
    failure *failure;
} summary_reader;

static status_code corrupt(const summary_reader *reader, size_t which, const char *what) {
    return fail(reader->failure, STATUS_CORRUPT, "%s: case %zu %s", reader->name, which + 1, what);
}

static status_code read_value(const summary_reader *reader, size_t which, metric metric, const json_t *json,
                              double *value) {
    if (json_is_null(json)) return STATUS_OK; /* it stays NaN */
    if (!json_is_number(json)) return corrupt(reader, which, "has a score that is not a number");
    *value = json_number_value(json);
    if (!isfinite(*value)) return corrupt(reader, which, "has a score that is not finite");
    if (metric_is_share(metric) && !(*value >= 0 && *value <= 1))
        return corrupt(reader, which, "has a Dice, IoU or NSD that is not between 0 and 1");
    return STATUS_OK;
}

static status_code read_metrics(summary_reader *reader, size_t which, size_t region, json_t *metrics) {
    if (!json_is_object(metrics)) return corrupt(reader, which, "has metrics that are not an object");
    double *values = scores_at(reader->scores, which, region);
    for (int k = 0; k < METRICS; k++) {
        const json_t *json = json_object_get(metrics, metric_name((metric)k));
        if (!json) continue;
        reader->scores->measured[k] = 1;
        const status_code status = read_value(reader, which, (metric)k, json, &values[k]);
        if (status != STATUS_OK) return status;
    }
    return STATUS_OK;
}

static status_code read_name(summary_reader *reader, size_t which, json_t *object) {
    const char *prediction = json_string_value(json_object_get(object, "prediction_file"));
    const char *reference = json_string_value(json_object_get(object, "reference_file"));
    if (!prediction && !reference) return corrupt(reader, which, "has neither prediction_file nor reference_file");
    char name[512];
    case_name_of(prediction ? prediction : reference, name, sizeof name);
    if (scores_find(reader->scores, name) >= 0) return corrupt(reader, which, "has the name of an earlier case");
    return scores_name(reader->scores, which, name, prediction ? prediction : "", reference ? reference : "",
                       reader->failure);
}

static status_code read_case(summary_reader *reader, size_t which) {
    json_t *object = json_array_get(reader->cases, which), *metrics = json_object_get(object, "metrics"), *one;
    if (json_object_size(metrics) != reader->scores->regions.count)
        return corrupt(reader, which, "does not have the labels of the first case");
    status_code status = read_name(reader, which, object);
    const char *key;
    json_object_foreach(metrics, key, one) {
        region_list found = {0};
        if (status == STATUS_OK) status = regions_add_key(&found, key, NULL, reader->failure);
        const long region = status == STATUS_OK ? regions_find(&reader->scores->regions, &found.regions[0]) : -1;
        regions_close(&found);
        if (status == STATUS_OK && region < 0)
            status = corrupt(reader, which, "does not have the labels of the first case");
        if (status == STATUS_OK) status = read_metrics(reader, which, (size_t)region, one);
    }
    return status;
}

/* The first case tells which regions there are. */
static status_code read_regions(summary_reader *reader, region_list *regions) {
    json_t *metrics = json_object_get(json_array_get(reader->cases, 0), "metrics"), *one;
    const char *key;
    status_code status = STATUS_OK;
    json_object_foreach(metrics, key, one) {
        const char *name = json_string_value(json_object_get(reader->names, key));
        if (status == STATUS_OK) status = regions_add_key(regions, key, name, reader->failure);
    }
    if (status == STATUS_OK && regions->count == 0) status = corrupt(reader, 0, "has no metrics");
    return status;
}

static status_code read_cases(summary_reader *reader) {
    const size_t count = json_array_size(reader->cases);
    if (count == 0)
        return fail(reader->failure, STATUS_CORRUPT,
                    "%s has no metric_per_case; it is not a summary.json of nnU-Net v2 or hws evaluate", reader->name);
    region_list regions = {0};
    status_code status = read_regions(reader, &regions);
    if (status == STATUS_OK) status = scores_open(reader->scores, count, &regions, reader->failure);
    regions_close(&regions);
    for (size_t which = 0; which < count && status == STATUS_OK; which++) status = read_case(reader, which);
    return status;
}

/* Both are ours: what nnU-Net wrote has neither. */
static status_code read_rules(summary_reader *reader, json_t *root) {
    const json_t *empty = json_object_get(root, "empty"), *nsd = json_object_get(root, "nsd_tolerance");
    scores *scores = reader->scores;
    if (nsd && !(json_number_value(nsd) > 0 && isfinite(json_number_value(nsd))))
        return fail(reader->failure, STATUS_CORRUPT, "%s: nsd_tolerance is no distance", reader->name);
    scores->nsd_tolerance = nsd ? json_number_value(nsd) : 0;
    if (!empty) return STATUS_OK;
    const char *rule = json_string_value(empty);
    if (rule && empty_rule_parse(rule, &scores->empty, NULL) == STATUS_OK) return STATUS_OK;
    return fail(reader->failure, STATUS_CORRUPT, "%s: empty is neither \"nan\" nor \"1\"", reader->name);
}

status_code summary_parse(const char *name, const char *bytes, size_t size, scores *scores, failure *failure) {
    memset(scores, 0, sizeof *scores);
    text plain = {0};
    replace_nan(bytes, size, &plain);
    json_t *root;
    status_code status = plain.failed ? fail_memory(failure, "a summary")
                                      : json_parse(name, text_string(&plain), plain.size, &root, failure);
    text_close(&plain);
    if (status != STATUS_OK) return status;
    summary_reader reader = {.name = name, .scores = scores, .failure = failure};
    reader.cases = json_object_get(root, "metric_per_case");
    reader.names = json_object_get(root, "label_names");
    status = read_cases(&reader);
    if (status == STATUS_OK) status = read_rules(&reader, root);
    json_decref(root);
    return status;
}

status_code summary_read(const char *path, scores *scores, failure *failure) {
    memset(scores, 0, sizeof *scores);
    char *bytes = NULL;
    size_t size;
    status_code status = whole_file_read(path, (size_t)1 << 30, &bytes, &size, failure);
    if (status == STATUS_OK) status = summary_parse(path, bytes, size, scores, failure);
    free(bytes);
    return status;
}
