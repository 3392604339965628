/*
 * The weight tree: draws example i with probability w_i / sum(w), w_i = 2^(scale * loss_i), exactly.
 *
 * Every word of the tree is a pure function of the losses and the scale, so that updates cannot drift and a rebuilt
 * tree equals an updated one bit for bit.
 *
 *  - 16 losses are a leaf. Their weights are not stored; they are recomputed as integers mass * 2^exponent, rounded
 *    to 50 bits.
 *  - 16 words are a node. A word is the total of a leaf or of a node: a mass of 53 bits and an exponent of 40 bits.
 *  - The last level, of at most 256 words, is the crown. Its running sums are kept, and those of its nodes, so that a
 *    draw starts with two comparisons of 16 numbers.
 *  - A total is summed in units that are 16 times the largest part's; every part is rounded down and gets one unit
 *    more, so that it never has less room than it needs. The sum is then shifted up to 53 bits again, without loss.
 *  - A draw is a position within a word. When it enters a part it becomes finer by as many random bits as that part's
 *    units are finer; if it then lies outside the part's mass, in the room that rounding left, it starts again. So the
 *    probabilities along a path telescope to w_i / sum(w) without any error. The chance of a new start is below 2^-42.
 *  - A loss of -infinity has weight 0: it marks padding, and examples that a batch has taken out for its duration.
 *  - Where |scale * loss| exceeds 2^32, neighbouring floats differ by more than 256 powers of two, and exponents
 *    count floats in steps of 256 instead: only ties at the top matter there. So any float is a valid loss.
 */
#ifndef HWS_SAMPLER_WEIGHT_TREE_H
#define HWS_SAMPLER_WEIGHT_TREE_H

#include "core/random.h"

#include <stddef.h>
#include <stdint.h>

enum {
    TREE_PARTS = 16,     /* losses of a leaf, words of a node */
    TREE_CROWN = 256,    /* the most words at the top, which have no node above them */
    TREE_MAX_LEVELS = 6, /* 256 * 16^6 * 16 > 2^32 */
    TREE_MASS_BITS = 53,
    TREE_HEADROOM = 4, /* a total's units are 2^4 times those of its largest part */
    TREE_FLIGHT = 64   /* draws that descend together, so that their cache misses overlap */
};

/* Exponents are stored with this bias, which makes them positive. */
#define TREE_EXPONENT_BIAS ((int64_t)1 << 39)

/* mass * 2^exponent. It was summed in units of 2^(exponent + shift). A mass of 0 is no weight at all. */
typedef struct tree_word {
    uint64_t mass;
    int64_t exponent;
    int shift;
} tree_word;

/* Sixteen packed words, three cache lines: head = mass << 11 | shift << 8 | top 8 bits of the biased exponent, tail =
 * its low 32 bits. */
typedef struct tree_node {
    uint64_t head[TREE_PARTS];
    uint32_t tail[TREE_PARTS];
} tree_node;

/* Sums over the words of the last level, in units of the root's exponent. */
typedef struct tree_crown {
    size_t nodes;
    uint64_t top;                        /* the largest biased exponent of all words, which decides the unit */
    uint64_t node_top[TREE_PARTS];       /* and of each node's; 0 where there is none */
    uint64_t node_start[TREE_PARTS + 1]; /* where each node begins; behind the last one a number no draw reaches */
    uint64_t word_end[TREE_CROWN];       /* where each word ends, counted from its node's beginning */
} tree_crown;

/* What turns a loss into a power of two: scale = beta log2(e), split so that high * loss is exact. */
typedef struct tree_scale {
    double high, low;
    float limit; /* |loss| above this is in the region of giant exponents */
} tree_scale;

/* Of some losses, with t = beta (loss - reference): sum(e^t), sum(t e^t), sum(t^2 e^t). */
typedef struct tree_moments {
    double mass, first, second;
} tree_moments;

/* Moments under way: those of the examples at each place of a leaf, summed in the leaves' order
   by every instruction set. */
typedef struct tree_sums {
    double beta, reference; /* no loss is above the reference */
    tree_word unit;         /* the reference's weight */
    double mass[TREE_PARTS], first[TREE_PARTS], second[TREE_PARTS];
} tree_sums;

typedef struct weight_tree weight_tree;

