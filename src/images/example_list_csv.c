/* The examples of a CSV file: see example_list.h. */
#define _POSIX_C_SOURCE 200809L
#include "core/path.h"
#include "core/patient_column.h"
#include "images/example_list.h"
#include "images/labelled_images.h"
#include "images/table_encoding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { COLUMNS_MAX = 256, FEW_WORDS = 256, NAMES_SHOWN = 200 };

typedef struct reading {
    const csv *table;
    const char *path;
    const example_options *options;
    long file, label, split;
    long name; /* `file`, or in a table `id` */
} reading;

long example_list_file_column(const csv *table) {
    static const char *const NAMES[] = {"file", "filename", "file_name", "image", "path"};
    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++) {
        const long column = csv_column_any_case(table, NAMES[k]);
        if (column >= 0) return column;
    }
    return -1;
}

/* A file that was meant otherwise, or without a line of names, shows in the names that were found. */
static status_code fail_no_label(const reading *r, const char *wanted, failure *failure) {
    const char *separator = csv_other_separator(r->table);
    text found = {0};
    if (separator)
        return fail(failure, STATUS_BAD_INPUT,
                    "%.500s: has no column '%.100s': is the file separated by %s? Commas are wanted", r->path, wanted,
                    separator);
    for (size_t k = 0; k < r->table->columns && found.size < NAMES_SHOWN; k++)
        text_format(&found, "%s%s", k ? ", " : "", csv_name(r->table, k));
    const status_code status =
        r->options->class_names
            ? fail(failure, STATUS_BAD_INPUT,
                   "%.300s: has no column '%.100s', in which the run's data have the classes; its first line names "
                   "%.300s: call the column of the classes so",
                   r->path, wanted, text_string(&found))
            : fail(failure, STATUS_BAD_INPUT,
                   "%.300s: has no column '%.100s'; its first line, which is to name the columns, has %.300s: name the "
                   "column of the classes with --label COLUMN",
                   r->path, wanted, text_string(&found));
    text_close(&found);
    return status;
}

static const char *label_name(const example_options *o) { return o->label && *o->label ? o->label : "label"; }

long example_list_label_column(const csv *table, const example_options *options) {
    return csv_column_any_case(table, label_name(options));
}

static status_code find_columns(reading *r, failure *failure) {
    r->label = example_list_label_column(r->table, r->options);
    r->split = csv_column_any_case(r->table, "split");
    r->name = r->file >= 0 ? r->file : csv_column_any_case(r->table, "id");
    if (r->label >= 0 || r->options->unlabelled) return STATUS_OK;
    return fail_no_label(r, label_name(r->options), failure);
}

static status_code read_part(const reading *r, size_t row, uint8_t *part, failure *failure) {
    static const struct {
        const char *word;
        data_part part;
    } WORDS[] = {{"train", PART_TRAIN},      {"training", PART_TRAIN},        {"val", PART_VALIDATION},
                 {"valid", PART_VALIDATION}, {"validation", PART_VALIDATION}, {"test", PART_TEST},
                 {"testing", PART_TEST}};
    const char *cell = csv_cell(r->table, row, (size_t)r->split);
    for (size_t k = 0; k < sizeof WORDS / sizeof *WORDS; k++)
        if (strcasecmp(cell, WORDS[k].word) == 0) {
            *part = (uint8_t)WORDS[k].part;
            return STATUS_OK;
        }
    return fail(failure, STATUS_BAD_INPUT, "%.500s, line %zu: the split is '%.100s'; train, val and test are known",
                r->path, r->table->lines[row + 1], cell);
}

static status_code read_rows(const reading *r, example_list *l, failure *failure) {
    const size_t rows = r->table->rows;
    l->parts = calloc(rows + 1, 1);
    l->lines = calloc(rows + 1, sizeof *l->lines);
    l->names = r->name >= 0 ? calloc(rows + 1, sizeof *l->names) : NULL;
    if (!l->parts || !l->lines || (r->name >= 0 && !l->names)) return fail_memory(failure, r->path);
    l->count = rows;
    status_code status = STATUS_OK;
    for (size_t i = 0; i < rows && status == STATUS_OK; i++) {
        l->lines[i] = r->table->lines[i + 1];
        l->parts[i] = PART_TEST;
        if (r->file >= 0 && !*csv_cell(r->table, i, (size_t)r->file))
            status = fail(failure, STATUS_BAD_INPUT, "%.500s, line %zu: no file is named", r->path, l->lines[i]);
        else if (r->name >= 0 && !(l->names[i] = strdup(csv_cell(r->table, i, (size_t)r->name))))
            status = fail_memory(failure, r->path);
        if (status == STATUS_OK && r->split >= 0 && !r->options->unlabelled)
            status = read_part(r, i, &l->parts[i], failure);
    }
    return status;
}

/* As Windows writes them; where such a file is there, it is called so. */
static status_code refuse_backslashes(const reading *r, const example_list *l, failure *failure) {
    char path[PATH_SIZE];
    for (size_t i = 0; r->file >= 0 && i < l->count; i++) {
        if (!strchr(l->names[i], '\\')) continue;
        const status_code status = labelled_images_path(path, l->folder, l->names[i], failure);
        if (status != STATUS_OK || path_exists(path)) return status;
        return fail(failure, STATUS_BAD_INPUT,
                    "%.300s, line %zu: there is no file '%.300s'; write / instead of \\ between folders", r->path,
                    l->lines[i], l->names[i]);
    }
    return STATUS_OK;
}

