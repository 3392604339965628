#include "core/crc64.h"

void crc64_start(crc64 *crc) {
    for (uint64_t byte = 0; byte < 256; byte++) {
        uint64_t value = byte;
        for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? UINT64_C(0xC96C5795D7870F42) : 0);
        crc->table[0][byte] = value;
    }
    for (int k = 1; k < 8; k++)
        for (int byte = 0; byte < 256; byte++) {
            const uint64_t before = crc->table[k - 1][byte];
            crc->table[k][byte] = before >> 8 ^ crc->table[0][before & 255];
        }
    crc->value = UINT64_MAX;
}

void crc64_add(crc64 *crc, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    uint64_t value = crc->value;
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t next = 0;
        for (int k = 0; k < 8; k++) {
            const uint64_t byte = (value >> (8 * k) & 255) ^ at[k];
            next ^= crc->table[7 - k][byte];
        }
        value = next;
    }
    for (; size; size--) value = value >> 8 ^ crc->table[0][(value ^ *at++) & 255];
    crc->value = value;
}

uint64_t crc64_value(const crc64 *crc) { return ~crc->value; }
