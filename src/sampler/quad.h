/*
 * Quads: four doubles or four 64-bit integers that go through the same operations together.
 *
 * With gcc and clang a quad is a vector, which the compiler maps to what the target has; with AVX2 some steps name
 * their instruction. Elsewhere, or with HWS_PLAIN_QUADS, it is four plain numbers. The operations are the same IEEE
 * and integer ones in each case, so the results are the same bits.
 */
#ifndef HWS_SAMPLER_QUAD_H
#define HWS_SAMPLER_QUAD_H

#include "core/portable_math.h"

#include <stdint.h>
#include <string.h>

#if (defined(__GNUC__) || defined(__clang__)) && !defined(HWS_PLAIN_QUADS)

#ifdef __AVX2__
#include <immintrin.h>
#endif

typedef double quad __attribute__((vector_size(32)));
typedef uint64_t quad_u __attribute__((vector_size(32)));
typedef int64_t quad_i __attribute__((vector_size(32)));

static inline quad quad_fill(double x) { return (quad){x, x, x, x}; }
static inline quad_u quad_fill_u(uint64_t x) { return (quad_u){x, x, x, x}; }
static inline quad quad_add(quad a, quad b) { return a + b; }
static inline quad quad_subtract(quad a, quad b) { return a - b; }
static inline quad quad_multiply(quad a, quad b) { return a * b; }
static inline quad_u quad_add_u(quad_u a, quad_u b) { return a + b; }
static inline quad_u quad_subtract_u(quad_u a, quad_u b) { return a - b; }
static inline quad_u quad_shift_left(quad_u x, int count) { return x << count; }
static inline quad_u quad_shift_right(quad_u x, int count) { return x >> count; }
static inline quad_u quad_and(quad_u a, quad_u b) { return a & b; }
static inline quad_u quad_or(quad_u a, quad_u b) { return a | b; }
static inline quad_u quad_xor(quad_u a, quad_u b) { return a ^ b; }
static inline quad_u quad_and_not(quad_u a, quad_u b) { return a & ~b; }
static inline quad_u quad_bits(quad x) { return (quad_u)x; }
static inline quad_u quad_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d) { return (quad_u){a, b, c, d}; }

/* Masks, all ones or 0 in each lane: of the integers above others, for values below 2^63, and of numbers above a bound. */
static inline quad_u quad_above(quad_u a, quad_u b) { return (quad_u)((quad_i)a > (quad_i)b); }
static inline quad_u quad_above_bound(quad x, double bound) { return (quad_u)(x > quad_fill(bound)); }

/* The larger of two values below 2^63. */
static inline quad_u quad_larger(quad_u a, quad_u b) {
    const quad_u mask = quad_above(a, b);
#ifdef __AVX2__
    return (quad_u)_mm256_blendv_epi8((__m256i)b, (__m256i)a, (__m256i)mask);
#else
    return (a & mask) | (b & ~mask);
#endif
}

static inline quad quad_load_floats(const float *from) {
#ifdef __AVX2__
    return (quad)_mm256_cvtps_pd(_mm_loadu_ps(from));
#else
    return (quad){from[0], from[1], from[2], from[3]};
#endif
}

static inline quad_u quad_load_u32(const uint32_t *from) {
#ifdef __AVX2__
    return (quad_u)_mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)from));
#else
    return (quad_u){from[0], from[1], from[2], from[3]};
#endif
}

/* The products of the low 32 bits. */
static inline quad_u quad_multiply_u32(quad_u a, quad_u b) {
#ifdef __AVX2__
    return (quad_u)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#else
    return (a & 0xffffffff) * (b & 0xffffffff);
#endif
}

/* x >> count for each lane; 0 for counts of 64 and more. */
static inline quad_u quad_shift_each(quad_u x, quad_u count) {
#ifdef __AVX2__
    return (quad_u)_mm256_srlv_epi64((__m256i)x, (__m256i)count);
#else
    for (int lane = 0; lane < 4; lane++) x[lane] = count[lane] > 63 ? 0 : x[lane] >> count[lane];
    return x;
#endif
}

/* The same to the left. */
static inline quad_u quad_shift_left_each(quad_u x, quad_u count) {
#ifdef __AVX2__
    return (quad_u)_mm256_sllv_epi64((__m256i)x, (__m256i)count);
#else
    for (int lane = 0; lane < 4; lane++) x[lane] = count[lane] > 63 ? 0 : x[lane] << count[lane];
    return x;
#endif
}

