#define _POSIX_C_SOURCE 200809L
#include "dataset/case_groups.h"

#include "core/path.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>

static const char *name_of(const case_groups *groups, size_t row) { return csv_cell(&groups->table, row, 0); }

typedef struct named_row {
    const char *name;
    size_t row;
} named_row;

static int by_name(const void *a, const void *b) {
    return strcmp(((const named_row *)a)->name, ((const named_row *)b)->name);
}

static named_row *sorted_rows(const case_groups *groups) {
    named_row *rows = malloc((groups->table.rows + 1) * sizeof *rows);
    for (size_t k = 0; rows && k < groups->table.rows; k++) rows[k] = (named_row){name_of(groups, k), k};
    if (rows) qsort(rows, groups->table.rows, sizeof *rows, by_name);
    return rows;
}

static status_code check_names(const case_groups *groups, failure *failure) {
    named_row *rows = sorted_rows(groups);
    if (!rows) return fail_memory(failure, groups->path);
    status_code status = STATUS_OK;
    for (size_t k = 0; status == STATUS_OK && k < groups->table.rows; k++) {
        if (!*rows[k].name)
            status = fail(failure, STATUS_CORRUPT, "%s, line %zu: the case has no name", groups->path,
                          groups->table.lines[rows[k].row + 1]);
        else if (k > 0 && strcmp(rows[k].name, rows[k - 1].name) == 0)
            status = fail(failure, STATUS_CORRUPT, "%s: the case '%.200s' comes twice", groups->path, rows[k].name);
    }
    free(rows);
    return status;
}

static status_code read_table(case_groups *groups, failure *failure) {
    status_code status = csv_read(&groups->table, groups->path, CSV_STRICT, failure);
    if (status != STATUS_OK) return status;
    if (groups->table.columns < 2 || strcmp(csv_name(&groups->table, 0), "case") != 0)
        return fail(failure, STATUS_CORRUPT,
                    "%s: the first column must be called 'case', and at least one of groups must follow", groups->path);
    return check_names(groups, failure);
}

static char *default_path(const dataset *set) {
    text path = {0};
    text_format(&path, "%s/groups.csv", set->folder);
    if (!path.failed) return path.bytes;
    text_close(&path);
    return NULL;
}

status_code case_groups_open(case_groups *groups, const dataset *set, const char *path, failure *failure) {
    *groups = (case_groups){0};
    groups->path = path ? strdup(path) : default_path(set);
    if (!groups->path) return fail_memory(failure, "the groups of cases");
    if (!path && !path_exists(groups->path)) return STATUS_OK;
    const status_code status = read_table(groups, failure);
    if (status != STATUS_OK) case_groups_close(groups);
    return status;
}

void case_groups_close(case_groups *groups) {
    csv_close(&groups->table);
    free(groups->path);
    groups->path = NULL;
}

static status_code fill_column(const case_groups *groups, const dataset *set, size_t column, const named_row *rows,
                               const char **values, failure *failure) {
    for (size_t i = 0; i < set->train_count; i++) {
        const named_row key = {set->train[i].id, 0};
        const named_row *found = bsearch(&key, rows, groups->table.rows, sizeof *rows, by_name);
        values[i] = found ? csv_cell(&groups->table, found->row, column) : "";
        if (!*values[i])
            return fail(failure, STATUS_CORRUPT, "%s: the case '%.200s' has no value in column '%.100s'; add it",
                        groups->path, set->train[i].id, csv_name(&groups->table, column));
    }
    return STATUS_OK;
}

status_code case_groups_column(const case_groups *groups, const dataset *set, const char *column, const char ***values,
                               failure *failure) {
    *values = NULL;
    const long found = csv_column(&groups->table, column);
    if (found < 1)
        return fail(failure, STATUS_BAD_INPUT, "%s has no column '%.100s' of groups%s", groups->path, column,
                    groups->table.columns ? "" : " (there is no such file)");
    named_row *rows = sorted_rows(groups);
    const char **cells = malloc((set->train_count + 1) * sizeof *cells);
    status_code status = rows && cells ? STATUS_OK : fail_memory(failure, groups->path);
    if (status == STATUS_OK) status = fill_column(groups, set, (size_t)found, rows, cells, failure);
    free(rows);
    if (status == STATUS_OK) *values = cells;
    else free(cells);
    return status;
}
