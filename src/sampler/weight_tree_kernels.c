/*
 * The hot loops of the weight tree. This file is compiled once per instruction set, with HWS_KERNELS naming the set.
 * All sets agree to the bit: quads perform the same operations everywhere, and contraction into fused multiply-adds
 * is switched off.
 */
#include "sampler/quad.h"
#include "sampler/weight_tree.h"

#include <math.h>

#ifndef HWS_KERNELS
#define HWS_KERNELS generic
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

#if defined(__GNUC__) || defined(__clang__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NEVER_INLINE __attribute__((noinline))
#define PREFETCH(address) __builtin_prefetch(address)
#define COUNT_LEADING_ZEROS(x) __builtin_clzll(x)
#else
#define ALWAYS_INLINE inline
#define NEVER_INLINE
#define PREFETCH(address) ((void)(address))
static int COUNT_LEADING_ZEROS(uint64_t x) {
    int zeros = 0;
    for (int step = 32; step; step /= 2) {
        if (x >> (64 - step)) continue;
        zeros += step;
        x <<= step;
    }
    return zeros;
}
#endif

enum { ROWS = TREE_PARTS / 4 };

/* The parts of a leaf or a node in rows of four; exponents are biased. Part 4r + c is lane c of row r. */
typedef struct parts {
    quad_u mass[ROWS], exponent[ROWS];
} parts;

/* ---- the weights of a leaf ------------------------------------------------------------------------------------- */

/* 2^(50 + f) for |f| <= 0.51. Estrin's order, so that the steps can overlap. */
static ALWAYS_INLINE quad scaled_exp2(quad f) {
#define COEFFICIENT(k) quad_fill(HWS_EXP2_##k * 0x1p50)
#define LINEAR(a, b, x) quad_add(a, quad_multiply(b, x))
    const quad f2 = quad_multiply(f, f), f4 = quad_multiply(f2, f2), f8 = quad_multiply(f4, f4);
    const quad a = LINEAR(COEFFICIENT(0), COEFFICIENT(1), f), b = LINEAR(COEFFICIENT(2), COEFFICIENT(3), f);
    const quad c = LINEAR(COEFFICIENT(4), COEFFICIENT(5), f), d = LINEAR(COEFFICIENT(6), COEFFICIENT(7), f);
    const quad e = LINEAR(COEFFICIENT(8), COEFFICIENT(9), f);
    return LINEAR(LINEAR(LINEAR(a, b, f2), LINEAR(c, d, f2), f4), LINEAR(e, COEFFICIENT(10), f2), f8);
#undef LINEAR
#undef COEFFICIENT
}

/* Losses within the limit: mass * 2^exponent = 2^(52 + scale * loss). */
static ALWAYS_INLINE void ordinary_weights(const tree_scale *scale, const float *losses, parts *out) {
    const quad high = quad_fill(scale->high), low = quad_fill(scale->low), magic = quad_fill(HWS_ROUNDING_MAGIC);
    const quad_u rebias = quad_fill_u(hws_bits_of(HWS_ROUNDING_MAGIC) - (uint64_t)TREE_EXPONENT_BIAS);
    for (int row = 0; row < ROWS; row++) {
        const quad loss = quad_load_floats(losses + 4 * row);
        const quad main = quad_multiply(loss, high), rest = quad_multiply(loss, low);
        const quad shifted = quad_add(quad_add(main, rest), magic);
        const quad fraction = quad_add(quad_subtract(main, quad_subtract(shifted, magic)), rest);
        /* Adding 2^52 rounds to an integer, which the low bits then hold; shifting drops the rest. */
        const quad_u rounded = quad_bits(quad_add(scaled_exp2(fraction), quad_fill(0x1p52)));
        out->mass[row] = quad_shift_right(quad_shift_left(rounded, 12), 10);
        out->exponent[row] = quad_subtract_u(quad_bits(shifted), rebias);
    }
}

