/* Eight lanes in the vectors of AVX-512. See lanes.h, and lanes_plain.h for what each operation does. */
#ifndef HWS_SAMPLER_LANES_AVX512_H
#define HWS_SAMPLER_LANES_AVX512_H

#include <math.h>
#include <stdint.h>

#ifdef __AVX512F__
#include <immintrin.h>

#define LANES 8
enum { GAPS_ARE_CHEAP = 1, BLOCKS_ARE_CHEAP = 1 };

typedef double lanes __attribute__((vector_size(64)));
typedef uint64_t lanes_u __attribute__((vector_size(64)));

#define LANES_OF(of) ((lanes_u){of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)})

static inline lanes lanes_fill(double x) { return (lanes)_mm512_set1_pd(x); }
static inline lanes_u lanes_fill_u(uint64_t x) { return (lanes_u)_mm512_set1_epi64((int64_t)x); }
static inline lanes_u lanes_from(uint64_t first) { return (lanes_u){0, 1, 2, 3, 4, 5, 6, 7} + lanes_fill_u(first); }
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

static inline lanes lanes_load_floats(const float *from) { return (lanes)_mm512_cvtps_pd(_mm256_loadu_ps(from)); }

static inline lanes_u lanes_load_u32(const uint32_t *from) {
    return (lanes_u)_mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)from));
}

static inline lanes_u lanes_unless_above(lanes_u x, lanes_u a, lanes_u b) {
    return (lanes_u)_mm512_maskz_mov_epi64(_mm512_cmple_epi64_mask((__m512i)a, (__m512i)b), (__m512i)x);
}

static inline lanes lanes_at_least(lanes x, double bound) {
    return (lanes)_mm512_max_pd((__m512d)x, _mm512_set1_pd(bound));
}

static inline lanes_u lanes_where_above(lanes_u x, lanes number, double bound) {
    const __mmask8 above = _mm512_cmp_pd_mask((__m512d)number, _mm512_set1_pd(bound), _CMP_GT_OQ);
    return (lanes_u)_mm512_maskz_mov_epi64(above, (__m512i)x);
}

static inline lanes_u lanes_larger(lanes_u a, lanes_u b) { return (lanes_u)_mm512_max_epi64((__m512i)a, (__m512i)b); }

static inline lanes_u lanes_multiply_u32(lanes_u a, lanes_u b) {
    return (lanes_u)_mm512_mul_epu32((__m512i)a, (__m512i)b);
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
    return (lanes_u)_mm512_mask_mov_epi64((__m512i)b, _mm512_movepi64_mask((__m512i)bit), (__m512i)a);
}

static inline lanes_u lanes_shift_right_each(lanes_u x, lanes_u count) {
    return (lanes_u)_mm512_srlv_epi64((__m512i)x, (__m512i)count);
}

static inline lanes_u lanes_shift_left_each(lanes_u x, lanes_u count) {
    return (lanes_u)_mm512_sllv_epi64((__m512i)x, (__m512i)count);
}

static inline int lanes_any_top_bit(lanes_u x) { return _mm512_movepi64_mask((__m512i)x) != 0; }

static inline lanes_u lanes_running_sum(lanes_u x) {
    const __m512i zero = _mm512_setzero_si512();
    x += (lanes_u)_mm512_alignr_epi64((__m512i)x, zero, 7);
    x += (lanes_u)_mm512_alignr_epi64((__m512i)x, zero, 6);
    return x + (lanes_u)_mm512_alignr_epi64((__m512i)x, zero, 4);
}

static inline lanes_u lanes_last(lanes_u x) {
    return (lanes_u)_mm512_permutexvar_epi64(_mm512_set1_epi64(7), (__m512i)x);
}

static inline lanes_u lanes_largest(lanes_u x) {
    x = lanes_larger(x, (lanes_u)_mm512_shuffle_i64x2((__m512i)x, (__m512i)x, 0x4e));
    x = lanes_larger(x, (lanes_u)_mm512_permutex_epi64((__m512i)x, 0x4e));
    return lanes_larger(x, (lanes_u)_mm512_shuffle_epi32((__m512i)x, (_MM_PERM_ENUM)0x4e));
}

static inline uint64_t lanes_sum(lanes_u x) {
    const __m256i quarter =
        _mm256_add_epi64(_mm512_castsi512_si256((__m512i)x), _mm512_extracti64x4_epi64((__m512i)x, 1));
    const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(quarter), _mm256_extracti128_si256(quarter, 1));
    return (uint64_t)_mm_cvtsi128_si64(_mm_add_epi64(half, _mm_unpackhi_epi64(half, half)));
}

static inline int lanes_count_up_to(lanes_u x, uint64_t bound) {
    const __mmask8 mask = _mm512_cmple_epi64_mask((__m512i)x, _mm512_set1_epi64((int64_t)bound));
    return __builtin_popcount(mask);
}

/* 16 numbers lie in a square of four by four, two rows to a vector: what comes before each, column after column. */
static inline void sums_before_of_16(const lanes_u x[2], lanes_u before[2]) {
    const __m512i upper = (__m512i)x[0], lower = (__m512i)x[1];
    const __m512i two_rows = _mm512_add_epi64(upper, _mm512_shuffle_i64x2(upper, upper, 0x4e));
    const __m512i columns =
        _mm512_add_epi64(_mm512_add_epi64(two_rows, lower), _mm512_shuffle_i64x2(lower, lower, 0x4e));
    __m512i start = _mm512_maskz_permutex_epi64(0xee, columns, 0x90);
    start = _mm512_add_epi64(start, _mm512_maskz_permutex_epi64(0xee, start, 0x90));
    start = _mm512_add_epi64(start, _mm512_maskz_permutex_epi64(0xcc, start, 0x40));
    const __m512i third_row = _mm512_add_epi64(start, two_rows);
    before[0] = (lanes_u)_mm512_add_epi64(start, _mm512_maskz_shuffle_i64x2(0xf0, upper, upper, 0x40));
    before[1] = (lanes_u)_mm512_add_epi64(third_row, _mm512_maskz_shuffle_i64x2(0xf0, lower, lower, 0x40));
}

/* Gaps are not unusual here. */
static inline int any_unusual_of_16(const float *x, float limit) {
    const __m512 number = _mm512_loadu_ps(x);
    const __mmask16 there = _mm512_cmp_ps_mask(number, _mm512_set1_ps(-INFINITY), _CMP_GT_OQ);
    return _mm512_mask_cmp_ps_mask(there, _mm512_abs_ps(number), _mm512_set1_ps(limit), _CMP_GT_OQ) != 0;
}

#endif
#endif
