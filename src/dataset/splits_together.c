/* Folds in which cases that belong together stay together. */
#include "dataset/splits.h"

#include "dataset/numpy_shuffle.h"
#include "dataset/splits_inside.h"
#include "dataset/value_numbers.h"

#include <stdint.h>
#include <stdlib.h>

typedef struct block {
    size_t number, turn, size; /* its place in the shuffled order; how many cases */
    size_t stratum;            /* the lowest one of its cases */
} block;

/* What is placed while there is most room for it: large blocks first, then stratum by stratum. */
static int by_placing(const void *a, const void *b) {
    const block *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? 1 : -1;
    if (x->stratum != y->stratum) return x->stratum < y->stratum ? -1 : 1;
    return (x->turn > y->turn) - (x->turn < y->turn);
}

typedef struct placing {
    size_t cases, block_count, stratum_count;
    int folds;
    const size_t *block_of, *stratum_of; /* of each case */
    block *blocks;
    size_t *order;     /* the cases, block by block */
    size_t *first;     /* where the cases of a block begin in it */
    size_t *contents;  /* [fold][stratum]: cases so far */
    size_t *fold_size; /* [fold] */
    int *fold_of;      /* of each case: the result */
} placing;

static void shuffle_blocks(placing *p) {
    size_t *turns = p->order; /* scratch until the cases are listed */
    for (size_t k = 0; k < p->block_count; k++) turns[k] = k;
    numpy_shuffle(SPLITS_SEED, turns, p->block_count);
    for (size_t k = 0; k < p->block_count; k++)
        p->blocks[turns[k]] = (block){.number = turns[k], .turn = k, .stratum = SIZE_MAX};
}

/* The cases block by block: a counting sort. */
static void list_cases(placing *p) {
    for (size_t i = 0; i < p->cases; i++) {
        block *one = &p->blocks[p->block_of[i]];
        one->size++;
        if (p->stratum_of[i] < one->stratum) one->stratum = p->stratum_of[i];
    }
    p->first[0] = 0;
    for (size_t k = 0; k < p->block_count; k++) p->first[k + 1] = p->first[k] + p->blocks[k].size;
    for (size_t i = p->cases; i-- > 0;) p->order[--p->first[p->block_of[i] + 1]] = i;
    for (size_t k = 0; k < p->block_count; k++) p->first[k + 1] = p->first[k] + p->blocks[k].size;
}

/* Where the block meets the fewest cases of its own strata; where several are equal, the smallest fold. */
static int best_fold(const placing *p, const block *one) {
    int best = 0;
    size_t fewest = SIZE_MAX;
    for (int fold = 0; fold < p->folds; fold++) {
        size_t met = 0;
        for (size_t k = p->first[one->number]; k < p->first[one->number + 1]; k++)
            met += p->contents[(size_t)fold * p->stratum_count + p->stratum_of[p->order[k]]];
        if (met < fewest || (met == fewest && p->fold_size[fold] < p->fold_size[best])) {
            fewest = met;
            best = fold;
        }
    }
    return best;
}

static void place_blocks(placing *p) {
    shuffle_blocks(p);
    list_cases(p);
    qsort(p->blocks, p->block_count, sizeof *p->blocks, by_placing);
    for (size_t b = 0; b < p->block_count; b++) {
        const block *one = &p->blocks[b];
        const int fold = best_fold(p, one);
        for (size_t k = p->first[one->number]; k < p->first[one->number + 1]; k++) {
            p->fold_of[p->order[k]] = fold;
            p->contents[(size_t)fold * p->stratum_count + p->stratum_of[p->order[k]]]++;
        }
        p->fold_size[fold] += one->size;
    }
}

static status_code place(placing *p, failure *failure) {
    p->blocks = malloc(p->block_count * sizeof *p->blocks);
    p->order = malloc(p->cases * sizeof *p->order);
    p->first = malloc((p->block_count + 1) * sizeof *p->first);
    p->contents = calloc((size_t)p->folds * p->stratum_count, sizeof *p->contents);
    p->fold_size = calloc((size_t)p->folds, sizeof *p->fold_size);
    const int opened = p->blocks && p->order && p->first && p->contents && p->fold_size;
    if (opened) place_blocks(p);
    free(p->blocks);
    free(p->order);
    free(p->first);
    free(p->contents);
    free(p->fold_size);
    return opened ? STATUS_OK : fail_memory(failure, "the folds");
}

static status_code check_blocks(size_t blocks, size_t cases, int folds, failure *failure) {
    if (blocks >= (size_t)folds) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%zu cases that stay together in %zu %s cannot be split into %d folds; train and validate on all of "
                "them with --fold -1, or write fewer folds into splits_final.json in the dataset's folder",
                cases, blocks, blocks == 1 ? "group" : "groups", folds);
}

status_code splits_assign_together(const splits_request *request, int *fold_of, failure *failure) {
    const size_t cases = request->cases;
    size_t *block_of = malloc(cases * sizeof *block_of), *stratum_of = calloc(cases, sizeof *stratum_of);
    placing p = {.cases = cases, .stratum_count = 1, .folds = request->folds, .fold_of = fold_of};
    status_code status = block_of && stratum_of ? STATUS_OK : fail_memory(failure, "the folds");
    if (status == STATUS_OK) status = value_numbers(request->together, cases, block_of, &p.block_count, failure);
    if (status == STATUS_OK && request->strata)
        status = value_numbers(request->strata, cases, stratum_of, &p.stratum_count, failure);
    if (status == STATUS_OK) status = check_blocks(p.block_count, cases, request->folds, failure);
    p.block_of = block_of;
    p.stratum_of = stratum_of;
    if (status == STATUS_OK) status = place(&p, failure);
    free(block_of);
    free(stratum_of);
    return status;
}
