/*
 * Draws on their way through the weight tree. Compiled once per instruction set, in weight_tree_kernels.c.
 *
 * The draws of a flight go down level by level, so that their cache misses overlap, and as many as there are lanes go
 * through the same operations. Only what nearly all draws need is here: a draw that needs more than 64 random bits for
 * its way, or that is lost, is given back as -1 and made alone, from its beginning (weight_tree.c). It still goes along
 * to the end, by way of the first leaf, since it would cost more to leave it out.
 */
#ifndef HWS_SAMPLER_WEIGHT_TREE_DESCENT_H
#define HWS_SAMPLER_WEIGHT_TREE_DESCENT_H

#include "sampler/weight_tree_leaf_avx512.h"
#include "sampler/weight_tree_parts.h"

/* Exponents are biased. The last lanes are filled up with copies of the last draw. */
typedef struct flight {
    _Alignas(64) uint64_t position[TREE_FLIGHT]; /* within the word that the draw is at: in [0, mass) */
    uint64_t exponent[TREE_FLIGHT];              /* of that word */
    uint64_t shift[TREE_FLIGHT];                 /* and how much coarser the units are that it was summed in */
    uint64_t unit[TREE_FLIGHT];                  /* the exponent of these units */
    uint64_t whole_units[TREE_FLIGHT];           /* and how many of them lie before the position */
    uint64_t bits[TREE_FLIGHT];                  /* random ones, low ones first */
    uint64_t bit_count[TREE_FLIGHT];             /* how many of them are left */
    uint64_t alone[TREE_FLIGHT];                 /* top bit: must be made alone */
    uint64_t place[TREE_FLIGHT];                 /* the node, then the leaf, then the example */
    uint64_t refused;                            /* random words whose low product with the root's mass is below this */
} flight;

/* The words that some draws are at. */
typedef struct word_lanes {
    lanes_u mass, exponent, shift;
} word_lanes;

static ALWAYS_INLINE word_lanes unpacked(lanes_u head, lanes_u tail) {
    return (word_lanes){lanes_shift_right(head, 11), exponent_of(head, tail),
                        lanes_and(lanes_shift_right(head, 8), lanes_fill_u(7))};
}

/* ---- random numbers -------------------------------------------------------------------------------------------- */

/* Block `block` of the streams of the next slots: the same bits as philox4x32 gives them one by one. Only the low
 * halves of the counters count until the end. */
static ALWAYS_INLINE void random_blocks(const random_stream *first, uint32_t slot, uint32_t block, lanes_u words[2]) {
    const lanes_u low = lanes_fill_u(0xffffffff), m0 = lanes_fill_u(PHILOX_M0), m1 = lanes_fill_u(PHILOX_M1);
    lanes_u c[4];
    for (int word = 0; word < 4; word++) c[word] = lanes_fill_u(first->counter[word]);
    c[0] = lanes_add_u(c[0], lanes_fill_u(block));
    c[1] = lanes_add_u(c[1], lanes_from(slot));
    uint32_t k0 = first->key[0], k1 = first->key[1];
    for (int round = 0; round < 10; round++, k0 += PHILOX_W0, k1 += PHILOX_W1) {
        const lanes_u p0 = lanes_multiply_u32(m0, c[0]), p1 = lanes_multiply_u32(m1, c[2]);
        c[0] = lanes_xor(lanes_xor(lanes_shift_right(p1, 32), c[1]), lanes_fill_u(k0));
        c[2] = lanes_xor(lanes_xor(lanes_shift_right(p0, 32), c[3]), lanes_fill_u(k1));
        c[1] = p1;
        c[3] = p0;
    }
    words[0] = lanes_or(lanes_and(c[0], low), lanes_shift_left(c[1], 32));
    words[1] = lanes_or(lanes_and(c[2], low), lanes_shift_left(c[3], 32));
}

/* The top bit tells where a random word is refused: where `low`, of its product with the bound, is below `refused`. */
static ALWAYS_INLINE lanes_u is_refused(lanes_u low, uint64_t refused) {
    return lanes_and(lanes_xor(low, lanes_fill_u(UINT64_MAX)), lanes_subtract_u(low, lanes_fill_u(refused)));
}

