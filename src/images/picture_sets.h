/*
 * From a list of picture files to sets of images of one size.
 *
 * Every file is opened and decoded once, by several threads, before anything is learnt: broken ones are named together
 * (broken_pictures.h), and pictures that are there twice are told. Pixels stay in memory where they fit; else files are
 * decoded again whenever they are wanted (labelled_images_copy), to the same bytes.
 */
#ifndef HWS_IMAGES_PICTURE_SETS_H
#define HWS_IMAGES_PICTURE_SETS_H

#include "images/example_list.h"
#include "images/labelled_images.h"

typedef struct picture_options {
    int height, width;  /* to resize and crop to (picture/resize.h); 0: their own if it is the same for all, else 224 */
    int channels;       /* 1: grey, 3: colour; 0: colour if any picture is in colour */
    raster_greys greys; /* of pictures of 16 bits; others are refused unless it is zero */
    double memory;      /* bytes that pixels may take; negative: half of what is free */
    int threads;        /* 0: one per processor */
    int classes;        /* how many there are, where the list has no labels */
    /* For prediction: where some pictures cannot be used the others are, and this says which and why, else nothing.
       NULL: refuse. */
    failure *left_out;
} picture_options;

/* Refuses a network that was trained on what is no picture: the rows of a table are 1 x 1, with any number of
   channels. */
status_code picture_sets_check_trained(int height, int width, int channels, failure *failure);

/* Fills a set for each part that has examples; sets[part] of the others is zero. On failure all are closed. */
status_code picture_sets_open(labelled_images sets[DATA_PARTS], const example_list *list,
                              const picture_options *options, const listener *listener, failure *failure);

/* A set for each part out of a list alone: names, labels and columns, no pixels. What tables share with pictures. */
status_code picture_sets_describe(labelled_images sets[DATA_PARTS], const example_list *list,
                                  const labelled_images_shape *shape, failure *failure);

#endif
