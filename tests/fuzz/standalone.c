/*
 * Runs a fuzz target as an ordinary test, with any compiler: over the files that are named, or else over a fixed number
 * of pseudo-random inputs. Half of these are correct inputs with some bytes altered, which get further than noise.
 * With --seeds FOLDER it writes correct inputs there, for libFuzzer to begin with.
 */
#include "fuzz.h"
#include "testing.h"

enum { SEEDS = 24 };

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

static int write_seeds(const char *folder, uint8_t *bytes) {
    uint64_t random = 1;
    for (int k = 0; k < SEEDS; k++) {
        char path[1000];
        size_t front;
        const size_t size = fuzz_example(&random, bytes, &front);
        snprintf(path, sizeof path, "%.900s/seed-%02d", folder, k);
        FILE *file = fopen(path, "wb");
        if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) return 1;
    }
    return 0;
}

static int run_random(uint8_t *bytes) {
    uint64_t random = 1;
    int failed = 0;
    for (long t = 0; t < test_size(2000, 200000); t++) {
        const size_t size = t & 1 ? random_bytes(&random, bytes) : altered_example(&random, bytes);
        failed |= LLVMFuzzerTestOneInput(bytes, size);
    }
    return failed;
}

int main(int count, char **arguments) {
    uint8_t *bytes = malloc(FUZZ_LARGEST);
    require(bytes);
    int failed = 0;
    if (count == 3 && strcmp(arguments[1], "--seeds") == 0) failed = write_seeds(arguments[2], bytes);
    else if (count > 1)
        for (int k = 1; k < count; k++) failed |= run_file(arguments[k], bytes);
    else failed = run_random(bytes);
    free(bytes);
    return failed;
}
