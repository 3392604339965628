#define _POSIX_C_SOURCE 200809L
#include "images/table_sets.h"

#include "core/csv.h"
#include "core/memory.h"
#include "core/path.h"
#include "images/picture_sets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

status_code table_sets_is_table(const char *path, int *is, failure *failure) {
    csv table;
    const int called_csv = path_ends_with(path, ".csv");
    const status_code status = csv_read(&table, path, CSV_STRICT, called_csv ? failure : NULL);
    *is = status == STATUS_OK && example_list_file_column(&table) < 0;
    csv_close(&table);
    return called_csv ? status : STATUS_OK;
}

status_code table_sets_read(csv *table, const char *path, failure *failure) {
    const status_code status = csv_read(table, path, CSV_STRICT, failure);
    if (status == STATUS_OK) csv_trim(table);
    return status;
}

/* ---- from the training rows -------------------------------------------------------------------------------------- */

typedef struct learning {
    const csv *table;
    const example_list *list;
    const char *path;
    long special[4]; /* columns that are no features; -1: there is none */
    const listener *listener;
} learning;

static learning learning_of(const csv *table, const example_list *list, const char *path,
                            const example_options *options, const listener *listener) {
    const example_column *patients = example_column_patients(list->columns, list->column_count);
    return (learning){.table = table,
                      .list = list,
                      .path = path,
                      .special = {example_list_label_column(table, options), csv_column_any_case(table, "split"),
                                  patients ? csv_column(table, patients->name) : -1, csv_column_any_case(table, "id")},
                      .listener = listener};
}

static int is_feature(const learning *l, size_t column) {
    for (size_t k = 0; k < sizeof l->special / sizeof *l->special; k++)
        if (l->special[k] == (long)column) return 0;
    return 1;
}

/* A column of numbers with a word in it may be one of codes, or a mistake. */
static void tell_words(const learning *l, size_t column, size_t row) {
    char notice[512];
    snprintf(
        notice, sizeof notice,
        "the column '%.100s' is taken for words, though most of it are numbers: line %zu has '%.100s'; where a number "
        "is missing, leave the cell empty or write ? or NA",
        csv_name(l->table, column), l->table->lines[row + 1], csv_cell(l->table, row, column));
    listener_notice(l->listener, notice);
}

/* By the rows to train on: what the others have is held against that. */
static int is_numeric(const learning *l, size_t column) {
    size_t numbers = 0, words = 0, word = 0;
    for (size_t i = 0; i < l->table->rows; i++) {
        if (l->list->parts[i] != PART_TRAIN || table_cell_is_missing(csv_cell(l->table, i, column))) continue;
        if (isfinite(csv_number(l->table, i, column))) numbers++;
        else if (words++ == 0) word = i;
    }
    if (words && numbers > words) tell_words(l, column, word);
    return numbers > 0 && words == 0;
}

static status_code measure(const learning *l, size_t column, table_feature *f, failure *failure) {
    double sum = 0, squares = 0;
    size_t count = 0;
    for (size_t i = 0; i < l->table->rows; i++) {
        const double value = csv_number(l->table, i, column);
        if (l->list->parts[i] != PART_TRAIN || !isfinite(value)) continue;
        sum += value;
        count++;
    }
    f->mean = count ? sum / (double)count : 0;
    for (size_t i = 0; i < l->table->rows; i++) {
        const double value = csv_number(l->table, i, column);
        if (l->list->parts[i] == PART_TRAIN && isfinite(value)) squares += (value - f->mean) * (value - f->mean);
    }
    f->std = count ? sqrt(squares / (double)count) : 0;
    if (!isfinite(f->mean) || !isfinite(f->std))
        return fail(failure, STATUS_BAD_INPUT, "%.500s: the column '%.100s' has numbers too large to take their mean",
                    l->path, f->name);
    if (f->std == 0) f->std = 1; /* a constant says nothing and becomes 0 */
    return STATUS_OK;
}

