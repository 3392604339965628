/* Arbitrary bytes as a checkpoint of PyTorch, zip and pickle together: what is a tensor lies within an
   entry of the archive and can be copied. */
#include "fuzz.h"
#include "torch_file/torch_file.h"
#include "zip/zip_archive.h"

#include <string.h>
#include <zlib.h>

enum { DEEPEST = 5, MOST_VALUES = 300, MOST_ELEMENTS = 4096 };

typedef struct input {
    const zip_archive *archive;
    const torch_file *file;
    size_t left; /* values that are looked at yet: they may refer to each other in circles */
} input;

/* ---- checksums are put right, so that an altered pickle and altered numbers get past them ------------------------ */

static uint64_t get(const uint8_t *at, int bytes) {
    uint64_t value = 0;
    for (int k = 0; k < bytes; k++) value |= (uint64_t)at[k] << (8 * k);
    return value;
}

/* The entry of the archive's directory that begins here, if its data lie within. */
static void put_right(uint8_t *bytes, size_t size, uint8_t *entry) {
    enum { CRC = 16, PACKED = 20, PLACE = 42, HEADER = 30, NAME = 26, EXTRA = 28 };
    const size_t packed = get(entry + PACKED, 4), header = get(entry + PLACE, 4);
    if (header > size || size - header < HEADER) return;
    const size_t data = header + HEADER + get(bytes + header + NAME, 2) + get(bytes + header + EXTRA, 2);
    if (data > size || packed > size - data) return;
    const uint32_t crc = (uint32_t)crc32(0, bytes + data, (unsigned)packed);
    for (int k = 0; k < 4; k++) entry[CRC + k] = (uint8_t)(crc >> (8 * k));
}

static void put_all_right(uint8_t *bytes, size_t size) {
    enum { ENTRY = 46, MOST = 32 };
    int done = 0;
    for (size_t at = 0; at + ENTRY <= size && done < MOST; at++)
        if (get(bytes + at, 4) == 0x02014b50) {
            put_right(bytes, size, bytes + at);
            done++;
        }
}

/* ---- what is accepted -------------------------------------------------------------------------------------------- */

static int is_within(const zip_archive *archive, const unsigned char *first, size_t elements) {
    for (size_t k = 0; k < zip_count(archive); k++) {
        const zip_entry *entry = zip_at(archive, k);
        const unsigned char *end = entry->bytes + entry->packed;
        if (first >= entry->bytes && first <= end && elements <= (size_t)(end - first) / sizeof(float)) return 1;
    }
    return 0;
}

static void use(const input *in, const torch_tensor *tensor) {
    static float values[MOST_ELEMENTS];
    size_t count = 1, last = 0;
    require(tensor->rank <= TORCH_RANK);
    for (size_t k = 0; k < tensor->rank; k++) count *= tensor->shape[k];
    require(tensor->count == count);
    for (size_t k = 0; k < tensor->rank && count; k++) last += (tensor->shape[k] - 1) * tensor->stride[k];
    require(!count || is_within(in->archive, tensor->bytes, last + 1));
    if (count <= MOST_ELEMENTS) torch_tensor_copy(tensor, values);
}

static void look(input *in, const pickle_value *value, int depth) {
    torch_tensor tensor;
    failure failure = {0};
    if (!depth || !in->left) return;
    in->left--;
    const status_code status = torch_tensor_open(in->file, value, "it", &tensor, &failure);
    require(status == STATUS_OK || (status == STATUS_CORRUPT && failure.message[0]));
    if (status == STATUS_OK) use(in, &tensor);
    for (size_t k = 0; k < value->count; k++) look(in, value->item[k], depth - 1);
}

static void try_bytes(const uint8_t *bytes, size_t size) {
    zip_archive *archive = NULL;
    torch_file *file = NULL;
    failure failure = {0};
    const status_code status = torch_file_open_bytes(&file, bytes, size, "input", &failure);
    require((status == STATUS_OK) == (file != NULL));
    require(status == STATUS_OK || (status == STATUS_CORRUPT && failure.message[0]));
    if (file) {
        require(zip_open(&archive, bytes, size, "input", &failure) == STATUS_OK);
        input in = {archive, file, MOST_VALUES};
        look(&in, torch_file_root(file), DEEPEST);
    }
    zip_close(&archive);
    torch_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > FUZZ_LARGEST) return 0;
    uint8_t *exact = calloc(1, size + !size); /* so that a sanitizer sees reads beyond the end */
    require(exact);
    if (size) memcpy(exact, data, size);
    try_bytes(exact, size);
    put_all_right(exact, size);
    try_bytes(exact, size);
    free(exact);
    return 0;
}
