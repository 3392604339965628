/*
 * The visit set: which examples are still to be visited, so that each of them can be drawn with equal chance.
 *
 * One bit per example and, above the bits, counts of 1024 bits, of 16 such counts, and so on: the member of any rank is
 * found, and taken out, in O(log n). 0.13 bytes per example.
 */
#ifndef HWS_SAMPLER_VISIT_SET_H
#define HWS_SAMPLER_VISIT_SET_H

#include <stddef.h>
#include <stdint.h>

enum { VISIT_MAX_LEVELS = 7 }; /* 16 * 1024 * 16^6 > 2^32 */

typedef struct visit_set {
    uint64_t *bits; /* NULL: there is no set */
    uint32_t *counts[VISIT_MAX_LEVELS];
    size_t count_size[VISIT_MAX_LEVELS];
    int levels; /* of counts; the last one has at most 16 */
    size_t block_size;
    int64_t n, size; /* examples, members */
} visit_set;

/* An empty set over n examples. 0 when out of memory; then it is closed. */
int visit_set_open(visit_set *set, int64_t n);
void visit_set_close(visit_set *set);

int visit_set_has(const visit_set *set, int64_t example);

/* Nothing happens to an example that is a member already, or is none. */
void visit_set_add(visit_set *set, int64_t example);
void visit_set_remove(visit_set *set, int64_t example);

/* The member of this rank among the members in order; rank < size. */
int64_t visit_set_select(const visit_set *set, int64_t rank);

#endif
