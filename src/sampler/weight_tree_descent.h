/*
 * Draws on their way through the weight tree. Compiled once per instruction set, in weight_tree_kernels.c.
 *
 * The draws of a flight go down level by level, so that their cache misses overlap, and four of them at a time go through
 * the same operations. Only what nearly all draws need is here: a draw that needs more than 64 random bits for its
 * way, or that is lost, is given back as -1 and made alone, from its beginning (weight_tree.c). It still goes along to the
 * end, by way of the first leaf, since it would cost more to leave it out.
 */
#ifndef HWS_SAMPLER_WEIGHT_TREE_DESCENT_H
#define HWS_SAMPLER_WEIGHT_TREE_DESCENT_H

#include "sampler/weight_tree_parts.h"

/* Exponents are biased. A mask is all ones or 0. The last quad is filled up with copies of the last draw. */
typedef struct flight {
    uint64_t position[TREE_FLIGHT];                /* within the word that the draw is at: in [0, mass) */
    uint64_t exponent[TREE_FLIGHT];                /* of that word */
    uint64_t shift[TREE_FLIGHT];                   /* and how much coarser the units are that it was summed in */
    uint64_t place[TREE_FLIGHT];                   /* the node, then the leaf, then the example */
    uint64_t bits[TREE_FLIGHT];                    /* random ones, low ones first */
    uint64_t bit_count[TREE_FLIGHT];               /* how many of them are left */
    uint64_t alone[TREE_FLIGHT];                   /* mask: must be made alone */
    uint64_t head[TREE_FLIGHT], tail[TREE_FLIGHT]; /* packed, the word that it enters next */
    uint64_t refused; /* random words whose low product with the root's mass is below this */
} flight;

/* A word of four draws each. */
typedef struct word_quad {
    quad_u mass, exponent, shift;
} word_quad;

static ALWAYS_INLINE word_quad unpacked(quad_u head, quad_u tail) {
    return (word_quad){quad_shift_right(head, 11),
                       quad_or(quad_shift_left(quad_and(head, quad_fill_u(0xff)), 32), tail),
                       quad_and(quad_shift_right(head, 8), quad_fill_u(7))};
}

/* ---- random numbers -------------------------------------------------------------------------------------------- */

/* The first block of the streams of four slots: the same bits as philox4x32 gives them one by one. */
static ALWAYS_INLINE void first_blocks(const random_stream *first, uint32_t slot, uint64_t words[2][4]) {
    const quad_u low = quad_fill_u(0xffffffff), m0 = quad_fill_u(PHILOX_M0), m1 = quad_fill_u(PHILOX_M1);
    quad_u c[4];
    for (int word = 0; word < 4; word++) c[word] = quad_fill_u(first->counter[word]);
    c[1] = quad_and(quad_add_u(c[1], quad_of(slot, (uint64_t)slot + 1, (uint64_t)slot + 2, (uint64_t)slot + 3)), low);
    uint32_t k0 = first->key[0], k1 = first->key[1];
    for (int round = 0; round < 10; round++, k0 += PHILOX_W0, k1 += PHILOX_W1) {
        const quad_u p0 = quad_multiply_u32(m0, c[0]), p1 = quad_multiply_u32(m1, c[2]);
        c[0] = quad_xor(quad_xor(quad_shift_right(p1, 32), c[1]), quad_fill_u(k0));
        c[2] = quad_xor(quad_xor(quad_shift_right(p0, 32), c[3]), quad_fill_u(k1));
        c[1] = quad_and(p1, low);
        c[3] = quad_and(p0, low);
    }
    quad_store_u64(words[0], quad_or(c[0], quad_shift_left(c[1], 32)));
    quad_store_u64(words[1], quad_or(c[2], quad_shift_left(c[3], 32)));
}

/* What a stream gives whose first word is refused: a position, and the word after it. */
static NEVER_INLINE uint64_t position_further_on(const random_stream *first, uint32_t slot, const uint64_t block[2],
                                                 uint64_t bound, uint64_t *bits) {
    random_stream random = *first;
    random.counter[1] += slot;
    random_give_block(&random, block[0], block[1]);
    const uint64_t position = random_below(&random, bound);
    *bits = random_word(&random);
    return position;
}

