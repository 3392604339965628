/* CRC-64 as in the xz format (ECMA-182, reflected): finds every change of up to 64 bits in a row. */
#ifndef HWS_CORE_CRC64_H
#define HWS_CORE_CRC64_H

#include <stddef.h>
#include <stdint.h>

typedef struct crc64 {
    uint64_t table[8][256]; /* eight bytes at a time */
    uint64_t value;
} crc64;

void crc64_start(crc64 *crc);
void crc64_add(crc64 *crc, const void *bytes, size_t size);
uint64_t crc64_value(const crc64 *crc);

#endif
