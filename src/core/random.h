/*
 * Counter-based randomness: Philox4x32-10 (Salmon et al. 2011).
 *
 * A stream is named by (seed, purpose, iteration, slot) and yields as many bits as are asked for. Nothing but the
 * name decides the bits, so threads, prefetching, ranks and resuming cannot change them.
 *
 * A purpose is a number from 1 to 255. Each part names its own in PART/purposes.h; no two are alike (the test
 * tree/layers sees to it), and none ever changes, since the same seed must go on giving the same results.
 */
#ifndef HWS_CORE_RANDOM_H
#define HWS_CORE_RANDOM_H

#include <stdint.h>

typedef struct random_stream {
    uint32_t key[2];
    uint32_t counter[4]; /* block within the stream | slot | iteration low | iteration high and purpose */
    uint64_t ready[2];   /* words of the current block, taken from the end */
    int ready_words;
    uint64_t bits; /* loose bits left over from a word, low ones first */
    int bit_count;
} random_stream;

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u

static inline void philox4x32(const uint32_t key_in[2], const uint32_t counter[4], uint32_t out[4]) {
    uint32_t k0 = key_in[0], k1 = key_in[1];
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)PHILOX_M0 * c0, p1 = (uint64_t)PHILOX_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static inline void random_start(random_stream *stream, uint64_t seed, uint32_t purpose, uint64_t iteration,
                                uint32_t slot) {
    stream->key[0] = (uint32_t)seed;
    stream->key[1] = (uint32_t)(seed >> 32);
    stream->counter[0] = 0;
    stream->counter[1] = slot;
    stream->counter[2] = (uint32_t)iteration;
    stream->counter[3] = (uint32_t)(iteration >> 32 & 0xffffff) | (uint32_t)purpose << 24;
    stream->ready_words = 0;
    stream->bit_count = 0;
}

/* Hands the stream its next block as two words, for callers that compute several blocks at once. */
static inline void random_give_block(random_stream *stream, uint64_t first, uint64_t second) {
    stream->counter[0]++;
    stream->ready[1] = first;
    stream->ready[0] = second;
    stream->ready_words = 2;
}

static inline uint64_t random_word(random_stream *stream) {
    if (stream->ready_words == 0) {
        uint32_t block[4];
        philox4x32(stream->key, stream->counter, block);
        random_give_block(stream, block[0] | (uint64_t)block[1] << 32, block[2] | (uint64_t)block[3] << 32);
    }
    return stream->ready[--stream->ready_words];
}

/* `count` fresh bits, 0 to 63. */
static inline uint64_t random_bits(random_stream *stream, int count) {
    if (count > stream->bit_count) {
        stream->bits = random_word(stream);
        stream->bit_count = 64;
    }
    const uint64_t taken = stream->bits & (((uint64_t)1 << count) - 1);
    stream->bits >>= count;
    stream->bit_count -= count;
    return taken;
}

static inline uint64_t multiply_high(uint64_t a, uint64_t b, uint64_t *low) {
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)a * b;
    *low = (uint64_t)product;
    return (uint64_t)(product >> 64);
#else
    const uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    const uint64_t cross = (al * bl >> 32) + (uint32_t)(ah * bl) + al * bh;
    *low = a * b;
    return ah * bh + (ah * bl >> 32) + (cross >> 32);
#endif
}

/* Uniform in [0, bound), exactly (Lemire 2019); bound > 0. */
static inline uint64_t random_below(random_stream *stream, uint64_t bound) {
    uint64_t low, high = multiply_high(random_word(stream), bound, &low);
    if (low < bound) {
        const uint64_t threshold = (0 - bound) % bound;
        while (low < threshold) high = multiply_high(random_word(stream), bound, &low);
    }
    return high;
}

/* Uniform in [0, 1), a multiple of 2^-53. */
static inline double random_unit(random_stream *stream) { return (double)(random_word(stream) >> 11) * 0x1p-53; }

/* Uniform in [low, high), but for rounding. */
static inline double random_between(random_stream *stream, double low, double high) {
    return low + (high - low) * random_unit(stream);
}

/* Standard normal. */
double random_normal(random_stream *stream);

#endif
