/*
 * The parts of a leaf or of a node, as the kernels of the weight tree work with them. Compiled once per instruction
 * set, in weight_tree_kernels.c; all sets agree to the bit: lanes perform the same operations everywhere, and
 * contraction into fused multiply-adds is switched off.
 */
#ifndef HWS_SAMPLER_WEIGHT_TREE_PARTS_H
#define HWS_SAMPLER_WEIGHT_TREE_PARTS_H

#include "sampler/lanes.h"
#include "sampler/weight_tree.h"

#include <math.h>

#if defined(__GNUC__) || defined(__clang__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NEVER_INLINE __attribute__((noinline))
#define PREFETCH(address) __builtin_prefetch(address)
#define COUNT_LEADING_ZEROS(x) __builtin_clzll(x)
#define LOWEST_BIT(x) __builtin_ctz(x)
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
#define LOWEST_BIT(x) (63 - COUNT_LEADING_ZEROS((x) & (0 - (x))))
#endif

enum { ROWS = TREE_PARTS / LANES };

/* The parts of a leaf or a node in rows; exponents are biased. Part LANES * r + c is lane c of row r. */
typedef struct parts {
    lanes_u mass[ROWS], exponent[ROWS];
} parts;

/* 2^(50 + f) for |f| <= 0.51. Estrin's order, so that the steps can overlap. */
static ALWAYS_INLINE lanes scaled_exp2(lanes f) {
#define COEFFICIENT(k) lanes_fill(HWS_EXP2_##k * 0x1p50)
#define LINEAR(a, b, x) lanes_add(a, lanes_multiply(b, x))
    const lanes f2 = lanes_multiply(f, f), f4 = lanes_multiply(f2, f2), f8 = lanes_multiply(f4, f4);
    const lanes a = LINEAR(COEFFICIENT(0), COEFFICIENT(1), f), b = LINEAR(COEFFICIENT(2), COEFFICIENT(3), f);
    const lanes c = LINEAR(COEFFICIENT(4), COEFFICIENT(5), f), d = LINEAR(COEFFICIENT(6), COEFFICIENT(7), f);
    const lanes e = LINEAR(COEFFICIENT(8), COEFFICIENT(9), f);
    return LINEAR(LINEAR(LINEAR(a, b, f2), LINEAR(c, d, f2), f4), LINEAR(e, COEFFICIENT(10), f2), f8);
#undef LINEAR
#undef COEFFICIENT
}

/* Losses within the limit: mass * 2^exponent = 2^(52 + scale * loss). With gaps, some of them are -infinity. */
static ALWAYS_INLINE void ordinary_weights(const tree_scale *scale, const float *losses, int gaps, parts *out) {
    const lanes high = lanes_fill(scale->high), low = lanes_fill(scale->low), magic = lanes_fill(HWS_ROUNDING_MAGIC);
    const lanes_u rebias = lanes_fill_u(hws_bits_of(HWS_ROUNDING_MAGIC) - (uint64_t)TREE_EXPONENT_BIAS);
    for (int row = 0; row < ROWS; row++) {
        const lanes loss = lanes_load_floats(losses + LANES * row);
        const lanes main = lanes_multiply(loss, high), rest = lanes_multiply(loss, low);
        const lanes shifted = lanes_add(lanes_add(main, rest), magic);
        const lanes fraction = lanes_add(lanes_subtract(main, lanes_subtract(shifted, magic)), rest);
        /* Adding 2^52 rounds to an integer, which the low bits then hold; shifting drops the rest. */
        const lanes_u rounded = lanes_bits(lanes_add(scaled_exp2(fraction), lanes_fill(0x1p52)));
        out->mass[row] = lanes_shift_right(lanes_shift_left(rounded, 12), 10);
        out->exponent[row] = lanes_subtract_u(lanes_bits(shifted), rebias);
        if (!gaps) continue;
        out->mass[row] = lanes_where_above(out->mass[row], loss, -INFINITY);
        out->exponent[row] = lanes_where_above(out->exponent[row], loss, -INFINITY);
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

static NEVER_INLINE void giant_weights(const tree_scale *scale, const float *losses, parts *out) {
    float tame[TREE_PARTS];
    for (int i = 0; i < TREE_PARTS; i++) tame[i] = fabsf(losses[i]) > scale->limit ? 0 : losses[i];
    ordinary_weights(scale, tame, 0, out);

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

/* Examples that a batch has taken out are many where few examples hold most of the mass. */
static NEVER_INLINE void unusual_weights(const tree_scale *scale, const float *losses, parts *out) {
    int giants = 0;
    for (int i = 0; i < TREE_PARTS; i++) giants |= (fabsf(losses[i]) > scale->limit) & (losses[i] >= -FLT_MAX);
    if (giants) giant_weights(scale, losses, out);
    else ordinary_weights(scale, losses, 1, out);
}

static ALWAYS_INLINE void leaf_parts(const tree_scale *scale, const float *losses, parts *out) {
    if (any_unusual_of_16(losses, scale->limit)) unusual_weights(scale, losses, out);
    else ordinary_weights(scale, losses, GAPS_ARE_CHEAP, out);
}

/* The exponents in packed words. */
static ALWAYS_INLINE lanes_u exponent_of(lanes_u head, lanes_u tail) {
    return lanes_or(lanes_and(lanes_shift_left(head, 32), lanes_fill_u((uint64_t)0xff << 32)), tail);
}

static ALWAYS_INLINE void node_parts(const tree_node *node, parts *out) {
    for (int row = 0; row < ROWS; row++) {
        const lanes_u head = lanes_load_u64(node->head + LANES * row);
        out->mass[row] = lanes_shift_right(head, 11);
        out->exponent[row] = exponent_of(head, lanes_load_u32(node->tail + LANES * row));
    }
}

/* How many units the parts of a row take: rounded up, and one unit even for nothing at all. */
static ALWAYS_INLINE lanes_u widths(const parts *of, int row, lanes_u unit) {
    return lanes_add_u(lanes_shift_right_each(of->mass[row], lanes_subtract_u(unit, of->exponent[row])),
                       lanes_fill_u(1));
}

#endif
