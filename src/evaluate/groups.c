#define _POSIX_C_SOURCE 200809L
#include "evaluate/groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct group_case {
    const char *name;
    size_t row;
} group_case;

static int compare_cases(const void *a, const void *b) {
    return strcmp(((const group_case *)a)->name, ((const group_case *)b)->name);
}

static status_code check_header(const csv *table, const char *path, failure *failure) {
    if (table->columns >= 2 && strcmp(csv_name(table, 0), "case") == 0) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT,
                "%s must begin with a line such as case,condition: the first column is called case, further ones are "
                "groups",
                path);
}

static status_code sort_cases(groups *groups, const char *path, failure *failure) {
    const csv *table = &groups->table;
    groups->sorted = malloc((table->rows ? table->rows : 1) * sizeof *groups->sorted);
    if (!groups->sorted) return fail_memory(failure, "groups");
    for (size_t row = 0; row < table->rows; row++) {
        groups->sorted[row] = (group_case){csv_cell(table, row, 0), row};
        if (!*groups->sorted[row].name)
            return fail(failure, STATUS_CORRUPT, "%s has a row without a case, row %zu", path, row + 1);
    }
    qsort(groups->sorted, table->rows, sizeof *groups->sorted, compare_cases);
    for (size_t k = 1; k < table->rows; k++)
        if (strcmp(groups->sorted[k - 1].name, groups->sorted[k].name) == 0)
            return fail(failure, STATUS_CORRUPT, "%s names the case %s twice", path, groups->sorted[k].name);
    return STATUS_OK;
}

status_code groups_read(groups *groups, const char *path, failure *failure) {
    *groups = (struct groups){0};
    status_code status = csv_read(&groups->table, path, CSV_STRICT, failure);
    if (status == STATUS_OK) status = check_header(&groups->table, path, failure);
    return status == STATUS_OK ? sort_cases(groups, path, failure) : status;
}

void groups_close(groups *groups) {
    csv_close(&groups->table);
    free(groups->sorted);
    groups->sorted = NULL;
}

long groups_find(const groups *groups, const char *name) {
    const group_case wanted = {name, 0}, *found;
    if (groups->table.rows == 0) return -1;
    found = bsearch(&wanted, groups->sorted, groups->table.rows, sizeof wanted, compare_cases);
    return found ? (long)found->row : -1;
}

/* Takes the next column of a list, which becomes NULL behind the last. */
static status_code next_column(const csv *table, const char **list, size_t *column, failure *failure) {
    const size_t length = strcspn(*list, ",");
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)(length < 255 ? length : 255), *list);
    const long found = csv_column(table, name);
    if (found < 1) return fail(failure, STATUS_BAD_INPUT, "the groups have no column '%s'", name);
    *column = (size_t)found;
    *list = (*list)[length] ? *list + length + 1 : NULL;
    return STATUS_OK;
}

status_code groups_check_columns(const groups *groups, const char *by, failure *failure) {
    status_code status = STATUS_OK;
    for (size_t column; by && status == STATUS_OK;) status = next_column(&groups->table, &by, &column, failure);
    return status;
}

static stratum *new_stratum(strata *strata, size_t cases, const char *column, const char *value) {
    stratum *grown = realloc(strata->list, (strata->count + 1) * sizeof *grown);
    if (!grown) return NULL;
    strata->list = grown;
    stratum *added = &strata->list[strata->count++];
    *added = (stratum){.cases = malloc((cases ? cases : 1) * sizeof *added->cases)};
    if (column) added->column = strdup(column);
    if (value) added->value = strdup(value);
    return added->cases && (added->column || !column) && (added->value || !value) ? added : NULL;
}

static stratum *find_stratum(strata *strata, const char *column, const char *value) {
    for (size_t k = 1; k < strata->count; k++)
        if (strcmp(strata->list[k].column, column) == 0 && strcmp(strata->list[k].value, value) == 0)
            return &strata->list[k];
    return NULL;
}