/* ---- the crown ------------------------------------------------------------------------------------------------- */

/* How many of 16 rising numbers are not above the bound. */
static ALWAYS_INLINE size_t count_up_to(const uint64_t *rising, uint64_t bound) {
    int count = 0;
    for (int row = 0; row < ROWS; row++) count += quad_count_up_to(quad_load_u64(rising + 4 * row), bound);
    return (size_t)count;
}

/* A position in the whole tree becomes one in a word of the crown: first the node, then the word within it. */
static ALWAYS_INLINE void find_in_crown(const weight_tree *tree, flight *f, size_t j, uint64_t position) {
    const tree_crown *crown = &tree->crown;
    const size_t node = count_up_to(crown->node_start + 1, position);
    position -= crown->node_start[node];
    const uint64_t *ends = crown->word_end + TREE_PARTS * node;
    const size_t word = count_up_to(ends, position);
    const tree_node *of = &tree->nodes[tree->levels - 1][node];
    f->place[j] = TREE_PARTS * node + word;
    f->position[j] = position - (word ? ends[word - 1] : 0);
    f->head[j] = of->head[word];
    f->tail[j] = of->tail[word];
}

/* ---- going down ------------------------------------------------------------------------------------------------ */

/* A draw that goes alone may stand at a part that is not there: it goes on from the first word of the level. */
static NEVER_INLINE void stand_aside(const weight_tree *tree, flight *f, size_t j, int level) {
    const tree_word word = tree_node_get(&tree->nodes[level][0], 0);
    f->position[j] = f->place[j] = 0;
    f->exponent[j] = (uint64_t)(word.exponent + TREE_EXPONENT_BIAS);
    f->shift[j] = (uint64_t)word.shift;
}

/* The position, in units of `from`, becomes finer by random bits, and must be below the part's mass. */
static ALWAYS_INLINE quad_u enter(flight *f, size_t j, quad_u position, quad_u from, const word_quad *part) {
    const quad_u distance = quad_subtract_u(from, part->exponent);
    const quad_u bits = quad_load_u64(f->bits + j), left = quad_load_u64(f->bit_count + j), one = quad_fill_u(1);
    const quad_u taken = quad_and(bits, quad_subtract_u(quad_shift_left_each(one, distance), one));
    position = quad_or(quad_shift_left_each(position, distance), taken);
    quad_u alone = quad_or(quad_above(distance, quad_fill_u(56)), quad_above(distance, left));
    alone = quad_or(alone, quad_above(quad_add_u(position, one), part->mass));
    alone = quad_or(alone, quad_load_u64(f->alone + j));
    quad_store_u64(f->alone + j, alone);
    quad_store_u64(f->bits + j, quad_shift_each(bits, distance));
    quad_store_u64(f->bit_count + j, quad_subtract_u(left, distance));
    quad_store_u64(f->position + j, position);
    quad_store_u64(f->exponent + j, part->exponent);
    quad_store_u64(f->shift + j, part->shift);
    return alone;
}

static ALWAYS_INLINE void prefetch(const weight_tree *tree, size_t place, int level) {
    if (level < 0) {
        PREFETCH(tree->losses + place * TREE_PARTS);
        return;
    }
    const char *node = (const char *)&tree->nodes[level][place];
    for (size_t line = 0; line < sizeof(tree_node); line += 64) PREFETCH(node + line);
}

/* After four draws have entered words of a level: what they will look at below it. */
static ALWAYS_INLINE void look_ahead(const weight_tree *tree, flight *f, size_t j, int level, quad_u alone) {
    if (quad_any(alone))
        for (size_t k = j; k < j + 4; k++)
            if (f->alone[k]) stand_aside(tree, f, k, level);
    for (size_t k = j; k < j + 4; k++) prefetch(tree, f->place[k], level - 1);
}