/* A loss in the region of giant exponents: floats are counted, in steps of 256 powers of two. */
static uint64_t giant_exponent(const tree_scale *scale, float loss) {
    uint32_t bits, limit_bits;
    const float size = fabsf(loss);
    memcpy(&bits, &size, sizeof bits);
    memcpy(&limit_bits, &scale->limit, sizeof limit_bits);
    const int64_t steps = ((int64_t)1 << 33) + ((int64_t)bits - limit_bits) * 256;
    return (uint64_t)(TREE_EXPONENT_BIAS + (loss > 0 ? steps : -steps));
}

static NEVER_INLINE void unusual_weights(const tree_scale *scale, const float *losses, parts *out) {
    float tame[TREE_PARTS];
    for (int i = 0; i < TREE_PARTS; i++) tame[i] = fabsf(losses[i]) > scale->limit ? 0 : losses[i];
    ordinary_weights(scale, tame, out);

    uint64_t mass[TREE_PARTS], exponent[TREE_PARTS];
    memcpy(mass, out->mass, sizeof mass);
    memcpy(exponent, out->exponent, sizeof exponent);
    for (int i = 0; i < TREE_PARTS; i++) {
        if (losses[i] < -FLT_MAX) {
            mass[i] = exponent[i] = 0;
        } else if (fabsf(losses[i]) > scale->limit) {
            mass[i] = (uint64_t)1 << 52;
            exponent[i] = giant_exponent(scale, losses[i]);
        }
    }
    memcpy(out->mass, mass, sizeof mass);
    memcpy(out->exponent, exponent, sizeof exponent);
}

static ALWAYS_INLINE void leaf_parts(const tree_scale *scale, const float *losses, parts *out) {
    if (any_larger_of_16(losses, scale->limit)) unusual_weights(scale, losses, out);
    else ordinary_weights(scale, losses, out);
}

static ALWAYS_INLINE void node_parts(const tree_node *node, parts *out) {
    for (int row = 0; row < ROWS; row++) {
        const quad_u head = quad_load_u64(node->head + 4 * row);
        out->mass[row] = quad_shift_right(head, 11);
        out->exponent[row] =
            quad_or(quad_shift_left(quad_and(head, quad_fill_u(0xff)), 32), quad_load_u32(node->tail + 4 * row));
    }
}

/* ---- totals ---------------------------------------------------------------------------------------------------- */

/* How many units the parts of a row take: rounded up, and one unit even for nothing at all. */
static ALWAYS_INLINE quad_u widths(const parts *of, int row, quad_u unit) {
    return quad_add_u(quad_shift_each(of->mass[row], quad_subtract_u(unit, of->exponent[row])), quad_fill_u(1));
}

static ALWAYS_INLINE tree_word total_of(const parts *of) {
    quad_u largest = of->exponent[0];
    for (int row = 1; row < ROWS; row++) largest = quad_larger(largest, of->exponent[row]);
    const quad_u unit = quad_add_u(quad_largest(largest), quad_fill_u(TREE_HEADROOM));
    quad_u sum = widths(of, 0, unit);
    for (int row = 1; row < ROWS; row++) sum = quad_add_u(sum, widths(of, row, unit));
    const uint64_t mass = quad_sum(sum);
    const int room = COUNT_LEADING_ZEROS(mass) - (64 - TREE_MASS_BITS);
    const int shift = room < TREE_HEADROOM ? room : TREE_HEADROOM;
    return (tree_word){mass << shift, (int64_t)quad_get(unit, 0) - TREE_EXPONENT_BIAS - shift, shift};
}

static void leaf_weights(const tree_scale *scale, const float losses[TREE_PARTS], tree_word weights[TREE_PARTS]) {
    parts leaf;
    leaf_parts(scale, losses, &leaf);
    for (int i = 0; i < TREE_PARTS; i++)
        weights[i] = (tree_word){quad_get(leaf.mass[i / 4], i % 4),
                                 (int64_t)quad_get(leaf.exponent[i / 4], i % 4) - TREE_EXPONENT_BIAS, 0};
}