static status_code list_words(const learning *l, size_t column, table_feature *f, failure *failure) {
    const char **words = malloc((l->table->rows + 1) * sizeof *words);
    example_column all;
    if (!words) return fail_memory(failure, l->path);
    for (size_t i = 0; i < l->table->rows; i++) {
        const char *cell = csv_cell(l->table, i, column);
        words[i] = l->list->parts[i] == PART_TRAIN && !table_cell_is_missing(cell) ? cell : "";
    }
    const status_code status = example_column_open(&all, f->name, words, l->table->rows, failure);
    free(words);
    if (status != STATUS_OK) return status;
    f->values = all.values;
    f->words = all.value_count;
    all.values = NULL;
    all.value_count = 0;
    example_column_close(&all);
    return STATUS_OK;
}

/* Names and numbers of people say nothing about others. */
static void tell_names(const learning *l, size_t column, const table_feature *f) {
    enum { FEW = 10 };
    size_t rows = 0;
    char notice[512];
    for (size_t i = 0; i < l->table->rows; i++)
        rows += l->list->parts[i] == PART_TRAIN && !table_cell_is_missing(csv_cell(l->table, i, column));
    if (f->words < FEW || 10 * (size_t)f->words < 9 * rows) return;
    snprintf(
        notice, sizeof notice,
        "the column '%.100s' has %d different words in the %zu rows that are trained on: if it names the rows, take it "
        "out of the table or call it id",
        f->name, f->words, rows);
    listener_notice(l->listener, notice);
}

static void tell_left_out(const learning *l, const table_feature *f) {
    char notice[512];
    if (!f->words) {
        snprintf(notice, sizeof notice,
                 "the column '%.100s' is left out: it says nothing in the rows that are trained on", f->name);
        listener_notice(l->listener, notice);
        return;
    }
    snprintf(notice, sizeof notice,
             "the column '%.100s' has %d different words and is left out; at most %d are learnt from", f->name,
             f->words, TABLE_WORDS_MAX);
    listener_notice(l->listener, notice);
}

/* A list of pictures whose column has a name that nobody knows would be learnt from as words. */
static status_code refuse_pictures(const learning *l, const table_feature *f, failure *failure) {
    int pictures = 0;
    for (int k = 0; k < f->words; k++) pictures += example_list_is_picture(f->values[k]);
    if (2 * pictures <= f->words) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "%.500s: the column '%.100s' names pictures: call it file", l->path,
                f->name);
}

/* "-69,2" */
static int has_decimal_comma(const char *cell) {
    const char *at = cell + (*cell == '-' || *cell == '+');
    const size_t whole = strspn(at, "0123456789");
    if (!whole || at[whole] != ',') return 0;
    const size_t rest = strspn(at + whole + 1, "0123456789");
    return rest && !at[whole + 1 + rest];
}

/* They would be learnt from as words. Whole numbers have no comma, so that some may stand among them;
   a single one is told of. */
static status_code refuse_commas(const learning *l, size_t column, failure *failure) {
    size_t commas = 0, numbers = 0, others = 0, first = 0;
    for (size_t i = l->table->rows; i-- > 0;) {
        const char *cell = csv_cell(l->table, i, column);
        if (table_cell_is_missing(cell)) continue;
        if (has_decimal_comma(cell)) commas++, first = i;
        else isfinite(csv_number(l->table, i, column)) ? numbers++ : others++;
    }
    if (commas <= others || 2 * commas <= numbers) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%.500s, line %zu: the column '%.100s' has '%.100s': a decimal comma? Write numbers with a point",
                l->path, l->table->lines[first + 1], csv_name(l->table, column), csv_cell(l->table, first, column));
}

static status_code add_feature(table_encoding *e, const learning *l, size_t column, failure *failure) {
    table_feature *f = &e->features[e->count];
    *f = (table_feature){.name = strdup(csv_name(l->table, column))};
    if (!f->name) return fail_memory(failure, l->path);
    e->count++;
    if (is_numeric(l, column)) {
        e->width++;
        return measure(l, column, f, failure);
    }
    status_code status = refuse_commas(l, column, failure);
    if (status == STATUS_OK) status = list_words(l, column, f, failure);
    if (status == STATUS_OK) status = refuse_pictures(l, f, failure);
    if (status != STATUS_OK) return status;
    if (f->words && f->words <= TABLE_WORDS_MAX) {
        tell_names(l, column, f);
        e->width += f->words;
        return STATUS_OK;
    }
    tell_left_out(l, f);
    words_free(f->values, (size_t)f->words);
    free(f->name);
    e->count--;
    return STATUS_OK;
}