static status_code read_column(const reading *r, size_t column, const char **words, example_column *to,
                               failure *failure) {
    for (size_t i = 0; i < r->table->rows; i++) words[i] = csv_cell(r->table, i, column);
    return example_column_open(to, csv_name(r->table, column), words, r->table->rows, failure);
}

/* In a table what says that a cell is missing is no class. */
static status_code read_labels(const reading *r, const char **words, example_list *l, failure *failure) {
    const size_t column = (size_t)r->label;
    for (size_t i = 0; i < r->table->rows; i++) {
        const char *cell = csv_cell(r->table, i, column);
        words[i] = r->file < 0 && table_cell_is_missing(cell) ? "" : cell;
    }
    return example_column_open(&l->labels, csv_name(r->table, column), words, r->table->rows, failure);
}

/* How many different words a column has; EXAMPLE_GROUPS_MAX + 1 if there are more, which in
   measurements few rows tell. */
static size_t count_words(const csv *t, size_t column) {
    enum { PLACES = 4 * EXAMPLE_GROUPS_MAX };
    const char *seen[PLACES] = {0};
    size_t count = 0;
    for (size_t i = 0; i < t->rows && count <= EXAMPLE_GROUPS_MAX; i++) {
        const char *word = csv_cell(t, i, column);
        size_t at = 5381;
        if (!*word) continue;
        for (const char *c = word; *c; c++) at = at * 33 + (unsigned char)*c;
        for (at %= PLACES; seen[at] && strcmp(seen[at], word) != 0;) at = (at + 1) % PLACES;
        count += !seen[at];
        seen[at] = word;
    }
    return count;
}

/* Measurements of a few hundred rows have no more words than groups may have, but each but once: thousands of such
   columns would take several times the memory of their table. */
static int has_groups(const csv *t, size_t column) {
    const size_t words = count_words(t, column);
    return words <= FEW_WORDS || (words <= EXAMPLE_GROUPS_MAX && 2 * words <= t->rows);
}

/* A table of thousands of measurements has columns enough: behind the first ones only those are kept by which somebody
   can ask, groups of examples and patients. */
static int is_kept(const csv *t, size_t column) {
    return column < COLUMNS_MAX || patient_column_is_usual(csv_name(t, column)) || has_groups(t, column);
}

/* Every column but those of files, labels and parts. */
static status_code read_columns(const reading *r, example_list *l, failure *failure) {
    const char **words = malloc((r->table->rows + 1) * sizeof *words);
    l->columns = calloc(r->table->columns + 1, sizeof *l->columns);
    status_code status = words && l->columns ? STATUS_OK : fail_memory(failure, r->path);
    for (size_t k = 0; k < r->table->columns && status == STATUS_OK; k++) {
        if ((long)k == r->file || (long)k == r->label || (long)k == r->split || !is_kept(r->table, k)) continue;
        status = read_column(r, k, words, &l->columns[l->column_count], failure);
        if (status == STATUS_OK) l->column_count++;
    }
    if (status == STATUS_OK && r->label >= 0 && !r->options->unlabelled) status = read_labels(r, words, l, failure);
    free(words);
    return status;
}

static status_code read_table(example_list *l, reading *r, const listener *listener, failure *failure) {
    status_code status = find_columns(r, failure);
    if (status == STATUS_OK && !r->table->rows)
        status = fail(failure, STATUS_BAD_INPUT, "%.500s: has no lines behind the names of its columns", r->path);
    if (status == STATUS_OK) status = read_rows(r, l, failure);
    if (status == STATUS_OK) status = refuse_backslashes(r, l, failure);
    if (status == STATUS_OK) status = read_columns(r, l, failure);
    if (status == STATUS_OK) status = example_list_complete(l, r->path, r->split >= 0, r->options, listener, failure);
    if (status != STATUS_OK) example_list_close(l);
    return status;
}

status_code example_list_of_table(example_list *l, const csv *table, const char *path, const example_options *options,
                                  const listener *listener, failure *failure) {
    *l = (example_list){0};
    reading r = {.table = table, .path = path, .options = options, .file = -1};
    return read_table(l, &r, listener, failure);
}

status_code example_list_of_csv(example_list *l, const char *path, const example_options *options,
                                const listener *listener, failure *failure) {
    csv table;
    *l = (example_list){0};
    status_code status = csv_read(&table, path, CSV_STRICT, failure);
    if (status != STATUS_OK) return status;
    csv_trim(&table);
    reading r = {.table = &table, .path = path, .options = options, .file = example_list_file_column(&table)};
    const size_t length = (size_t)(path_name(path) - path);
    l->folder = length ? strndup(path, length) : strdup(".");
    if (r.file < 0)
        status = fail(failure, STATUS_BAD_INPUT, "%.500s: has no column 'file' with the names of pictures", path);
    else status = l->folder ? read_table(l, &r, listener, failure) : fail_memory(failure, path);
    if (status != STATUS_OK) example_list_close(l);
    csv_close(&table);
    return status;
}
