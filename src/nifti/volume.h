/*
 * A 3D image and a 3D label map in memory.
 *
 * Voxels lie as NIfTI stores them: x fastest, then y, then z, then the channel; the voxel (x, y, z) of channel c is
 * voxels[((c * size[2] + z) * size[1] + y) * size[0] + x].
 */
#ifndef HWS_NIFTI_VOLUME_H
#define HWS_NIFTI_VOLUME_H

#include "core/failure.h"

#include <stddef.h>
#include <stdint.h>

/* Where the voxels are, and what a file's header said about it, so that a file written on the
   same grid says the same. */
typedef struct volume_grid {
    int size[3];         /* voxels along x, y, z */
    double spacing[3];   /* between voxel centres, in mm */
    double affine[3][4]; /* voxel indices to the scanner's x, y, z in mm: sform, else qform, else the spacing */
    int nifti_version;   /* 1 or 2 */
    int dimensions;      /* 1 or 2: of a file that tells of no more; 0: three */
    int units;           /* NIfTI's xyzt_units: what sform and offset are in, and pixdim in files on this grid */
    int sform_code, qform_code;
    double sform[3][4];
    double quaternion[3], offset[3]; /* of the qform */
    int qfac;                        /* -1 or 1 */
} volume_grid;

typedef struct volume {
    volume_grid grid;
    int channels;
    float *voxels; /* memory_open */
} volume;

typedef struct label_map {
    volume_grid grid;
    int16_t *labels; /* memory_open */
} label_map;

/* A grid along the axes whose first voxel lies at the origin. */
volume_grid volume_grid_plain(const int size[3], const double spacing[3]);

/* Voxels of one channel. */
size_t volume_grid_voxels(const volume_grid *grid);

/*
 * STATUS_BAD_INPUT unless both grids have the same size and put their corners at the same places, within a twentieth
 * of a voxel: programs store the affine in different ways and round it. The message begins with `name`.
 */
status_code volume_grid_check_same(const volume_grid *a, const volume_grid *b, const char *name, failure *failure);

/* Memory for a volume or label map on this grid, its voxels not set. Close it when done. */
status_code volume_open(volume *volume, const volume_grid *grid, int channels, failure *failure);
status_code label_map_open(label_map *labels, const volume_grid *grid, failure *failure);

/* The voxels of a channel, from 0 on. */
float *volume_channel(const volume *volume, int channel);

/* Accept what was zeroed or closed before. */
void volume_close(volume *volume);
void label_map_close(label_map *labels);

#endif