/* Is any lane of a mask set? */
static inline int quad_any(quad_u mask) {
#ifdef __AVX2__
    return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#else
    return (mask[0] | mask[1] | mask[2] | mask[3]) != 0;
#endif
}

/* Lane j becomes the sum of lanes 0 to j. */
static inline quad_u quad_running_sum(quad_u x) {
#ifdef __AVX2__
    x += (quad_u)_mm256_slli_si256((__m256i)x, 8);
    const quad_u low_half = (quad_u)_mm256_permute4x64_epi64((__m256i)x, 0x55);
    return x + (low_half & (quad_u){0, 0, UINT64_MAX, UINT64_MAX});
#else
    x[1] += x[0];
    x[2] += x[1];
    x[3] += x[2];
    return x;
#endif
}

/* All lanes become the last one. */
static inline quad_u quad_last(quad_u x) {
#ifdef __AVX2__
    return (quad_u)_mm256_permute4x64_epi64((__m256i)x, 0xff);
#else
    return quad_fill_u(x[3]);
#endif
}

/* All lanes become the largest of them, for values below 2^63. */
static inline quad_u quad_largest(quad_u x) {
#ifdef __AVX2__
    x = quad_larger(x, (quad_u)_mm256_permute4x64_epi64((__m256i)x, 0x4e));
    return quad_larger(x, (quad_u)_mm256_shuffle_epi32((__m256i)x, 0x4e));
#else
    uint64_t largest = x[0];
    for (int lane = 1; lane < 4; lane++) largest = x[lane] > largest ? x[lane] : largest;
    return quad_fill_u(largest);
#endif
}

static inline uint64_t quad_sum(quad_u x) {
#ifdef __AVX2__
    const __m128i half = _mm_add_epi64(_mm256_castsi256_si128((__m256i)x), _mm256_extracti128_si256((__m256i)x, 1));
    return (uint64_t)_mm_cvtsi128_si64(_mm_add_epi64(half, _mm_unpackhi_epi64(half, half)));
#else
    return (x[0] + x[1]) + (x[2] + x[3]);
#endif
}

/* In how many lanes x <= bound, for values below 2^63. */
static inline int quad_count_up_to(quad_u x, uint64_t bound) {
#ifdef __AVX2__
    const quad_i above = (quad_i)x > (quad_i)quad_fill_u(bound);
    return 4 - __builtin_popcount((unsigned)_mm256_movemask_pd((__m256d)above));
#else
    return (x[0] <= bound) + (x[1] <= bound) + (x[2] <= bound) + (x[3] <= bound);
#endif
}

static inline uint64_t quad_get(quad_u x, int lane) { return x[lane]; }

#else

typedef struct quad {
    double v[4];
} quad;
typedef struct quad_u {
    uint64_t v[4];
} quad_u;

#define QUAD_EACH(type, expression)                                                                                    \
    do {                                                                                                               \
        type result;                                                                                                   \
        for (int k = 0; k < 4; k++) result.v[k] = (expression);                                                        \
        return result;                                                                                                 \
    } while (0)

