/*
 * Lanes: doubles or 64-bit integers that go through the same operations together, as many as the file's instruction set
 * has room for: eight with AVX-512, else four.
 *
 * With HWS_PLAIN_LANES, and where there is no AVX2, they are plain numbers. The operations are the same IEEE and
 * integer ones in each case, so the results are the same bits.
 *
 * Comparisons of integers are for values below 2^63.
 */
#ifndef HWS_SAMPLER_LANES_H
#define HWS_SAMPLER_LANES_H

#include "core/portable_math.h"

#include <stdint.h>
#include <string.h>

#if defined(HWS_PLAIN_LANES) || !defined(__AVX2__)
#include "sampler/lanes_plain.h"
#elif defined(__AVX512F__)
#include "sampler/lanes_avx512.h"
#else
#include "sampler/lanes_avx2.h"
#endif

static inline lanes_u lanes_load_u64(const uint64_t *from) {
    lanes_u numbers;
    memcpy(&numbers, from, sizeof numbers);
    return numbers;
}

static inline void lanes_store_u64(uint64_t *to, lanes_u numbers) { memcpy(to, &numbers, sizeof numbers); }

#endif
