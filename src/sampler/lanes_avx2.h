/* Four lanes in the vectors of AVX2. See lanes.h, and lanes_plain.h for what each operation does. */
#ifndef HWS_SAMPLER_LANES_AVX2_H
#define HWS_SAMPLER_LANES_AVX2_H

#include <stdint.h>

#ifdef __AVX2__
#include <immintrin.h>

#define LANES 4
enum { GAPS_ARE_CHEAP = 0, BLOCKS_ARE_CHEAP = 1 };

typedef double lanes __attribute__((vector_size(32)));
typedef uint64_t lanes_u __attribute__((vector_size(32)));
typedef int64_t lanes_i __attribute__((vector_size(32)));

#define LANES_OF(of) ((lanes_u){of(0), of(1), of(2), of(3)})

static inline lanes lanes_fill(double x) { return (lanes){x, x, x, x}; }
static inline lanes_u lanes_fill_u(uint64_t x) { return (lanes_u){x, x, x, x}; }
static inline lanes_u lanes_from(uint64_t first) { return (lanes_u){0, 1, 2, 3} + lanes_fill_u(first); }
static inline lanes lanes_add(lanes a, lanes b) { return a + b; }
static inline lanes lanes_subtract(lanes a, lanes b) { return a - b; }
static inline lanes lanes_multiply(lanes a, lanes b) { return a * b; }
static inline lanes_u lanes_add_u(lanes_u a, lanes_u b) { return a + b; }
static inline lanes_u lanes_subtract_u(lanes_u a, lanes_u b) { return a - b; }
static inline lanes_u lanes_shift_left(lanes_u x, int count) { return x << count; }
static inline lanes_u lanes_shift_right(lanes_u x, int count) { return x >> count; }
static inline lanes_u lanes_and(lanes_u a, lanes_u b) { return a & b; }
static inline lanes_u lanes_or(lanes_u a, lanes_u b) { return a | b; }
static inline lanes_u lanes_xor(lanes_u a, lanes_u b) { return a ^ b; }
static inline lanes_u lanes_bits(lanes x) { return (lanes_u)x; }
static inline lanes lanes_of_bits(lanes_u x) { return (lanes)x; }
static inline uint64_t lanes_get(lanes_u x, int lane) { return x[lane]; }

static inline lanes lanes_load_floats(const float *from) { return (lanes)_mm256_cvtps_pd(_mm_loadu_ps(from)); }

static inline lanes_u lanes_load_u32(const uint32_t *from) {
    return (lanes_u)_mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)from));
}

static inline lanes_u lanes_unless_above(lanes_u x, lanes_u a, lanes_u b) {
    return x & ~(lanes_u)((lanes_i)a > (lanes_i)b);
}

static inline lanes lanes_at_least(lanes x, double bound) {
    return (lanes)_mm256_max_pd((__m256d)x, _mm256_set1_pd(bound));
}

static inline lanes_u lanes_where_above(lanes_u x, lanes number, double bound) {
    return x & (lanes_u)(number > lanes_fill(bound));
}

static inline lanes_u lanes_larger(lanes_u a, lanes_u b) {
    return (lanes_u)_mm256_blendv_epi8((__m256i)b, (__m256i)a, (__m256i)((lanes_i)a > (lanes_i)b));
}

static inline lanes_u lanes_multiply_u32(lanes_u a, lanes_u b) {
    return (lanes_u)_mm256_mul_epu32((__m256i)a, (__m256i)b);
}

static inline lanes_u lanes_multiply_high(lanes_u a, lanes_u b, lanes_u *low) {
    const lanes_u half = lanes_fill_u(0xffffffff), high_a = a >> 32, high_b = b >> 32;
    const lanes_u first = lanes_multiply_u32(a, b);
    const lanes_u middle = lanes_multiply_u32(high_a, b) + (first >> 32);
    const lanes_u other = lanes_multiply_u32(a, high_b) + (middle & half);
    *low = other << 32 | (first & half);
    return lanes_multiply_u32(high_a, high_b) + (middle >> 32) + (other >> 32);
}

static inline lanes_u lanes_by_top_bit(lanes_u bit, lanes_u a, lanes_u b) {
    return (lanes_u)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)bit);
}

static inline lanes_u lanes_shift_right_each(lanes_u x, lanes_u count) {
    return (lanes_u)_mm256_srlv_epi64((__m256i)x, (__m256i)count);
}

static inline lanes_u lanes_shift_left_each(lanes_u x, lanes_u count) {
    return (lanes_u)_mm256_sllv_epi64((__m256i)x, (__m256i)count);
}

static inline int lanes_any_top_bit(lanes_u x) { return _mm256_movemask_pd((__m256d)x) != 0; }

static inline lanes_u lanes_running_sum(lanes_u x) {
    x += (lanes_u)_mm256_slli_si256((__m256i)x, 8);
    const lanes_u low_half = (lanes_u)_mm256_permute4x64_epi64((__m256i)x, 0x55);
    return x + (low_half & (lanes_u){0, 0, UINT64_MAX, UINT64_MAX});
}

static inline lanes_u lanes_last(lanes_u x) { return (lanes_u)_mm256_permute4x64_epi64((__m256i)x, 0xff); }

static inline lanes_u lanes_largest(lanes_u x) {
    x = lanes_larger(x, (lanes_u)_mm256_permute4x64_epi64((__m256i)x, 0x4e));
    return lanes_larger(x, (lanes_u)_mm256_shuffle_epi32((__m256i)x, 0x4e));
}

static inline uint64_t lanes_sum(lanes_u x) {
    const __m128i half = _mm_add_epi64(_mm256_castsi256_si128((__m256i)x), _mm256_extracti128_si256((__m256i)x, 1));
    return (uint64_t)_mm_cvtsi128_si64(_mm_add_epi64(half, _mm_unpackhi_epi64(half, half)));
}

static inline int lanes_count_up_to(lanes_u x, uint64_t bound) {
    const lanes_i above = (lanes_i)x > (lanes_i)lanes_fill_u(bound);
    return LANES - __builtin_popcount((unsigned)_mm256_movemask_pd((__m256d)above));
}

static inline int any_unusual_of_16(const float *x, float limit) {
    const __m256 sign = _mm256_set1_ps(-0.0f), bound = _mm256_set1_ps(limit);
    const __m256 a = _mm256_andnot_ps(sign, _mm256_loadu_ps(x)), b = _mm256_andnot_ps(sign, _mm256_loadu_ps(x + 8));
    return _mm256_movemask_ps(_mm256_cmp_ps(_mm256_max_ps(a, b), bound, _CMP_GT_OQ)) != 0;
}

#endif
#endif
