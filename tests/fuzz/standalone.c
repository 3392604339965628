/*
 * Runs a fuzz target as an ordinary test, with any compiler: over the files that are named, or else over a fixed number
 * of pseudo-random inputs. Half of these are a sampler's state with some bytes altered, which get further than noise.
 */
#include "every_divergence.h"
#include "fuzz.h"
#include "testing.h"

enum { LARGEST = 1 << 16 };

static size_t random_bytes(uint64_t *random, uint8_t *bytes) {
    const size_t size = test_random(random) % 400;
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)test_random(random);
    return size;
}

static size_t altered_state(uint64_t *random, uint8_t *bytes) {
    hws_options options = hws_options_default();
    options.beta = 3;
    options.divergence = divergence_number(test_random(random) % DIVERGENCES);
    options.keep_counts = (int)(test_random(random) & 1);
    options.jitter = 0.1;
    hws_sampler *sampler = NULL;
    int64_t batch[2];
    const int64_t n = test_random(random) % 4 ? 3 + (int64_t)(test_random(random) % 20) : 300;
    require(hws_sampler_open(&sampler, n, NULL, &options) == HWS_OK);
    require(hws_sampler_draw(sampler, 1, batch) == HWS_OK);
    const size_t size = hws_sampler_state_size(sampler);
    require(size <= LARGEST && hws_sampler_state_write(sampler, bytes, size) == HWS_OK);
    hws_sampler_close(&sampler);
    for (uint64_t changes = test_random(random) % 4; changes > 0; changes--) {
        const size_t range = test_random(random) & 1 ? 176 : size;
        bytes[test_random(random) % range] ^= (uint8_t)(1u << test_random(random) % 8);
    }
    return size;
}

static int run_file(const char *path, uint8_t *bytes) {
    FILE *file = fopen(path, "rb");
    if (!file) return 1;
    const size_t size = fread(bytes, 1, LARGEST, file);
    fclose(file);
    return LLVMFuzzerTestOneInput(bytes, size);
}

int main(int count, char **paths) {
    uint8_t *bytes = malloc(LARGEST);
    require(bytes);
    int failed = 0;
    for (int k = 1; k < count; k++) failed |= run_file(paths[k], bytes);
    uint64_t random = 1;
    for (long t = 0; count == 1 && t < test_size(2000, 200000); t++) {
        const size_t size = t & 1 ? random_bytes(&random, bytes) : altered_state(&random, bytes);
        failed |= LLVMFuzzerTestOneInput(bytes, size);
    }
    free(bytes);
    return failed;
}
