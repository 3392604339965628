/*
 * The hot loops of the weight tree. This file is compiled once per instruction set, with HWS_KERNELS naming the set.
 */
#include "sampler/weight_tree_descent.h"
#include "sampler/weight_tree_parts.h"

#ifndef HWS_KERNELS
#define HWS_KERNELS generic
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

static ALWAYS_INLINE tree_word total_of(const parts *of) {
    lanes_u largest = of->exponent[0];
    for (int row = 1; row < ROWS; row++) largest = lanes_larger(largest, of->exponent[row]);
    const lanes_u unit = lanes_add_u(lanes_largest(largest), lanes_fill_u(TREE_HEADROOM));
    lanes_u sum = widths(of, 0, unit);
    for (int row = 1; row < ROWS; row++) sum = lanes_add_u(sum, widths(of, row, unit));
    const uint64_t mass = lanes_sum(sum);
    const int room = COUNT_LEADING_ZEROS(mass) - (64 - TREE_MASS_BITS);
    const int shift = room < TREE_HEADROOM ? room : TREE_HEADROOM;
    return (tree_word){mass << shift, (int64_t)lanes_get(unit, 0) - TREE_EXPONENT_BIAS - shift, shift};
}

static void leaf_weights(const tree_scale *scale, const float losses[TREE_PARTS], tree_word weights[TREE_PARTS]) {
    parts leaf;
    leaf_parts(scale, losses, &leaf);
    for (int i = 0; i < TREE_PARTS; i++)
        weights[i] = (tree_word){lanes_get(leaf.mass[i / LANES], i % LANES),
                                 (int64_t)lanes_get(leaf.exponent[i / LANES], i % LANES) - TREE_EXPONENT_BIAS, 0};
}

/* What has less than 2^-1000 of the reference's weight counts as that much, of a distance of 700: as nothing. */
enum { FAR_BITS = 1000, FAR = 700 };

/* The weights as numbers: a mass has 51 bits and two zeros below them. */
static ALWAYS_INLINE lanes weights_of(const parts *leaf, int row, uint64_t unit) {
    const lanes_u magic = lanes_fill_u(hws_bits_of(0x1p52));
    const lanes_u integer = lanes_or(lanes_shift_right(leaf->mass[row], 2), magic);
    const lanes mass = lanes_subtract(lanes_of_bits(integer), lanes_fill(0x1p52));
    const lanes_u exponent = lanes_larger(leaf->exponent[row], lanes_fill_u(unit - FAR_BITS));
    const lanes_u power = lanes_subtract_u(exponent, lanes_fill_u(unit - 1023 - 2));
    return lanes_multiply(mass, lanes_of_bits(lanes_shift_left(power, 52)));
}

/* The sums in rows, which are kept in registers from leaf to leaf. */
typedef struct sum_rows {
    lanes mass[ROWS], first[ROWS], second[ROWS];
} sum_rows;

static ALWAYS_INLINE void add_leaf(const parts *leaf, const float *losses, const tree_sums *about, sum_rows *sums) {
    const uint64_t unit = (uint64_t)(about->unit.exponent + TREE_EXPONENT_BIAS);
    const lanes beta = lanes_fill(about->beta), reference = lanes_fill(about->reference);
    for (int row = 0; row < ROWS; row++) {
        const lanes below = lanes_subtract(lanes_load_floats(losses + LANES * row), reference);
        const lanes t = lanes_at_least(lanes_multiply(beta, below), -FAR);
        const lanes weight = weights_of(leaf, row, unit), moment = lanes_multiply(weight, t);
        sums->mass[row] = lanes_add(sums->mass[row], weight);
        sums->first[row] = lanes_add(sums->first[row], moment);
        sums->second[row] = lanes_add(sums->second[row], lanes_multiply(moment, t));
    }
}

static ALWAYS_INLINE void load_sums(const tree_sums *from, sum_rows *to) {
    memcpy(to->mass, from->mass, sizeof to->mass);
    memcpy(to->first, from->first, sizeof to->first);
    memcpy(to->second, from->second, sizeof to->second);
}

static ALWAYS_INLINE void store_sums(tree_sums *to, const sum_rows *from) {
    memcpy(to->mass, from->mass, sizeof to->mass);
    memcpy(to->first, from->first, sizeof to->first);
    memcpy(to->second, from->second, sizeof to->second);
}

static void add_moments(const tree_scale *scale, const float losses[TREE_PARTS], tree_sums *sums) {
    parts leaf;
    sum_rows rows;
    leaf_parts(scale, losses, &leaf);
    load_sums(sums, &rows);
    add_leaf(&leaf, losses, sums, &rows);
    store_sums(sums, &rows);
}

static void sum_leaves_moments(weight_tree *tree, size_t first, size_t count, tree_sums *sums) {
    const tree_scale scale = tree->scale;
    const tree_sums about = *sums;
    sum_rows rows;
    load_sums(sums, &rows);
    for (size_t leaf = first; leaf < first + count; leaf++) {
        const float *losses = tree->losses + leaf * TREE_PARTS;
        parts of;
        leaf_parts(&scale, losses, &of);
        add_leaf(&of, losses, &about, &rows);
        tree_node_set(&tree->nodes[0][leaf / TREE_PARTS], (int)(leaf % TREE_PARTS), total_of(&of));
    }
    store_sums(sums, &rows);
}

enum { MAXIMA = 4 * TREE_PARTS };