/* Four draws begin. The crown's units may be finer than the word's: then the bits in excess are dropped. */
static ALWAYS_INLINE void start(const weight_tree *tree, flight *f, size_t j, int level) {
    const word_quad part = unpacked(quad_load_u64(f->head + j), quad_load_u64(f->tail + j));
    const quad_u root = quad_fill_u((uint64_t)(tree->root.exponent + TREE_EXPONENT_BIAS));
    const quad_u from = quad_larger(root, part.exponent);
    const quad_u position = quad_shift_each(quad_load_u64(f->position + j), quad_subtract_u(from, root));
    look_ahead(tree, f, j, level, enter(f, j, position, from, &part));
}

/* Draws are laid out in groups before they go on, so that the processor can overlap their latencies. */
enum { GROUP = 8 };

/* The parts of a node or leaf, column after column, and the column that the draw falls into. */
typedef struct layout {
    uint64_t width[TREE_PARTS], column_start[5];
    size_t column;
} layout;

/* The column is found by comparing with four sums at once. */
static ALWAYS_INLINE void lay_out(const flight *f, size_t j, const parts *of, layout *out) {
    const quad_u unit = quad_fill_u(f->exponent[j] + f->shift[j]);
    quad_u sums = quad_fill_u(0);
    for (int row = 0; row < ROWS; row++) {
        const quad_u width = widths(of, row, unit);
        quad_store_u64(out->width + 4 * row, width);
        sums = quad_add_u(sums, width);
    }
    sums = quad_running_sum(sums);
    out->column_start[0] = 0;
    quad_store_u64(out->column_start + 1, sums);
    out->column = (size_t)quad_count_up_to(sums, f->position[j] >> f->shift[j]);
}

/* What four draws have in common with each other: an expression of each, as a quad. */
#define OF_EACH(of) quad_of(of(0), of(1), of(2), of(3))

/* The row within the column of each of four draws. Their positions become ones within the part that they fall into. */
static ALWAYS_INLINE quad_u pick_rows(const layout *const of[4], const flight *f, size_t j, quad_u *position) {
#define START(k) of[k]->column_start[of[k]->column]
#define WIDTH_0(k) of[k]->width[of[k]->column]
#define WIDTH_1(k) of[k]->width[4 + of[k]->column]
#define WIDTH_2(k) of[k]->width[8 + of[k]->column]
    const quad_u shift = quad_load_u64(f->shift + j), within = quad_load_u64(f->position + j);
    const quad_u units = quad_shift_each(within, shift);
    const quad_u width[ROWS - 1] = {OF_EACH(WIDTH_0), OF_EACH(WIDTH_1), OF_EACH(WIDTH_2)};
    quad_u start = OF_EACH(START), row = quad_fill_u(0), end = start;
    for (int r = 0; r < ROWS - 1; r++) {
        end = quad_add_u(end, width[r]);
        const quad_u before = quad_above(end, units); /* the draw lies before the end of this part */
        start = quad_add_u(start, quad_and_not(width[r], before));
        row = quad_add_u(row, quad_and_not(quad_fill_u(1), before));
    }
    *position = quad_subtract_u(within, quad_shift_left_each(start, shift));
    return row;
#undef START
#undef WIDTH_0
#undef WIDTH_1
#undef WIDTH_2
}

/* The part that each of four draws, of the `count` laid out here, falls into. */
static ALWAYS_INLINE quad_u pick(const layout *layouts, size_t count, const flight *f, size_t j, uint64_t picked[4]) {
    const layout *of[4];
    for (size_t k = 0; k < 4; k++) of[k] = &layouts[k < count ? k : count - 1];
#define COLUMN(k) of[k]->column
    quad_u position;
    const quad_u row = pick_rows(of, f, j, &position);
    quad_store_u64(picked, quad_add_u(quad_shift_left(row, 2), OF_EACH(COLUMN)));
    return position;
#undef COLUMN
}

