#define _POSIX_C_SOURCE 200809L
#include "dataset/case_groups.h"

#include "core/path.h"
#include "core/patient_column.h"
#include "core/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct group_row {
    const char *name;
    size_t row;
} group_row;

static int by_name(const void *a, const void *b) {
    return strcmp(((const group_row *)a)->name, ((const group_row *)b)->name);
}

static status_code check_header(const case_groups *groups, failure *failure) {
    if (groups->table.columns >= 2 && strcmp(csv_name(&groups->table, 0), "case") == 0) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT,
                "%.500s: the first column must be called 'case', and at least one of groups must follow, as in "
                "case,condition",
                groups->path);
}

static status_code sort_rows(case_groups *groups, failure *failure) {
    const csv *table = &groups->table;
    groups->sorted = malloc((table->rows + 1) * sizeof *groups->sorted);
    if (!groups->sorted) return fail_memory(failure, groups->path);
    for (size_t row = 0; row < table->rows; row++) {
        groups->sorted[row] = (group_row){csv_cell(table, row, 0), row};
        if (!*groups->sorted[row].name)
            return fail(failure, STATUS_CORRUPT, "%.500s, line %zu: the case has no name", groups->path,
                        table->lines[row + 1]);
    }
    qsort(groups->sorted, table->rows, sizeof *groups->sorted, by_name);
    for (size_t k = 1; k < table->rows; k++)
        if (by_name(&groups->sorted[k - 1], &groups->sorted[k]) == 0)
            return fail(failure, STATUS_CORRUPT, "%.500s: the case '%.200s' comes twice; leave one of the lines out",
                        groups->path, groups->sorted[k].name);
    return STATUS_OK;
}

static status_code check_file(const char *path, failure *failure) {
    if (path_is_folder(path))
        return fail(failure, STATUS_BAD_INPUT, "%.500s is a folder; name the CSV file with the groups of the cases",
                    path);
    if (path_exists(path)) return STATUS_OK;
    return fail(failure, STATUS_CANNOT_READ,
                "%.500s: there is no such file; name a CSV file with a line for each case, the first being "
                "case,GROUPS",
                path);
}

/* What holds of the table, however it was read. */
static status_code finish(case_groups *groups, status_code status, failure *failure) {
    if (status == STATUS_OK) status = check_header(groups, failure);
    if (status == STATUS_OK) status = sort_rows(groups, failure);
    if (status != STATUS_OK) case_groups_close(groups);
    return status;
}

status_code case_groups_read(case_groups *groups, const char *path, failure *failure) {
    *groups = (case_groups){.path = strdup(path)};
    if (!groups->path) return fail_memory(failure, "the groups of cases");
    status_code status = check_file(path, failure);
    if (status == STATUS_OK) status = csv_read(&groups->table, path, CSV_STRICT, failure);
    return finish(groups, status, failure);
}

status_code case_groups_parse(case_groups *groups, const char *name, const char *bytes, size_t size, failure *failure) {
    *groups = (case_groups){.path = strdup(name)};
    if (!groups->path) return fail_memory(failure, "the groups of cases");
    return finish(groups, csv_parse(&groups->table, name, bytes, size, CSV_STRICT, failure), failure);
}

status_code case_groups_of_dataset(case_groups *groups, const dataset *set, failure *failure) {
    char path[PATH_SIZE];
    *groups = (case_groups){0};
    const status_code status = path_join(path, set->folder, "groups.csv", failure);
    if (status != STATUS_OK) return status;
    if (path_exists(path)) return case_groups_read(groups, path, failure);
    groups->path = strdup(path);
    return groups->path ? STATUS_OK : fail_memory(failure, "the groups of cases");
}

void case_groups_close(case_groups *groups) {
    csv_close(&groups->table);
    free(groups->path);
    free(groups->sorted);
    *groups = (case_groups){0};
}

long case_groups_patients(const case_groups *groups) {
    const long column = patient_column_of_csv(&groups->table);
    return column < 1 ? -1 : column; /* the first has the cases */
}