static void sum_leaves(weight_tree *tree, const uint32_t *leaves, size_t count) {
    const tree_scale scale = tree->scale;
    for (size_t j = 0; j < count; j++) {
        const size_t leaf = leaves ? leaves[j] : j;
        parts of;
        leaf_parts(&scale, tree->losses + leaf * TREE_PARTS, &of);
        tree_node_set(&tree->nodes[0][leaf / TREE_PARTS], (int)(leaf % TREE_PARTS), total_of(&of));
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
    quad_u largest = of.exponent[0];
    for (int row = 1; row < ROWS; row++) largest = quad_larger(largest, of.exponent[row]);
    return quad_get(quad_largest(largest), 0);
}

/* Where the words of a node end, counted from its beginning. */
static ALWAYS_INLINE void sum_words(const tree_node *node, uint64_t top, uint64_t *ends) {
    parts of;
    node_parts(node, &of);
    quad_u before = quad_fill_u(0);
    for (int row = 0; row < ROWS; row++) {
        of.mass[row] = quad_shift_left(of.mass[row], CROWN_FINER);
        const quad_u end = quad_add_u(quad_running_sum(widths(&of, row, quad_fill_u(top))), before);
        quad_store_u64(ends + 4 * row, end);
        before = quad_fill_u(quad_get(end, 3));
    }
}

static void sum_crown(weight_tree *tree, uint32_t changed) {
    const tree_node *nodes = tree->nodes[tree->levels - 1];
    tree_crown *crown = &tree->crown;
    uint64_t top = 0;
    for (size_t node = 0; node < crown->nodes; node++) {
        if (changed >> node & 1) crown->node_top[node] = largest_exponent(&nodes[node]);
        top = crown->node_top[node] > top ? crown->node_top[node] : top;
    }
    if (top != crown->top) changed = UINT32_MAX; /* another unit */
    crown->top = top;
    crown->node_start[0] = 0;
    for (size_t node = 0; node < TREE_PARTS; node++) {
        uint64_t *ends = crown->word_end + TREE_PARTS * node;
        if (node >= crown->nodes) {
            crown->node_start[node + 1] = INT64_MAX;
            continue;
        }
        if (changed >> node & 1) sum_words(&nodes[node], top, ends);
        crown->node_start[node + 1] = crown->node_start[node] + ends[TREE_PARTS - 1];
    }
    tree->root = (tree_word){crown->node_start[crown->nodes], (int64_t)top - TREE_EXPONENT_BIAS - CROWN_FINER, 0};
}

/* ---- draws ----------------------------------------------------------------------------------------------------- */

/* The first block of four streams at once: the same bits as philox4x32 gives them one by one. */
static ALWAYS_INLINE void first_blocks(tree_draw *draws) {
    const quad_u low = quad_fill_u(0xffffffff), m0 = quad_fill_u(PHILOX_M0), m1 = quad_fill_u(PHILOX_M1);
    quad_u c[4];
    for (int word = 0; word < 4; word++) {
        uint64_t lanes[4];
        for (int j = 0; j < 4; j++) lanes[j] = draws[j].random.counter[word];
        c[word] = quad_load_u64(lanes);
    }
    uint32_t k0 = draws[0].random.key[0], k1 = draws[0].random.key[1];
    for (int round = 0; round < 10; round++, k0 += PHILOX_W0, k1 += PHILOX_W1) {
        const quad_u p0 = quad_multiply_u32(m0, c[0]), p1 = quad_multiply_u32(m1, c[2]);
        c[0] = quad_xor(quad_xor(quad_shift_right(p1, 32), c[1]), quad_fill_u(k0));
        c[2] = quad_xor(quad_xor(quad_shift_right(p0, 32), c[3]), quad_fill_u(k1));
        c[1] = quad_and(p1, low);
        c[3] = quad_and(p0, low);
    }
    uint64_t first[4], second[4];
    quad_store_u64(first, quad_or(c[0], quad_shift_left(c[1], 32)));
    quad_store_u64(second, quad_or(c[2], quad_shift_left(c[3], 32)));
    for (int j = 0; j < 4; j++) random_give_block(&draws[j].random, first[j], second[j]);
}

/* Draws go through a node or leaf in groups and in two phases, so that the processor can overlap their latencies. */
enum { GROUP = 8 };

/* What the first phase leaves to the second. Parts are laid out column after column. */
typedef struct layout {
    uint64_t width[TREE_PARTS], column_start[5];
    int column;
} layout;

/* Lays the parts out and finds the column that the draw falls into, by comparing with four sums at once. */
static ALWAYS_INLINE void lay_out(const tree_draw *draw, const parts *of, layout *out) {
    const quad_u unit = quad_fill_u((uint64_t)(draw->word.exponent + draw->word.shift + TREE_EXPONENT_BIAS));
    quad_u sums = quad_fill_u(0);
    for (int row = 0; row < ROWS; row++) {
        const quad_u width = widths(of, row, unit);
        quad_store_u64(out->width + 4 * row, width);
        sums = quad_add_u(sums, width);
    }
    sums = quad_running_sum(sums);
    out->column_start[0] = 0;
    quad_store_u64(out->column_start + 1, sums);
    out->column = quad_count_up_to(sums, draw->position >> draw->word.shift);
}

/* The part that the draw falls into. Its position, always below the total, becomes one within that part. */
static ALWAYS_INLINE int pick(tree_draw *draw, const layout *of) {
    const int shift = draw->word.shift, column = of->column;
    const uint64_t rest = (draw->position >> shift) - of->column_start[column];
    uint64_t end = 0, before = 0;
    int row = 0;
    for (int r = 0; r < ROWS - 1; r++) {
        end += of->width[4 * r + column];
        const int past = rest >= end;
        row += past;
        before = past ? end : before;
    }
    draw->position -= (of->column_start[column] + before) << shift;
    return 4 * row + column;
}

/* Moves a draw into a part: its position becomes finer by random bits, and must be below the part's mass. */
static ALWAYS_INLINE void enter(tree_draw *draw, tree_word part) {
    int64_t distance = draw->word.exponent - part.exponent;
    draw->word = part;
    for (; distance > 56; distance -= 56) {
        if (draw->position == 0 && random_bits(&draw->random, 56) == 0) continue;
        draw->lost = 1;
        return;
    }
    draw->position = draw->position << distance | random_bits(&draw->random, (int)distance);
    draw->lost |= draw->position >= part.mass;
}

/* How many of 16 rising numbers are not above the bound. */
static ALWAYS_INLINE size_t count_up_to(const uint64_t *rising, uint64_t bound) {
    int count = 0;
    for (int row = 0; row < ROWS; row++) count += quad_count_up_to(quad_load_u64(rising + 4 * row), bound);
    return (size_t)count;
}

/* A position in the whole tree, and with it a word of the crown: first the node, then the word within it. */
static ALWAYS_INLINE void start(const weight_tree *tree, tree_draw *draw) {
    const tree_crown *crown = &tree->crown;
    uint64_t position = random_below(&draw->random, tree->root.mass);
    const size_t node = count_up_to(crown->node_start + 1, position);
    position -= crown->node_start[node];
    const uint64_t *ends = crown->word_end + TREE_PARTS * node;
    const size_t word = count_up_to(ends, position);
    draw->place = TREE_PARTS * node + word;
    draw->lost = 0;
    draw->position = position - (word ? ends[word - 1] : 0);
    draw->word = tree->root;
    const tree_word part = tree_node_get(&tree->nodes[tree->levels - 1][node], (int)word);
    if (part.exponent > draw->word.exponent) { /* the crown's units are finer: drop the bits in excess */
        draw->position >>= part.exponent - draw->word.exponent;
        draw->word.exponent = part.exponent;
    }
    enter(draw, part);
}

static ALWAYS_INLINE void step_nodes(const weight_tree *tree, tree_draw *draws, size_t count, int level) {
    const tree_node *nodes = tree->nodes[level];
    layout layouts[GROUP];
    for (size_t j = 0; j < count; j++) {
        parts of;
        node_parts(&nodes[draws[j].place], &of);
        lay_out(&draws[j], &of, &layouts[j]);
    }
    for (size_t j = 0; j < count; j++) {
        const tree_node *node = &nodes[draws[j].place];
        const int child = pick(&draws[j], &layouts[j]);
        draws[j].place = draws[j].place * TREE_PARTS + (size_t)child;
        enter(&draws[j], tree_node_get(node, child));
    }
}

static ALWAYS_INLINE void step_leaves(const weight_tree *tree, tree_draw *draws, size_t count) {
    const tree_scale scale = tree->scale;
    layout layouts[GROUP];
    parts leaves[GROUP];
    for (size_t j = 0; j < count; j++) {
        leaf_parts(&scale, tree->losses + draws[j].place * TREE_PARTS, &leaves[j]);
        lay_out(&draws[j], &leaves[j], &layouts[j]);
    }
    for (size_t j = 0; j < count; j++) {
        const int chosen = pick(&draws[j], &layouts[j]);
        uint64_t mass, exponent;
        memcpy(&mass, (const char *)leaves[j].mass + 8 * chosen, sizeof mass);
        memcpy(&exponent, (const char *)leaves[j].exponent + 8 * chosen, sizeof exponent);
        draws[j].place = draws[j].place * TREE_PARTS + (size_t)chosen;
        enter(&draws[j], (tree_word){mass, (int64_t)exponent - TREE_EXPONENT_BIAS, 0});
    }
}

static ALWAYS_INLINE void prefetch(const weight_tree *tree, const tree_draw *draw, int level) {
    if (level < 0) {
        PREFETCH(tree->losses + draw->place * TREE_PARTS);
        return;
    }
    const char *node = (const char *)&tree->nodes[level][draw->place];
    for (size_t line = 0; line < sizeof(tree_node); line += 64) PREFETCH(node + line);
}

/* So rare (below 2^-42 per draw) that it goes alone. */
static NEVER_INLINE void descend_again(const weight_tree *tree, tree_draw *draw) {
    do {
        start(tree, draw);
        for (int level = tree->levels - 2; level >= 0 && !draw->lost; level--) step_nodes(tree, draw, 1, level);
        if (!draw->lost) step_leaves(tree, draw, 1);
    } while (draw->lost);
}

/* Before a draw goes on to a level: a lost one, which may stand at a part that is not there, goes on from the first. */
static ALWAYS_INLINE void look_ahead(const weight_tree *tree, tree_draw *draw, int level) {
    if (draw->lost) {
        draw->position = draw->place = 0;
        draw->word = tree_node_get(&tree->nodes[level + 1][0], 0);
    }
    prefetch(tree, draw, level);
}

/* Level by level, so that the cache misses of different draws overlap. Lost draws start again when all are through. */
static void descend(const weight_tree *tree, tree_draw *draws, size_t count) {
    for (size_t first = 0; first + 4 <= count; first += 4) first_blocks(draws + first);
    for (size_t j = 0; j < count; j++) {
        start(tree, &draws[j]);
        look_ahead(tree, &draws[j], tree->levels - 2);
    }
    for (int level = tree->levels - 2; level >= -1; level--) {
        for (size_t first = 0; first < count; first += GROUP) {
            const size_t group = count - first < GROUP ? count - first : GROUP;
            if (level < 0) {
                step_leaves(tree, draws + first, group);
                continue;
            }
            step_nodes(tree, draws + first, group, level);
            for (size_t j = first; j < first + group; j++) look_ahead(tree, &draws[j], level - 1);
        }
    }
    for (size_t j = 0; j < count; j++)
        if (draws[j].lost) descend_again(tree, &draws[j]);
}

extern const tree_kernels JOIN(hws_tree_kernels_, HWS_KERNELS);
const tree_kernels JOIN(hws_tree_kernels_, HWS_KERNELS) = {
    .name = TEXT(HWS_KERNELS),
    .leaf_weights = leaf_weights,
    .sum_leaves = sum_leaves,
    .sum_nodes = sum_nodes,
    .sum_crown = sum_crown,
    .descend = descend,
};