static status_code add_all(strata *strata, const scores *scores, failure *failure) {
    stratum *all = new_stratum(strata, scores->cases, NULL, NULL);
    if (!all) return fail_memory(failure, "groups");
    while (all->count < scores->cases) {
        all->cases[all->count] = all->count;
        all->count++;
    }
    return STATUS_OK;
}

/* The row of each case, -1 for none. */
static long *rows_of_cases(const groups *groups, const scores *scores, text *lacking) {
    long *rows = malloc((scores->cases ? scores->cases : 1) * sizeof *rows);
    for (size_t k = 0; rows && k < scores->cases; k++) {
        rows[k] = groups_find(groups, scores->list[k].name);
        if (rows[k] < 0) text_format(lacking, "%s%s", lacking->size ? ", " : "", scores->list[k].name);
    }
    return rows;
}

/* Walks the file first, so that its order decides, then the cases, so that each stratum lists them in theirs. */
static status_code add_column(strata *strata, const csv *table, size_t column, const long *rows, size_t cases,
                              failure *failure) {
    const char *name = csv_name(table, column);
    for (size_t row = 0; row < table->rows; row++) {
        const char *value = csv_cell(table, row, column);
        if (!*value || find_stratum(strata, name, value)) continue;
        if (!new_stratum(strata, cases, name, value)) return fail_memory(failure, "groups");
    }
    for (size_t k = 0; k < cases; k++) {
        const char *value = rows[k] < 0 ? "" : csv_cell(table, (size_t)rows[k], column);
        stratum *found = *value ? find_stratum(strata, name, value) : NULL;
        if (found) found->cases[found->count++] = k;
    }
    return STATUS_OK;
}

static void close_stratum(stratum *stratum) {
    free(stratum->column);
    free(stratum->value);
    free(stratum->cases);
}

static void drop_empty(strata *strata) {
    size_t kept = 1;
    for (size_t k = 1; k < strata->count; k++) {
        if (strata->list[k].count > 0) strata->list[kept++] = strata->list[k];
        else close_stratum(&strata->list[k]);
    }
    strata->count = kept;
}

static status_code add_every_column(strata *strata, const csv *table, const long *rows, size_t cases,
                                    failure *failure) {
    status_code status = STATUS_OK;
    for (size_t column = 1; column < table->columns && status == STATUS_OK; column++)
        status = add_column(strata, table, column, rows, cases, failure);
    return status;
}

static status_code add_chosen_columns(strata *strata, const csv *table, const char *by, const long *rows, size_t cases,
                                      failure *failure) {
    status_code status = STATUS_OK;
    while (by && status == STATUS_OK) {
        size_t column;
        status = next_column(table, &by, &column, failure);
        if (status == STATUS_OK) status = add_column(strata, table, column, rows, cases, failure);
    }
    return status;
}

status_code strata_open(strata *strata, const groups *groups, const char *by, const scores *scores, text *lacking,
                        failure *failure) {
    *strata = (struct strata){0};
    status_code status = add_all(strata, scores, failure);
    if (status != STATUS_OK || !groups) return status;
    long *rows = rows_of_cases(groups, scores, lacking);
    if (!rows) return fail_memory(failure, "groups");
    status = by ? add_chosen_columns(strata, &groups->table, by, rows, scores->cases, failure)
                : add_every_column(strata, &groups->table, rows, scores->cases, failure);
    free(rows);
    if (status == STATUS_OK) drop_empty(strata);
    return status;
}

void strata_close(strata *strata) {
    for (size_t k = 0; k < strata->count; k++) close_stratum(&strata->list[k]);
    free(strata->list);
    *strata = (struct strata){0};
}

const char *stratum_name(const stratum *stratum) { return stratum->value ? stratum->value : "all"; }

static int has_several_columns(const strata *strata) {
    for (size_t k = 2; k < strata->count; k++)
        if (strcmp(strata->list[1].column, strata->list[k].column) != 0) return 1;
    return 0;
}

void strata_label(const strata *strata, size_t which, char *words, size_t room) {
    const stratum *stratum = &strata->list[which];
    const int prefixed = which > 0 && has_several_columns(strata);
    snprintf(words, room, "%s%s%s", prefixed ? stratum->column : "", prefixed ? ": " : "", stratum_name(stratum));
}
