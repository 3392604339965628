/*
 * Bytes as a pair of IDX files. The first byte says what is mended before they are read, so that inputs get past the
 * header: 1 = magic numbers, 2 = counts and sizes, 4 = labels in range, 8 = images compressed. The second is the number
 * of images, the third and fourth their sides.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_folder.h"
#include "images/idx.h"

#include <zlib.h>

enum { CLASSES = 10, LARGEST = 1 << 12, MAGIC = 1, SIZES = 2, IN_RANGE = 4, PACKED = 8 };

static void put(const char *path, const uint8_t *bytes, size_t size, int packed) {
    gzFile file = gzopen(path, packed ? "wb1" : "wbT");
    require(file && (size == 0 || gzwrite(file, bytes, (unsigned)size) == (int)size));
    require(gzclose(file) == Z_OK);
}

static void put_number(uint8_t *at, unsigned value) {
    at[0] = at[1] = at[2] = 0;
    at[3] = (uint8_t)value;
}

static void mend(unsigned how, const uint8_t *sizes, uint8_t *images, uint8_t *labels, size_t label_size) {
    if (how & MAGIC) {
        memcpy(images, "\0\0\10\3", 4);
        memcpy(labels, "\0\0\10\1", 4);
    }
    if (how & SIZES) {
        put_number(images + 4, sizes[0]);
        put_number(images + 8, sizes[1]);
        put_number(images + 12, sizes[2]);
        put_number(labels + 4, sizes[0]);
    }
    for (size_t i = 8; how & IN_RANGE && i < label_size; i++) labels[i] %= CLASSES;
}

static void check(const labelled_images *set, const uint8_t *images, size_t image_size, const uint8_t *labels,
                  size_t label_size) {
    const size_t stride = labelled_images_stride(set);
    require(set->count >= 1 && stride >= 1);
    require(16 + (size_t)set->count * stride == image_size && 8 + (size_t)set->count == label_size);
    require(memcmp(set->pixels, images + 16, image_size - 16) == 0);
    require(memcmp(set->labels, labels + 8, label_size - 8) == 0);
    for (int64_t i = 0; i < set->count; i++) require(set->labels[i] < CLASSES && set->origins[i] == i);
    (void)labelled_images_fingerprint(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 4 || size > LARGEST) return 0;
    const char *images_path = fuzz_path("images"), *labels_path = fuzz_path("labels");
    const unsigned how = data[0], count = data[1] % 8u, side = data[2] % 8u;
    const uint8_t sizes[3] = {(uint8_t)count, (uint8_t)side, (uint8_t)(data[3] % 8u)};
    uint8_t images[LARGEST + 24] = {0}, labels[24] = {0};
    /* Mended files have the right size, others that of the input. */
    const size_t rest = size - 4, payload = (size_t)sizes[0] * sizes[1] * sizes[2];
    const size_t image_size = how & SIZES ? 16 + payload : rest, label_size = 8 + (how & SIZES ? count : rest % 16);
    memcpy(images, data + 4, rest);
    memcpy(labels, data + 4, rest < sizeof labels ? rest : sizeof labels);
    mend(how, sizes, images, labels, label_size);
    put(images_path, images, image_size, (how & PACKED) != 0);
    put(labels_path, labels, label_size, 0);
    labelled_images set;
    failure failure = {0};
    const status_code status = idx_open(&set, images_path, labels_path, CLASSES, &failure);
    /* Without the right magic number, what was read may have come out of a gzip file made by chance. */
    if (status == STATUS_OK && how & MAGIC) check(&set, images, image_size, labels, label_size);
    require(status == STATUS_OK || failure.message[0]);
    const int mended = (how & 7) == 7 && payload > 0;
    require(!mended || status == STATUS_OK);
    labelled_images_close(&set);
    unlink(images_path);
    unlink(labels_path);
    return 0;
}
