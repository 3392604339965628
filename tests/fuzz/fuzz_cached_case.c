/* Bytes as a preprocessed case, as they are and under right checksums: what is accepted can be
   read to its last byte. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "cache/cached_case.h"
#include "core/crc64.h"
#include "fuzz_folder.h"

#include <math.h>

/* Offsets of docs/formats.md, "Preprocessed case". */
enum { HEADER = 160, PAYLOAD_CRC = 144, HEADER_CRC = 152 };

static void put_crc(uint8_t *at, const uint8_t *bytes, size_t size) {
    static crc64 crc;
    crc64_start(&crc);
    crc64_add(&crc, bytes, size);
    const uint64_t value = crc64_value(&crc);
    memcpy(at, &value, sizeof value);
}

static void use(const cached_case *file, cached_case_mode mode) {
    const case_view *view = &file->view;
    const size_t voxels = case_view_voxels(view);
    double sum = 0;
    require(voxels >= 1 && voxels <= UINT32_MAX && view->channels >= 1 && view->classes >= 1);
    for (size_t k = 0; k < voxels * (size_t)view->channels; k++) sum += (double)view->image[k];
    for (size_t k = 0; k < voxels; k++) sum += view->labels[k];
    for (uint64_t k = 0; k < view->first[view->classes]; k++) require(view->places[k] < voxels);
    require(isnan(sum) || !isnan(sum));
    for (size_t k = 0; k < voxels && mode == CACHED_CASE_VERIFY; k++)
        require(view->labels[k] >= LABEL_OUTSIDE && view->labels[k] <= view->classes);
    for (int k = 0; k < 3; k++) {
        require(file->geometry.size[k] >= 1 && file->geometry.original[k] >= 1 && file->geometry.spacing[k] > 0);
        require(file->geometry.box.first[k] + file->geometry.box.size[k] <= file->geometry.original[k]);
    }
}

static void try_reading(const uint8_t *data, size_t size) {
    cached_case file;
    failure failure = {0};
    fuzz_put("x.hwscase", data, size);
    for (cached_case_mode mode = CACHED_CASE_TRUST; mode <= CACHED_CASE_VERIFY; mode++) {
        const status_code status = cached_case_open(&file, fuzz_path("x.hwscase"), mode, &failure);
        require(status == STATUS_OK || (failure.message[0] && !file.mapped.bytes));
        if (status == STATUS_OK) use(&file, mode);
        cached_case_close(&file);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > FUZZ_LARGEST) return 0;
    try_reading(data, size);
    if (size < HEADER) return 0;
    uint8_t *mended = malloc(size);
    require(mended);
    memcpy(mended, data, size);
    put_crc(mended + PAYLOAD_CRC, mended + HEADER, size - HEADER);
    put_crc(mended + HEADER_CRC, mended, HEADER_CRC);
    try_reading(mended, size);
    free(mended);
    return 0;
}
