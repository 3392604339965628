/* CIFAR-10's binary files: data_batch_1.bin to data_batch_5.bin and test_batch.bin, each image a byte for its class and
   then 32 x 32 bytes of red, of green and of blue. */
#ifndef HWS_IMAGES_CIFAR_H
#define HWS_IMAGES_CIFAR_H

#include "images/labelled_images.h"

/* Whether a folder has them. */
int cifar_is_there(const char *folder);

/* On failure both are closed. */
status_code cifar_open(labelled_images *train, labelled_images *test, const char *folder, failure *failure);

#endif
