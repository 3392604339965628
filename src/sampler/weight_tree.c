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

static void begin(weight_tree *tree, const float *losses, tree_scale scale) {
    tree->losses = losses;
    tree->scale = scale;
    memset(tree->block, 0, tree->block_size);
}

static void sum_above_leaves(weight_tree *tree) {
    for (int level = 0; level + 1 < tree->levels; level++)
        tree->kernels->sum_nodes(tree, level, NULL, tree->node_count[level]);
    tree->kernels->sum_crown(tree, UINT32_MAX);
}

void weight_tree_rebuild(weight_tree *tree, const float *losses, tree_scale scale) {
    begin(tree, losses, scale);
    tree->kernels->sum_leaves(tree, NULL, tree->leaves);
    sum_above_leaves(tree);
}

/* ---- moments --------------------------------------------------------------------------------------------------- */

static tree_sums sums_of(const weight_tree *tree, double beta, double reference) {
    return (tree_sums){.beta = beta, .reference = reference, .unit = weight_tree_weight(tree, (float)reference)};
}

/* In units of the reference's weight. */
static double sum_of(const double places[TREE_PARTS], tree_word unit) {
    double sum = 0;
    for (int i = 0; i < TREE_PARTS; i++) sum += places[i];
    return sum / (double)unit.mass;
}

static tree_moments moments_of(const tree_sums *sums) {
    return (tree_moments){sum_of(sums->mass, sums->unit), sum_of(sums->first, sums->unit),
                          sum_of(sums->second, sums->unit)};
}

/* Blocks of leaves are summed apart, so that errors do not grow with n. */
enum { BLOCK = 256 };

tree_moments weight_tree_rebuild_moments(weight_tree *tree, const float *losses, double beta, double reference) {
    begin(tree, losses, tree_scale_of(beta));
    const tree_sums none = sums_of(tree, beta, reference);
    wide_sum mass = {0, 0}, moment = {0, 0}, square = {0, 0};
    for (size_t first = 0; first < tree->leaves; first += BLOCK) {
        tree_sums sums = none;
        tree->kernels->sum_leaves_moments(tree, first, tree->leaves - first < BLOCK ? tree->leaves - first : BLOCK,
                                          &sums);
        const tree_moments block = moments_of(&sums);
        mass = wide_add_double(mass, block.mass);
        moment = wide_add_double(moment, block.first);
        square = wide_add_double(square, block.second);
    }
    sum_above_leaves(tree);
    return (tree_moments){mass.high, moment.high, square.high};
}

tree_moments weight_tree_moments(const weight_tree *tree, size_t count, const float *losses, double beta,
                                 double reference) {
    tree_sums sums = sums_of(tree, beta, reference);
    for (size_t first = 0; first < count; first += TREE_PARTS) {
        float leaf[TREE_PARTS];
        for (size_t i = 0; i < TREE_PARTS; i++) leaf[i] = first + i < count ? losses[first + i] : -INFINITY;
        tree->kernels->add_moments(&tree->scale, leaf, &sums);
    }
    return moments_of(&sums);
}

float weight_tree_largest(const weight_tree *tree, size_t *ties) {
    return tree->kernels->largest(tree->losses, tree->leaves, ties);
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

/* ---- draws ----------------------------------------------------------------------------------------------------- */

/* A draw under way. */
typedef struct lone_draw {
    random_stream *random;
    tree_word word;    /* where it is */
    uint64_t position; /* within the word: in [0, mass) */
    int lost;          /* fell into the room that rounding left: must start again */
} lone_draw;

/* Moves a draw into a part: its position becomes finer by random bits, and must be below the part's mass. */
static void enter(lone_draw *draw, tree_word part) {
    int64_t distance = draw->word.exponent - part.exponent;
    draw->word = part;
    for (; distance > 56; distance -= 56) {
        if (draw->position == 0 && random_bits(draw->random, 56) == 0) continue;
        draw->lost = 1;
        return;
    }
    draw->position = draw->position << distance | random_bits(draw->random, (int)distance);
    draw->lost |= draw->position >= part.mass;
}

/* The room of a part: rounded down, and one unit more. */
static uint64_t room_of(tree_word part, int64_t unit) {
    const int64_t distance = unit - part.exponent;
    return (distance > 63 ? 0 : part.mass >> distance) + 1;
}

/* Goes into the part that the draw falls into; parts lie column after column of a square of four by four. */
static size_t pick(lone_draw *draw, const tree_word parts[TREE_PARTS]) {
    const int64_t unit = draw->word.exponent + draw->word.shift;
    uint64_t before = 0;
    int part = 0;
    for (int k = 0; k < TREE_PARTS; k++) {
        part = k % 4 * 4 + k / 4;
        const uint64_t end = before + room_of(parts[part], unit);
        if (end > draw->position >> draw->word.shift) break;
        before = end;
    }
    draw->position -= before << draw->word.shift;
    enter(draw, parts[part]);
    return (size_t)part;
}

/* A position in the whole tree, and with it a word of the crown. */
static size_t start(const weight_tree *tree, lone_draw *draw) {
    const tree_crown *crown = &tree->crown;
    size_t node = 0, word = 0;
    draw->position = random_below(draw->random, tree->root.mass);
    while (crown->node_start[node + 1] <= draw->position) node++;
    draw->position -= crown->node_start[node];
    const uint64_t *ends = crown->word_end + TREE_PARTS * node;
    while (ends[word] <= draw->position) word++;
    draw->position -= word ? ends[word - 1] : 0;
    draw->word = tree->root;
    draw->lost = 0;
    const tree_word part = tree_node_get(&tree->nodes[tree->levels - 1][node], (int)word);
    if (part.exponent > draw->word.exponent) { /* the crown's units are finer: drop the bits in excess */
        draw->position >>= part.exponent - draw->word.exponent;
        draw->word.exponent = part.exponent;
    }
    enter(draw, part);
    return TREE_PARTS * node + word;
}

int64_t weight_tree_draw_alone(const weight_tree *tree, random_stream *random) {
    lone_draw draw = {.random = random};
    size_t place;
    do {
        place = start(tree, &draw);
        for (int level = tree->levels - 2; level >= -1 && !draw.lost; level--) {
            tree_word parts[TREE_PARTS];
            if (level < 0) tree->kernels->leaf_weights(&tree->scale, tree->losses + place * TREE_PARTS, parts);
            for (int c = 0; level >= 0 && c < TREE_PARTS; c++) parts[c] = tree_node_get(&tree->nodes[level][place], c);
            place = place * TREE_PARTS + pick(&draw, parts);
        }
    } while (draw.lost);
    return (int64_t)place;
}

void weight_tree_draw(const weight_tree *tree, uint64_t seed, uint64_t iteration, uint32_t first_slot, size_t count,
                      int64_t *examples) {
    for (size_t first = 0; first < count; first += TREE_FLIGHT) {
        const size_t flight = count - first < TREE_FLIGHT ? count - first : TREE_FLIGHT;
        random_stream random;
        random_start(&random, seed, RANDOM_DRAW, iteration, first_slot + (uint32_t)first);
        tree->kernels->descend(tree, &random, flight, examples + first);
        for (size_t j = first; j < first + flight; j++) {
            if (examples[j] >= 0) continue;
            random_start(&random, seed, RANDOM_DRAW, iteration, first_slot + (uint32_t)j);
            examples[j] = weight_tree_draw_alone(tree, &random);
        }
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
