/*
 * NIfTI files, .nii and .nii.gz, versions 1 and 2, in both byte orders.
 *
 * Read are (u)int8, 16, 32 and 64, float32 and float64, with scl_slope and scl_inter; whether a file is compressed is
 * seen from its bytes, not from its name. A 4D file is an image of several channels. The affine is the sform's if the
 * file has one, else the qform's. Files in metres or micrometres are read in mm, and written as they were; the spacing
 * is pixdim's, also where an sform contradicts it (spacing_doubts.h). Refused, with a sentence: anything but one-file
 * NIfTI, sizes and types that contradict each other, spacings that are not positive, and files whose bytes are fewer or
 * more than their header promises. No memory is asked for before the file is known to be large enough to fill it:
 * deflate shrinks nothing to less than 1/1032, so a small file cannot promise a large image.
 *
 * Why not nifti_clib: it allocates what the header says before it looks at the file, prints to stderr, keeps global
 * settings, needs two libraries for the two versions, and stamps what it compresses with nothing we control. Guarding
 * it would take the whole of nifti_header.c and leave only reading bytes from zlib to it. nibabel judges our files
 * (make test-peer).
 *
 * Functions keep no state: several threads may read and write different files.
 */
#ifndef HWS_NIFTI_NIFTI_H
#define HWS_NIFTI_NIFTI_H

#include "nifti/volume.h"

typedef struct nifti_info {
    volume_grid grid;
    int channels;
} nifti_info;

enum { NIFTI_ALL_CHANNELS = -1 };

/* Reads the header only, so that many files can be checked before work starts. */
status_code nifti_inspect(const char *path, nifti_info *info, failure *failure);

/*
 * Reads an image as float32, whatever the file's type; one channel, from 0 on, or all of them. Voxels may be NaN or
 * infinite: what that means is for the caller to decide. Close the volume when STATUS_OK; otherwise it is zeroed.
 */
status_code nifti_read_volume(const char *path, int channel, volume *volume, failure *failure);

/*
 * An image that is read one channel at a time: the header is known before memory is asked for, and the file is opened
 * once. Close the reader; after a failed open it is NULL.
 */
typedef struct nifti_reader nifti_reader;
status_code nifti_reader_open(nifti_reader **reader, const char *path, nifti_info *info, failure *failure);
/* The next channel, not asked for more often than there are channels; the last one also makes
   sure that the file ends. */
status_code nifti_reader_next(nifti_reader *reader, float *voxels, failure *failure);
void nifti_reader_close(nifti_reader **reader);

/* Reads a label map: one channel of whole numbers from -32768 to 32767, of any type. What scl_slope leaves a little off
   a whole number, by 0.001 or half of the slope, but no more than 0.01, is that number. */
status_code nifti_read_labels(const char *path, label_map *labels, failure *failure);

/*
 * Writes float32, or labels as uint8 where they fit and int16 otherwise, little-endian, with the header of the grid;
 * compressed if the name ends in .gz. Equal contents give equal bytes. The file appears whole or not at all.
 */
status_code nifti_write_volume(const char *path, const volume *volume, failure *failure);
status_code nifti_write_labels(const char *path, const label_map *labels, failure *failure);

#endif
