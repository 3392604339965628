/*
 * The last step of a draw with AVX-512: which of the 16 examples of a leaf it falls into.
 *
 * All that is asked for is the example, so 16 floats do: where the draw lies further from the ends of all
 * examples' shares than they can be wrong, they tell what exact weights would. Otherwise (about one draw in a
 * thousand) the draw is made alone.
 *
 * Shares are counted in 2^48 of the units that the leaf's total was summed in, so that the largest share is 1, up to a
 * factor of 2^0.5. So they add up to less than 2^4.6, and each rounding of a sum or of the draw's position is one of
 * 2^-20 at most. Six of them, and 2^-20.5 of each share, are less than a quarter of the margin. What rounding to whole
 * units does is far below it. The shares are that exact as long as the products of losses and scale are below 2^26.
 */
#ifndef HWS_SAMPLER_WEIGHT_TREE_LEAF_AVX512_H
#define HWS_SAMPLER_WEIGHT_TREE_LEAF_AVX512_H

#include "sampler/weight_tree_parts.h"

#if LANES == 8

#define LEAF_MARGIN 0x1p-13f

enum { SHARE_BITS = 48 };

/* 2^x, and next to nothing where x is far below 0 or there is none: denormal numbers would take long. */
static ALWAYS_INLINE __m512 rough_exp2(__m512 x) {
    x = _mm512_max_ps(x, _mm512_set1_ps(-60));
    const __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512 f = _mm512_sub_ps(x, whole), f2 = _mm512_mul_ps(f, f);
#define COEFFICIENT(k) _mm512_set1_ps((float)HWS_EXP2_##k)
    const __m512 a = _mm512_fmadd_ps(COEFFICIENT(1), f, COEFFICIENT(0));
    const __m512 b = _mm512_fmadd_ps(COEFFICIENT(3), f, COEFFICIENT(2));
    const __m512 c = _mm512_fmadd_ps(COEFFICIENT(5), f, COEFFICIENT(4));
    const __m512 d = _mm512_fmadd_ps(COEFFICIENT(6), f2, c);
#undef COEFFICIENT
    return _mm512_scalef_ps(_mm512_fmadd_ps(_mm512_fmadd_ps(d, f2, b), f2, a), whole);
}

/* Losses that floats are too short for. */
static NEVER_INLINE __m512 exact_shares(const tree_scale *scale, const float *losses, uint64_t unit) {
    parts of;
    float shares[TREE_PARTS];
    leaf_parts(scale, losses, &of);
    for (int i = 0; i < TREE_PARTS; i++) {
        const uint64_t distance = unit - lanes_get(of.exponent[i / LANES], i % LANES);
        const uint64_t mass = lanes_get(of.mass[i / LANES], i % LANES);
        shares[i] = (float)(distance > 63 ? 0 : mass >> distance) / (float)((uint64_t)1 << SHARE_BITS);
    }
    return _mm512_loadu_ps(shares);
}

/* The power of two that a share of 1 is, and the scale, as sums of floats. */
typedef struct leaf_frame {
    float zero[LANES], rest_of_zero[LANES], scale, rest_of_scale;
} leaf_frame;

/* The shares of a leaf's examples. Multiply-adds are fused: their products are exact. */
static ALWAYS_INLINE __m512 leaf_shares(const weight_tree *tree, const float *losses, const leaf_frame *frame, size_t j,
                                        uint64_t unit) {
    if (any_unusual_of_16(losses, 0x1p-6f * tree->scale.limit)) return exact_shares(&tree->scale, losses, unit);
    const __m512 loss = _mm512_loadu_ps(losses);
    const __m512 high = _mm512_fmsub_ps(loss, _mm512_set1_ps(frame->scale), _mm512_set1_ps(frame->zero[j]));
    const __m512 low =
        _mm512_fmsub_ps(loss, _mm512_set1_ps(frame->rest_of_scale), _mm512_set1_ps(frame->rest_of_zero[j]));
    return rough_exp2(_mm512_add_ps(high, low));
}

/* Where the shares end: they lie in a square of four by four, column after column. */
static ALWAYS_INLINE __m512 ends_of_shares(__m512 shares) {
    __m512 within = _mm512_add_ps(shares, _mm512_maskz_shuffle_f32x4(0xfff0, shares, shares, 0x90));
    within = _mm512_add_ps(within, _mm512_maskz_shuffle_f32x4(0xff00, within, within, 0x40));
    const __m512 columns = _mm512_shuffle_f32x4(within, within, 0xff);
    __m512 before = _mm512_maskz_permute_ps(0xeeee, columns, 0x90);
    before = _mm512_add_ps(before, _mm512_maskz_permute_ps(0xeeee, before, 0x90));
    before = _mm512_add_ps(before, _mm512_maskz_permute_ps(0xcccc, before, 0x40));
    return _mm512_add_ps(before, within);
}

/* For some draws: where they lie among their shares. */
static ALWAYS_INLINE leaf_frame leaf_frame_of(const tree_scale *scale, const uint64_t unit[LANES],
                                              const uint64_t whole_units[LANES], float position[LANES]) {
    leaf_frame frame = {.scale = (float)scale->high};
    frame.rest_of_scale = (float)((scale->high - (double)frame.scale) + scale->low);
    const __m512i offset = _mm512_set1_epi64(TREE_EXPONENT_BIAS + 52 - SHARE_BITS);
    const __m512d zero = _mm512_cvtepi64_pd(_mm512_sub_epi64((__m512i)lanes_load_u64(unit), offset));
    const __m256 rounded = _mm512_cvtpd_ps(zero);
    _mm256_storeu_ps(frame.zero, rounded);
    _mm256_storeu_ps(frame.rest_of_zero, _mm512_cvtpd_ps(_mm512_sub_pd(zero, _mm512_cvtps_pd(rounded))));
    const __m512d units = _mm512_cvtepu64_pd((__m512i)lanes_load_u64(whole_units));
    _mm256_storeu_ps(position, _mm512_cvtpd_ps(_mm512_mul_pd(units, _mm512_set1_pd(0x1p-48))));
    return frame;
}

/* The example at a position among the shares; `doubtful` if floats are not enough to tell. */
static ALWAYS_INLINE size_t choose_share(__m512 shares, float position, int *doubtful) {
    const __m512 past = _mm512_sub_ps(_mm512_set1_ps(position), ends_of_shares(shares));
    const __mmask16 passed = _mm512_cmp_ps_mask(past, _mm512_setzero_ps(), _CMP_GE_OQ);
    *doubtful = _mm512_cmp_ps_mask(_mm512_abs_ps(past), _mm512_set1_ps(LEAF_MARGIN), _CMP_LT_OQ) != 0;
    const unsigned rank = (unsigned)__builtin_popcount(passed);
    return (rank & 3) << 2 | (rank >> 2 & 3);
}

#endif
#endif