static inline quad quad_fill(double x) { QUAD_EACH(quad, x); }
static inline quad_u quad_fill_u(uint64_t x) { QUAD_EACH(quad_u, x); }
static inline quad quad_add(quad a, quad b) { QUAD_EACH(quad, a.v[k] + b.v[k]); }
static inline quad quad_subtract(quad a, quad b) { QUAD_EACH(quad, a.v[k] - b.v[k]); }
static inline quad quad_multiply(quad a, quad b) { QUAD_EACH(quad, a.v[k] * b.v[k]); }
static inline quad_u quad_add_u(quad_u a, quad_u b) { QUAD_EACH(quad_u, a.v[k] + b.v[k]); }
static inline quad_u quad_subtract_u(quad_u a, quad_u b) { QUAD_EACH(quad_u, a.v[k] - b.v[k]); }
static inline quad_u quad_shift_left(quad_u x, int count) { QUAD_EACH(quad_u, x.v[k] << count); }
static inline quad_u quad_shift_right(quad_u x, int count) { QUAD_EACH(quad_u, x.v[k] >> count); }
static inline quad_u quad_and(quad_u a, quad_u b) { QUAD_EACH(quad_u, a.v[k] & b.v[k]); }
static inline quad_u quad_or(quad_u a, quad_u b) { QUAD_EACH(quad_u, a.v[k] | b.v[k]); }
static inline quad_u quad_xor(quad_u a, quad_u b) { QUAD_EACH(quad_u, a.v[k] ^ b.v[k]); }
static inline quad_u quad_and_not(quad_u a, quad_u b) { QUAD_EACH(quad_u, a.v[k] & ~b.v[k]); }
static inline quad_u quad_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d) { return (quad_u){{a, b, c, d}}; }
static inline quad_u quad_above(quad_u a, quad_u b) { QUAD_EACH(quad_u, 0 - (uint64_t)(a.v[k] > b.v[k])); }
static inline quad_u quad_above_bound(quad x, double bound) { QUAD_EACH(quad_u, 0 - (uint64_t)(x.v[k] > bound)); }
static inline int quad_any(quad_u mask) { return (mask.v[0] | mask.v[1] | mask.v[2] | mask.v[3]) != 0; }
static inline quad_u quad_multiply_u32(quad_u a, quad_u b) {
    QUAD_EACH(quad_u, (uint64_t)(uint32_t)a.v[k] * (uint32_t)b.v[k]);
}
static inline quad_u quad_bits(quad x) { QUAD_EACH(quad_u, hws_bits_of(x.v[k])); }
static inline quad_u quad_larger(quad_u a, quad_u b) { QUAD_EACH(quad_u, a.v[k] > b.v[k] ? a.v[k] : b.v[k]); }
static inline quad quad_load_floats(const float *from) { QUAD_EACH(quad, from[k]); }
static inline quad_u quad_load_u32(const uint32_t *from) { QUAD_EACH(quad_u, from[k]); }
static inline quad_u quad_shift_each(quad_u x, quad_u count) {
    QUAD_EACH(quad_u, count.v[k] > 63 ? 0 : x.v[k] >> count.v[k]);
}

static inline quad_u quad_shift_left_each(quad_u x, quad_u count) {
    QUAD_EACH(quad_u, count.v[k] > 63 ? 0 : x.v[k] << count.v[k]);
}

static inline quad_u quad_running_sum(quad_u x) {
    for (int k = 1; k < 4; k++) x.v[k] += x.v[k - 1];
    return x;
}

static inline quad_u quad_last(quad_u x) { return quad_fill_u(x.v[3]); }

static inline quad_u quad_largest(quad_u x) {
    for (int k = 1; k < 4; k++) x.v[0] = x.v[k] > x.v[0] ? x.v[k] : x.v[0];
    return quad_fill_u(x.v[0]);
}

static inline uint64_t quad_sum(quad_u x) { return (x.v[0] + x.v[1]) + (x.v[2] + x.v[3]); }

static inline int quad_count_up_to(quad_u x, uint64_t bound) {
    int count = 0;
    for (int k = 0; k < 4; k++) count += x.v[k] <= bound;
    return count;
}

static inline uint64_t quad_get(quad_u x, int lane) { return x.v[lane]; }

#endif

static inline quad_u quad_load_u64(const uint64_t *from) {
    quad_u words;
    memcpy(&words, from, sizeof words);
    return words;
}

static inline void quad_store_u64(uint64_t *to, quad_u words) { memcpy(to, &words, sizeof words); }

/* Is any of 16 floats larger than the limit in size? */
static inline int any_larger_of_16(const float *x, float limit) {
#if defined(__AVX2__) && !defined(HWS_PLAIN_QUADS)
    const __m256 sign = _mm256_set1_ps(-0.0f), bound = _mm256_set1_ps(limit);
    const __m256 a = _mm256_andnot_ps(sign, _mm256_loadu_ps(x)), b = _mm256_andnot_ps(sign, _mm256_loadu_ps(x + 8));
    return _mm256_movemask_ps(_mm256_cmp_ps(_mm256_max_ps(a, b), bound, _CMP_GT_OQ)) != 0;
#else
    int any = 0;
    for (int i = 0; i < 16; i++) any |= (x[i] < 0 ? -x[i] : x[i]) > limit;
    return any;
#endif
}

#endif
