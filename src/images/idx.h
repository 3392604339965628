/*
 * IDX files, the format of MNIST and its relatives: bytes as images (magic 0x803: count, height, width) and as labels
 * (magic 0x801: count), plain or compressed with gzip.
 *
 * Readers are strict: the size must be what the header says to the byte, and memory grows with what is really in the
 * file, not with what the header promises. Every failure names the file.
 */
#ifndef HWS_IMAGES_IDX_H
#define HWS_IMAGES_IDX_H

#include "images/labelled_images.h"

/*
 * Opens a pair of files. Labels must be below `classes`; 0 takes the largest label plus one. `labels` may be NULL, for
 * images that are to be classified: then the set has none, and `classes` must be given.
 */
status_code idx_open(labelled_images *set, const char *images, const char *labels, int classes, failure *failure);

/*
 * Opens a folder with MNIST's four files: train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
 * t10k-labels-idx1-ubyte, each with or without .gz, the second dash also as a dot. Ten classes. Train and test images
 * must be of one size. On failure both sets are closed.
 */
status_code idx_open_folder(labelled_images *train, labelled_images *test, const char *folder, failure *failure);

/* Writes a plain file of labels, atomically. */
status_code idx_write_labels(const uint8_t *labels, int64_t count, const char *path, failure *failure);

#endif
