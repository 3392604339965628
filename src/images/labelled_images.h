/*
 * Images with one label each, in memory: what the classification trainer learns from and is tested on.
 *
 * The pixels are bytes, row after row, image after image (n, h, w, c). `origins` says where each example comes from:
 * its index in the file or generator, which stays with it when others are left out.
 */
#ifndef HWS_IMAGES_LABELLED_IMAGES_H
#define HWS_IMAGES_LABELLED_IMAGES_H

#include "core/failure.h"

#include <stddef.h>
#include <stdint.h>

enum { LABELLED_IMAGES_CLASSES_MAX = 256, LABELLED_IMAGES_SIDE_MAX = 16384, LABELLED_IMAGES_CHANNELS_MAX = 64 };

typedef struct labelled_images {
    int64_t count;
    int height, width, channels;
    int classes;      /* labels are below it */
    uint8_t *pixels;  /* count x height x width x channels; owned, as are the next two */
    uint8_t *labels;  /* count; NULL if the labels are not known */
    int64_t *origins; /* count */
} labelled_images;

typedef struct labelled_images_shape {
    int64_t count;
    int height, width, channels, classes;
} labelled_images_shape;

/* Memory for a set of this shape, with origins 0, 1, 2... Pixels and labels are the caller's to fill. */
status_code labelled_images_open(labelled_images *set, const labelled_images_shape *shape, failure *failure);

/* The same around pixels and labels (which may be NULL) that are there already, from memory_open: they become the set's,
   and are closed if this fails. */
status_code labelled_images_adopt(labelled_images *set, const labelled_images_shape *shape, uint8_t *pixels,
                                  uint8_t *labels, failure *failure);

/* Accepts what was never opened, if it is zero. Leaves zeros. */
void labelled_images_close(labelled_images *set);

/* Bytes of one image. */
static inline size_t labelled_images_stride(const labelled_images *set) {
    return (size_t)set->height * (size_t)set->width * (size_t)set->channels;
}

static inline const uint8_t *labelled_images_at(const labelled_images *set, int64_t index) {
    return set->pixels + (size_t)index * labelled_images_stride(set);
}

int64_t labelled_images_count_class(const labelled_images *set, int class_label);

/*
 * Keeps floor(fraction x count) examples of one class, chosen by the seed, and all of the others; the order stays.
 * With one seed a smaller fraction keeps a subset of what a larger one keeps. Fails, and changes nothing, when there is
 * no such class, the fraction is not in [0, 1] or nothing would be left.
 */
status_code labelled_images_keep(labelled_images *set, int class_label, double fraction, uint64_t seed,
                                 failure *failure);

/* CRC-64 of shape, classes, labels, origins and pixels: a resumed run compares it to know that its data are the same.
   The same on every machine. */
uint64_t labelled_images_fingerprint(const labelled_images *set);

#endif
