#include "sampler/visit_set.h"

#include "core/memory.h"

#include <string.h>

enum { WORD_BITS = 64, FAN = 16, BLOCK_BITS = FAN * WORD_BITS };

static int64_t up_to(int64_t count, int64_t unit) { return (count + unit - 1) / unit; }

int visit_set_open(visit_set *set, int64_t n) {
    *set = (visit_set){.n = n};
    size_t counts = 0, level_size = (size_t)up_to(n, BLOCK_BITS);
    const size_t words = level_size * FAN;
    do {
        set->count_size[set->levels++] = level_size;
        counts += level_size;
        level_size = (size_t)up_to((int64_t)level_size, FAN);
    } while (set->count_size[set->levels - 1] > FAN);
    set->block_size = words * sizeof *set->bits + counts * sizeof *set->counts[0];
    set->bits = memory_open(set->block_size);
    if (!set->bits) {
        visit_set_close(set);
        return 0;
    }
    memset(set->bits, 0, set->block_size);
    uint32_t *next = (uint32_t *)(set->bits + words);
    for (int level = 0; level < set->levels; level++) {
        set->counts[level] = next;
        next += set->count_size[level];
    }
    return 1;
}

void visit_set_close(visit_set *set) {
    memory_close(set->bits);
    *set = (visit_set){0};
}

int visit_set_has(const visit_set *set, int64_t example) {
    return (int)(set->bits[example / WORD_BITS] >> example % WORD_BITS & 1);
}

static void count_one(visit_set *set, int64_t example, uint32_t change) {
    size_t at = (size_t)(example / BLOCK_BITS);
    for (int level = 0; level < set->levels; level++, at /= FAN) set->counts[level][at] += change;
}

void visit_set_add(visit_set *set, int64_t example) {
    if (visit_set_has(set, example)) return;
    set->bits[example / WORD_BITS] |= (uint64_t)1 << example % WORD_BITS;
    count_one(set, example, 1);
    set->size++;
}

void visit_set_remove(visit_set *set, int64_t example) {
    if (!visit_set_has(set, example)) return;
    set->bits[example / WORD_BITS] &= ~((uint64_t)1 << example % WORD_BITS);
    count_one(set, example, UINT32_MAX); /* minus 1, modulo 2^32 */
    set->size--;
}

/* How many bits are set: sums of pairs, of fours, of bytes. */
static int64_t population(uint64_t bits) {
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (int64_t)(bits * UINT64_C(0x0101010101010101) >> 56);
}

static int bit_of_rank(uint64_t bits, int64_t rank) {
    for (; rank > 0; rank--) bits &= bits - 1;
    return (int)population((bits & (0 - bits)) - 1);
}

int64_t visit_set_select(const visit_set *set, int64_t rank) {
    size_t at = 0;
    for (int level = set->levels - 1; level >= 0; level--) {
        at *= FAN;
        while (rank >= set->counts[level][at]) rank -= set->counts[level][at++];
    }
    size_t word = at * FAN;
    for (int64_t here; rank >= (here = population(set->bits[word])); word++) rank -= here;
    return (int64_t)word * WORD_BITS + bit_of_rank(set->bits[word], rank);
}