long case_groups_find(const case_groups *groups, const char *name) {
    const group_row wanted = {name, 0}, *found;
    if (groups->table.rows == 0) return -1;
    found = bsearch(&wanted, groups->sorted, groups->table.rows, sizeof wanted, by_name);
    return found ? (long)found->row : -1;
}

enum { NAMED = 8, NAMES_BYTES = 600 };

/* "a, b, c and others" */
typedef struct name_sample {
    text names;
    size_t count;
} name_sample;

static void sample_add(name_sample *some, const char *name) {
    if (some->count++ >= NAMED) return;
    text_format(&some->names, "%s%.60s", some->count > 1 ? ", " : "", name);
}

static const char *sample_rest(const name_sample *some) { return some->count > NAMED ? " and others" : ""; }

static status_code fill_column(const case_groups *groups, const dataset *set, size_t column, const char **values,
                               failure *failure) {
    name_sample lacking = {0};
    for (size_t i = 0; i < set->train_count; i++) {
        const long row = case_groups_find(groups, set->train[i].id);
        values[i] = row < 0 ? "" : csv_cell(&groups->table, (size_t)row, column);
        if (!*values[i]) sample_add(&lacking, set->train[i].id);
    }
    if (lacking.count)
        fail(failure, STATUS_CORRUPT,
             "%.250s: %zu of %zu training cases %s no value in column '%.100s': %.*s%s; add %s", groups->path,
             lacking.count, set->train_count, lacking.count == 1 ? "has" : "have", csv_name(&groups->table, column),
             NAMES_BYTES, text_string(&lacking.names), sample_rest(&lacking), lacking.count == 1 ? "it" : "them");
    text_close(&lacking.names);
    return lacking.count ? STATUS_CORRUPT : STATUS_OK;
}

static int by_id(const void *name, const void *one) { return strcmp(name, ((const dataset_case *)one)->id); }

static int has_case(const dataset *set, const char *name) {
    return bsearch(name, set->train, set->train_count, sizeof *set->train, by_id) ||
           (set->test_count && bsearch(name, set->test, set->test_count, sizeof *set->test, by_id));
}

static void tell(const case_groups *groups, const char *what, name_sample *some, const listener *listener) {
    char notice[1024];
    snprintf(notice, sizeof notice, "%.250s %s %zu %s: %.*s%s", groups->path, what, some->count,
             some->count == 1 ? "case" : "cases", NAMES_BYTES, text_string(&some->names), sample_rest(some));
    if (some->count) listener_notice(listener, notice);
    text_close(&some->names);
}

void case_groups_tell_gaps(const case_groups *groups, const dataset *set, const listener *listener) {
    name_sample lacking = {0}, unknown = {0};
    if (!groups->table.columns) return;
    for (size_t i = 0; i < set->train_count; i++)
        if (case_groups_find(groups, set->train[i].id) < 0) sample_add(&lacking, set->train[i].id);
    for (size_t row = 0; row < groups->table.rows; row++)
        if (!has_case(set, csv_cell(&groups->table, row, 0))) sample_add(&unknown, csv_cell(&groups->table, row, 0));
    tell(groups, "lacks, so that they are in no group,", &lacking, listener);
    tell(groups, "names what the dataset does not have,", &unknown, listener);
}

status_code case_groups_column(const case_groups *groups, const dataset *set, const char *column, const char ***values,
                               failure *failure) {
    *values = NULL;
    const long found = csv_column(&groups->table, column);
    if (found < 1)
        return fail(failure, STATUS_BAD_INPUT, "%.500s has no column '%.100s' of groups%s", groups->path, column,
                    groups->table.columns ? "" : " (there is no such file)");
    const char **cells = malloc((set->train_count + 1) * sizeof *cells);
    if (!cells) return fail_memory(failure, groups->path);
    const status_code status = fill_column(groups, set, (size_t)found, cells, failure);
    if (status == STATUS_OK) *values = cells;
    else free(cells);
    return status;
}
