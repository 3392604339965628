/* Arbitrary bytes as a zip archive, and as a checkpoint of PyTorch. */
#include "fuzz.h"
#include "torch_file/torch_file.h"
#include "zip/zip_archive.h"

#include <string.h>

static void use(const zip_archive *archive) {
    for (size_t k = 0; k < zip_count(archive); k++) {
        const zip_entry *entry = zip_at(archive, k);
        require(zip_find(archive, entry->name) == entry);
        failure failure = {0};
        char *unpacked = entry->size <= 1 << 20 ? malloc(entry->size + !entry->size) : NULL;
        const status_code status = unpacked ? zip_read(archive, entry, unpacked, &failure) : STATUS_OK;
        require(status == STATUS_OK || (status == STATUS_CORRUPT && failure.message[0]));
        free(unpacked);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > FUZZ_LARGEST) return 0;
    uint8_t *exact = malloc(size + !size); /* so that a sanitizer sees reads beyond the end */
    zip_archive *archive = NULL;
    torch_file *file = NULL;
    failure failure = {0};
    require(exact);
    if (size) memcpy(exact, data, size);
    status_code status = zip_open(&archive, exact, size, "input", &failure);
    require((status == STATUS_OK) == (archive != NULL));
    require(status == STATUS_OK || (status == STATUS_CORRUPT && failure.message[0]));
    if (archive) use(archive);
    zip_close(&archive);
    status = torch_file_open_bytes(&file, exact, size, "input", &failure);
    require(status == STATUS_OK || (status == STATUS_CORRUPT && failure.message[0]));
    torch_file_close(&file);
    free(exact);
    return 0;
}
