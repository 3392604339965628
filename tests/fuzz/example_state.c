/* The state of a sampler, for the targets that read one. */
#include "every_divergence.h"
#include "fuzz.h"
#include "testing.h"

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    hws_options options = hws_options_default();
    options.beta = 3;
    options.divergence = divergence_number(test_random(random) % DIVERGENCES);
    options.keep_counts = (int)(test_random(random) & 1);
    options.jitter = 0.1;
    if (test_random(random) & 1) options.initial_loss = 1;
    hws_sampler *sampler = NULL;
    int64_t batch[2];
    const int64_t n = test_random(random) % 4 ? 3 + (int64_t)(test_random(random) % 20) : 300;
    require(hws_sampler_open(&sampler, n, NULL, &options, NULL) == HWS_OK);
    require(hws_sampler_draw(sampler, 1, batch) == HWS_OK);
    const size_t size = hws_sampler_state_size(sampler);
    require(size <= FUZZ_LARGEST && hws_sampler_state_write(sampler, bytes, size) == HWS_OK);
    hws_sampler_close(&sampler);
    *front = 232;
    return size;
}
