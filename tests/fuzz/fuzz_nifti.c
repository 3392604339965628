/* Any bytes as a NIfTI file: read or refused, in memory that the file's size bounds. */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz.h"
#include "nifti/nifti.h"
#include "nifti/nifti_header.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void read_both(const char *path) {
    volume image;
    label_map labels;
    nifti_info info;
    failure failure;
    const status_code inspected = nifti_inspect(path, &info, &failure);
    const status_code status = nifti_read_volume(path, NIFTI_ALL_CHANNELS, &image, &failure);
    require((status == STATUS_OK) == (image.voxels != NULL));
    require(status != STATUS_OK || inspected == STATUS_OK);
    if (status == STATUS_OK) {
        const float *voxels = image.voxels;
        require(image.channels == info.channels);
        for (size_t i = 0; i < volume_grid_voxels(&image.grid); i++)
            require(voxels[i] == voxels[i] || voxels[i] != voxels[i]);
    }
    volume_close(&image);
    if (nifti_read_labels(path, &labels, &failure) == STATUS_OK) require(status == STATUS_OK);
    label_map_close(&labels);
}

/* What was parsed must come back from what is written of it. */
static void write_header(const uint8_t *data, size_t size) {
    nifti_header header, again;
    uint8_t front[NIFTI_LARGEST_FRONT];
    if (nifti_header_parse(data, size < NIFTI2_BYTES ? size : NIFTI2_BYTES, "data", &header, NULL) != STATUS_OK) return;
    const size_t written = nifti_header_write(&header.grid, header.channels, header.type, front);
    require(nifti_header_parse(front, written, "front", &again, NULL) == STATUS_OK);
    require(memcmp(again.grid.size, header.grid.size, sizeof header.grid.size) == 0);
    require(memcmp(again.grid.affine, header.grid.affine, sizeof header.grid.affine) == 0 ||
            header.grid.nifti_version != again.grid.nifti_version);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > FUZZ_LARGEST) return 0;
    write_header(data, size);
    const int descriptor = memfd_create("nifti", 0);
    require(descriptor >= 0);
    require(write(descriptor, data, size) == (ssize_t)size);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    read_both(path);
    close(descriptor);
    return 0;
}
