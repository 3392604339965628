#define _POSIX_C_SOURCE 200809L
#include "evaluate/compare_classes.h"

#include "core/array.h"
#include "core/utf8.h"
#include "evaluate/comparison_folder.h"
#include "evaluate/evaluation_age.h"
#include "evaluate/name_list.h"
#include "evaluate/own_results.h"
#include "images/example_column.h"
#include "statistics/paired.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    const compare_classes_request *request;
    const listener *listener;
    compared_classes *result;
} job;

/* ---- the same examples in the same order ------------------------------------------------------------------------- */

typedef struct named {
    const char *name;
    int64_t at;
} named;

static int by_name(const void *a, const void *b) { return strcmp(((const named *)a)->name, ((const named *)b)->name); }

/* The examples sorted by name, each of which is there once. */
static status_code sorted_names(const classified *c, named **names, failure *failure) {
    named *list = *names = malloc((size_t)c->count * sizeof *list);
    if (!list) return fail_memory(failure, "the examples");
    for (int64_t k = 0; k < c->count; k++) list[k] = (named){classified_example(c, k), k};
    qsort(list, (size_t)c->count, sizeof *list, by_name);
    for (int64_t k = 1; k < c->count; k++)
        if (strcmp(list[k - 1].name, list[k].name) == 0)
            return fail(failure, STATUS_CORRUPT, "%s: the example %.200s is there twice", c->path, list[k].name);
    return STATUS_OK;
}

/* Where each example of `first` is in `other`; -1: nowhere. The first that is lacking is told in `lacking`. */
static status_code find_examples(const classified *first, const classified *other, int64_t *where, const char **lacking,
                                 failure *failure) {
    named *names = NULL;
    status_code status = sorted_names(other, &names, failure);
    for (int64_t k = 0; k < first->count && status == STATUS_OK; k++) {
        const named wanted = {classified_example(first, k), 0};
        const named *found = bsearch(&wanted, names, (size_t)other->count, sizeof *names, by_name);
        where[k] = found ? found->at : -1;
        if (!found && !*lacking) *lacking = wanted.name;
        if (found && strcmp(csv_cell(&first->table, (size_t)k, 1), csv_cell(&other->table, (size_t)found->at, 1)) != 0)
            status = fail(failure, STATUS_BAD_INPUT,
                          "%.200s is '%.100s' in %.300s and '%.100s' in %.300s: the labels differ", wanted.name,
                          csv_cell(&first->table, (size_t)k, 1), first->path,
                          csv_cell(&other->table, (size_t)found->at, 1), other->path);
    }
    free(names);
    return status;
}

static status_code check_classes(const classified *first, const classified *other, failure *failure) {
    int same = first->classes == other->classes;
    for (int k = 0; k < first->classes && same; k++)
        same = strcmp(classified_class(first, k), classified_class(other, k)) == 0;
    return same ? STATUS_OK
                : fail(failure, STATUS_BAD_INPUT, "%.300s and %.300s tell different classes apart", first->path,
                       other->path);
}

/* Leaves out of all what method m lacks, and brings its examples into the order of the first. */
static status_code keep_common(job *j, size_t m, int64_t *where, failure *failure) {
    compared_classes *r = j->result;
    int64_t kept = 0, *stay = malloc((size_t)r->methods[0].count * sizeof *stay);
    if (!stay) return fail_memory(failure, "the examples");
    for (int64_t k = 0; k < r->methods[0].count; k++) {
        if (where[k] < 0) continue;
        stay[kept] = k;
        where[kept++] = where[k];
    }
    status_code status = STATUS_OK;
    for (size_t k = 0; k < m && status == STATUS_OK; k++)
        status = classified_choose(&r->methods[k], stay, kept, failure);
    if (status == STATUS_OK) status = classified_choose(&r->methods[m], where, kept, failure);
    free(stay);
    return status;
}

static status_code align(job *j, size_t m, failure *failure) {
    compared_classes *r = j->result;
    classified *first = &r->methods[0], *other = &r->methods[m];
    const int64_t before = first->count, theirs = other->count;
    const char *lacking = NULL;
    int64_t *where = malloc((size_t)first->count * sizeof *where);
    status_code status = where ? check_classes(first, other, failure) : fail_memory(failure, "the examples");
    if (status == STATUS_OK) status = find_examples(first, other, where, &lacking, failure);
    if (status == STATUS_OK && (lacking || theirs != before) && !j->request->common)
        status =
            fail(failure, STATUS_BAD_INPUT,
                 "%.300s and %.300s are not about the same examples%s%.200s; --common compares those that all have",
                 first->path, other->path, lacking ? ": the second lacks " : "", lacking ? lacking : "");
    if (status == STATUS_OK) status = keep_common(j, m, where, failure);
    if (status == STATUS_OK && !first->count)
        status = fail(failure, STATUS_BAD_INPUT, "%.300s has no example of the others", other->path);
    free(where);
    return status;
}

