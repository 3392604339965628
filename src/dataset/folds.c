#define _POSIX_C_SOURCE 200809L /* access */
#include "dataset/folds.h"

#include "core/path.h"
#include "core/patient_column.h"
#include "dataset/case_groups.h"
#include "dataset/patients.h"
#include "ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char FILE_NAME[] = "splits_final.json", FORMER_NAME[] = "splits_former.json";

static int are_named(const fold_columns *columns) { return *columns->stratify || *columns->together; }

static status_code make_by_columns(splits *folds, const dataset *set, const fold_columns *columns,
                                   const case_groups *groups, failure *failure) {
    const char **strata = NULL, **together = NULL;
    status_code status = STATUS_OK;
    if (*columns->stratify) status = case_groups_column(groups, set, columns->stratify, &strata, failure);
    if (status == STATUS_OK && *columns->together)
        status = case_groups_column(groups, set, columns->together, &together, failure);
    if (status == STATUS_OK)
        status = splits_make(folds, &(splits_request){set->train_count, SPLITS_FOLDS, strata, together}, failure);
    free(strata);
    free(together);
    return status;
}

static status_code make(splits *folds, const dataset *set, const fold_columns *columns, failure *failure) {
    case_groups groups;
    *folds = (splits){0};
    if (!are_named(columns))
        return splits_make(folds, &(splits_request){.cases = set->train_count, .folds = SPLITS_FOLDS}, failure);
    status_code status = case_groups_of_dataset(&groups, set, failure);
    if (status != STATUS_OK) return status;
    status = make_by_columns(folds, set, columns, &groups, failure);
    case_groups_close(&groups);
    return status;
}

static void tell_patients(const patients *p, const dataset *set, const char *column, const listener *listener) {
    char notice[512], who[150] = "groups.csv";
    if (!patient_column_is_plain(column)) snprintf(who, sizeof who, "the column '%.100s' of groups.csv", column);
    snprintf(notice, sizeof notice,
             "%s names %zu patients, with several of the %zu cases: the folds keep a patient's together, which "
             "nnU-Net's do not",
             who, p->named, set->train_count);
    listener_notice(listener, notice);
}

static status_code make_by_patient(splits *folds, const dataset *set, const case_groups *groups,
                                   const listener *listener, failure *failure) {
    splits_request request = {.cases = set->train_count, .folds = SPLITS_FOLDS};
    patients p;
    status_code status = patients_open(&p, groups, set, failure);
    /* Of too few patients folds_tell_torn tells. */
    if (status == STATUS_OK && p.blocks < set->train_count && p.blocks >= SPLITS_FOLDS) {
        tell_patients(&p, set, csv_name(&groups->table, (size_t)case_groups_patients(groups)), listener);
        request.together = p.of;
    }
    if (status == STATUS_OK) status = splits_make(folds, &request, failure);
    patients_close(&p);
    return status;
}

/* nnU-Net's folds; where groups.csv has a column of patients, folds of whole patients. */
static status_code make_by_default(splits *folds, const dataset *set, const listener *listener, failure *failure) {
    case_groups groups;
    status_code status = case_groups_of_dataset(&groups, set, failure);
    if (status != STATUS_OK) return status;
    *folds = (splits){0};
    status = case_groups_patients(&groups) >= 0 ? make_by_patient(folds, set, &groups, listener, failure)
                                                : make(folds, set, &(fold_columns){"", ""}, failure);
    case_groups_close(&groups);
    return status;
}

status_code folds_path(char path[PATH_SIZE], const dataset *set, const char *cache, failure *failure) {
    const status_code status = path_join(path, set->folder, FILE_NAME, failure);
    return status != STATUS_OK || path_exists(path) ? status : path_join(path, cache, FILE_NAME, failure);
}

