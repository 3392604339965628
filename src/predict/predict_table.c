#include "predict/predict_table.h"

#include "core/memory.h"
#include "images/table_sets.h"
#include "predict/score_table.h"
#include "run/run_folder.h"

#include <stdlib.h>
#include <string.h>

status_code predict_takes_table(const char *input, int *takes, failure *failure) {
    *takes = 0;
    return path_is_folder(input) ? STATUS_OK : table_sets_is_table(input, takes, failure);
}

static status_code read_encoding(table_encoding *e, const char *run, failure *failure) {
    char path[PATH_SIZE];
    *e = (table_encoding){0};
    if (!run_has(run, RUN_FEATURES))
        return fail(
            failure, STATUS_BAD_INPUT,
            "%.300s was trained on pictures, or by a version that did not keep how a table became numbers (%s): it "
            "cannot classify a table",
            run, run_file_name(RUN_FEATURES));
    const status_code status = run_path(path, run, RUN_FEATURES, failure);
    return status == STATUS_OK ? table_encoding_read(e, path, failure) : status;
}

/* An ensemble sees the same numbers. */
static status_code check_same(const table_encoding *first, const predict_request *r, failure *failure) {
    text own = {0};
    status_code status = STATUS_OK;
    table_encoding_write(first, &own);
    for (int k = 1; k < r->run_count && status == STATUS_OK; k++) {
        table_encoding other;
        text theirs = {0};
        status = read_encoding(&other, r->runs[k], failure);
        if (status == STATUS_OK) table_encoding_write(&other, &theirs);
        if (status == STATUS_OK && (own.failed || theirs.failed)) status = fail_memory(failure, r->runs[k]);
        if (status == STATUS_OK && strcmp(text_string(&own), text_string(&theirs)) != 0)
            status = fail(failure, STATUS_BAD_INPUT,
                          "%.300s and %.300s were trained on tables that become other numbers", r->runs[0], r->runs[k]);
        table_encoding_close(&other);
        text_close(&theirs);
    }
    text_close(&own);
    return status;
}

static status_code encode(const table_encoding *e, const csv *table, const char *path, int classes,
                          labelled_images *set, failure *failure) {
    status_code status = table_encoding_check(e, table, path, failure);
    if (status != STATUS_OK) return status;
    *set = (labelled_images){
        .count = (int64_t)table->rows, .height = 1, .width = 1, .channels = e->width, .classes = classes};
    set->values = memory_open((table->rows * (size_t)e->width + 1) * sizeof(float));
    if (!set->values) return fail_memory(failure, path);
    for (size_t row = 0; row < table->rows && status == STATUS_OK; row++)
        status = table_encoding_row(e, table, path, row, set->values + row * (size_t)e->width, failure);
    return status;
}

/* Rows are called by the column `id`, where there is one, else by their number. */
static void name_row(void *context, int64_t row, text *name) {
    const csv *table = context;
    const long id = csv_column_any_case(table, "id");
    if (id >= 0) text_add(name, csv_cell(table, (size_t)row, (size_t)id));
    else text_format(name, "%lld", (long long)row);
}

static status_code classify(const predict_request *r, class_ensemble *e, csv *table, const listener *listener,
                            failure *failure) {
    const run_facts *facts = &e->models[0].config.facts;
    table_encoding encoding;
    labelled_images set = {0};
    status_code status = read_encoding(&encoding, r->runs[0], failure);
    if (status == STATUS_OK) status = check_same(&encoding, r, failure);
    if (status == STATUS_OK) status = encode(&encoding, table, r->input, facts->class_count, &set, failure);
    if (status == STATUS_OK) table_encoding_tell_unseen(&encoding, table, listener);
    float *p = status == STATUS_OK ? malloc((table->rows * (size_t)facts->class_count + 1) * sizeof *p) : NULL;
    if (status == STATUS_OK && !p) status = fail_memory(failure, "the probabilities");
    if (status == STATUS_OK) status = class_ensemble_run(e, &set, listener, p, failure);
    const score_table scores = {
        csv_column_any_case(table, "id") >= 0 ? "id" : "row", "row", set.count, facts, p, table, name_row};
    if (status == STATUS_OK) status = score_table_write(&scores, r, failure);
    free(p);
    labelled_images_close(&set);
    table_encoding_close(&encoding);
    return status;
}

status_code predict_table(const predict_request *r, class_ensemble *e, const listener *listener, size_t *done,
                          failure *failure) {
    csv table;
    status_code status = table_sets_read(&table, r->input, failure);
    if (status != STATUS_OK) return status;
    if (!table.rows) status = fail(failure, STATUS_BAD_INPUT, "%.500s: has no rows", r->input);
    if (status == STATUS_OK) status = classify(r, e, &table, listener, failure);
    if (status == STATUS_OK) *done = table.rows;
    csv_close(&table);
    return status;
}
