#define _POSIX_C_SOURCE 200809L
#include "evaluate/classified.h"

#include "core/natural_order.h"
#include "core/patient_column.h"
#include "images/labelled_images.h"
#include "run/run_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLE, LABEL, PREDICTION, LOSS, FIRST_CLASS };
static const char *const NAMES[FIRST_CLASS] = {"example", "label", "prediction", "loss"};

static int find_file(const char *name, char path[PATH_SIZE]) {
    if (path_is_folder(name)) return run_path(path, name, RUN_EXAMPLES, NULL) == STATUS_OK && path_exists(path);
    return strcmp(path_name(name), run_file_name(RUN_EXAMPLES)) == 0 && path_exists(name) &&
           path_format(path, NULL, "%s", name) == STATUS_OK;
}

int classified_is_there(const char *name) {
    char path[PATH_SIZE];
    return find_file(name, path);
}

/* Adds the cells of a column to the sums of their rows: whether they are probabilities that sum to at most 1 with those
   of the classes before, but for rounding. */
static int completes_rows(const csv *t, size_t column, double *sums) {
    for (size_t row = 0; row < t->rows; row++) {
        const double p = csv_number(t, row, column);
        sums[row] += p;
        if (!(p >= 0 && sums[row] <= 1.001)) return 0;
    }
    return 1;
}

/* The end of the columns that complete the rows, from `end` on. */
static size_t end_of_completing(const csv *t, size_t end, size_t candidates, double *sums) {
    for (size_t row = 0; row < t->rows; row++)
        for (size_t k = FIRST_CLASS; k < end; k++) sums[row] += csv_number(t, row, k);
    while (end < candidates && completes_rows(t, end, sums)) end++;
    return end;
}

/* A column of groups may be called p_SOMETHING, too, and a class may have no example. So classes are what occurs as a
   label or a prediction and the columns before it, then those with which no row sums to more than 1. */
static status_code find_classes(const csv *t, size_t *end_of_classes, failure *failure) {
    size_t candidates = FIRST_CLASS, end = FIRST_CLASS;
    while (candidates < t->columns && strncmp(csv_name(t, candidates), "p_", 2) == 0) candidates++;
    for (size_t row = 0; row < t->rows; row++)
        for (size_t k = end; k < candidates; k++)
            if (strcmp(csv_name(t, k) + 2, csv_cell(t, row, LABEL)) == 0 ||
                strcmp(csv_name(t, k) + 2, csv_cell(t, row, PREDICTION)) == 0)
                end = k + 1;
    *end_of_classes = end;
    if (end == candidates) return STATUS_OK;
    double *sums = calloc(t->rows + 1, sizeof *sums);
    if (!sums) return fail_memory(failure, "the probabilities");
    *end_of_classes = end_of_completing(t, end, candidates, sums);
    free(sums);
    return STATUS_OK;
}

static status_code check_columns(classified *c, failure *failure) {
    const csv *t = &c->table;
    for (size_t k = 0; k < FIRST_CLASS; k++)
        if (k >= t->columns || strcmp(csv_name(t, k), NAMES[k]) != 0)
            return fail(failure, STATUS_CORRUPT,
                        "%s: column %zu is not %s; hws evaluate RUN --out DIR writes such files", c->path, k + 1,
                        NAMES[k]);
    const status_code status = find_classes(t, &c->first_group_column, failure);
    if (status != STATUS_OK) return status;
    c->classes = (int)(c->first_group_column - FIRST_CLASS);
    c->count = (int64_t)t->rows;
    if (c->classes >= 1 && c->classes <= LABELLED_IMAGES_CLASSES_MAX && c->count) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT,
                "%s: has %d columns of probabilities (p_CLASS) and %lld examples; it needs some", c->path, c->classes,
                (long long)c->count);
}

static int class_of(const classified *c, const char *name) {
    for (int k = 0; k < c->classes; k++)
        if (strcmp(classified_class(c, k), name) == 0) return k;
    return -1;
}

static status_code read_row(classified *c, size_t row, failure *failure) {
    const char *label = csv_cell(&c->table, row, LABEL);
    const int found = class_of(c, label);
    if (found < 0)
        return fail(failure, STATUS_CORRUPT, "%s: line %zu: the label '%.100s' is no class", c->path,
                    c->table.lines[row + 1], label);
    c->labels[row] = (uint8_t)found;
    c->losses[row] = csv_number(&c->table, row, LOSS);
    for (int k = 0; k < c->classes; k++) {
        double p = (double)NAN;
        const size_t column = FIRST_CLASS + (size_t)k;
        const status_code status = csv_require_number(&c->table, c->path, row, column, &p, failure);
        if (status != STATUS_OK) return status;
        if (p < 0 || p > 1)
            return fail(failure, STATUS_CORRUPT, "%s: line %zu: %s is %g, no probability", c->path,
                        c->table.lines[row + 1], csv_name(&c->table, column), p);
        c->probabilities[row * (size_t)c->classes + (size_t)k] = (float)p;
    }
    return STATUS_OK;
}

status_code classified_open(classified *c, const char *name, failure *failure) {
    memset(c, 0, sizeof *c);
    if (!path_exists(name)) return fail(failure, STATUS_CANNOT_READ, "there is no %.500s", name);
    if (!find_file(name, c->path))
        return fail(failure, STATUS_CANNOT_READ, "%.500s has no %s: %s", name, run_file_name(RUN_EXAMPLES),
                    run_exists(name) ? "evaluate the run first, with hws evaluate"
                                     : "it is neither an evaluation nor a run that was evaluated");
    status_code status = csv_read(&c->table, c->path, CSV_STRICT, failure);
    if (status == STATUS_OK) status = check_columns(c, failure);
    if (status != STATUS_OK) return status;
    const size_t rows = c->table.rows;
    c->labels = malloc(rows);
    c->losses = malloc(rows * sizeof *c->losses);
    c->probabilities = malloc(rows * (size_t)c->classes * sizeof *c->probabilities);
    if (!c->labels || !c->losses || !c->probabilities) return fail_memory(failure, "an evaluation");
    for (size_t row = 0; row < rows && status == STATUS_OK; row++) status = read_row(c, row, failure);
    return status;
}