/* The loops that deserve vector instructions; one set per instruction set, all giving the same bits. */
typedef struct tree_kernels {
    const char *name;
    /* The weights of one leaf. */
    void (*leaf_weights)(const tree_scale *scale, const float losses[TREE_PARTS], tree_word weights[TREE_PARTS]);
    /* Recomputes the words of the listed leaves (NULL: of all). */
    void (*sum_leaves)(weight_tree *tree, const uint32_t *leaves, size_t count);
    /* Recomputes the words of a row of leaves, and adds up their moments. */
    void (*sum_leaves_moments)(weight_tree *tree, size_t first, size_t count, tree_sums *sums);
    /* Adds up the moments of one leaf. */
    void (*add_moments)(const tree_scale *scale, const float losses[TREE_PARTS], tree_sums *sums);
    /* The largest of the losses of some leaves, and how many there are of it. */
    float (*largest)(const float *losses, size_t leaves, size_t *ties);
    /* Recomputes the words of the listed nodes of a level (NULL: of all) in the level above, which exists. */
    void (*sum_nodes)(weight_tree *tree, int level, const uint32_t *nodes, size_t count);
    /* Recomputes the sums of the crown after words of the nodes in this set (bit k: node k) have changed. */
    void (*sum_crown)(weight_tree *tree, uint32_t changed);
    /* Takes draws, at most a flight of them, through the tree from the root to examples. The first has this stream, the
       others those of the next slots. Gives -1 for the few that must be made alone. */
    void (*descend)(const weight_tree *tree, const random_stream *first, size_t count, int64_t *examples);
} tree_kernels;

struct weight_tree {
    const float *losses; /* the caller's; padded with -infinity to whole leaves */
    size_t leaves;
    int levels;                         /* of nodes; level 0 stands above the leaves, the last one is the crown */
    size_t node_count[TREE_MAX_LEVELS]; /* at most 16 in the last level */
    tree_node *nodes[TREE_MAX_LEVELS];  /* parts of one block */
    void *block;
    size_t block_size;
    tree_crown crown;
    tree_word root; /* the total: mass of up to 63 bits, not shifted */
    tree_scale scale;
    const tree_kernels *kernels;
};

/* The best kernels for this CPU, or those with this name; NULL if this build or CPU has none such. All give the same
   bits, and a library reads no environment: HWS_KERNELS is for src/nn, and tests ask for each set by its name. */
const tree_kernels *tree_kernels_choose(void);
const tree_kernels *tree_kernels_named(const char *name);

tree_scale tree_scale_of(double beta);

/* The size in losses, padding included, that a tree over n examples wants to find at `losses`. */
size_t tree_padded_size(size_t n);

/* 0 when out of memory. The words are not computed until weight_tree_rebuild. */
int weight_tree_open(weight_tree *tree, size_t n);
void weight_tree_close(weight_tree *tree);

/* Recomputes everything for these losses and this scale. */
void weight_tree_rebuild(weight_tree *tree, const float *losses, tree_scale scale);

/* The same for this beta, and the moments on the way. The reference must be the largest of the losses. */
tree_moments weight_tree_rebuild_moments(weight_tree *tree, const float *losses, double beta, double reference);

/* The moments of a few losses (-infinity: none) with the tree's scale, which is that of this beta. */
tree_moments weight_tree_moments(const weight_tree *tree, size_t count, const float *losses, double beta,
                                 double reference);

/* The largest of the tree's losses, and how many there are of it. */
float weight_tree_largest(const weight_tree *tree, size_t *ties);

/* Recomputes what depends on the losses of these examples. */
void weight_tree_refresh(weight_tree *tree, const int64_t *examples, size_t count);

/* Independent draws: slot first_slot + j gives examples[j]. The tree must have some weight. */
void weight_tree_draw(const weight_tree *tree, uint64_t seed, uint64_t iteration, uint32_t first_slot, size_t count,
                      int64_t *examples);

/* One draw, step by step: what a flight's draws give, slowly, and whatever happens on the way. */
int64_t weight_tree_draw_alone(const weight_tree *tree, random_stream *random);

tree_word weight_tree_weight(const weight_tree *tree, float loss);

/* a / b as a double; b must not be 0. */
double tree_word_ratio(tree_word a, tree_word b);

/* Pack and unpack child c of a node. */
static inline tree_word tree_node_get(const tree_node *node, int c) {
    const uint64_t head = node->head[c];
    return (tree_word){head >> 11, (int64_t)((head & 0xff) << 32 | node->tail[c]) - TREE_EXPONENT_BIAS,
                       (int)(head >> 8 & 7)};
}

static inline void tree_node_set(tree_node *node, int c, tree_word word) {
    const uint64_t biased = (uint64_t)(word.exponent + TREE_EXPONENT_BIAS);
    node->head[c] = word.mass << 11 | (uint64_t)word.shift << 8 | biased >> 32;
    node->tail[c] = (uint32_t)biased;
}

#endif
