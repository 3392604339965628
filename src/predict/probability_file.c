#include "predict/probability_file.h"

#include "core/memory.h"
#include "zip/zip_writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HEADER_BYTES = 128, ALIGNMENT = 64 };

uint16_t half_of_probability(float probability) {
    static const float SMALLEST_NORMAL = 0x1p-14f;
    if (probability < SMALLEST_NORMAL) return (uint16_t)nearbyintf(probability * 0x1p24f);
    uint32_t bits;
    memcpy(&bits, &probability, sizeof bits);
    bits += 0xfff + (bits >> 13 & 1);
    return (uint16_t)((bits - ((uint32_t)(127 - 15) << 23)) >> 13);
}

/* The header of numpy's .npy files, version 1: padded with spaces to a whole number of lines of 64 bytes. */
static void describe(const volume_grid *grid, int outputs, char header[HEADER_BYTES]) {
    static const char MAGIC[] = "\x93NUMPY\x01\x00";
    const int *size = grid->size;
    memset(header, ' ', HEADER_BYTES);
    memcpy(header, MAGIC, 8);
    header[8] = (char)(HEADER_BYTES - 10);
    header[9] = 0;
    char words[HEADER_BYTES];
    const int length =
        snprintf(words, sizeof words, "{'descr': '<f2', 'fortran_order': False, 'shape': (%d, %d, %d, %d), }", outputs,
                 size[2], size[1], size[0]);
    memcpy(header + 10, words, (size_t)length);
    header[HEADER_BYTES - 1] = '\n';
}

status_code probability_file_write(const char *path, const volume_grid *grid, int outputs, const float *probabilities,
                                   failure *failure) {
    const size_t count = (size_t)outputs * volume_grid_voxels(grid);
    unsigned char *halves = memory_open(count * sizeof(uint16_t));
    if (!halves) return fail_memory(failure, path);
    for (size_t k = 0; k < count; k++) {
        const uint16_t half = half_of_probability(probabilities[k]);
        halves[2 * k] = (unsigned char)(half & 0xff); /* little endian on every machine */
        halves[2 * k + 1] = (unsigned char)(half >> 8);
    }
    char header[HEADER_BYTES];
    describe(grid, outputs, header);
    zip_writer archive;
    zip_writer_open(&archive, path);
    const zip_span spans[] = {{header, sizeof header}, {halves, count * sizeof(uint16_t)}};
    zip_writer_add(&archive, "probabilities.npy", spans, 2, ALIGNMENT);
    const status_code status = zip_writer_close(&archive, failure);
    memory_close(halves);
    return status;
}
