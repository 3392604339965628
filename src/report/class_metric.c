#include "report/class_metric.h"

#include "core/array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const class_metric ACCURACY = {
    "test_accuracy", "test accuracy", "Test accuracy", "class", "classes", NULL, 0, 0};
static const class_metric DICE = {
    "val_dice", "patch validation Dice", "Patch validation Dice", "label", "labels", NULL, 0, 0};

static int is_known(const class_metric *metric, const char *key) {
    for (size_t k = 0; k < metric->count; k++)
        if (strcmp(metric->classes[k], key) == 0) return 1;
    return 0;
}

static int add_class(class_metric *metric, const char *key) {
    char **grown = array_grow(metric->classes, metric->count, &metric->capacity, sizeof *grown);
    char *copy = malloc(strlen(key) + 1);
    if (grown) metric->classes = grown;
    if (!grown || !copy) return free(copy), 0;
    metric->classes[metric->count++] = strcpy(copy, key);
    return 1;
}

/* Groups stand among the classes. */
static void name_groups(class_metric *metric) {
    for (size_t k = 0; k < metric->count; k++)
        if (strchr(metric->classes[k], ':')) {
            metric->class_word = "class or group";
            metric->class_words = "classes and groups";
        }
}

int class_metric_open(class_metric *metric, const runs *runs) {
    *metric = runs->count && runs->all[0].is_segmentation ? DICE : ACCURACY;
    const size_t prefix = strlen(metric->column);
    for (size_t r = 0; r < runs->count; r++) {
        const csv *history = &runs->all[r].history.data;
        for (size_t k = 0; k < history->columns; k++) {
            const char *name = csv_name(history, k);
            if (strncmp(name, metric->column, prefix) != 0 || name[prefix] != '_' || !name[prefix + 1]) continue;
            if (strlen(name) >= METRIC_COLUMN || is_known(metric, name + prefix + 1)) continue;
            if (!add_class(metric, name + prefix + 1)) return class_metric_close(metric), 0;
        }
    }
    name_groups(metric);
    return 1;
}

void class_metric_close(class_metric *metric) {
    for (size_t k = 0; k < metric->count; k++) free(metric->classes[k]);
    free(metric->classes);
    metric->classes = NULL;
    metric->count = 0;
}

void class_metric_column(const class_metric *metric, const char *class_key, char column[METRIC_COLUMN]) {
    snprintf(column, METRIC_COLUMN, "%s_%s", metric->column, class_key);
}

double class_metric_last(const class_metric *metric, const run *run, const char *class_key) {
    char column[METRIC_COLUMN];
    class_metric_column(metric, class_key, column);
    return run_last(&run->history, column);
}

const char *class_metric_worst(const class_metric *metric, const run *run, double *value) {
    const char *worst = NULL;
    for (size_t k = 0; k < metric->count; k++) {
        const double last = class_metric_last(metric, run, metric->classes[k]);
        if (!isfinite(last) || (worst && last >= *value)) continue;
        worst = metric->classes[k];
        *value = last;
    }
    return worst;
}

const char *class_metric_focus(const class_metric *metric, const runs *runs, double *kept) {
    const char *focus = NULL;
    *kept = 1;
    for (size_t k = 0; k < metric->count; k++)
        for (size_t r = 0; r < runs->count; r++) {
            const double share = run_kept(&runs->all[r], metric->classes[k]);
            if (share >= *kept) continue;
            *kept = share;
            focus = metric->classes[k];
        }
    double lowest = HUGE_VAL, value = 0;
    for (size_t r = 0; r < runs->count && *kept == 1; r++) {
        const char *worst = class_metric_worst(metric, &runs->all[r], &value);
        if (!worst || value >= lowest) continue;
        lowest = value;
        focus = worst;
    }
    return focus;
}

const char *class_metric_word(const class_metric *metric, const char *class_key) {
    return strchr(class_key, ':') ? "group" : metric->column[0] == 't' ? ACCURACY.class_word : DICE.class_word;
}

static int has_column(const class_metric *metric, const run *run, const char *class_key) {
    char column[METRIC_COLUMN];
    class_metric_column(metric, class_key, column);
    return csv_column(&run->history.data, column) >= 0;
}

const char *class_metric_class_name(const class_metric *metric, const runs *runs, const char *class_key) {
    const char *found = class_key;
    for (size_t r = 0; r < runs->count; r++) {
        if (run_has_class(&runs->all[r], class_key)) return class_key;
        if (found == class_key && has_column(metric, &runs->all[r], class_key))
            found = run_class_name(&runs->all[r], class_key);
    }
    return found;
}
