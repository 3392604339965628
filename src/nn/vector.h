/*
 * Vectors of floats as the kernels use them: 4, 8 or 16 lanes, whatever the file is compiled for. Multiply-adds are
 * fused where the processor can, and never elsewhere, so that all instruction sets with fused ones give equal bits.
 */
#ifndef HWS_NN_VECTOR_H
#define HWS_NN_VECTOR_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif

#if defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

/* Kernels work on panels of this many channels whatever the vectors' width. */
enum { PANEL = 16, PANEL_VECTORS = PANEL / LANES };

typedef float vec __attribute__((vector_size(LANES * 4)));
typedef float vec_unaligned __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef uint32_t vec_bits __attribute__((vector_size(LANES * 4)));
typedef uint16_t half_bits __attribute__((vector_size(LANES * 2)));
typedef uint16_t half_unaligned __attribute__((vector_size(LANES * 2), aligned(2), may_alias));

static inline vec vec_all(float value) {
#if defined(__AVX512F__)
    return _mm512_set1_ps(value);
#elif defined(__AVX2__)
    return _mm256_set1_ps(value);
#else
    const vec zero = {0};
    return value - zero;
#endif
}

static inline vec vec_fma(vec a, vec b, vec c) {
#if defined(__AVX512F__)
    return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__)
    return _mm256_fmadd_ps(a, b, c);
#elif defined(__ARM_NEON)
    return vfmaq_f32(c, a, b);
#else
    return a * b + c;
#endif
}

/* a where `test` > 0, b elsewhere (and where it is NaN). */
static inline vec vec_where_positive(vec test, vec a, vec b) {
#if defined(__AVX512F__)
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(test, vec_all(0), _CMP_GT_OQ), b, a);
#elif defined(__AVX2__)
    return _mm256_blendv_ps(b, a, _mm256_cmp_ps(test, vec_all(0), _CMP_GT_OQ));
#else
    const vec_bits mask = (vec_bits)(test > 0);
    return (vec)(((vec_bits)a & mask) | ((vec_bits)b & ~mask));
#endif
}

static inline vec vec_load(const float *from) { return *(const vec_unaligned *)from; }
static inline void vec_store(float *to, vec value) { *(vec_unaligned *)to = value; }

/* gcc makes the conversions of a general vector from halves of it. */
static inline vec_bits vec_widen(half_bits halves) {
#if defined(__AVX512F__)
    return (vec_bits)_mm512_cvtepu16_epi32((__m256i)halves);
#elif defined(__AVX2__)
    return (vec_bits)_mm256_cvtepu16_epi32((__m128i)halves);
#else
    return __builtin_convertvector(halves, vec_bits);
#endif
}

static inline half_bits vec_narrow(vec_bits bits) {
#if defined(__AVX512F__)
    return (half_bits)_mm512_cvtepi32_epi16((__m512i)bits);
#else
    return __builtin_convertvector(bits, half_bits);
#endif
}

static inline vec vec_from_bf16(half_bits halves) { return (vec)(vec_widen(halves) << 16); }

/* To the nearest, ties to even; every NaN stays a NaN. */
static inline half_bits vec_to_bf16(vec value) {
#if defined(__AVX512BF16__)
    /* The processor's own conversion differs for denormal numbers and NaN alone. */
    enum { QUIET_NAN = 0x01, DENORMAL = 0x20, SIGNALLING_NAN = 0x80 };
    if (__builtin_expect(!_mm512_fpclass_ps_mask(value, QUIET_NAN | DENORMAL | SIGNALLING_NAN), 1))
        return (half_bits)_mm512_cvtneps_pbh(value);
#endif
    const vec_bits bits = (vec_bits)value;
    const vec_bits rounded = (bits + (0x7fff + (bits >> 16 & 1))) >> 16;
    const vec_bits nan = (vec_bits)((bits & 0x7fffffff) > 0x7f800000);
    return vec_narrow((rounded & ~nan) | (nan & 0x7fc0));
}

static inline vec vec_load_bf16(const uint16_t *from) { return vec_from_bf16(*(const half_unaligned *)from); }
static inline void vec_store_bf16(uint16_t *to, vec value) { *(half_unaligned *)to = vec_to_bf16(value); }

static inline float float_from_bf16(uint16_t half) {
    const uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint16_t float_to_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fc0;
    return (uint16_t)((bits + (0x7fff + (bits >> 16 & 1))) >> 16);
}

#endif
