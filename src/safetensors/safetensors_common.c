#include "safetensors/safetensors_inside.h"

#include "core/crc64.h"

#include <inttypes.h>
#include <string.h>

#define NAME(name, size) #name,
#define SIZE(name, size) size,
static const char *const NAMES[] = {SAFETENSORS_DTYPES(NAME)};
static const size_t SIZES[] = {SAFETENSORS_DTYPES(SIZE)};

const char *safetensors_dtype_name(safetensors_dtype dtype) { return NAMES[dtype]; }
size_t safetensors_dtype_size(safetensors_dtype dtype) { return SIZES[dtype]; }

int safetensors_bytes(safetensors_dtype dtype, size_t rank, const size_t *shape, size_t *bytes) {
    size_t product = SIZES[dtype];
    int empty = 0;
    for (size_t k = 0; k < rank; k++) {
        if (shape[k] == 0) empty = 1;
        else if (product > SIZE_MAX / shape[k]) return 0;
        else product *= shape[k];
    }
    *bytes = empty ? 0 : product;
    return 1;
}

const char *safetensors_find_crc(const char *header, size_t header_size) {
    static const char key[] = "\"" SAFETENSORS_CRC "\":\"";
    const size_t length = sizeof key - 1;
    for (const char *at = header, *end = header + header_size; (size_t)(end - at) >= length + SAFETENSORS_CRC_DIGITS;) {
        const char *quote = memchr(at, '"', (size_t)(end - at) - length - SAFETENSORS_CRC_DIGITS + 1);
        if (!quote) return NULL;
        if (memcmp(quote, key, length) == 0) return quote + length;
        at = quote + 1;
    }
    return NULL;
}

void safetensors_crc(const char *header, size_t header_size, size_t spans, const safetensors_span *data,
                     char digits[SAFETENSORS_CRC_DIGITS + 1]) {
    static const char zeros[] = "0000000000000000";
    const char *at = safetensors_find_crc(header, header_size), *rest = at + SAFETENSORS_CRC_DIGITS;
    crc64 crc;
    crc64_start(&crc);
    crc64_add(&crc, header, (size_t)(at - header));
    crc64_add(&crc, zeros, SAFETENSORS_CRC_DIGITS);
    crc64_add(&crc, rest, (size_t)(header + header_size - rest));
    for (size_t k = 0; k < spans; k++)
        if (data[k].size) crc64_add(&crc, data[k].bytes, data[k].size);
    snprintf(digits, SAFETENSORS_CRC_DIGITS + 1, "%016" PRIx64, crc64_value(&crc));
}
