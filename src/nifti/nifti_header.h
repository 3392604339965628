/* The header of a NIfTI file as bytes: parsing with all checks, and writing. Inside of nifti.c, open to tests. */
#ifndef HWS_NIFTI_NIFTI_HEADER_H
#define HWS_NIFTI_NIFTI_HEADER_H

#include "nifti/volume.h"

enum { NIFTI1_BYTES = 348, NIFTI2_BYTES = 540, NIFTI_LARGEST_FRONT = NIFTI2_BYTES + 4 };

typedef enum nifti_type {
    NIFTI_UINT8 = 2,
    NIFTI_INT16 = 4,
    NIFTI_INT32 = 8,
    NIFTI_FLOAT32 = 16,
    NIFTI_FLOAT64 = 64,
    NIFTI_INT8 = 256,
    NIFTI_UINT16 = 512,
    NIFTI_UINT32 = 768,
    NIFTI_INT64 = 1024,
    NIFTI_UINT64 = 1280
} nifti_type;

typedef struct nifti_header {
    volume_grid grid;
    int channels;
    nifti_type type;
    int big_endian;
    uint64_t voxel_offset; /* where the voxels begin */
    uint64_t voxel_bytes;  /* of all channels; below 2^62 */
    double slope, intercept;
} nifti_header;

/* Bytes of one number; 0 for a type that is not read. */
int nifti_type_bytes(nifti_type type);

/* The first `count` bytes of a file, NIFTI2_BYTES or all that it has. `path` is for the message. */
status_code nifti_header_parse(const uint8_t *bytes, size_t count, const char *path, nifti_header *header,
                               failure *failure);

/* Fills the bytes that come before the voxels and returns how many these are. */
size_t nifti_header_write(const volume_grid *grid, int channels, nifti_type type, uint8_t bytes[NIFTI_LARGEST_FRONT]);

#endif
