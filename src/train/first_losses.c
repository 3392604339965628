/* Algorithm 1's L_init: the losses of another run, by the examples' names. */
#include "core/csv.h"
#include "core/path.h"
#include "run/run_folder.h"
#include "train/sampler_status.h"
#include "train/trainer_inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct named_loss {
    const char *name;
    float loss; /* NaN: the run had none */
    int found;  /* in the data */
} named_loss;

typedef struct loss_table {
    csv csv;
    named_loss *losses; /* by name */
    size_t count;
} loss_table;

static int by_name(const void *a, const void *b) {
    return strcmp(((const named_loss *)a)->name, ((const named_loss *)b)->name);
}

static void table_close(loss_table *table) {
    free(table->losses);
    csv_close(&table->csv);
}

/* An empty field is an example without a loss; what is no number is refused. */
static status_code take_row(loss_table *table, const char *path, size_t row, const long columns[2], failure *failure) {
    double loss = (double)NAN;
    const char *field = csv_cell(&table->csv, row, (size_t)columns[1]);
    const status_code status =
        *field ? csv_require_number(&table->csv, path, row, (size_t)columns[1], &loss, failure) : STATUS_OK;
    if (status == STATUS_OK && *field && !isfinite((float)loss))
        return fail(failure, STATUS_BAD_INPUT, "%s: the loss %.40s is too large", path, field);
    table->losses[table->count++] =
        (named_loss){.name = csv_cell(&table->csv, row, (size_t)columns[0]), .loss = (float)loss};
    return status;
}

static status_code sort_table(loss_table *table, const char *path, failure *failure) {
    qsort(table->losses, table->count, sizeof *table->losses, by_name);
    for (size_t k = 1; k < table->count; k++)
        if (by_name(&table->losses[k - 1], &table->losses[k]) == 0)
            return fail(failure, STATUS_BAD_INPUT, "%s: the example '%.200s' stands there twice", path,
                        table->losses[k].name);
    return STATUS_OK;
}

static status_code table_read(loss_table *table, const char *path, failure *failure) {
    status_code status = csv_read(&table->csv, path, CSV_STRICT, failure);
    if (status != STATUS_OK) return status;
    const long columns[2] = {csv_column(&table->csv, "example"), csv_column(&table->csv, "stale_loss")};
    if (columns[0] < 0 || columns[1] < 0)
        return fail(failure, STATUS_BAD_INPUT, "%s: has no columns 'example' and 'stale_loss': is it a losses.csv?",
                    path);
    table->losses = calloc(table->csv.rows + 1, sizeof *table->losses);
    if (!table->losses) return fail_memory(failure, "the first losses");
    for (size_t row = 0; row < table->csv.rows && status == STATUS_OK; row++)
        status = take_row(table, path, row, columns, failure);
    return status == STATUS_OK ? sort_table(table, path, failure) : status;
}

/* What does not fit, on either side. */
typedef struct mismatch {
    int64_t missing;  /* examples without a loss there */
    text first;       /* the first of them */
    size_t unknown;   /* names there that no example has */
    const char *name; /* one of them */
} mismatch;

/* The loss of each example into trainer->all. */
static status_code match(trainer *t, loss_table *table, mismatch *mismatch, failure *failure) {
    int out_of_memory = 0;
    for (int64_t i = 0; i < t->task->examples; i++) {
        text name = {0};
        t->task->name(t->task->context, i, &name);
        const named_loss key = {.name = text_string(&name)};
        named_loss *found = bsearch(&key, table->losses, table->count, sizeof key, by_name);
        if (found) found->found = 1;
        t->all[i] = found ? found->loss : NAN;
        if (isnan(t->all[i]) && !mismatch->missing++) text_add(&mismatch->first, text_string(&name));
        out_of_memory |= name.failed;
        text_close(&name);
    }
    for (size_t k = 0; k < table->count; k++)
        if (!table->losses[k].found && !mismatch->unknown++) mismatch->name = table->losses[k].name;
    return out_of_memory ? fail_memory(failure, "the first losses") : STATUS_OK;
}

static void tell(trainer *t, const char *path, const mismatch *m) {
    text notice = {0};
    if (!m->missing && !m->unknown) return;
    text_format(&notice, "%.300s:", path);
    if (m->missing)
        text_format(&notice, " %lld of %lld examples have no loss there, such as %.100s, and are drawn first%s",
                    (long long)m->missing, (long long)t->task->examples, text_string(&m->first), m->unknown ? ";" : "");
    if (m->unknown)
        text_format(&notice, " %zu of its examples are none of this data, such as %.100s", m->unknown, m->name);
    trainer_notice(t, "%s", text_string(&notice));
    text_close(&notice);
}

static status_code take(trainer *t, loss_table *table, const char *path, failure *failure) {
    mismatch mismatch = {0};
    status_code status = match(t, table, &mismatch, failure);
    if (status == STATUS_OK && mismatch.missing == t->task->examples)
        status = fail(failure, STATUS_BAD_INPUT,
                      "%s: has no loss of any example of this data; the first one is called %.200s", path,
                      text_string(&mismatch.first));
    if (status == STATUS_OK)
        status = sampler_status(hws_sampler_error(t->history),
                                hws_sampler_set_losses(t->history, 0, t->task->examples, t->all), path, failure);
    if (status == STATUS_OK) tell(t, path, &mismatch);
    text_close(&mismatch.first);
    return status;
}

status_code trainer_take_losses(trainer *t, const char *path, failure *failure) {
    char inside[PATH_SIZE];
    loss_table table = {0};
    status_code status = STATUS_OK;
    if (path_is_folder(path)) {
        status = run_path(inside, path, RUN_LOSSES, failure);
        path = inside;
    }
    if (status == STATUS_OK) status = table_read(&table, path, failure);
    if (status == STATUS_OK) status = take(t, &table, path, failure);
    table_close(&table);
    return status;
}
