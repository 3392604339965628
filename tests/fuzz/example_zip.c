/* A checkpoint with one stored entry, its pickle. */
#include "fuzz.h"
#include "testing.h"

#include <zlib.h>

static size_t put(uint8_t *to, uint64_t value, int bytes) {
    for (int k = 0; k < bytes; k++) to[k] = (uint8_t)(value >> (8 * k));
    return (size_t)bytes;
}

/* From the version that is needed to the length of the extra field. */
static size_t put_common(uint8_t *to, const uint8_t *program, size_t size) {
    size_t n = put(to, 20, 2);
    n += put(to + n, 0, 8);
    n += put(to + n, crc32(0, program, (unsigned)size), 4);
    n += put(to + n, size, 4);
    n += put(to + n, size, 4);
    n += put(to + n, 10, 2);
    return n + put(to + n, 0, 2);
}

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    static const uint8_t PROGRAM[] = "\x80\x02}X\x01\x00\x00\x00kK\x01s.";
    const size_t size = sizeof PROGRAM - 1;
    (void)test_random(random);
    size_t n = put(bytes, 0x04034b50, 4);
    n += put_common(bytes + n, PROGRAM, size);
    memcpy(bytes + n, "a/data.pkl", 10);
    memcpy(bytes + n + 10, PROGRAM, size);
    n += 10 + size;
    const size_t start = n;
    n += put(bytes + n, 0x02014b50, 4);
    n += put(bytes + n, 20, 2);
    n += put_common(bytes + n, PROGRAM, size);
    n += put(bytes + n, 0, 8);
    n += put(bytes + n, 0, 6);
    memcpy(bytes + n, "a/data.pkl", 10);
    n += 10;
    const size_t end = n;
    n += put(bytes + n, 0x06054b50, 4);
    n += put(bytes + n, 0, 4);
    n += put(bytes + n, 1, 2);
    n += put(bytes + n, 1, 2);
    n += put(bytes + n, end - start, 4);
    n += put(bytes + n, start, 4);
    n += put(bytes + n, 0, 2);
    *front = n;
    return n;
}
