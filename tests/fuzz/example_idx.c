/* A small IDX file of images behind the four bytes that fuzz_idx.c explains. */
#include "fuzz.h"
#include "testing.h"

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    const uint8_t count = (uint8_t)(1 + test_random(random) % 7), height = (uint8_t)(1 + test_random(random) % 7);
    const uint8_t width = (uint8_t)(1 + test_random(random) % 7), how = (uint8_t)(test_random(random) % 16);
    const uint8_t head[] = {how, count, height, width, 0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, height, 0, 0, 0, width};
    const size_t size = sizeof head + (size_t)count * height * width;
    memcpy(bytes, head, sizeof head);
    for (size_t i = sizeof head; i < size; i++) bytes[i] = (uint8_t)test_random(random);
    *front = sizeof head;
    return size;
}
