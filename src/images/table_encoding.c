#define _POSIX_C_SOURCE 200809L
#include "images/table_encoding.h"

#include "images/example_column.h"
#include "images/labelled_images.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void table_encoding_close(table_encoding *e) {
    for (int k = 0; k < e->count; k++) {
        words_free(e->features[k].values, (size_t)e->features[k].words);
        free(e->features[k].name);
    }
    free(e->features);
    *e = (table_encoding){0};
}

int table_cell_is_missing(const char *cell) {
    static const char *const WORDS[] = {"", "?", "NA", "nan", "NaN", "NULL", "null"};
    for (size_t k = 0; k < sizeof WORDS / sizeof *WORDS; k++)
        if (strcmp(cell, WORDS[k]) == 0) return 1;
    return 0;
}

status_code table_encoding_check(const table_encoding *e, const csv *table, const char *path, failure *failure) {
    const char *separator = csv_other_separator(table);
    for (int k = 0; k < e->count; k++)
        if (csv_column(table, e->features[k].name) < 0)
            return fail(failure, STATUS_BAD_INPUT,
                        "%.500s: lacks the column '%.100s' that the network was trained on%s%s%s", path,
                        e->features[k].name, separator ? ": is the file separated by " : "", separator ? separator : "",
                        separator ? "? Commas are wanted" : "");
    return STATUS_OK;
}

/* The number of a word, or -1: training did not see it. Spaces around words that earlier versions kept do not count. */
static int table_feature_find(const table_feature *f, const char *word) {
    for (int k = 0; k < f->words; k++)
        if (strcmp(word, f->values[k]) == 0) return k;
    for (int k = 0; *word && k < f->words; k++)
        if (word_is_in_spaces(word, f->values[k])) return k;
    return -1;
}

static float *encode_cell(const csv *table, size_t row, size_t column, const table_feature *f, float *to) {
    const char *cell = csv_cell(table, row, column);
    if (!f->words) {
        const double value = table_cell_is_missing(cell) ? (double)NAN : csv_number(table, row, column);
        *to = isfinite(value) ? (float)((value - f->mean) / f->std) : 0;
        return to + 1;
    }
    const int found = table_feature_find(f, cell);
    for (int k = 0; k < f->words; k++) to[k] = k == found;
    return to + f->words;
}

/* Such a cell is not missing: if the mean stood in for it, nobody would notice. */
static int is_no_number(const csv *table, size_t row, size_t column, const table_feature *f) {
    return !f->words && !table_cell_is_missing(csv_cell(table, row, column)) &&
           !isfinite(csv_number(table, row, column));
}

status_code table_encoding_row(const table_encoding *e, const csv *table, const char *path, size_t row, float *to,
                               failure *failure) {
    size_t column = 0;
    for (int k = 0; k < e->count; k++) {
        const table_feature *f = &e->features[k];
        column = (size_t)csv_column_from(table, f->name, column); /* most often the next one */
        if (is_no_number(table, row, column, f))
            return fail(
                failure, STATUS_BAD_INPUT,
                "%.500s, line %zu: %.100s is '%.100s', but was a number in the rows that were trained on; where one is "
                "missing, leave the cell empty or write ? or NA",
                path, table->lines[row + 1], f->name, csv_cell(table, row, column));
        to = encode_cell(table, row, column, f, to);
        if (!isfinite(to[-1]))
            return fail(failure, STATUS_BAD_INPUT,
                        "%.500s, line %zu: %.100s is %.100s, too far from the mean %g of the rows that were trained on",
                        path, table->lines[row + 1], f->name, csv_cell(table, row, column), f->mean);
    }
    return STATUS_OK;
}

/* ---- words that training did not see ----------------------------------------------------------------------------- */

static size_t count_unseen(const table_feature *f, const csv *table, size_t column, size_t *first) {
    size_t count = 0;
    for (size_t row = 0; row < table->rows; row++) {
        const char *cell = csv_cell(table, row, column);
        if (table_cell_is_missing(cell) || table_feature_find(f, cell) >= 0) continue;
        if (!count++) *first = row;
    }
    return count;
}

