/*
 * .npz files as MedMNIST has them: train_images, train_labels, val_images, val_labels, test_images and test_labels,
 * images as bytes (n, h, w) or (n, h, w, 3), labels as whole numbers (n) or (n, 1) of any size. val_ may be missing.
 */
#ifndef HWS_IMAGES_NPZ_H
#define HWS_IMAGES_NPZ_H

#include "images/example_list.h"
#include "images/labelled_images.h"

/* Sets of the parts; those that are not there are zero. On failure all are closed. */
status_code npz_open(labelled_images sets[DATA_PARTS], const char *path, failure *failure);

/* An array of a .npy file in memory. */
typedef struct npy {
    char type;      /* 'u' or 'i' */
    int item;       /* bytes of a number */
    int dimensions; /* 1 to 4 */
    int64_t shape[4];
    const uint8_t *data; /* within the bytes */
} npy;

/* Refused: anything but whole numbers, little-endian, in C order, and any other size than the shape says. */
status_code npy_parse(npy *array, const uint8_t *bytes, size_t size, const char *name, failure *failure);

#endif