void classified_close(classified *c) {
    csv_close(&c->table);
    free(c->labels);
    free(c->losses);
    free(c->probabilities);
    *c = (classified){0};
}

const char *classified_example(const classified *c, int64_t example) {
    return csv_cell(&c->table, (size_t)example, EXAMPLE);
}

const char *classified_class(const classified *c, int class_label) {
    return csv_name(&c->table, FIRST_CLASS + (size_t)class_label) + 2;
}

class_predictions classified_predictions(const classified *c) {
    return (class_predictions){
        .count = c->count, .classes = c->classes, .labels = c->labels, .probabilities = c->probabilities};
}

/* ---- columns of the data ----------------------------------------------------------------------------------------- */

static const char *without_data(const char *name) {
    const size_t length = strlen(CLASSIFIED_DATA);
    while (strncmp(name, CLASSIFIED_DATA, length) == 0) name += length;
    return name;
}

int classified_is_renamed(const char *column, char *const *class_names, int classes) {
    const char *name = without_data(column);
    for (int k = 0; k < FIRST_CLASS; k++)
        if (strcmp(name, NAMES[k]) == 0) return 1;
    for (int k = 0; k < classes && strncmp(name, "p_", 2) == 0; k++) {
        char number[16];
        snprintf(number, sizeof number, "%d", k);
        if (strcmp(name + 2, class_names ? class_names[k] : number) == 0) return 1;
    }
    return 0;
}

const char *classified_group_name(const classified *c, size_t column) {
    const char *name = csv_name(&c->table, column), *bare = without_data(name);
    const long own = csv_column(&c->table, bare);
    const int renamed = bare != name && own >= 0 && own < (long)c->first_group_column;
    return renamed ? name + strlen(CLASSIFIED_DATA) : name;
}

long classified_group_column(const classified *c, const char *name) {
    for (size_t k = c->first_group_column; k < c->table.columns; k++)
        if (strcmp(classified_group_name(c, k), name) == 0) return (long)k;
    return -1;
}

static const char *name_of_group(const void *classified, size_t k) {
    const struct classified *c = classified;
    return classified_group_name(c, c->first_group_column + k);
}

long classified_patient_column(const classified *c) {
    const long found = patient_column(c, c->table.columns - c->first_group_column, name_of_group);
    return found < 0 ? -1 : found + (long)c->first_group_column;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

status_code classified_choose(classified *c, const int64_t *from, int64_t count, failure *failure) {
    const size_t columns = c->table.columns, classes = (size_t)c->classes, n = (size_t)count;
    char **cells = malloc((n + 1) * columns * sizeof *cells);
    uint8_t *labels = malloc(n + 1);
    double *losses = malloc((n + 1) * sizeof *losses);
    float *probabilities = malloc((n + 1) * classes * sizeof *probabilities);
    if (!cells || !labels || !losses || !probabilities) {
        free(cells), free(labels), free(losses), free(probabilities);
        return fail_memory(failure, "an evaluation");
    }
    memcpy(cells, c->table.cells, columns * sizeof *cells);
    for (size_t k = 0; k < n; k++) {
        const size_t old = (size_t)from[k];
        memcpy(cells + (k + 1) * columns, c->table.cells + (old + 1) * columns, columns * sizeof *cells);
        memcpy(probabilities + k * classes, c->probabilities + old * classes, classes * sizeof *probabilities);
        labels[k] = c->labels[old];
        losses[k] = c->losses[old];
    }
    free(c->table.cells), free(c->labels), free(c->losses), free(c->probabilities);
    c->table.cells = cells, c->labels = labels, c->losses = losses, c->probabilities = probabilities;
    c->table.rows = n;
    c->count = count;
    return STATUS_OK;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b) {
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    const int order = natural_compare(x, y);
    return order ? order : strcmp(x, y);
}

status_code classified_groups_of(const classified *c, size_t column, classified_groups *g, failure *failure) {
    *g = (classified_groups){.values = malloc((size_t)c->count * sizeof *g->values),
                             .of = malloc((size_t)c->count * sizeof *g->of)};
    if (!g->values || !g->of) return fail_memory(failure, "groups");
    size_t count = 0;
    for (size_t row = 0; row < c->table.rows; row++)
        if (*csv_cell(&c->table, row, column)) g->values[count++] = csv_cell(&c->table, row, column);
    qsort(g->values, count, sizeof *g->values, by_name);
    for (size_t k = 0; k < count; k++)
        if (!g->count || strcmp(g->values[g->count - 1], g->values[k]) != 0) g->values[g->count++] = g->values[k];
    for (size_t row = 0; row < c->table.rows; row++) {
        const char *value = csv_cell(&c->table, row, column);
        const char **at =
            *value ? bsearch(&value, g->values, (size_t)g->count, sizeof *g->values, by_name) : (const char **)NULL;
        g->of[row] = at ? (int)(at - g->values) : -1;
    }
    return STATUS_OK;
}

void classified_groups_close(classified_groups *g) {
    free(g->values);
    free(g->of);
    *g = (classified_groups){0};
}