/* What a stream gives whose first words are refused: a position, and the word after it. */
static NEVER_INLINE uint64_t position_further_on(const random_stream *first, uint32_t slot, uint64_t bound,
                                                 uint64_t *bits) {
    random_stream random = *first;
    random.counter[1] += slot;
    const uint64_t position = random_below(&random, bound);
    *bits = random_word(&random);
    return position;
}

/* Positions in the whole tree, of the draws from slot j on, and random bits after them. */
static ALWAYS_INLINE void first_positions(const weight_tree *tree, const random_stream *first, flight *f, size_t j) {
    const lanes_u mass = lanes_fill_u(tree->root.mass);
    lanes_u words[2], low;
    random_blocks(first, (uint32_t)j, 0, words);
    lanes_u at = lanes_multiply_high(words[0], mass, &low), bits = words[1], again = is_refused(low, f->refused);
    if (BLOCKS_ARE_CHEAP && lanes_any_top_bit(again)) {
        lanes_u next[2];
        random_blocks(first, (uint32_t)j, 1, next);
        const lanes_u second = lanes_multiply_high(words[1], mass, &low);
        at = lanes_by_top_bit(again, second, at);
        bits = lanes_by_top_bit(again, next[0], bits);
        again = lanes_and(again, is_refused(low, f->refused));
    }
    lanes_store_u64(f->position + j, at);
    lanes_store_u64(f->bits + j, bits);
    if (!lanes_any_top_bit(again)) return;
    uint64_t refused[LANES];
    lanes_store_u64(refused, again);
    for (size_t k = 0; k < LANES; k++)
        if (refused[k] >> 63)
            f->position[j + k] = position_further_on(first, (uint32_t)(j + k), tree->root.mass, &f->bits[j + k]);
}

/* ---- the crown ------------------------------------------------------------------------------------------------- */

/* How many of 16 rising numbers are not above the bound. */
static ALWAYS_INLINE size_t count_up_to(const uint64_t *rising, uint64_t bound) {
    int count = 0;
    for (int row = 0; row < ROWS; row++) count += lanes_count_up_to(lanes_load_u64(rising + LANES * row), bound);
    return (size_t)count;
}

/* A draw's position in the whole tree becomes one in a word of the crown: first the node, then the word within it. */
static ALWAYS_INLINE void find_in_crown(const weight_tree *tree, flight *f, size_t j) {
    const tree_crown *crown = &tree->crown;
    const size_t node = count_up_to(crown->node_start + 1, f->position[j]);
    const uint64_t within = f->position[j] - crown->node_start[node];
    const uint64_t *ends = crown->word_end + TREE_PARTS * node;
    const size_t word = count_up_to(ends, within);
    f->place[j] = TREE_PARTS * node + word;
    f->position[j] = within - (word ? ends[word - 1] : 0);
}

static ALWAYS_INLINE int is_alone(const flight *f, size_t j) { return f->alone[j] >> 63 != 0; }

/* ---- going down ------------------------------------------------------------------------------------------------ */

/* A draw that goes alone may stand at a part that is not there: it goes on from the first word of the level. */
static NEVER_INLINE void stand_aside(const weight_tree *tree, flight *f, size_t j, int level) {
    const tree_word word = tree_node_get(&tree->nodes[level][0], 0);
    f->position[j] = f->place[j] = 0;
    f->exponent[j] = (uint64_t)(word.exponent + TREE_EXPONENT_BIAS);
    f->shift[j] = (uint64_t)word.shift;
    f->unit[j] = f->exponent[j] + f->shift[j];
    f->whole_units[j] = 0;
}

