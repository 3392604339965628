/* Bytes as an .npz file of images: sets of images with classes, or refused. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_folder.h"
#include "images/npz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > FUZZ_LARGEST) return 0;
    labelled_images sets[DATA_PARTS];
    failure failure = {0};
    fuzz_put("x.npz", data, size);
    const status_code status = npz_open(sets, fuzz_path("x.npz"), &failure);
    require(status == STATUS_OK || failure.message[0]);
    unsigned sum = 0;
    for (int p = 0; p < DATA_PARTS; p++) {
        const labelled_images *set = &sets[p];
        require(status == STATUS_OK || !set->pixels);
        for (int64_t k = 0; k < set->count; k++) require(set->labels[k] < set->classes);
        for (size_t k = 0; k < (size_t)set->count * labelled_images_stride(set); k++) sum += set->pixels[k];
        labelled_images_close(&sets[p]);
    }
    require(sum <= 255u * (1u << 28));
    return 0;
}
