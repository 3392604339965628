/*
 * Bytes as a checkpoint, as they are and under right checksums: a run goes on from it, or it is refused. The first byte
 * says which run (fuzz_trainer.h).
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_trainer.h"

#include "core/crc64.h"
#include "safetensors/safetensors_inside.h"

enum { ITERATIONS = 6 }; /* beyond the end of an epoch */

static int stop_soon(void *left) { return --*(int *)left < 0; }

/* What was believed may be nonsense, and the numbers may overflow: but then it says so. */
static void go_on(trainer *t) {
    int left = ITERATIONS;
    const train_listener listener = {.work = {.context = &left, .stop = stop_soon}};
    trainer_end end;
    failure failure = {0};
    const status_code status = trainer_run(t, &listener, &end, &failure);
    require(status == STATUS_OK || failure.message[0]);
}

static void try_reading(const train_settings *settings, const uint8_t *bytes, size_t size) {
    static points points;
    const task task = points_task(&points);
    failure failure = {0};
    fuzz_put("latest.safetensors", bytes, size);
    unlink(fuzz_path("previous.safetensors"));
    trainer *t = trainer_of(settings, &task, fuzz_folder());
    const status_code status = trainer_resume(t, &failure);
    require(status == STATUS_OK || failure.message[0]);
    if (status == STATUS_OK) go_on(t);
    trainer_close(&t);
}

/* The sum at the end of the sampler's state, and then that of the file. */
static void mend_sampler(uint8_t *bytes, size_t size) {
    safetensors *file = NULL;
    static crc64 crc;
    if (safetensors_open_bytes(&file, bytes, size, "input", NULL) != STATUS_OK) return;
    const safetensor *state = safetensors_find(file, "hws.sampler");
    if (state && state->size >= 8) {
        uint8_t *first = bytes + ((const uint8_t *)state->data - bytes);
        crc64_start(&crc);
        crc64_add(&crc, first, state->size - 8);
        for (int k = 0; k < 8; k++) first[state->size - 8 + (size_t)k] = (uint8_t)(crc64_value(&crc) >> (8 * k));
    }
    safetensors_close(&file);
}

static void mend_file(uint8_t *bytes, size_t size) {
    uint64_t length = 0;
    char digits[SAFETENSORS_CRC_DIGITS + 1];
    for (int k = 0; k < 8 && size >= 8; k++) length |= (uint64_t)bytes[k] << (8 * k);
    if (size < 8 || length > size - 8) return;
    char *header = (char *)bytes + 8;
    const char *at = safetensors_find_crc(header, (size_t)length);
    if (!at) return;
    const safetensors_span rest = {bytes + 8 + length, size - 8 - (size_t)length};
    safetensors_crc(header, (size_t)length, 1, &rest, digits);
    memcpy(header + (at - header), digits, SAFETENSORS_CRC_DIGITS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1 || size > FUZZ_LARGEST) return 0;
    const train_settings settings = trainer_settings(data[0] % TRAINER_KINDS);
    try_reading(&settings, data + 1, size - 1);
    uint8_t *mended = malloc(size);
    require(mended);
    memcpy(mended, data + 1, size - 1);
    mend_file(mended, size - 1);
    mend_sampler(mended, size - 1);
    mend_file(mended, size - 1);
    try_reading(&settings, mended, size - 1);
    free(mended);
    return 0;
}