/* The position, in units of `from`, becomes finer by random bits, and must be below the part's mass. */
static ALWAYS_INLINE lanes_u enter(flight *f, size_t j, lanes_u position, lanes_u from, const word_lanes *part) {
    const lanes_u distance = lanes_subtract_u(from, part->exponent);
    const lanes_u bits = lanes_load_u64(f->bits + j), left = lanes_load_u64(f->bit_count + j), one = lanes_fill_u(1);
    const lanes_u taken = lanes_and(bits, lanes_subtract_u(lanes_shift_left_each(one, distance), one));
    position = lanes_or(lanes_shift_left_each(position, distance), taken);
    /* The top bit of a difference tells whether it is below 0. */
    const lanes_u still_left = lanes_subtract_u(left, distance);
    const lanes_u wide = lanes_or(lanes_subtract_u(lanes_fill_u(56), distance), still_left);
    const lanes_u lost = lanes_subtract_u(lanes_subtract_u(part->mass, one), position);
    const lanes_u alone = lanes_or(lanes_or(wide, lost), lanes_load_u64(f->alone + j));
    lanes_store_u64(f->alone + j, alone);
    lanes_store_u64(f->bits + j, lanes_shift_right_each(bits, distance));
    lanes_store_u64(f->bit_count + j, still_left);
    lanes_store_u64(f->position + j, position);
    lanes_store_u64(f->exponent + j, part->exponent);
    lanes_store_u64(f->shift + j, part->shift);
    lanes_store_u64(f->unit + j, lanes_add_u(part->exponent, part->shift));
    lanes_store_u64(f->whole_units + j, lanes_shift_right_each(position, part->shift));
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

/* After draws have entered words of a level: what they will look at below it. */
static ALWAYS_INLINE void look_ahead(const weight_tree *tree, flight *f, size_t j, int level, lanes_u alone) {
    if (lanes_any_top_bit(alone))
        for (size_t k = j; k < j + LANES; k++)
            if (is_alone(f, k)) stand_aside(tree, f, k, level);
    for (size_t k = j; k < j + LANES; k++) prefetch(tree, f->place[k], level - 1);
}

/* Draws are laid out in groups before they go on, so that the processor can overlap their latencies. */
enum { GROUP = 8 };

/* Which of its 16 parts each draw of a group falls into. */
#if LANES == 8

/* What comes before each part of a node or leaf, and the part that the draw falls into. */
typedef struct layout {
    uint64_t before[TREE_PARTS];
    size_t part;
} layout;

/* The part is found by comparing with all sums at once; parts lie column after column. */
static ALWAYS_INLINE void lay_out(const flight *f, size_t j, const parts *of, layout *out) {
    const lanes_u unit = lanes_fill_u(f->unit[j]);
    const lanes_u width[ROWS] = {widths(of, 0, unit), widths(of, 1, unit)};
    lanes_u before[ROWS];
    sums_before_of_16(width, before);
    const uint64_t position = f->whole_units[j];
    const int rank = lanes_count_up_to(before[0], position) + lanes_count_up_to(before[1], position) - 1;
    out->part = (size_t)((rank & 3) << 2 | rank >> 2);
    lanes_store_u64(out->before, before[0]);
    lanes_store_u64(out->before + LANES, before[1]);
}

/* The part that each draw, of the `count` laid out here, falls into, and its position within it. */
static ALWAYS_INLINE lanes_u pick(const layout *layouts, size_t count, const flight *f, size_t j,
                                  uint64_t picked[LANES]) {
    const layout *of[LANES];
    for (size_t k = 0; k < LANES; k++) of[k] = &layouts[k < count ? k : count - 1];
    for (size_t k = 0; k < LANES; k++) picked[k] = of[k]->part;
#define BEFORE(k) of[k]->before[of[k]->part]
    const lanes_u before = LANES_OF(BEFORE);
#undef BEFORE
    return lanes_subtract_u(lanes_load_u64(f->position + j),
                            lanes_shift_left_each(before, lanes_load_u64(f->shift + j)));
}

#else

/* The parts of a node or leaf, column after column, and the column that the draw falls into. */
typedef struct layout {
    uint64_t width[TREE_PARTS], column_start[5];
    size_t column;
} layout;

/* The column is found by comparing with four sums at once. */
static ALWAYS_INLINE void lay_out(const flight *f, size_t j, const parts *of, layout *out) {
    const lanes_u unit = lanes_fill_u(f->unit[j]);
    lanes_u sums = lanes_fill_u(0);
    for (int row = 0; row < ROWS; row++) {
        const lanes_u width = widths(of, row, unit);
        lanes_store_u64(out->width + LANES * row, width);
        sums = lanes_add_u(sums, width);
    }
    sums = lanes_running_sum(sums);
    out->column_start[0] = 0;
    lanes_store_u64(out->column_start + 1, sums);
    out->column = (size_t)lanes_count_up_to(sums, f->whole_units[j]);
}

/* The row within the column of each draw. Their positions become ones within the part that they fall into. */
static ALWAYS_INLINE lanes_u pick_rows(const layout *const of[LANES], const flight *f, size_t j, lanes_u *position) {
#define START(k) of[k]->column_start[of[k]->column]
#define WIDTH_0(k) of[k]->width[of[k]->column]
#define WIDTH_1(k) of[k]->width[4 + of[k]->column]
#define WIDTH_2(k) of[k]->width[8 + of[k]->column]
    const lanes_u shift = lanes_load_u64(f->shift + j), within = lanes_load_u64(f->position + j);
    const lanes_u units = lanes_load_u64(f->whole_units + j);
    const lanes_u width[ROWS - 1] = {LANES_OF(WIDTH_0), LANES_OF(WIDTH_1), LANES_OF(WIDTH_2)};
    lanes_u start = LANES_OF(START), row = lanes_fill_u(0), end = start;
    for (int r = 0; r < ROWS - 1; r++) {
        end = lanes_add_u(end, width[r]);
        start = lanes_add_u(start, lanes_unless_above(width[r], end, units));
        row = lanes_add_u(row, lanes_unless_above(lanes_fill_u(1), end, units));
    }
    *position = lanes_subtract_u(within, lanes_shift_left_each(start, shift));
    return row;
#undef START
#undef WIDTH_0
#undef WIDTH_1
#undef WIDTH_2
}

/* The part that each draw, of the `count` laid out here, falls into, and its position within it. */
static ALWAYS_INLINE lanes_u pick(const layout *layouts, size_t count, const flight *f, size_t j,
                                  uint64_t picked[LANES]) {
    const layout *of[LANES];
    for (size_t k = 0; k < LANES; k++) of[k] = &layouts[k < count ? k : count - 1];
#define COLUMN(k) of[k]->column
    lanes_u position;
    const lanes_u row = pick_rows(of, f, j, &position);
    lanes_store_u64(picked, lanes_add_u(lanes_shift_left(row, 2), LANES_OF(COLUMN)));
    return position;
#undef COLUMN
}

#endif
static ALWAYS_INLINE void step_nodes(const weight_tree *tree, flight *f, size_t first, size_t count, int level) {
    const tree_node *nodes = tree->nodes[level];
    layout layouts[GROUP];
    for (size_t j = 0; j < count; j++) {
        parts of;
        node_parts(&nodes[f->place[first + j]], &of);
        lay_out(f, first + j, &of, &layouts[j]);
    }
    for (size_t j = 0; j < count; j += LANES) {
        uint64_t child[LANES];
        const lanes_u position = pick(&layouts[j], count - j, f, first + j, child);
        const tree_node *from[LANES];
        for (size_t k = 0; k < LANES; k++) {
            uint64_t *place = &f->place[first + j + k];
            from[k] = &nodes[*place];
            *place = *place * TREE_PARTS + child[k];
        }
#define HEAD(k) from[k]->head[child[k]]
#define TAIL(k) from[k]->tail[child[k]]
        const word_lanes part = unpacked(LANES_OF(HEAD), LANES_OF(TAIL));
#undef HEAD
#undef TAIL
        const lanes_u alone = enter(f, first + j, position, lanes_load_u64(f->exponent + first + j), &part);
        look_ahead(tree, f, first + j, level, alone);
    }
}

#if LANES == 8

static ALWAYS_INLINE void step_leaves(const weight_tree *tree, flight *f, size_t first, size_t count) {
    float position[GROUP];
    const leaf_frame frame = leaf_frame_of(&tree->scale, f->unit + first, f->whole_units + first, position);
    for (size_t j = 0; j < count; j++) {
        uint64_t *place = &f->place[first + j];
        const float *losses = tree->losses + *place * TREE_PARTS;
        const __m512 shares = leaf_shares(tree, losses, &frame, j, f->unit[first + j]);
        int doubtful;
        *place = *place * TREE_PARTS + choose_share(shares, position[j], &doubtful);
        f->alone[first + j] |= (uint64_t)doubtful << 63;
    }
}

#else

/* One of the 16 numbers of some rows. */
static ALWAYS_INLINE uint64_t one_of(const lanes_u *rows, uint64_t which) {
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
    for (size_t j = 0; j < count; j += LANES) {
        uint64_t chosen[LANES];
        const lanes_u position = pick(&layouts[j], count - j, f, first + j, chosen);
        const parts *leaf[LANES];
        for (size_t k = 0; k < LANES; k++) {
            leaf[k] = &leaves[j + k < count ? j + k : count - 1];
            f->place[first + j + k] = f->place[first + j + k] * TREE_PARTS + chosen[k];
        }
#define MASS(k) one_of(leaf[k]->mass, chosen[k])
#define EXPONENT(k) one_of(leaf[k]->exponent, chosen[k])
        const word_lanes part = {LANES_OF(MASS), LANES_OF(EXPONENT), lanes_fill_u(0)};
#undef MASS
#undef EXPONENT
        enter(f, first + j, position, lanes_load_u64(f->exponent + first + j), &part);
    }
}

#endif

/* Draws enter words of the crown, whose units may be finer than the word's: then the bits in excess are dropped. */
static ALWAYS_INLINE void begin(const weight_tree *tree, flight *f, size_t j) {
    const int level = tree->levels - 1;
    const tree_node *nodes = tree->nodes[level];
#define HEAD(k) nodes[f->place[j + k] / TREE_PARTS].head[f->place[j + k] % TREE_PARTS]
#define TAIL(k) nodes[f->place[j + k] / TREE_PARTS].tail[f->place[j + k] % TREE_PARTS]
    const word_lanes part = unpacked(LANES_OF(HEAD), LANES_OF(TAIL));
#undef HEAD
#undef TAIL
    const lanes_u root = lanes_fill_u((uint64_t)(tree->root.exponent + TREE_EXPONENT_BIAS));
    const lanes_u from = lanes_larger(root, part.exponent);
    const lanes_u position = lanes_shift_right_each(lanes_load_u64(f->position + j), lanes_subtract_u(from, root));
    lanes_store_u64(f->bit_count + j, lanes_fill_u(64));
    lanes_store_u64(f->alone + j, lanes_fill_u(0));
    look_ahead(tree, f, j, level, enter(f, j, position, from, &part));
}

/* Copies of the last draw fill up the lanes behind it. */
static void fill_up(flight *f, size_t count) {
    for (size_t j = count; j % LANES; j++) {
        f->position[j] = f->position[count - 1];
        f->bits[j] = f->bits[count - 1];
        f->place[j] = f->place[count - 1];
    }
}

/* Draws of the stream `first`, of that of the next slot, and so on: at most a flight of them. */
static inline void descend(const weight_tree *tree, const random_stream *first, size_t count, int64_t *examples) {
    flight f;
    f.refused = (0 - tree->root.mass) % tree->root.mass; /* as in random_below */
    for (size_t j = 0; j < count; j += LANES) first_positions(tree, first, &f, j);
    for (size_t j = 0; j < count; j++) find_in_crown(tree, &f, j);
    fill_up(&f, count);
    for (size_t j = 0; j < count; j += LANES) begin(tree, &f, j);
    for (int level = tree->levels - 2; level >= -1; level--)
        for (size_t j = 0; j < count; j += GROUP) {
            const size_t group = count - j < GROUP ? count - j : GROUP;
            if (level < 0) step_leaves(tree, &f, j, group);
            else step_nodes(tree, &f, j, group, level);
        }
    for (size_t j = 0; j < count; j++) examples[j] = is_alone(&f, j) ? -1 : (int64_t)f.place[j];
}

#endif
