#define _POSIX_C_SOURCE 200809L
#include "evaluate/strata.h"

#include "core/array.h"
#include "core/natural_order.h"
#include "core/utf8.h"
#include "dataset/value_numbers.h"
#include "evaluate/name_list.h"
#include "statistics/clusters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static status_code find_column(const case_groups *groups, const char *name, size_t *column, failure *failure) {
    const long found = csv_column(&groups->table, name);
    *column = found < 1 ? 0 : (size_t)found;
    if (*column) return STATUS_OK;
    text known = {0};
    for (size_t k = 1; k < groups->table.columns; k++)
        text_format(&known, "%s%s", k > 1 ? ", " : "", csv_name(&groups->table, k));
    const status_code status = fail(failure, STATUS_BAD_INPUT, "%.400s has no column '%.200s' of groups; it has %.300s",
                                    groups->path, name, known.size ? text_string(&known) : "none");
    text_close(&known);
    return status;
}

static status_code check_column(void *context, const char *name, failure *failure) {
    const case_groups *const *groups = context;
    size_t column;
    return find_column(*groups, name, &column, failure);
}

status_code strata_check_columns(const case_groups *groups, const char *by, failure *failure) {
    return name_list_each(by, check_column, &groups, failure);
}

static stratum *new_stratum(strata *strata, size_t cases, const char *column, const char *value) {
    stratum *grown = array_grow(strata->list, strata->count, &strata->capacity, sizeof *grown);
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
    all->patients = all->count;
    return STATUS_OK;
}

/* A clause with the names of some cases; many are cut, lest another clause be lost. */
static void add_clause(text *lacking, const char *clause, const text *names) {
    if (names->size) text_format(lacking, "%s%s: %.400s", lacking->size ? "; " : "", clause, text_string(names));
    lacking->failed |= names->failed;
}

static void add_case_name(text *names, const char *name) { text_format(names, "%s%s", names->size ? ", " : "", name); }

/* The row of each case, -1 for none. */
static long *rows_of_cases(const case_groups *groups, const scores *scores, text *lacking) {
    long *rows = malloc((scores->cases ? scores->cases : 1) * sizeof *rows);
    text names = {0};
    for (size_t k = 0; rows && k < scores->cases; k++) {
        rows[k] = case_groups_find(groups, scores->list[k].name);
        if (rows[k] < 0) add_case_name(&names, scores->list[k].name);
    }
    add_clause(lacking, "these cases are in no row of the groups and count in 'all' only", &names);
    text_close(&names);
    return rows;
}

/* What strata are made from: the groups, and the row of each case among them, -1 for none. */
typedef struct grouping {
    const case_groups *groups;
    const long *rows;
    const scores *scores;
    text *lacking;
} grouping;

/* Cases that have a row, and nothing in this column. */
static void tell_empty_cells(const grouping *grouping, size_t column) {
    const csv *table = &grouping->groups->table;
    text names = {0}, clause = {0};
    for (size_t k = 0; k < grouping->scores->cases; k++)
        if (grouping->rows[k] >= 0 && !*csv_cell(table, (size_t)grouping->rows[k], column))
            add_case_name(&names, grouping->scores->list[k].name);
    text_format(&clause, "these cases have nothing in the column '%.100s' and are in none of its groups",
                csv_name(table, column));
    add_clause(grouping->lacking, text_string(&clause), &names);
    text_close(&names);
    text_close(&clause);
}

static int by_name(const void *a, const void *b) {
    return natural_compare(((const stratum *)a)->value, ((const stratum *)b)->value);
}

/* Makes the groups first, in their natural order, then walks the cases, so that each group lists them in theirs. */
static status_code add_column(strata *strata, const grouping *grouping, size_t column, failure *failure) {
    const csv *table = &grouping->groups->table;
    const char *name = csv_name(table, column);
    const size_t first = strata->count;
    for (size_t row = 0; row < table->rows; row++) {
        const char *value = csv_cell(table, row, column);
        if (!*value || find_stratum(strata, name, value)) continue;
        if (!new_stratum(strata, grouping->scores->cases, name, value)) return fail_memory(failure, "groups");
    }
    if (strata->count > first) qsort(strata->list + first, strata->count - first, sizeof *strata->list, by_name);
    for (size_t k = 0; k < grouping->scores->cases; k++) {
        const char *value = grouping->rows[k] < 0 ? "" : csv_cell(table, (size_t)grouping->rows[k], column);
        stratum *found = *value ? find_stratum(strata, name, value) : NULL;
        if (found) found->cases[found->count++] = k;
    }
    tell_empty_cells(grouping, column);
    return STATUS_OK;
}

static void close_stratum(stratum *stratum) {
    free(stratum->column);
    free(stratum->value);
    free(stratum->cases);
    free(stratum->whose);
}

static void drop_empty(strata *strata) {
    size_t kept = 1;
    for (size_t k = 1; k < strata->count; k++) {
        if (strata->list[k].count > 0) strata->list[kept++] = strata->list[k];
        else close_stratum(&strata->list[k]);
    }
    strata->count = kept;
}

