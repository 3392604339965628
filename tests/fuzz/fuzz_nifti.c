/* Any bytes as a NIfTI file: read or refused, in memory that the file's size bounds. */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz.h"
#include "volume/nifti.h"
#include "volume/nifti_header.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void read_both(const char *path) {
    volume image;
    label_map labels;
    nifti_info info;
    failure failure;
    const hws_status inspected = nifti_inspect(path, &info, &failure);
    const hws_status status = nifti_read_volume(path, NIFTI_ALL_CHANNELS, &image, &failure);
    require((status == HWS_OK) == (image.voxels != NULL));
    require(status != HWS_OK || inspected == HWS_OK);
    if (status == HWS_OK) {
        const float *voxels = image.voxels;
        require(image.channels == info.channels);
        for (size_t i = 0; i < volume_grid_voxels(&image.grid); i++)
            require(voxels[i] == voxels[i] || voxels[i] != voxels[i]);
    }
    volume_close(&image);
    if (nifti_read_labels(path, &labels, &failure) == HWS_OK) require(status == HWS_OK);
    label_map_close(&labels);
}

/* What was parsed must come back from what is written of it. */
static void write_header(const uint8_t *data, size_t size) {
    nifti_header header, again;
    uint8_t front[NIFTI_LARGEST_FRONT];
    if (nifti_header_parse(data, size < NIFTI2_BYTES ? size : NIFTI2_BYTES, "data", &header, NULL) != HWS_OK) return;
    const size_t written = nifti_header_write(&header.grid, header.channels, header.type, front);
    require(nifti_header_parse(front, written, "front", &again, NULL) == HWS_OK);
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
