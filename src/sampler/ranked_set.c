#include "sampler/ranked_set.h"

#include "core/memory.h"
#include "sampler/loss_order.h"

#include <float.h>
#include <string.h>

int ranked_set_open(ranked_set *set, const float *losses, size_t n) {
    *set = (ranked_set){.losses = losses, .root = RANKED_NONE};
    set->items = memory_open(n * sizeof *set->items);
    if (!set->items) return 0;
    memset(set->items, 0, n * sizeof *set->items);
    return 1;
}

void ranked_set_close(ranked_set *set) {
    memory_close(set->items);
    *set = (ranked_set){.root = RANKED_NONE};
}

/* A bijection of 64-bit numbers that looks random (Steele et al. 2014), so two examples never tie. */
static uint64_t priority(uint32_t example) {
    uint64_t x = example + UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static int is_harder(const ranked_set *set, uint32_t a, uint32_t b) {
    return set->losses[a] > set->losses[b] || (set->losses[a] == set->losses[b] && a < b);
}

static uint32_t count_of(const ranked_set *set, uint32_t at) { return at == RANKED_NONE ? 0 : set->items[at].count; }

static wide_sum sum_of(const ranked_set *set, uint32_t at) {
    return at == RANKED_NONE ? (wide_sum){0, 0} : set->items[at].sum;
}

static void summarise(ranked_set *set, uint32_t at) {
    ranked_item *item = &set->items[at];
    item->count = count_of(set, item->harder) + 1 + count_of(set, item->easier);
    item->sum = wide_add(wide_add_double(sum_of(set, item->harder), set->losses[at]), sum_of(set, item->easier));
}

static void summarise_up(ranked_set *set, uint32_t at) {
    for (; at != RANKED_NONE; at = set->items[at].parent) summarise(set, at);
}

/* Puts `to` into the place that `from` has below its parent. */
static void replace_child(ranked_set *set, uint32_t from, uint32_t to) {
    const uint32_t parent = set->items[from].parent;
    if (parent == RANKED_NONE) set->root = to;
    else if (set->items[parent].harder == from) set->items[parent].harder = to;
    else set->items[parent].easier = to;
    if (to != RANKED_NONE) set->items[to].parent = parent;
}

/* Lifts a member above its parent. Only the parent is summarised again. */
static void rotate_up(ranked_set *set, uint32_t at) {
    const uint32_t parent = set->items[at].parent;
    ranked_item *item = &set->items[at], *above = &set->items[parent];
    replace_child(set, parent, at);
    uint32_t moved;
    if (above->harder == at) {
        moved = above->harder = item->easier;
        item->easier = parent;
    } else {
        moved = above->easier = item->harder;
        item->harder = parent;
    }
    if (moved != RANKED_NONE) set->items[moved].parent = parent;
    above->parent = at;
    summarise(set, parent);
}

void ranked_set_insert(ranked_set *set, uint32_t example) {
    uint32_t parent = RANKED_NONE, *link = &set->root;
    while (*link != RANKED_NONE) {
        parent = *link;
        link = is_harder(set, example, parent) ? &set->items[parent].harder : &set->items[parent].easier;
    }
    *link = example;
    set->items[example] = (ranked_item){.harder = RANKED_NONE, .easier = RANKED_NONE, .parent = parent};
    const uint64_t own = priority(example);
    while (set->items[example].parent != RANKED_NONE && priority(set->items[example].parent) < own)
        rotate_up(set, example);
    summarise_up(set, example);
    set->size++;
}

void ranked_set_erase(ranked_set *set, uint32_t example) {
    ranked_item *item = &set->items[example];
    while (item->harder != RANKED_NONE && item->easier != RANKED_NONE)
        rotate_up(set, priority(item->harder) > priority(item->easier) ? item->harder : item->easier);
    replace_child(set, example, item->harder != RANKED_NONE ? item->harder : item->easier);
    summarise_up(set, item->parent);
    item->count = 0;
    set->size--;
}

/* Appends the member that is easier than all before it: the right spine gives way to its priority. */
static uint32_t append(ranked_set *set, uint32_t last, uint32_t example) {
    const uint64_t own = priority(example);
    uint32_t below = RANKED_NONE;
    while (last != RANKED_NONE && priority(last) < own) {
        summarise(set, last);
        below = last;
        last = set->items[last].parent;
    }
    set->items[example] = (ranked_item){.harder = below, .easier = RANKED_NONE, .parent = last};
    if (below != RANKED_NONE) set->items[below].parent = example;
    if (last == RANKED_NONE) set->root = example;
    else set->items[last].easier = example;
    return example;
}

int ranked_set_fill(ranked_set *set, size_t n) {
    uint32_t *order = memory_open(n * sizeof *order);
    if (!order || !hardest_first(set->losses, n, order)) {
        memory_close(order);
        return 0;
    }
    set->root = RANKED_NONE;
    uint32_t last = RANKED_NONE;
    set->size = 0;
    for (; set->size < n && set->losses[order[set->size]] >= -FLT_MAX; set->size++)
        last = append(set, last, order[set->size]);
    summarise_up(set, last);
    memory_close(order);
    return 1;
}

uint32_t ranked_set_select(const ranked_set *set, uint32_t rank) {
    uint32_t at = set->root;
    for (;;) {
        const ranked_item *item = &set->items[at];
        const uint32_t harder = count_of(set, item->harder);
        if (rank == harder) return at;
        if (rank < harder) {
            at = item->harder;
        } else {
            rank -= harder + 1;
            at = item->easier;
        }
    }
}

uint32_t ranked_set_prefix(const ranked_set *set, ranked_keep *keep, const void *context, wide_sum *sum) {
    uint32_t kept = 0;
    wide_sum total = {0, 0};
    for (uint32_t at = set->root; at != RANKED_NONE;) {
        const ranked_item *item = &set->items[at];
        const double loss = set->losses[at];
        const uint32_t count = kept + count_of(set, item->harder) + 1;
        const wide_sum with = wide_add_double(wide_add(total, sum_of(set, item->harder)), loss);
        if (keep(context, loss, count, with)) {
            kept = count;
            total = with;
            at = item->easier;
        } else {
            at = item->harder;
        }
    }
    if (sum) *sum = total;
    return kept;
}

static int keep_above(const void *bound, double loss, uint32_t count, wide_sum sum) {
    (void)count, (void)sum;
    return loss > *(const double *)bound;
}

static int keep_from(const void *bound, double loss, uint32_t count, wide_sum sum) {
    (void)count, (void)sum;
    return loss >= *(const double *)bound;
}

uint32_t ranked_set_above(const ranked_set *set, double bound, wide_sum *sum) {
    return ranked_set_prefix(set, keep_above, &bound, sum);
}

uint32_t ranked_set_from(const ranked_set *set, double bound) {
    return ranked_set_prefix(set, keep_from, &bound, NULL);
}