static status_code add_every_column(strata *strata, const grouping *grouping, failure *failure) {
    const long patients = case_groups_patients(grouping->groups);
    status_code status = STATUS_OK;
    for (size_t column = 1; column < grouping->groups->table.columns && status == STATUS_OK; column++)
        if ((long)column != patients) status = add_column(strata, grouping, column, failure);
    return status;
}

typedef struct chosen {
    strata *strata;
    const grouping *grouping;
} chosen;

static status_code add_chosen_column(void *context, const char *name, failure *failure) {
    const chosen *chosen = context;
    size_t column = 0;
    const status_code status = find_column(chosen->grouping->groups, name, &column, failure);
    return status == STATUS_OK ? add_column(chosen->strata, chosen->grouping, column, failure) : status;
}

/* ---- patients ---- */

/* Whose each case is, as a number; without a row or with an empty cell it is nobody's. */
static status_code number_patients(const grouping *grouping, size_t column, int *of_case, failure *failure) {
    const csv *table = &grouping->groups->table;
    const size_t cases = grouping->scores->cases;
    const char **names = malloc((cases + 1) * sizeof *names);
    size_t *numbers = malloc((cases + 1) * sizeof *numbers), different = 0;
    status_code status = names && numbers ? STATUS_OK : fail_memory(failure, "the patients");
    for (size_t k = 0; k < cases && status == STATUS_OK; k++)
        names[k] = grouping->rows[k] < 0 ? "" : csv_cell(table, (size_t)grouping->rows[k], column);
    if (status == STATUS_OK) status = value_numbers(names, cases, numbers, &different, failure);
    for (size_t k = 0; k < cases && status == STATUS_OK; k++) of_case[k] = *names[k] ? (int)numbers[k] : -1;
    free(names);
    free(numbers);
    return status;
}

static status_code take_patients(stratum *stratum, const int *of_case, failure *failure) {
    clusters patients;
    stratum->whose = malloc((stratum->count + 1) * sizeof *stratum->whose);
    if (!stratum->whose) return fail_memory(failure, "the patients");
    for (size_t k = 0; k < stratum->count; k++) stratum->whose[k] = of_case[stratum->cases[k]];
    const status_code status = clusters_open(&patients, stratum->whose, NULL, (int64_t)stratum->count, failure);
    stratum->patients = (size_t)patients.count;
    clusters_close(&patients);
    return status;
}

static status_code add_patients(strata *strata, const grouping *grouping, failure *failure) {
    const long column = case_groups_patients(grouping->groups);
    if (column < 0) return STATUS_OK;
    int *of_case = malloc((grouping->scores->cases + 1) * sizeof *of_case);
    if (!of_case) return fail_memory(failure, "the patients");
    status_code status = number_patients(grouping, (size_t)column, of_case, failure);
    for (size_t s = 0; s < strata->count && status == STATUS_OK; s++)
        status = take_patients(&strata->list[s], of_case, failure);
    free(of_case);
    return status;
}

static status_code add_groups(strata *strata, const grouping *grouping, const char *by, failure *failure) {
    const status_code status = by ? name_list_each(by, add_chosen_column, &(chosen){strata, grouping}, failure)
                                  : add_every_column(strata, grouping, failure);
    if (status != STATUS_OK) return status;
    drop_empty(strata);
    for (size_t s = 1; s < strata->count; s++) strata->list[s].patients = strata->list[s].count;
    return add_patients(strata, grouping, failure);
}

status_code strata_open(strata *strata, const case_groups *groups, const char *by, const scores *scores, text *lacking,
                        failure *failure) {
    *strata = (struct strata){0};
    status_code status = add_all(strata, scores, failure);
    if (status != STATUS_OK || !groups) return status;
    long *rows = rows_of_cases(groups, scores, lacking);
    if (!rows) return fail_memory(failure, "groups");
    const grouping grouping = {groups, rows, scores, lacking};
    status = add_groups(strata, &grouping, by, failure);
    free(rows);
    return status;
}

void strata_close(strata *strata) {
    for (size_t k = 0; k < strata->count; k++) close_stratum(&strata->list[k]);
    free(strata->list);
    *strata = (struct strata){0};
}

int strata_share_patients(const strata *strata) { return strata->list[0].patients < strata->list[0].count; }

const char *stratum_name(const stratum *stratum) { return stratum->value ? stratum->value : "all"; }

static int has_several_columns(const strata *strata) {
    for (size_t k = 2; k < strata->count; k++)
        if (strcmp(strata->list[1].column, strata->list[k].column) != 0) return 1;
    return 0;
}

void strata_label(const strata *strata, size_t which, char *words, size_t capacity) {
    const stratum *stratum = &strata->list[which];
    const int prefixed = which > 0 && has_several_columns(strata);
    const int size = snprintf(words, capacity, "%s%s%s", prefixed ? stratum->column : "", prefixed ? ": " : "",
                              stratum_name(stratum));
    utf8_mend(words, capacity, (size_t)size);
}