/* The examples of the others are looked for by name, which finds out who is there twice; those of the first are not. */
static status_code check_first(const classified *first, failure *failure) {
    named *names = NULL;
    const status_code status = sorted_names(first, &names, failure);
    free(names);
    return status;
}

static void call(const char *path, method_name name) {
    char folder[PATH_SIZE];
    snprintf(folder, sizeof folder, "%s", path);
    if (!path_is_folder(path)) {
        char *slash = strrchr(folder, '/');
        if (slash) *slash = 0;
    }
    for (size_t n = strlen(folder); n > 1 && folder[n - 1] == '/'; n--) folder[n - 1] = 0;
    utf8_copy(name, COMPARED_NAME_BYTES, path_name(folder));
}

static status_code read_methods(job *j, failure *failure) {
    compared_classes *r = j->result;
    status_code status =
        j->request->names ? method_names_choose(r->names, r->count, j->request->names, failure) : STATUS_OK;
    for (size_t m = 0; m < r->count && status == STATUS_OK; m++) {
        status = classified_open(&r->methods[m], j->request->paths[m], failure);
        if (!j->request->names) call(j->request->paths[m], r->names[m]);
    }
    if (!j->request->names) method_names_make_different(r->names, r->count);
    for (size_t m = 0; m < r->count && status == STATUS_OK; m++)
        evaluation_tell_old(j->request->paths[m], r->names[m], j->listener);
    if (status == STATUS_OK) status = check_first(&r->methods[0], failure);
    int64_t most = 0;
    for (size_t m = 0; m < r->count; m++) most = r->methods[m].count > most ? r->methods[m].count : most;
    for (size_t m = 1; m < r->count && status == STATUS_OK; m++) status = align(j, m, failure);
    if (status == STATUS_OK && r->methods[0].count < most) {
        char notice[200];
        snprintf(notice, sizeof notice, "compared are the %lld examples that all have", (long long)r->methods[0].count);
        listener_notice(j->listener, notice);
    }
    return status;
}

/* An evaluation of before may lack them. */
static status_code read_patients(compared_classes *r, failure *failure) {
    for (size_t m = 0; m < r->count; m++) {
        const long column = classified_patient_column(&r->methods[m]);
        if (column >= 0) return classified_groups_of(&r->methods[m], (size_t)column, &r->patients, failure);
    }
    return STATUS_OK;
}

/* ---- strata ------------------------------------------------------------------------------------------------------ */

static compared_stratum *add_stratum(compared_classes *r, const char *column, const char *value) {
    compared_stratum *grown = array_grow(r->strata, r->stratum_count, &r->stratum_capacity, sizeof *grown);
    if (!grown) return NULL;
    r->strata = grown;
    compared_stratum *one = &grown[r->stratum_count++];
    memset(one, 0, sizeof *one);
    one->column = column;
    one->value = value;
    return one;
}

static class_predictions predictions_of(const compared_classes *r, size_t m) {
    class_predictions p = classified_predictions(&r->methods[m]);
    p.patients = r->patients.of;
    return p;
}

/* The examples of a group; all of them without groups. */
static status_code score_stratum(compared_classes *r, compared_stratum *one, const classified_groups *groups, int group,
                                 failure *failure) {
    int64_t *members = malloc((size_t)r->methods[0].count * sizeof *members);
    status_code status = one && members ? STATUS_OK : fail_memory(failure, "the groups");
    for (int64_t i = 0; i < r->methods[0].count && status == STATUS_OK; i++)
        if (!groups || groups->of[i] == group) members[one->count++] = i;
    const class_predictions first = predictions_of(r, 0);
    for (size_t m = 0; m < r->count && status == STATUS_OK; m++) {
        const class_predictions own = predictions_of(r, m);
        compared_class_row *row = &one->rows[m];
        status = class_scores_of(&own, members, one->count, &row->scored, failure);
        if (status == STATUS_OK && m)
            status = class_scores_difference(&first, &own, members, one->count, &row->difference, failure);
        row->holm = m ? row->difference.p : (double)NAN;
    }
    free(members);
    return status;
}

