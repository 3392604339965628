#include "sampler/weight_tree.h"
#include "sampler/purposes.h"

#include "core/memory.h"
#include "core/portable_math.h"

#include <math.h>
#include <string.h>

extern const tree_kernels hws_tree_kernels_generic;
#ifdef HWS_HAVE_X86_KERNELS
extern const tree_kernels hws_tree_kernels_avx2, hws_tree_kernels_avx512;
#endif

/* The sets by falling preference; NULL where this machine lacks one. CPUs with AVX2 and BMI2 have LZCNT, too. */
static const tree_kernels *available(int which) {
#ifdef HWS_HAVE_X86_KERNELS
    const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const int avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
    if (which == 0 && avx512) return &hws_tree_kernels_avx512;
    if (which == 1 && avx2) return &hws_tree_kernels_avx2;
#endif
    return which == 2 ? &hws_tree_kernels_generic : NULL;
}

const tree_kernels *tree_kernels_choose(void) {
    for (int which = 0; which < 2; which++)
        if (available(which)) return available(which);
    return available(2);
}

const tree_kernels *tree_kernels_named(const char *name) {
    for (int which = 0; which <= 2; which++)
        if (available(which) && strcmp(available(which)->name, name) == 0) return available(which);
    return NULL;
}

tree_scale tree_scale_of(double beta) {
    const wide_sum head = wide_product(beta, HWS_LOG2_E);
    const wide_sum scale = wide_add_double(head, beta * HWS_LOG2_E_TAIL);
    /* 29 bits times the 24 of a loss are exact. */
    const double high = hws_double_of(hws_bits_of(scale.high) & ~(uint64_t)0xffffff);
    const double limit = beta > 0 ? 0x1p32 / scale.high : INFINITY;
    return (tree_scale){high, (scale.high - high) + scale.low, limit > FLT_MAX ? FLT_MAX : (float)limit};
}

static size_t up_to(size_t count, size_t unit) { return (count + unit - 1) / unit; }

size_t tree_padded_size(size_t n) { return up_to(n, TREE_PARTS) * TREE_PARTS; }

int weight_tree_open(weight_tree *tree, size_t n) {
    *tree = (weight_tree){.leaves = up_to(n, TREE_PARTS), .kernels = tree_kernels_choose()};
    size_t nodes = 0, words = tree->leaves;
    do {
        words = up_to(words, TREE_PARTS);
        tree->node_count[tree->levels++] = words;
        nodes += words;
    } while (words * TREE_PARTS > TREE_CROWN);
    tree->crown.nodes = words;
    tree->block_size = nodes * sizeof(tree_node);
    tree->block = memory_open(tree->block_size);
    if (!tree->block) return 0;
    tree_node *next = tree->block;
    for (int level = 0; level < tree->levels; level++) {
        tree->nodes[level] = next;
        next += tree->node_count[level];
    }
    return 1;
}

void weight_tree_close(weight_tree *tree) {
    memory_close(tree->block);
    *tree = (weight_tree){0};
}

void weight_tree_rebuild(weight_tree *tree, const float *losses, tree_scale scale) {
    tree->losses = losses;
    tree->scale = scale;
    memset(tree->block, 0, tree->block_size);
    tree->kernels->sum_leaves(tree, NULL, tree->leaves);
    for (int level = 0; level + 1 < tree->levels; level++)
        tree->kernels->sum_nodes(tree, level, NULL, tree->node_count[level]);
    tree->kernels->sum_crown(tree, UINT32_MAX);
}

/* The parents of these nodes; each once where there are at most 64 of them, else repeats that are adjacent are left
 * out. */
static size_t parents_of(uint32_t *nodes, size_t count, size_t parent_count) {
    size_t kept = 0;
    if (parent_count <= 64) {
        uint64_t mask = 0;
        for (size_t j = 0; j < count; j++) mask |= (uint64_t)1 << nodes[j] / TREE_PARTS;
        for (uint32_t parent = 0; mask; parent++, mask >>= 1)
            if (mask & 1) nodes[kept++] = parent;
        return kept;
    }
    for (size_t j = 0; j < count; j++) {
        const uint32_t parent = nodes[j] / TREE_PARTS;
        if (kept == 0 || nodes[kept - 1] != parent) nodes[kept++] = parent;
    }
    return kept;
}

/* Returns the set of the crown's nodes that have changed. */
static uint32_t refresh_flight(weight_tree *tree, const int64_t *examples, size_t count) {
    uint32_t nodes[TREE_FLIGHT], changed = 0;
    for (size_t j = 0; j < count; j++) nodes[j] = (uint32_t)(examples[j] / TREE_PARTS);
    tree->kernels->sum_leaves(tree, nodes, count);
    for (int level = 0; level + 1 < tree->levels; level++) {
        count = parents_of(nodes, count, tree->node_count[level]);
        tree->kernels->sum_nodes(tree, level, nodes, count);
    }
    for (size_t j = 0; j < count; j++) changed |= (uint32_t)1 << nodes[j] / TREE_PARTS;
    return changed;
}

void weight_tree_refresh(weight_tree *tree, const int64_t *examples, size_t count) {
    /* From about this share on, a rebuild touches less memory than the single paths. */
    if (count > tree->leaves / 2) {
        weight_tree_rebuild(tree, tree->losses, tree->scale);
        return;
    }
    uint32_t changed = 0;
    for (size_t first = 0; first < count; first += TREE_FLIGHT)
        changed |= refresh_flight(tree, examples + first, count - first < TREE_FLIGHT ? count - first : TREE_FLIGHT);
    tree->kernels->sum_crown(tree, changed);
}

void weight_tree_draw(const weight_tree *tree, uint64_t seed, uint64_t iteration, uint32_t first_slot, size_t count,
                      int64_t *examples) {
    tree_draw draws[TREE_FLIGHT];
    for (size_t first = 0; first < count; first += TREE_FLIGHT) {
        const size_t flight = count - first < TREE_FLIGHT ? count - first : TREE_FLIGHT;
        for (size_t j = 0; j < flight; j++)
            random_start(&draws[j].random, seed, RANDOM_DRAW, iteration, first_slot + (uint32_t)(first + j));
        tree->kernels->descend(tree, draws, flight);
        for (size_t j = 0; j < flight; j++) examples[first + j] = (int64_t)draws[j].place;
    }
}

tree_word weight_tree_weight(const weight_tree *tree, float loss) {
    float losses[TREE_PARTS];
    tree_word weights[TREE_PARTS];
    for (int i = 0; i < TREE_PARTS; i++) losses[i] = loss;
    tree->kernels->leaf_weights(&tree->scale, losses, weights);
    return weights[0];
}

double tree_word_ratio(tree_word a, tree_word b) {
    if (a.mass == 0) return 0;
    const int64_t distance = a.exponent - b.exponent;
    const int bounded = distance > 3000 ? 3000 : distance < -3000 ? -3000 : (int)distance;
    return ldexp((double)a.mass / (double)b.mass, bounded);
}
