#include "images/sha256.h"

#include <string.h>

static const uint32_t ROUND[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int count) { return x >> count | x << (32 - count); }

static void expand(const uint8_t *block, uint32_t words[64]) {
    for (int t = 0; t < 16; t++, block += 4)
        words[t] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 | block[3];
    for (int t = 16; t < 64; t++) {
        const uint32_t a = words[t - 15], b = words[t - 2];
        const uint32_t small0 = turn(a, 7) ^ turn(a, 18) ^ a >> 3, small1 = turn(b, 17) ^ turn(b, 19) ^ b >> 10;
        words[t] = words[t - 16] + small0 + words[t - 7] + small1;
    }
}

static void add_block(uint32_t state[8], const uint8_t *block) {
    uint32_t words[64], v[8];
    expand(block, words);
    memcpy(v, state, sizeof v);
    for (int t = 0; t < 64; t++) {
        const uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        const uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        const uint32_t big1 = turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25);
        const uint32_t big0 = turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22);
        const uint32_t first = v[7] + big1 + choice + ROUND[t] + words[t], second = big0 + majority;
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += first;
        v[0] = first + second;
    }
    for (int k = 0; k < 8; k++) state[k] += v[k];
}

void sha256_start(sha256 *sum) {
    static const uint32_t START[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(sum->state, START, sizeof START);
    sum->size = 0;
}

void sha256_add(sha256 *sum, const void *bytes, size_t size) {
    const uint8_t *at = bytes;
    while (size > 0) {
        const size_t used = (size_t)(sum->size % 64), space = 64 - used, taken = size < space ? size : space;
        memcpy(sum->block + used, at, taken);
        if (taken == space) add_block(sum->state, sum->block);
        sum->size += taken;
        at += taken;
        size -= taken;
    }
}

void sha256_text(sha256 *sum, char text[SHA256_TEXT]) {
    static const uint8_t PADDING[64] = {0x80};
    const uint64_t bits = sum->size * 8;
    uint8_t length[8];
    for (int k = 0; k < 8; k++) length[k] = (uint8_t)(bits >> (56 - 8 * k));
    sha256_add(sum, PADDING, 1 + (size_t)((119 - sum->size % 64) % 64));
    sha256_add(sum, length, sizeof length);
    for (int k = 0; k < 64; k++) text[k] = "0123456789abcdef"[sum->state[k / 8] >> (28 - 4 * (k % 8)) & 15];
    text[64] = 0;
}