static status_code learn(table_encoding *e, const learning *l, failure *failure) {
    status_code status = STATUS_OK;
    *e = (table_encoding){.features = calloc(l->table->columns + 1, sizeof *e->features)};
    if (!e->features) return fail_memory(failure, l->path);
    for (size_t k = 0; k < l->table->columns && status == STATUS_OK; k++)
        if (is_feature(l, k)) status = add_feature(e, l, k, failure);
    if (status == STATUS_OK && (!e->width || e->width > LABELLED_IMAGES_CHANNELS_MAX))
        status = fail(failure, STATUS_BAD_INPUT, "%.500s: its columns become %d numbers; 1 to %d are possible", l->path,
                      e->width, LABELLED_IMAGES_CHANNELS_MAX);
    return status;
}

/* The other table's training rows decide. */
status_code table_sets_learn(table_encoding *e, const char *path, const example_options *options, failure *failure) {
    csv table;
    example_list list;
    *e = (table_encoding){0};
    const example_options own = {.label = options->label};
    status_code status = table_sets_read(&table, path, failure);
    if (status != STATUS_OK) return status;
    status = example_list_of_table(&list, &table, path, &own, NULL, failure);
    const learning l = learning_of(&table, &list, path, options, NULL);
    if (status == STATUS_OK) status = learn(e, &l, failure);
    example_list_close(&list);
    csv_close(&table);
    return status;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static status_code encode(const csv *table, const char *path, const table_encoding *e, const example_list *list,
                          labelled_images sets[DATA_PARTS], failure *failure) {
    int64_t next[DATA_PARTS] = {0};
    for (int p = 0; p < DATA_PARTS; p++)
        if (sets[p].count && !(sets[p].values = memory_open((size_t)sets[p].count * (size_t)e->width * sizeof(float))))
            return fail_memory(failure, path);
    status_code status = table_encoding_check(e, table, path, failure);
    for (size_t i = 0; i < table->rows && status == STATUS_OK; i++) {
        const int part = list->parts[i];
        float *numbers = sets[part].values + (size_t)next[part]++ * (size_t)e->width;
        status = table_encoding_row(e, table, path, i, numbers, failure);
    }
    return status;
}

static status_code open_table(labelled_images sets[DATA_PARTS], const learning *l, const table_source *source,
                              const example_options *options, failure *failure) {
    table_encoding e = {0};
    status_code status = source->encoding     ? table_encoding_read(&e, source->encoding, failure)
                         : source->trained_on ? table_sets_learn(&e, source->trained_on, options, failure)
                                              : learn(&e, l, failure);
    const labelled_images_shape shape = {.height = 1,
                                         .width = 1,
                                         .channels = e.width,
                                         .classes =
                                             options->class_count ? options->class_count : l->list->labels.value_count};
    if (status == STATUS_OK) status = picture_sets_describe(sets, l->list, &shape, failure);
    if (status == STATUS_OK) status = encode(l->table, l->path, &e, l->list, sets, failure);
    if (status == STATUS_OK) table_encoding_tell_unseen(&e, l->table, l->listener);
    table_encoding_close(&e);
    for (int p = 0; p < DATA_PARTS && status != STATUS_OK; p++) labelled_images_close(&sets[p]);
    return status;
}

status_code table_sets_open(labelled_images sets[DATA_PARTS], const table_source *source,
                            const example_options *options, const listener *listener, failure *failure) {
    const char *path = source->path;
    csv table;
    example_list list;
    for (int p = 0; p < DATA_PARTS; p++) sets[p] = (labelled_images){0};
    status_code status = table_sets_read(&table, path, failure);
    if (status != STATUS_OK) return status;
    status = example_list_of_table(&list, &table, path, options, listener, failure);
    const learning l = learning_of(&table, &list, path, options, listener);
    if (status == STATUS_OK) status = open_table(sets, &l, source, options, failure);
    example_list_close(&list);
    csv_close(&table);
    return status;
}
