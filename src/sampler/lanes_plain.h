/* Four plain numbers: the reference for the vectors, and for processors without any of them. See lanes.h. */
#ifndef HWS_SAMPLER_LANES_PLAIN_H
#define HWS_SAMPLER_LANES_PLAIN_H

#include "core/portable_math.h"
#include "core/random.h"

#include <stdint.h>

#define LANES 4
/* What costs too much to be done for all lanes where one of them needs it. */
enum { GAPS_ARE_CHEAP = 0, BLOCKS_ARE_CHEAP = 0 };

typedef struct lanes {
    double v[LANES];
} lanes;
typedef struct lanes_u {
    uint64_t v[LANES];
} lanes_u;

#define LANES_EACH(type, expression)                                                                                   \
    do {                                                                                                               \
        type result;                                                                                                   \
        for (int k = 0; k < LANES; k++) result.v[k] = (expression);                                                    \
        return result;                                                                                                 \
    } while (0)

/* An expression of each lane's number. */
#define LANES_OF(of) ((lanes_u){{of(0), of(1), of(2), of(3)}})

static inline lanes lanes_fill(double x) { LANES_EACH(lanes, x); }
static inline lanes_u lanes_fill_u(uint64_t x) { LANES_EACH(lanes_u, x); }
static inline lanes_u lanes_from(uint64_t first) { LANES_EACH(lanes_u, first + (uint64_t)k); }
static inline lanes lanes_add(lanes a, lanes b) { LANES_EACH(lanes, a.v[k] + b.v[k]); }
static inline lanes lanes_subtract(lanes a, lanes b) { LANES_EACH(lanes, a.v[k] - b.v[k]); }
static inline lanes lanes_multiply(lanes a, lanes b) { LANES_EACH(lanes, a.v[k] * b.v[k]); }
static inline lanes_u lanes_add_u(lanes_u a, lanes_u b) { LANES_EACH(lanes_u, a.v[k] + b.v[k]); }
static inline lanes_u lanes_subtract_u(lanes_u a, lanes_u b) { LANES_EACH(lanes_u, a.v[k] - b.v[k]); }
static inline lanes_u lanes_shift_left(lanes_u x, int count) { LANES_EACH(lanes_u, x.v[k] << count); }
static inline lanes_u lanes_shift_right(lanes_u x, int count) { LANES_EACH(lanes_u, x.v[k] >> count); }
static inline lanes_u lanes_and(lanes_u a, lanes_u b) { LANES_EACH(lanes_u, a.v[k] & b.v[k]); }
static inline lanes_u lanes_or(lanes_u a, lanes_u b) { LANES_EACH(lanes_u, a.v[k] | b.v[k]); }
static inline lanes_u lanes_xor(lanes_u a, lanes_u b) { LANES_EACH(lanes_u, a.v[k] ^ b.v[k]); }
static inline lanes_u lanes_bits(lanes x) { LANES_EACH(lanes_u, hws_bits_of(x.v[k])); }
static inline lanes lanes_of_bits(lanes_u x) { LANES_EACH(lanes, hws_double_of(x.v[k])); }
static inline lanes lanes_load_floats(const float *from) { LANES_EACH(lanes, from[k]); }
static inline lanes_u lanes_load_u32(const uint32_t *from) { LANES_EACH(lanes_u, from[k]); }
static inline uint64_t lanes_get(lanes_u x, int lane) { return x.v[lane]; }

/* x where a <= b, else 0. */
static inline lanes_u lanes_unless_above(lanes_u x, lanes_u a, lanes_u b) {
    LANES_EACH(lanes_u, a.v[k] <= b.v[k] ? x.v[k] : 0);
}

/* The larger of a number and a bound. */
static inline lanes lanes_at_least(lanes x, double bound) { LANES_EACH(lanes, x.v[k] > bound ? x.v[k] : bound); }

/* x where a number is above a bound, else 0. */
static inline lanes_u lanes_where_above(lanes_u x, lanes number, double bound) {
    LANES_EACH(lanes_u, number.v[k] > bound ? x.v[k] : 0);
}

static inline lanes_u lanes_larger(lanes_u a, lanes_u b) { LANES_EACH(lanes_u, a.v[k] > b.v[k] ? a.v[k] : b.v[k]); }

/* The products of the low 32 bits. */
static inline lanes_u lanes_multiply_u32(lanes_u a, lanes_u b) {
    LANES_EACH(lanes_u, (uint64_t)(uint32_t)a.v[k] * (uint32_t)b.v[k]);
}

/* The high halves of the products, and the low ones. */
static inline lanes_u lanes_multiply_high(lanes_u a, lanes_u b, lanes_u *low) {
    LANES_EACH(lanes_u, multiply_high(a.v[k], b.v[k], &low->v[k]));
}

/* a where the top bit is set, else b. */
static inline lanes_u lanes_by_top_bit(lanes_u bit, lanes_u a, lanes_u b) {
    LANES_EACH(lanes_u, bit.v[k] >> 63 ? a.v[k] : b.v[k]);
}

/* x >> count for each lane; 0 for counts of 64 and more. */
static inline lanes_u lanes_shift_right_each(lanes_u x, lanes_u count) {
    LANES_EACH(lanes_u, count.v[k] > 63 ? 0 : x.v[k] >> count.v[k]);
}

/* The same to the left. */
static inline lanes_u lanes_shift_left_each(lanes_u x, lanes_u count) {
    LANES_EACH(lanes_u, count.v[k] > 63 ? 0 : x.v[k] << count.v[k]);
}

/* Has any lane its top bit set? */
static inline int lanes_any_top_bit(lanes_u x) { return (x.v[0] | x.v[1] | x.v[2] | x.v[3]) >> 63 != 0; }

/* Lane j becomes the sum of lanes 0 to j. */
static inline lanes_u lanes_running_sum(lanes_u x) {
    for (int k = 1; k < LANES; k++) x.v[k] += x.v[k - 1];
    return x;
}

/* All lanes become the last one. */
static inline lanes_u lanes_last(lanes_u x) { return lanes_fill_u(x.v[LANES - 1]); }

/* All lanes become the largest of them. */
static inline lanes_u lanes_largest(lanes_u x) {
    for (int k = 1; k < LANES; k++) x.v[0] = x.v[k] > x.v[0] ? x.v[k] : x.v[0];
    return lanes_fill_u(x.v[0]);
}

static inline uint64_t lanes_sum(lanes_u x) { return (x.v[0] + x.v[1]) + (x.v[2] + x.v[3]); }

/* In how many lanes x <= bound. */
static inline int lanes_count_up_to(lanes_u x, uint64_t bound) {
    int count = 0;
    for (int k = 0; k < LANES; k++) count += x.v[k] <= bound;
    return count;
}

/* Is any of 16 floats unusual: larger than the limit in size? */
static inline int any_unusual_of_16(const float *x, float limit) {
    int any = 0;
    for (int i = 0; i < 16; i++) any |= (x[i] < 0 ? -x[i] : x[i]) > limit;
    return any;
}

#endif
