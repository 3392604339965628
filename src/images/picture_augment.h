/*
 * Pictures changed at random while they are trained on: flipped, cropped, turned, recoloured, partly erased.
 *
 * Everything random follows from (seed, iteration, slot). What lies outside of the picture continues its edge.
 */
#ifndef HWS_IMAGES_PICTURE_AUGMENT_H
#define HWS_IMAGES_PICTURE_AUGMENT_H

#include "images/labelled_images.h"

typedef struct picture_augment {
    int flip;            /* 1: left and right are exchanged half of the time */
    int crop;            /* moved by up to this many pixels each way, as a crop of the padded picture is; 0: not */
    double resized_crop; /* a part of at least this share of the area, with sides as 3:4 to 4:3, fills it; 0: not */
    double rotate;       /* turned by up to this many degrees each way */
    double jitter;       /* brightness, contrast and saturation times 1 - jitter to 1 + jitter */
    double erase;        /* how often a box of 2 to 33 % of the area is filled with the mean */
    uint8_t mean;        /* of the training pixels */
} picture_augment;

/* Whether anything is to be done. */
int picture_augment_is_on(const picture_augment *augment);

/* `from` and `to` are pixels of the set's shape and do not overlap. */
void picture_augment_apply(const picture_augment *augment, const labelled_images *like, const uint64_t key[2],
                           uint32_t slot, const uint8_t *from, uint8_t *to);

#endif