static status_code score_worst(compared_classes *r, compared_stratum *one, const classified_groups *groups,
                               failure *failure) {
    const class_groups all = {groups->of, groups->count};
    const class_predictions first = predictions_of(r, 0);
    status_code status = one ? STATUS_OK : fail_memory(failure, "the groups");
    for (size_t m = 0; m < r->count && status == STATUS_OK; m++) {
        const class_predictions own = predictions_of(r, m);
        class_worst against = {0};
        compared_class_row *row = &one->rows[m];
        status = class_scores_worst(&own, NULL, all, &row->worst, failure);
        if (status == STATUS_OK && m) status = class_scores_worst(&first, &own, all, &against, failure);
        row->worst.difference = m ? against.difference : (double)NAN;
        row->worst.difference_ci = against.difference_ci;
        row->holm = (double)NAN;
    }
    for (int64_t i = 0; status == STATUS_OK && i < r->methods[0].count; i++) one->count += groups->of[i] >= 0;
    return status;
}

static status_code score_column(job *j, size_t column, failure *failure) {
    compared_classes *r = j->result;
    classified_groups groups;
    const char *name = classified_group_name(&r->methods[0], column);
    status_code status = classified_groups_of(&r->methods[0], column, &groups, failure);
    if (status == STATUS_OK && groups.count > EXAMPLE_GROUPS_MAX)
        status = fail(failure, STATUS_BAD_INPUT, "--by %.100s: has %d values; at most %d groups are told apart", name,
                      groups.count, EXAMPLE_GROUPS_MAX);
    for (int g = 0; g < groups.count && status == STATUS_OK; g++)
        status = score_stratum(r, add_stratum(r, name, groups.values[g]), &groups, g, failure);
    if (status == STATUS_OK && groups.count > 1) status = score_worst(r, add_stratum(r, name, NULL), &groups, failure);
    group_counts counts = {.examples = r->methods[0].count, .groups = groups.count};
    for (int64_t i = 0; i < counts.examples && status == STATUS_OK; i++) counts.without += groups.of[i] < 0;
    if (status == STATUS_OK) class_groups_tell(name, counts, j->listener);
    classified_groups_close(&groups);
    return status;
}

static status_code score_named(void *context, const char *name, failure *failure) {
    job *j = context;
    const classified *first = &j->result->methods[0];
    const long column = classified_group_column(first, name);
    if (column >= 0) return score_column(j, (size_t)column, failure);
    text known = {0};
    for (size_t k = first->first_group_column; k < first->table.columns; k++)
        text_format(&known, "%s%s", known.size ? ", " : "", classified_group_name(first, k));
    const status_code status =
        fail(failure, STATUS_BAD_INPUT, "--by %.100s: %.300s has no such column of groups; it has %.400s", name,
             first->path, known.size ? text_string(&known) : "none");
    text_close(&known);
    return status;
}

static status_code score_all(job *j, failure *failure) {
    compared_classes *r = j->result;
    status_code status = score_stratum(r, add_stratum(r, NULL, NULL), NULL, 0, failure);
    if (status == STATUS_OK && !j->request->by && classified_group_column(&r->methods[0], "group") >= 0)
        status = score_named(j, "group", failure);
    return status == STATUS_OK ? name_list_each(j->request->by, score_named, j, failure) : status;
}

static status_code correct_all(compared_classes *r, failure *failure) {
    double *p = malloc((r->stratum_count * r->count + 1) * sizeof *p);
    if (!p) return fail_memory(failure, "a comparison");
    for (size_t k = 0; k < r->stratum_count * r->count; k++) p[k] = r->strata[k / r->count].rows[k % r->count].holm;
    const status_code status = holm_correct(p, r->stratum_count * r->count, failure);
    for (size_t k = 0; k < r->stratum_count * r->count; k++) r->strata[k / r->count].rows[k % r->count].holm = p[k];
    free(p);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static status_code write_one(const void *context, table_format format, text *out, failure *failure) {
    return compared_classes_write(context, format, out, failure);
}

status_code compare_classes(compared_classes *compared, const compare_classes_request *request,
                            const listener *listener, failure *failure) {
    memset(compared, 0, sizeof *compared);
    job j = {request, listener, compared};
    if (request->count < 2 || request->count > COMPARED_MAX)
        return fail(failure, STATUS_BAD_INPUT, "compare takes 2 to %d evaluations", COMPARED_MAX);
    compared->count = request->count;
    status_code status = request->out ? own_results_check(request->out, RESULTS_OF_COMPARISON, failure) : STATUS_OK;
    if (status == STATUS_OK) status = read_methods(&j, failure);
    if (status == STATUS_OK) status = read_patients(compared, failure);
    if (status == STATUS_OK) status = score_all(&j, failure);
    if (status == STATUS_OK) status = correct_all(compared, failure);
    return status == STATUS_OK && request->out ? comparison_folder_write(request->out, write_one, compared, failure)
                                               : status;
}

void compared_classes_close(compared_classes *compared) {
    for (size_t m = 0; m < COMPARED_MAX; m++) classified_close(&compared->methods[m]);
    classified_groups_close(&compared->patients);
    free(compared->strata);
    compared->strata = NULL;
}
