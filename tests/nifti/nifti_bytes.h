/* NIfTI files built byte by byte from the standard's tables, apart from the code under test. */
#ifndef HWS_TESTS_NIFTI_BYTES_H
#define HWS_TESTS_NIFTI_BYTES_H

#include "testing.h"

#include <unistd.h>
#include <zlib.h>

enum { FILE_BYTES = 1 << 14 };

typedef struct nifti_bytes {
    int version, big;
    size_t size; /* of the whole file */
    uint8_t bytes[FILE_BYTES];
} nifti_bytes;

static inline void put(nifti_bytes *file, int at, int size, uint64_t bits) {
    for (int k = 0; k < size; k++) file->bytes[at + k] = (uint8_t)(bits >> 8 * (file->big ? size - 1 - k : k));
}

static inline void put_float(nifti_bytes *file, int at, double value) {
    const float small = (float)value;
    uint32_t bits;
    memcpy(&bits, &small, 4);
    put(file, at, 4, bits);
}

static inline void put_double(nifti_bytes *file, int at, double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    put(file, at, 8, bits);
}

/* A field by its place in version 1 and in version 2. */
static inline void put_real(nifti_bytes *file, int at1, int at2, double value) {
    if (file->version == 1) put_float(file, at1, value);
    else put_double(file, at2, value);
}

static inline void put_dimension(nifti_bytes *file, int index, int64_t value) {
    if (file->version == 1) put(file, 40 + 2 * index, 2, (uint64_t)value);
    else put(file, 16 + 8 * index, 8, (uint64_t)value);
}

static inline void put_spacing(nifti_bytes *file, int index, double value) {
    put_real(file, 76 + 4 * index, 104 + 8 * index, value);
}

static inline void put_offset(nifti_bytes *file, double value) {
    if (file->version == 1) put_float(file, 108, value);
    else put(file, 168, 8, (uint64_t)(int64_t)value);
}

static inline void put_type(nifti_bytes *file, int type, int bits) {
    put(file, file->version == 1 ? 70 : 12, 2, (uint64_t)type);
    put(file, file->version == 1 ? 72 : 14, 2, (uint64_t)bits);
}

static inline void put_code(nifti_bytes *file, int sform, int code) {
    if (file->version == 1) put(file, sform ? 254 : 252, 2, (uint64_t)code);
    else put(file, sform ? 348 : 344, 4, (uint64_t)code);
}

static inline void put_sform(nifti_bytes *file, const double rows[12]) {
    put_code(file, 1, 2);
    for (int k = 0; k < 12; k++) put_real(file, 280 + 4 * k, 400 + 8 * k, rows[k]);
}

static inline void put_qform(nifti_bytes *file, const double b_c_d[3], const double offset[3]) {
    put_code(file, 0, 1);
    for (int k = 0; k < 3; k++) put_real(file, 256 + 4 * k, 352 + 8 * k, b_c_d[k]);
    for (int k = 0; k < 3; k++) put_real(file, 268 + 4 * k, 376 + 8 * k, offset[k]);
}

static inline int voxels_at(const nifti_bytes *file) { return file->version == 1 ? 352 : 544; }

/* A correct header of 3 x 4 x 5 voxels, spacing 1, 2, 3, with room for the voxels. */
static inline void start_file(nifti_bytes *file, int version, int big, int type, int bits) {
    memset(file, 0, sizeof *file);
    file->version = version;
    file->big = big;
    put(file, 0, 4, version == 1 ? 348 : 540);
    memcpy(file->bytes + (version == 1 ? 344 : 4), version == 1 ? "n+1\0" : "n+2\0\r\n\032\n", version == 1 ? 4 : 8);
    const int64_t dimensions[8] = {3, 3, 4, 5, 1, 1, 1, 1};
    const double spacings[8] = {1, 1, 2, 3, 1, 1, 1, 1};
    for (int k = 0; k < 8; k++) put_dimension(file, k, dimensions[k]);
    for (int k = 0; k < 8; k++) put_spacing(file, k, spacings[k]);
    put_type(file, type, bits);
    put_offset(file, voxels_at(file));
    file->size = (size_t)voxels_at(file) + (size_t)(60 * bits / 8);
}

static inline const char *scratch_path(const char *name) {
    static char path[4][256];
    static int turn;
    char *result = path[turn++ % 4];
    snprintf(result, 256, "nifti_test_%ld_%s", (long)getpid(), name);
    return result;
}

static inline void write_plain(const char *path, const void *bytes, size_t size) {
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
}

static inline void write_gzip(const char *path, const void *bytes, size_t size) {
    gzFile out = gzopen(path, "wb");
    assert_non_null(out);
    if (size > 0) assert_int_equal(gzwrite(out, bytes, (unsigned)size), size);
    assert_int_equal(gzclose(out), Z_OK);
}

static inline size_t read_plain(const char *path, uint8_t *bytes, size_t room) {
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    const size_t size = fread(bytes, 1, room, in);
    fclose(in);
    return size;
}

#endif
