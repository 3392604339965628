/* Arbitrary bytes as a safetensors file: as they are, and as its header. */
#include "fuzz.h"
#include "safetensors/safetensors_inside.h"

#include <string.h>

/* Every byte of what is accepted can be read, and names lead back to their tensors. */
static void use(const safetensors *file, size_t size) {
    size_t total = 0;
    unsigned sum = 0;
    for (size_t k = 0; k < safetensors_count(file); k++) {
        const safetensor *tensor = safetensors_at(file, k);
        require(safetensors_find(file, tensor->name) == tensor);
        require(tensor->rank <= SAFETENSORS_RANK);
        for (size_t i = 0; i < tensor->size; i++) sum += ((const unsigned char *)tensor->data)[i];
        total += tensor->size;
    }
    require(total <= size && sum <= 255 * size);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)file->metadata, key, value)
        require(strcmp(key, SAFETENSORS_CRC) == 0 || safetensors_metadata(file, key));
}

static void try_reading(const uint8_t *bytes, size_t size) {
    uint8_t *exact = malloc(size + !size); /* so that a sanitizer sees reads beyond the end */
    safetensors *file = NULL;
    failure failure = {0};
    require(exact);
    if (size) memcpy(exact, bytes, size);
    const status_code status = safetensors_open_bytes(&file, exact, size, "input", &failure);
    require((status == STATUS_OK) == (file != NULL));
    require(status == STATUS_OK || (status == STATUS_CORRUPT && failure.message[0]));
    if (file) use(file, size);
    safetensors_close(&file);
    free(exact);
}

/* The same bytes as a header, before data of 0 and of 32 bytes. */
static void try_header(const uint8_t *header, size_t length) {
    uint8_t *bytes = calloc(1, length + 40);
    require(bytes);
    for (int k = 0; k < 8; k++) bytes[k] = (uint8_t)((uint64_t)length >> (8 * k));
    if (length) memcpy(bytes + 8, header, length);
    try_reading(bytes, 8 + length);
    try_reading(bytes, 40 + length);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > FUZZ_LARGEST) return 0;
    try_reading(data, size);
    try_header(data, size);
    return 0;
}
