/* Arbitrary bytes as a state, as they are and under a right checksum. What is accepted must be a working sampler. */
#include "core/crc64.h"
#include "every_divergence.h"
#include "fuzz.h"
#include "hws.h"

#include <string.h>

enum { LARGEST = 1 << 16, BATCH = 4 };

static void set_checksum(uint8_t *state, size_t size) {
    static crc64 crc;
    crc64_start(&crc);
    crc64_add(&crc, state, size - 8);
    for (int k = 0; k < 8; k++) state[size - 8 + (size_t)k] = (uint8_t)(crc64_value(&crc) >> (8 * k));
}

/* Writes, reads back and writes again: the same bytes. */
static void check_round_trip(hws_sampler *sampler) {
    const size_t size = hws_sampler_state_size(sampler);
    uint8_t *first = malloc(size), *second = malloc(size);
    require(first && second);
    hws_sampler *again = NULL;
    require(hws_sampler_state_write(sampler, first, size) == HWS_OK);
    require(hws_sampler_state_read(&again, first, size, &CUSTOM_HELLINGER, NULL) == HWS_OK);
    require(hws_sampler_state_size(again) == size);
    require(hws_sampler_state_write(again, second, size) == HWS_OK);
    require(memcmp(first, second, size) == 0);
    hws_sampler_close(&again);
    free(first);
    free(second);
}

static void use(hws_sampler *sampler) {
    const int64_t n = hws_sampler_size(sampler);
    int64_t drawable = -1, batch[BATCH];
    float losses[BATCH], weights[BATCH];
    double value;
    check_round_trip(sampler);
    for (int t = 0; t < 3; t++) {
        require(hws_sampler_drawable(sampler, &drawable) == HWS_OK && drawable >= 1 && drawable <= n);
        const int64_t count = drawable < BATCH ? drawable : BATCH;
        require(hws_sampler_draw(sampler, count, batch) == HWS_OK);
        for (int64_t j = 0; j < count; j++) {
            require(batch[j] >= 0 && batch[j] < n);
            losses[j] = (float)(t + j);
        }
        require(hws_sampler_importance(sampler, count, batch, losses, weights) == HWS_OK);
        require(hws_sampler_update(sampler, count, batch, losses) == HWS_OK);
        require(hws_sampler_probability(sampler, batch[0], &value) == HWS_OK && value >= 0);
    }
    hws_statistics statistics;
    require(hws_sampler_statistics(sampler, &statistics) == HWS_OK);
    check_round_trip(sampler);
}

static void try_reading(const uint8_t *state, size_t size) {
    hws_sampler *sampler = (hws_sampler *)1;
    hws_error error;
    const hws_status status = hws_sampler_state_read(&sampler, state, size, &CUSTOM_HELLINGER, &error);
    require((status == HWS_OK) == (sampler != NULL));
    require(error.status == status && (status == HWS_OK) == (strlen(error.message) == 0));
    require(status == HWS_OK || status == HWS_ERROR_CORRUPT || status == HWS_ERROR_VERSION);
    if (sampler) use(sampler);
    hws_sampler_close(&sampler);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > LARGEST) return 0;
    try_reading(data, size);
    if (size < 16) return 0;
    uint8_t *state = malloc(size);
    require(state);
    memcpy(state, data, size);
    set_checksum(state, size);
    try_reading(state, size);
    free(state);
    return 0;
}
