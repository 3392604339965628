/* Small NIfTI files of all versions, types and byte orders. */
#include "../nifti/nifti_bytes.h"
#include "fuzz.h"

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    static const int types[][2] = {{2, 8}, {4, 16}, {8, 32}, {16, 32}, {64, 64}, {512, 16}, {1280, 64}};
    static nifti_bytes file;
    const int type = (int)(test_random(random) % 7);
    start_file(&file, 1 + (int)(test_random(random) & 1), (int)(test_random(random) & 1), types[type][0],
               types[type][1]);
    if (test_random(random) & 1) put_sform(&file, (double[12]){1, 0, 0, 5, 0, 2, 0, 6, 0, 0, 3, 7});
    if (test_random(random) & 1) put_qform(&file, (double[3]){0, 0.6, 0.8}, (double[3]){1, 2, 3});
    *front = (size_t)voxels_at(&file);
    memcpy(bytes, file.bytes, file.size);
    return file.size;
}
