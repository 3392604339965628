/*
 * What DATA on the command line means, for classification:
 *
 *     digits               the built-in digits, 60000 to train and 10000 to test
 *     digits:TRAIN,TEST    as many as these numbers say
 *     mnist                MNIST in the cache folder, where hws fetch mnist puts it
 *     mnist:DIR            MNIST in another folder
 */
#ifndef HWS_IMAGES_CLASSIFICATION_DATA_H
#define HWS_IMAGES_CLASSIFICATION_DATA_H

#include "images/labelled_images.h"

/* Whether this is one of the above, by its name alone; else it may be a folder of another task. */
int classification_data_named(const char *data);

/* Opens both sets. The built-in digits are the same at every call, like a file. On failure both are closed. */
status_code classification_data_open(const char *data, labelled_images *train, labelled_images *test, failure *failure);

#endif
