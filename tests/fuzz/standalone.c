/*
 * Runs a fuzz target as an ordinary test, with any compiler: over the files that are named, or else over a fixed number
 * of pseudo-random inputs. Half of these are correct inputs with some bytes altered, which get further than noise.
 */
#include "fuzz.h"
#include "testing.h"

static size_t random_bytes(uint64_t *random, uint8_t *bytes) {
    const size_t size = test_random(random) % 400;
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)test_random(random);
    return size;
}

static size_t altered_example(uint64_t *random, uint8_t *bytes) {
    size_t front;
    const size_t size = fuzz_example(random, bytes, &front);
    for (uint64_t changes = test_random(random) % 4; changes > 0; changes--) {
        const size_t range = test_random(random) & 1 ? front : size;
        bytes[test_random(random) % range] ^= (uint8_t)(1u << test_random(random) % 8);
    }
    return size;
}

static int run_file(const char *path, uint8_t *bytes) {
    FILE *file = fopen(path, "rb");
    if (!file) return 1;
    const size_t size = fread(bytes, 1, FUZZ_LARGEST, file);
    fclose(file);
    return LLVMFuzzerTestOneInput(bytes, size);
}

int main(int count, char **paths) {
    uint8_t *bytes = malloc(FUZZ_LARGEST);
    require(bytes);
    int failed = 0;
    for (int k = 1; k < count; k++) failed |= run_file(paths[k], bytes);
    uint64_t random = 1;
    for (long t = 0; count == 1 && t < test_size(2000, 200000); t++) {
        const size_t size = t & 1 ? random_bytes(&random, bytes) : altered_example(&random, bytes);
        failed |= LLVMFuzzerTestOneInput(bytes, size);
    }
    free(bytes);
    return failed;
}
