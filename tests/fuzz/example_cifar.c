/* One to three images of CIFAR-10's layout. */
#include "fuzz.h"
#include "testing.h"

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    enum { RECORD = 3073 };
    const size_t count = 1 + test_random(random) % 3;
    for (size_t k = 0; k < count * RECORD; k++) bytes[k] = (uint8_t)test_random(random);
    for (size_t k = 0; k < count; k++) bytes[k * RECORD] %= 10;
    *front = 1;
    return count * RECORD;
}
