/* The bytes of a saved sampler, as docs/formats.md specifies them: what writing and reading share. */
#ifndef HWS_SAMPLER_STATE_FORMAT_H
#define HWS_SAMPLER_STATE_FORMAT_H

#include "sampler/sampler.h"

#include <string.h>

enum {
    HEADER_SIZE = 256, /* the largest */
    SECOND_HEADER_SIZE = 232,
    FIRST_HEADER_SIZE = 168,
    CHECKSUM_SIZE = 8,
    RECORD_SIZE = 16,
    VERSION = 3,
    FLAG_COUNTS = 1,
    FLAG_WINDOW = 2,
    FLAG_RECORD = 4
};

/* In the place of a loss: none yet. The example is still to be drawn, or was drawn. */
#define NOT_VISITED UINT32_C(0x7fc00000)
#define VISITED UINT32_C(0x7fc00001)

static const char MAGIC[8] = {'H', 'W', 'S', 'S', 'T', 'A', 'T', 'E'};

typedef struct state_header {
    uint32_t version, flags;
    int64_t n;
    uint64_t draws_made, updates_made;
    hws_options options;
    window_place window;
    uint64_t waited;
    tail_watch watch;
    ratio_mean ratios;
    uint32_t bound;
} state_header;

static inline size_t header_size(uint32_t version) {
    return version == 1 ? FIRST_HEADER_SIZE : version == 2 ? SECOND_HEADER_SIZE : HEADER_SIZE;
}

static inline uint64_t bytes_per_example(uint32_t flags) {
    return 4u + (flags & FLAG_COUNTS ? 16u : 0u) + (flags & FLAG_RECORD ? (uint32_t)RECORD_SIZE : 0u);
}

/* n is at most 2^32, so this cannot overflow 64 bits. */
static inline uint64_t total_size(uint32_t version, int64_t n, uint32_t flags) {
    return header_size(version) + (uint64_t)n * bytes_per_example(flags) + CHECKSUM_SIZE;
}

/* ---- little-endian numbers ------------------------------------------------------------------------------------- */

static inline void put_u32(unsigned char *at, uint32_t x) {
    for (int k = 0; k < 4; k++) at[k] = (unsigned char)(x >> (8 * k));
}

static inline void put_u64(unsigned char *at, uint64_t x) {
    for (int k = 0; k < 8; k++) at[k] = (unsigned char)(x >> (8 * k));
}

static inline void put_f64(unsigned char *at, double x) { put_u64(at, hws_bits_of(x)); }

static inline void put_f32(unsigned char *at, float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_u32(at, bits);
}

static inline uint32_t get_u32(const unsigned char *at) {
    uint32_t x = 0;
    for (int k = 0; k < 4; k++) x |= (uint32_t)at[k] << (8 * k);
    return x;
}

static inline uint64_t get_u64(const unsigned char *at) { return get_u32(at) | (uint64_t)get_u32(at + 4) << 32; }

static inline double get_f64(const unsigned char *at) { return hws_double_of(get_u64(at)); }

static inline float get_f32(const unsigned char *at) {
    const uint32_t bits = get_u32(at);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
