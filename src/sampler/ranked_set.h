/*
 * The ranked set: examples ordered by loss, with counts and sums of the hardest ones, in O(log n) per operation.
 *
 * A treap whose priorities are hashes of the example numbers. Its shape, and with it every rounded sum, is therefore
 * a pure function of the members and their losses: a set that was updated equals one that was rebuilt, bit for bit.
 * Rank 0 is the largest loss; equal losses are ordered by example number, smaller ones first.
 */
#ifndef HWS_SAMPLER_RANKED_SET_H
#define HWS_SAMPLER_RANKED_SET_H

#include "core/portable_math.h"

#include <stddef.h>
#include <stdint.h>

#define RANKED_NONE UINT32_MAX

typedef struct ranked_item {
    uint32_t harder, easier, parent; /* subtrees of smaller and of larger rank */
    uint32_t count;                  /* members of this subtree; 0: not in the set */
    wide_sum sum;                    /* of their losses */
} ranked_item;

typedef struct ranked_set {
    const float *losses; /* the caller's; must not change for a member */
    ranked_item *items;  /* one per example */
    uint32_t size, root;
} ranked_set;

/* 0 when out of memory; then the set is closed. */
int ranked_set_open(ranked_set *set, const float *losses, size_t n);
void ranked_set_close(ranked_set *set);

/* Makes exactly the examples below n whose loss is not -infinity members. O(n), a radix sort. 0 when out of
   memory; then nothing changed. */
int ranked_set_fill(ranked_set *set, size_t n);

void ranked_set_insert(ranked_set *set, uint32_t example);
void ranked_set_erase(ranked_set *set, uint32_t example);

/* The member of this rank, which must be below the set's size. */
uint32_t ranked_set_select(const ranked_set *set, uint32_t rank);

/*
 * The hardest members, as far as `keep` answers yes; it must do so for a prefix of the ranks. It is asked about a
 * member's loss, and about the count and the sum of the losses up to and with that member.
 */
typedef int ranked_keep(const void *context, double loss, uint32_t count, wide_sum sum);
uint32_t ranked_set_prefix(const ranked_set *set, ranked_keep *keep, const void *context, wide_sum *sum);

/* How many members have a loss > bound, and >= bound; the sum of the former may be asked for too. */
uint32_t ranked_set_above(const ranked_set *set, double bound, wide_sum *sum);
uint32_t ranked_set_from(const ranked_set *set, double bound);

#endif
