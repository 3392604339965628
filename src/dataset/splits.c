#include "dataset/splits.h"

#include "dataset/numpy_shuffle.h"
#include "dataset/splits_inside.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

status_code splits_open(splits *splits, int folds, failure *failure) {
    splits->count = 0;
    splits->folds = calloc((size_t)folds, sizeof *splits->folds);
    if (!splits->folds) return fail_memory(failure, "the folds");
    splits->count = folds;
    return STATUS_OK;
}

void splits_close(splits *splits) {
    for (int k = 0; k < splits->count; k++) {
        free(splits->folds[k].train);
        free(splits->folds[k].val);
    }
    free(splits->folds);
    splits->folds = NULL;
    splits->count = 0;
}

status_code split_fill(split *fold, const unsigned char *places, size_t cases, failure *failure) {
    size_t counts[3] = {0};
    for (size_t i = 0; i < cases; i++) counts[places[i]]++;
    fold->train = malloc((counts[PLACE_TRAIN] + 1) * sizeof *fold->train);
    fold->val = malloc((counts[PLACE_VAL] + 1) * sizeof *fold->val);
    if (!fold->train || !fold->val) return fail_memory(failure, "a fold");
    for (size_t i = 0; i < cases; i++) {
        if (places[i] == PLACE_TRAIN) fold->train[fold->train_count++] = i;
        if (places[i] == PLACE_VAL) fold->val[fold->val_count++] = i;
    }
    return STATUS_OK;
}

/* ---- which fold a case is validated in --------------------------------------------------------------------------- */

typedef struct dealt {
    const char *stratum;
    size_t index, turn; /* the case, and its place in the shuffled order */
} dealt;

static int by_stratum_and_turn(const void *a, const void *b) {
    const dealt *x = a, *y = b;
    const int order = strcmp(x->stratum, y->stratum);
    return order ? order : (x->turn > y->turn) - (x->turn < y->turn);
}

/* One round of dealing goes on from stratum to stratum, which keeps the folds equally large. */
static status_code deal(const size_t *order, size_t cases, int folds, const char *const *strata, int *fold_of,
                        failure *failure) {
    dealt *list = malloc(cases * sizeof *list);
    if (!list) return fail_memory(failure, "the folds");
    for (size_t k = 0; k < cases; k++) list[k] = (dealt){strata[order[k]], order[k], k};
    qsort(list, cases, sizeof *list, by_stratum_and_turn);
    for (size_t k = 0; k < cases; k++) fold_of[list[k].index] = (int)(k % (size_t)folds);
    free(list);
    return STATUS_OK;
}

/* Consecutive pieces of the shuffled order, the first ones larger by one if need be, as KFold has them. */
static void cut(const size_t *order, size_t cases, int folds, int *fold_of) {
    const size_t base = cases / (size_t)folds, larger = cases % (size_t)folds;
    size_t next = 0;
    for (int fold = 0; fold < folds; fold++)
        for (size_t left = base + ((size_t)fold < larger); left > 0; left--) fold_of[order[next++]] = fold;
}

static status_code assign(size_t *order, const splits_request *r, int *fold_of, failure *failure) {
    if (r->together) return splits_assign_together(r, fold_of, failure);
    for (size_t k = 0; k < r->cases; k++) order[k] = k;
    numpy_shuffle(SPLITS_SEED, order, r->cases);
    if (r->strata) return deal(order, r->cases, r->folds, r->strata, fold_of, failure);
    cut(order, r->cases, r->folds, fold_of);
    return STATUS_OK;
}

static status_code fill_all(splits *splits, const int *fold_of, size_t cases, failure *failure) {
    unsigned char *places = malloc(cases);
    status_code status = places ? STATUS_OK : fail_memory(failure, "the folds");
    for (int fold = 0; status == STATUS_OK && fold < splits->count; fold++) {
        for (size_t i = 0; i < cases; i++) places[i] = fold_of[i] == fold ? PLACE_VAL : PLACE_TRAIN;
        status = split_fill(&splits->folds[fold], places, cases, failure);
    }
    free(places);
    return status;
}

static status_code make(splits *splits, const splits_request *r, failure *failure) {
    size_t *order = malloc(r->cases * sizeof *order);
    int *fold_of = malloc(r->cases * sizeof *fold_of);
    status_code status = order && fold_of ? STATUS_OK : fail_memory(failure, "the folds");
    if (status == STATUS_OK) status = assign(order, r, fold_of, failure);
    if (status == STATUS_OK) status = splits_open(splits, r->folds, failure);
    if (status == STATUS_OK) status = fill_all(splits, fold_of, r->cases, failure);
    free(order);
    free(fold_of);
    if (status != STATUS_OK) splits_close(splits);
    return status;
}

status_code splits_make(splits *splits, const splits_request *r, failure *failure) {
    *splits = (struct splits){0};
    if (r->folds < 2 || r->folds > SPLITS_MAX_FOLDS)
        return fail(failure, STATUS_BAD_INPUT, "%d folds cannot be made; 2 to %d are possible", r->folds,
                    SPLITS_MAX_FOLDS);
    if (r->cases < (size_t)r->folds || r->cases > UINT32_MAX)
        return fail(
            failure, STATUS_BAD_INPUT,
            "%zu cases cannot be split into %d folds; add cases, train and validate on all of them with --fold -1, or "
            "write fewer folds into splits_final.json in the dataset's folder",
            r->cases, r->folds);
    return make(splits, r, failure);
}
