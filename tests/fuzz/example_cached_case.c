/* A small case of a cache. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "cache/cached_case.h"
#include "core/memory.h"
#include "fuzz_folder.h"
#include "testing.h"

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    const int channels = 1 + (int)(test_random(random) % 2), classes = 2 + (int)(test_random(random) % 3);
    prepared_case made = {.channels = channels};
    size_t voxels = 1;
    for (int k = 0; k < 3; k++) {
        const int size = 1 + (int)(test_random(random) % 5);
        voxels *= (size_t)size;
        made.geometry.size[k] = size;
        made.geometry.original[k] = size + 2;
        made.geometry.box.first[k] = 1;
        made.geometry.box.size[k] = size;
        made.geometry.original_spacing[k] = made.geometry.spacing[k] = 0.5 + k;
    }
    made.image = memory_open(voxels * (size_t)channels * sizeof *made.image);
    made.labels = memory_open(voxels * sizeof *made.labels);
    require(made.image && made.labels);
    for (size_t k = 0; k < voxels * (size_t)channels; k++) made.image[k] = (float)test_normal(random);
    for (size_t k = 0; k < voxels; k++) made.labels[k] = (int16_t)((int)(test_random(random) % 5) % classes);
    require(cached_case_write(fuzz_path("made.hwscase"), &made, classes, (case_checksums){1, 2}, 3, NULL) == STATUS_OK);
    prepared_case_close(&made);
    *front = 160;
    return fuzz_get("made.hwscase", bytes);
}