static ALWAYS_INLINE void step_nodes(const weight_tree *tree, flight *f, size_t first, size_t count, int level) {
    const tree_node *nodes = tree->nodes[level];
    layout layouts[GROUP];
    for (size_t j = 0; j < count; j++) {
        parts of;
        node_parts(&nodes[f->place[first + j]], &of);
        lay_out(f, first + j, &of, &layouts[j]);
    }
    for (size_t j = 0; j < count; j += 4) {
        uint64_t child[4];
        const quad_u position = pick(&layouts[j], count - j, f, first + j, child);
        const tree_node *from[4];
        for (size_t k = 0; k < 4; k++) {
            uint64_t *place = &f->place[first + j + k];
            from[k] = &nodes[*place];
            *place = *place * TREE_PARTS + child[k];
        }
#define HEAD(k) from[k]->head[child[k]]
#define TAIL(k) from[k]->tail[child[k]]
        const word_quad part = unpacked(OF_EACH(HEAD), OF_EACH(TAIL));
#undef HEAD
#undef TAIL
        const quad_u alone = enter(f, first + j, position, quad_load_u64(f->exponent + first + j), &part);
        look_ahead(tree, f, first + j, level, alone);
    }
}

/* One of the 16 numbers of four rows. */
static ALWAYS_INLINE uint64_t one_of(const quad_u *rows, uint64_t which) {
    uint64_t number;
    memcpy(&number, (const char *)rows + 8 * which, sizeof number);
    return number;
}

static ALWAYS_INLINE void step_leaves(const weight_tree *tree, flight *f, size_t first, size_t count) {
    const tree_scale scale = tree->scale;
    layout layouts[GROUP];
    parts leaves[GROUP];
    for (size_t j = 0; j < count; j++) leaf_parts(&scale, tree->losses + f->place[first + j] * TREE_PARTS, &leaves[j]);
    for (size_t j = 0; j < count; j++) lay_out(f, first + j, &leaves[j], &layouts[j]);
    for (size_t j = 0; j < count; j += 4) {
        uint64_t chosen[4];
        const quad_u position = pick(&layouts[j], count - j, f, first + j, chosen);
        const parts *leaf[4];
        for (size_t k = 0; k < 4; k++) {
            leaf[k] = &leaves[j + k < count ? j + k : count - 1];
            f->place[first + j + k] = f->place[first + j + k] * TREE_PARTS + chosen[k];
        }
#define MASS(k) one_of(leaf[k]->mass, chosen[k])
#define EXPONENT(k) one_of(leaf[k]->exponent, chosen[k])
        const word_quad part = {OF_EACH(MASS), OF_EACH(EXPONENT), quad_fill_u(0)};
#undef MASS
#undef EXPONENT
        enter(f, first + j, position, quad_load_u64(f->exponent + first + j), &part);
    }
}

/* Four draws, or those that are left, and copies of the last one: their random numbers, and words of the crown. */
static ALWAYS_INLINE void begin(const weight_tree *tree, const random_stream *first, flight *f, size_t j,
                                size_t count) {
    const uint64_t mass = tree->root.mass;
    uint64_t words[2][4];
    first_blocks(first, (uint32_t)j, words);
    for (size_t k = 0; k < 4; k++) {
        const size_t draw = k < count - j ? k : count - j - 1;
        const uint64_t block[2] = {words[0][draw], words[1][draw]};
        uint64_t low, position = multiply_high(block[0], mass, &low);
        f->bits[j + k] = block[1];
        f->bit_count[j + k] = 64;
        f->alone[j + k] = 0;
        if (low < f->refused) position = position_further_on(first, (uint32_t)(j + draw), block, mass, &f->bits[j + k]);
        find_in_crown(tree, f, j + k, position);
    }
}

/* Draws of the stream `first`, of that of the next slot, and so on: at most a flight of them. */
static inline void descend(const weight_tree *tree, const random_stream *first, size_t count, int64_t *examples) {
    flight f;
    f.refused = (0 - tree->root.mass) % tree->root.mass; /* as in random_below */
    for (size_t j = 0; j < count; j += 4) begin(tree, first, &f, j, count);
    for (size_t j = 0; j < count; j += 4) start(tree, &f, j, tree->levels - 1);
    for (int level = tree->levels - 2; level >= -1; level--)
        for (size_t j = 0; j < count; j += GROUP) {
            const size_t group = count - j < GROUP ? count - j : GROUP;
            if (level < 0) step_leaves(tree, &f, j, group);
            else step_nodes(tree, &f, j, group, level);
        }
    for (size_t j = 0; j < count; j++) examples[j] = f.alone[j] ? -1 : (int64_t)f.place[j];
}

#endif
