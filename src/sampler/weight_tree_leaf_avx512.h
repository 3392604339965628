/*
 * The last step of a draw with AVX-512: which of the 16 examples of a leaf it falls into.
 *
 * All that is asked for is the example, so 16 floats do: where the draw lies further from the ends of all examples' shares
 * than they can be wrong, they tell what exact weights would. Else, about once in a thousand draws, it is made alone.
 *
 * Shares are counted in 2^48 of the units that the leaf's total was summed in, which is what the largest of them has, up to
 * a factor of 2^0.5. So they add up to less than 2^4.6, and floats between there and 0 are off by 2^-20.4 at most: the draw
 * itself once, each share by less than 2^-21 of it, and each of the five sums on the way to an end once. All of this, for
 * 16 shares, is less than a fifth of the margin. What rounding to whole units does is far below it.
 */
#ifndef HWS_SAMPLER_WEIGHT_TREE_LEAF_AVX512_H
#define HWS_SAMPLER_WEIGHT_TREE_LEAF_AVX512_H

#include "sampler/weight_tree_parts.h"

#if LANES == 8

#define LEAF_MARGIN 0x1p-13f

enum { SHARE_BITS = 48 };

/* 2^x, and 0 far below. */
static ALWAYS_INLINE __m512 rough_exp2(__m512 x) {
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

static NEVER_INLINE __m512 giant_shares(const tree_scale *scale, const float *losses, uint64_t unit) {
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

/* The shares of a leaf's examples; `zero` is the power of two that a share of 1 is. */
static ALWAYS_INLINE __m512 leaf_shares(const tree_scale *scale, const float *losses, uint64_t unit, double zero) {
    if (any_unusual_of_16(losses, scale->limit)) return giant_shares(scale, losses, unit);
    __m256 rows[ROWS];
    for (int row = 0; row < ROWS; row++) {
        const lanes loss = lanes_load_floats(losses + LANES * row);
        const lanes main = lanes_multiply(loss, lanes_fill(scale->high)),
                    rest = lanes_multiply(loss, lanes_fill(scale->low));
        rows[row] = _mm512_cvtpd_ps((__m512d)lanes_add(lanes_subtract(main, lanes_fill(zero)), rest));
    }
    const __mmask16 there = _mm512_cmp_ps_mask(_mm512_loadu_ps(losses), _mm512_set1_ps(-INFINITY), _CMP_GT_OQ);
    return _mm512_maskz_mov_ps(there, rough_exp2(_mm512_insertf32x8(_mm512_castps256_ps512(rows[0]), rows[1], 1)));
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

/* Where draws lie among the shares, and the powers of two that shares of 1 are. */
static ALWAYS_INLINE void leaf_positions(const uint64_t unit[LANES], const uint64_t whole_units[LANES],
                                         double zero[LANES], float position[LANES]) {
    const __m512i offset = _mm512_set1_epi64(TREE_EXPONENT_BIAS + 52 - SHARE_BITS);
    const __m512d units = _mm512_cvtepu64_pd((__m512i)lanes_load_u64(whole_units));
    _mm512_storeu_pd(zero, _mm512_cvtepi64_pd(_mm512_sub_epi64((__m512i)lanes_load_u64(unit), offset)));
    _mm256_storeu_ps(position, _mm512_cvtpd_ps(_mm512_mul_pd(units, _mm512_set1_pd(0x1p-48))));
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