/* Several maxima and counts side by side, which compilers turn into vectors. */
static float largest(const float *losses, size_t leaves, size_t *ties) {
    const size_t count = leaves * TREE_PARTS, whole = count - count % MAXIMA;
    float most[MAXIMA], all = -INFINITY;
    uint32_t counts[MAXIMA] = {0};
    for (int i = 0; i < MAXIMA; i++) most[i] = -INFINITY;
    for (size_t first = 0; first < whole; first += MAXIMA)
        for (size_t i = 0; i < MAXIMA; i++) most[i] = losses[first + i] > most[i] ? losses[first + i] : most[i];
    for (size_t i = whole; i < count; i++) all = losses[i] > all ? losses[i] : all;
    for (int i = 0; i < MAXIMA; i++) all = most[i] > all ? most[i] : all;
    for (size_t first = 0; first < whole; first += MAXIMA)
        for (size_t i = 0; i < MAXIMA; i++) counts[i] += losses[first + i] == all;
    *ties = 0;
    for (size_t i = whole; i < count; i++) *ties += losses[i] == all;
    for (int i = 0; i < MAXIMA; i++) *ties += counts[i];
    return all;
}

static void sum_leaves(weight_tree *tree, const uint32_t *leaves, size_t count) {
    const tree_scale scale = tree->scale;
    parts of[GROUP];
    for (size_t first = 0; first < count; first += GROUP) {
        const size_t end = count - first < GROUP ? count : first + GROUP;
        for (size_t j = first; j < end; j++)
            leaf_parts(&scale, tree->losses + (leaves ? leaves[j] : j) * TREE_PARTS, &of[j - first]);
        for (size_t j = first; j < end; j++) {
            const size_t leaf = leaves ? leaves[j] : j;
            tree_node_set(&tree->nodes[0][leaf / TREE_PARTS], (int)(leaf % TREE_PARTS), total_of(&of[j - first]));
        }
    }
}

static void sum_nodes(weight_tree *tree, int level, const uint32_t *nodes, size_t count) {
    for (size_t j = 0; j < count; j++) {
        const size_t node = nodes ? nodes[j] : j;
        parts of;
        node_parts(&tree->nodes[level][node], &of);
        tree_node_set(&tree->nodes[level + 1][node / TREE_PARTS], (int)(node % TREE_PARTS), total_of(&of));
    }
}

/* The crown's units are finer: with 2^-2 of its largest part's, 256 parts of 53 bits sum to 63 bits. */
enum { CROWN_FINER = 2 };

static ALWAYS_INLINE uint64_t largest_exponent(const tree_node *node) {
    parts of;
    node_parts(node, &of);
    lanes_u largest = of.exponent[0];
    for (int row = 1; row < ROWS; row++) largest = lanes_larger(largest, of.exponent[row]);
    return lanes_get(lanes_largest(largest), 0);
}

/* Where the words of a node end, counted from its beginning. */
static ALWAYS_INLINE void sum_words(const tree_node *node, uint64_t top, uint64_t *ends) {
    parts of;
    node_parts(node, &of);
    lanes_u before = lanes_fill_u(0);
    for (int row = 0; row < ROWS; row++) {
        of.mass[row] = lanes_shift_left(of.mass[row], CROWN_FINER);
        const lanes_u sums = lanes_running_sum(widths(&of, row, lanes_fill_u(top)));
        lanes_store_u64(ends + LANES * row, lanes_add_u(sums, before));
        before = lanes_add_u(before, lanes_last(sums));
    }
}

/* Nodes are named by bits, so that going through those that have changed is no branch for each of the others. */
static void sum_crown(weight_tree *tree, uint32_t changed) {
    const tree_node *nodes = tree->nodes[tree->levels - 1];
    tree_crown *crown = &tree->crown;
    const uint32_t all = (uint32_t)(((uint64_t)1 << crown->nodes) - 1);
    for (uint32_t left = changed & all; left; left &= left - 1) {
        const int node = LOWEST_BIT(left);
        crown->node_top[node] = largest_exponent(&nodes[node]);
    }
    lanes_u tops = lanes_load_u64(crown->node_top);
    for (int row = 1; row < ROWS; row++) tops = lanes_larger(tops, lanes_load_u64(crown->node_top + LANES * row));
    const uint64_t top = lanes_get(lanes_largest(tops), 0);
    if (top != crown->top) changed = all; /* another unit */
    crown->top = top;
    for (uint32_t left = changed & all; left; left &= left - 1) {
        const int node = LOWEST_BIT(left);
        sum_words(&nodes[node], top, crown->word_end + TREE_PARTS * node);
    }
    for (size_t node = 0; node < crown->nodes; node++)
        crown->node_start[node + 1] = crown->node_start[node] + crown->word_end[TREE_PARTS * node + TREE_PARTS - 1];
    for (size_t node = crown->nodes; node < TREE_PARTS; node++) crown->node_start[node + 1] = INT64_MAX;
    tree->root = (tree_word){crown->node_start[crown->nodes], (int64_t)top - TREE_EXPONENT_BIAS - CROWN_FINER, 0};
}

extern const tree_kernels JOIN(hws_tree_kernels_, HWS_KERNELS);
const tree_kernels JOIN(hws_tree_kernels_, HWS_KERNELS) = {
    .name = TEXT(HWS_KERNELS),
    .leaf_weights = leaf_weights,
    .sum_leaves = sum_leaves,
    .sum_leaves_moments = sum_leaves_moments,
    .add_moments = add_moments,
    .largest = largest,
    .sum_nodes = sum_nodes,
    .sum_crown = sum_crown,
    .descend = descend,
};