status_code folds_make(splits *folds, const dataset *set, const fold_columns *columns, failure *failure) {
    char given[PATH_SIZE];
    const status_code status = path_join(given, set->folder, FILE_NAME, failure);
    if (status != STATUS_OK) return status;
    if (path_exists(given))
        return fail(failure, STATUS_BAD_INPUT,
                    "%.500s is there and decides the folds; remove it to have them made by columns of groups.csv",
                    given);
    return make(folds, set, columns, failure);
}

status_code folds_check(const dataset *set, failure *failure) {
    char given[PATH_SIZE];
    splits folds = {0};
    status_code status = path_join(given, set->folder, FILE_NAME, failure);
    if (status != STATUS_OK || !path_exists(given)) return status;
    status = splits_read(&folds, given, set->ids, set->train_count, failure);
    splits_close(&folds);
    return status;
}

status_code folds_keep(const splits *folds, const dataset *set, const char *cache, failure *failure) {
    char path[PATH_SIZE];
    const status_code status = path_join(path, cache, FILE_NAME, failure);
    if (!ranks_is_first(ranks_here())) return status;
    return status == STATUS_OK ? splits_write(folds, path, set->ids, failure) : status;
}

/* Whether every fold has all cases, as folds that were made here do until cases are added. */
static int are_complete(const splits *folds, const dataset *set) {
    int complete = 1;
    for (int k = 0; k < folds->count; k++)
        complete = complete && folds->folds[k].train_count + folds->folds[k].val_count == set->train_count;
    return complete;
}

static status_code make_anew(splits *folds, const dataset *set, const char *cache, const listener *listener,
                             failure *failure) {
    char notice[1024], path[PATH_SIZE];
    const status_code joined = path_join(path, cache, FILE_NAME, failure);
    if (joined != STATUS_OK) return joined;
    if (path_exists(path)) {
        snprintf(notice, sizeof notice,
                 "%.500s cannot be read, or does not name the cases that the dataset has now: the folds are made anew; "
                 "hws plan with --stratify or --keep-together makes others. What was there is kept as %s",
                 path, FORMER_NAME);
        listener_notice(listener, notice);
    }
    const status_code status = make_by_default(folds, set, listener, failure);
    /* A cache of somebody else may be read-only: the folds come out the same every time. */
    if (!ranks_is_first(ranks_here())) return status; /* all make the same; one keeps them */
    if (status != STATUS_OK || (!path_exists(path) && access(cache, W_OK) != 0)) return status;
    char former[PATH_SIZE]; /* it may have been written by hand */
    if (path_exists(path) && path_join(former, cache, FORMER_NAME, NULL) == STATUS_OK) rename(path, former);
    return splits_write(folds, path, set->ids, failure);
}

/* Other folds than nnU-Net's may stand there: only those are replaced that are known not to fit. */
static status_code read_kept(splits *folds, const dataset *set, const char *path, int *fit, failure *failure) {
    *fit = 0;
    if (!path_exists(path)) return STATUS_OK;
    const status_code status = splits_read(folds, path, set->ids, set->train_count, failure);
    *fit = status == STATUS_OK && are_complete(folds, set);
    if (status == STATUS_OK && !*fit) splits_close(folds);
    return status == STATUS_CANNOT_READ || status == STATUS_OUT_OF_MEMORY ? status : STATUS_OK;
}

status_code folds_open(splits *folds, const dataset *set, const fold_columns *columns, const char *cache,
                       const listener *listener, failure *failure) {
    char given[PATH_SIZE], kept[PATH_SIZE];
    if (are_named(columns)) return make(folds, set, columns, failure);
    status_code status = path_join(given, set->folder, FILE_NAME, failure);
    if (status == STATUS_OK) status = path_join(kept, cache, FILE_NAME, failure);
    if (status != STATUS_OK) return status;
    if (path_exists(given)) return splits_read(folds, given, set->ids, set->train_count, failure);
    int fit;
    status = read_kept(folds, set, kept, &fit, failure);
    return status != STATUS_OK || fit ? status : make_anew(folds, set, cache, listener, failure);
}
