/* A small safetensors file without a checksum, so that alterations get further. */
#include "fuzz.h"
#include "testing.h"

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    const unsigned rows = (unsigned)(test_random(random) % 8), size = rows * 12;
    char header[400];
    const int length = snprintf(
        header, sizeof header,
        "{\"__metadata__\":{\"step\":\"12\"},\"a\":{\"dtype\":\"F32\",\"shape\":[%u,3],\"data_offsets\":[0,%u]},"
        "\"b\":{\"dtype\":\"I16\",\"shape\":[],\"data_offsets\":[%u,%u]}}",
        rows, size, size, size + 2);
    memset(bytes, 0, 8);
    bytes[0] = (uint8_t)length;
    memcpy(bytes + 8, header, (size_t)length);
    memset(bytes + 8 + length, 1, size + 2);
    *front = 8 + (size_t)length;
    return *front + size + 2;
}
