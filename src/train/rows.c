#include "train/rows.h"

#include "core/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const FIRST[] = {"epoch",       "iteration", "lr",    "train_loss_mean", "train_loss_std",
                                    "robust_loss", "ess",       "p_max", "clip_rate"};
static const char *const LAST[] = {"beta", "grad_norm"};
static const char *const LATER[] = {"cvar_5",      "loss_p95",       "loss_p95_bound",  "unseen",
                                    "weight_mean", "stale_distance", "group_weight_max"};
static const char *const QUANTILES[] = {"l0", "l5", "l25", "l50", "l75", "l95", "l100",
                                        "p0", "p5", "p25", "p50", "p75", "p95", "p100"};

size_t rows_later(int metrics) { return (size_t)ROW_FIRST + (size_t)metrics + ROW_LAST + ROW_QUANTILES; }
size_t rows_width(int metrics) { return rows_later(metrics) + ROW_LATER; }

status_code rows_open(rows *r, int metrics, failure *failure) {
    *r = (rows){.metrics = metrics, .capacity = 16};
    r->values = malloc(r->capacity * rows_width(metrics) * sizeof *r->values);
    r->seconds = malloc(r->capacity * sizeof *r->seconds);
    return r->values && r->seconds ? STATUS_OK : fail_memory(failure, "the history");
}

void rows_close(rows *r) {
    free(r->values);
    free(r->seconds);
    *r = (rows){0};
}

static int grow(rows *r) {
    if (r->count < r->capacity) return 1;
    double *values = realloc(r->values, 2 * r->capacity * rows_width(r->metrics) * sizeof *values);
    if (values) r->values = values;
    double *seconds = realloc(r->seconds, 2 * r->capacity * sizeof *seconds);
    if (seconds) r->seconds = seconds;
    if (!values || !seconds) return 0;
    r->capacity *= 2;
    return 1;
}

double *rows_at(const rows *r, size_t index) { return r->values + index * rows_width(r->metrics); }

double *rows_add(rows *r, double seconds) {
    if (!grow(r)) return 0;
    r->seconds[r->count] = seconds;
    double *row = rows_at(r, r->count++);
    for (size_t k = 0; k < rows_width(r->metrics); k++) row[k] = (double)NAN;
    return row;
}

/* Nothing for what is not known. */
static void add_number(text *csv, double value) {
    if (isfinite(value)) text_format(csv, ",%.9g", value);
    else text_add(csv, ",");
}

void rows_history(const rows *r, const task *task, text *csv) {
    text_format(csv, "%s,%s,seconds", FIRST[ROW_EPOCH], FIRST[ROW_ITERATION]);
    for (int k = ROW_LR; k < ROW_FIRST; k++) text_format(csv, ",%s", FIRST[k]);
    for (int k = 0; k < r->metrics; k++) {
        text name = {0};
        task->metric(task->context, k, &name);
        text_add(csv, ",");
        csv_add_text(csv, &name);
    }
    for (int k = 0; k < ROW_LAST; k++) text_format(csv, ",%s", LAST[k]);
    for (int k = 0; k < ROW_LATER; k++) text_format(csv, ",%s", LATER[k]);
    text_add(csv, "\n");
    for (size_t i = 0; i < r->count; i++) {
        const double *row = rows_at(r, i);
        text_format(csv, "%.9g,%.0f", row[ROW_EPOCH], row[ROW_ITERATION]);
        if (isfinite(r->seconds[i])) text_format(csv, ",%.3f", r->seconds[i]);
        else text_add(csv, ",");
        for (int k = ROW_LR; k < ROW_FIRST + r->metrics + ROW_LAST; k++) add_number(csv, row[k]);
        for (int k = 0; k < ROW_LATER; k++) add_number(csv, row[rows_later(r->metrics) + (size_t)k]);
        text_add(csv, "\n");
    }
}

void rows_distribution(const rows *r, text *csv) {
    text_add(csv, "epoch");
    for (int k = 0; k < ROW_QUANTILES; k++) text_format(csv, ",%s", QUANTILES[k]);
    text_add(csv, "\n");
    for (size_t i = 0; i < r->count; i++) {
        const double *row = rows_at(r, i);
        text_format(csv, "%.9g", row[ROW_EPOCH]);
        for (int k = 0; k < ROW_QUANTILES; k++) add_number(csv, row[ROW_FIRST + r->metrics + ROW_LAST + k]);
        text_add(csv, "\n");
    }
}

void rows_take_seconds(rows *r, const char *path) {
    csv table;
    if (csv_read(&table, path, CSV_LEAVE_OUT_SHORT_ROWS, 0) != STATUS_OK) return;
    const long iteration = csv_column(&table, "iteration"), seconds = csv_column(&table, "seconds");
    for (size_t i = 0; i < r->count && iteration >= 0 && seconds >= 0; i++)
        for (size_t row = 0; row < table.rows; row++)
            if (csv_number(&table, row, (size_t)iteration) == rows_at(r, i)[ROW_ITERATION])
                r->seconds[i] = csv_number(&table, row, (size_t)seconds);
    csv_close(&table);
}