void table_encoding_tell_unseen(const table_encoding *e, const csv *table, const listener *listener) {
    enum { COLUMNS_TOLD = 5 };
    char notice[512];
    size_t column = 0, columns = 0, first = 0;
    for (int k = 0; k < e->count; k++) {
        const table_feature *f = &e->features[k];
        column = (size_t)csv_column_from(table, f->name, column);
        const size_t rows = f->words ? count_unseen(f, table, column, &first) : 0;
        if (!rows || ++columns > COLUMNS_TOLD) continue;
        snprintf(notice, sizeof notice,
                 "%zu of %zu rows have a '%.100s' that was not trained on, such as '%.100s' (line %zu)", rows,
                 table->rows, f->name, csv_cell(table, first, column), table->lines[first + 1]);
        listener_notice(listener, notice);
    }
    if (columns <= COLUMNS_TOLD) return;
    snprintf(notice, sizeof notice, "%zu more columns have such words", columns - COLUMNS_TOLD);
    listener_notice(listener, notice);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

void table_encoding_write(const table_encoding *e, text *out) {
    text_add(out, "column,word,mean,std\n");
    for (int k = 0; k < e->count; k++) {
        const table_feature *f = &e->features[k];
        for (int w = 0; w < (f->words ? f->words : 1); w++) {
            csv_add_field(out, f->name);
            text_add(out, ",");
            if (f->words) csv_add_field(out, f->values[w]);
            if (f->words) text_add(out, ",,\n");
            else text_format(out, ",%.17g,%.17g\n", f->mean, f->std);
        }
    }
}

static status_code add_word(table_feature *f, const char *word, failure *failure) {
    char **grown = realloc(f->values, ((size_t)f->words + 1) * sizeof *grown);
    if (grown) f->values = grown;
    char *copy = grown ? strdup(word) : NULL;
    if (!copy) return fail_memory(failure, "the words of a table");
    f->values[f->words++] = copy;
    return STATUS_OK;
}

static status_code read_row(table_encoding *e, const csv *table, const char *path, size_t row, failure *failure) {
    const char *name = csv_cell(table, row, 0), *word = csv_cell(table, row, 1);
    const int again = e->count && strcmp(e->features[e->count - 1].name, name) == 0;
    table_feature *f = &e->features[e->count - again];
    if (again && (!*word || !f->words))
        return fail(failure, STATUS_CORRUPT, "%s: line %zu: the column '%.100s' is there twice", path,
                    table->lines[row + 1], name);
    if (!again) {
        *f = (table_feature){.name = strdup(name)};
        if (!f->name) return fail_memory(failure, path);
        e->count++;
    }
    e->width++;
    if (*word) return add_word(f, word, failure);
    status_code status = csv_require_number(table, path, row, 2, &f->mean, failure);
    if (status == STATUS_OK) status = csv_require_number(table, path, row, 3, &f->std, failure);
    if (status != STATUS_OK || f->std > 0) return status;
    return fail(failure, STATUS_CORRUPT, "%s: line %zu: a standard deviation of %g", path, table->lines[row + 1],
                f->std);
}

static status_code read_table(table_encoding *e, const csv *table, const char *path, failure *failure) {
    static const char *const COLUMNS[] = {"column", "word", "mean", "std"};
    status_code status = STATUS_OK;
    for (size_t k = 0; k < 4; k++)
        if (table->columns != 4 || strcmp(csv_name(table, k), COLUMNS[k]) != 0)
            return fail(failure, STATUS_CORRUPT, "%s: its columns are not column, word, mean and std", path);
    if (!table->rows || table->rows > LABELLED_IMAGES_CHANNELS_MAX)
        return fail(failure, STATUS_CORRUPT, "%s: tells of %zu numbers; 1 to %d are possible", path, table->rows,
                    LABELLED_IMAGES_CHANNELS_MAX);
    e->features = calloc(table->rows, sizeof *e->features);
    if (!e->features) return fail_memory(failure, path);
    for (size_t row = 0; row < table->rows && status == STATUS_OK; row++)
        status = read_row(e, table, path, row, failure);
    return status;
}

status_code table_encoding_read(table_encoding *e, const char *path, failure *failure) {
    csv table;
    *e = (table_encoding){0};
    status_code status = csv_read(&table, path, CSV_STRICT, failure);
    if (status != STATUS_OK) return status;
    status = read_table(e, &table, path, failure);
    csv_close(&table);
    return status;
}
