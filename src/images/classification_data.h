/*
 * What DATA on the command line means, for classification:
 *
 *     digits               the built-in digits, 60000 to train and 10000 to test
 *     digits:TRAIN,TEST    as many as these numbers say
 *     mnist                MNIST in the cache folder, where hws fetch mnist puts it
 *     mnist:DIR            MNIST in another folder
 *     FILE.csv             pictures with labels, a line each (images/example_list.h)
 *                          or, without file names, a table (images/table_sets.h)
 *     FILE.npz             images and labels as MedMNIST has them (images/npz.h)
 *     DIR                  a folder of pictures per class, a folder with labels.csv, or CIFAR-10's binary files
 */
#ifndef HWS_IMAGES_CLASSIFICATION_DATA_H
#define HWS_IMAGES_CLASSIFICATION_DATA_H

#include "images/picture_sets.h"

typedef struct classification_source {
    const char *data;
    example_options examples; /* of pictures and tables */
    picture_options pictures;
    /* The data of a run that is asked about `data`; NULL: nobody is. A table decides how others become numbers,
       `pictures` are what the network takes, and others that do not say what to test on are all tested on. */
    const char *trained_on;
    const char *encoding; /* instead of that the file in which a run keeps it (images/table_encoding.h); NULL: none */
} classification_source;

/* The defaults for some data: everything as the data have it. */
static inline classification_source classification_source_of(const char *data) {
    return (classification_source){.data = data, .pictures = {.memory = -1}};
}

typedef struct classification_data {
    labelled_images train, validation, test; /* no images are to validate on unless the data say which */
} classification_data;

/* Whether this is one of the above. A folder is unless it has a dataset.json: then it holds volumes. */
int classification_data_named(const char *data);

/* Whether two of them are the same folder or file; a folder with a labels.csv is that file. */
status_code classification_data_same(const char *one, const char *other, int *same, failure *failure);

/* Whether it is a folder of which each folder is a class: whatever is written into it may become one. */
int classification_data_is_classes(const char *data);

/* Whether it is a word of ours rather than a path. */
int classification_data_is_word(const char *data);

/* Opens all sets; of one size, and with the same classes and columns. The built-in digits are the same at every call,
   like a file. The listener may be NULL. On failure all are closed. */
status_code classification_data_open(classification_data *data, const classification_source *source,
                                     const listener *listener, failure *failure);
void classification_data_close(classification_data *data);

#endif
