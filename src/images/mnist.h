/* MNIST's four files: where they are kept, what they are called, and whether a file is one of them. */
#ifndef HWS_IMAGES_MNIST_H
#define HWS_IMAGES_MNIST_H

#include "core/failure.h"

#include <stddef.h>

enum {
    MNIST_FILES = 4,
    MNIST_CAPACITY = 47040016 + 1 /* the largest, and a byte more, by which a larger one is known */
};

extern const char *const MNIST_NAME[MNIST_FILES];

/* The user's cache folder for MNIST: $XDG_CACHE_HOME/hws/mnist, or else ~/.cache/hws/mnist. */
status_code mnist_cache_folder(char *path, size_t size, failure *failure);

/* Reads the k-th file in a folder, plain or, where that is not there, as .gz. Returns its size if its SHA-256 is
   the right one, and else 0. */
size_t mnist_read(int k, const char *folder, char bytes[MNIST_CAPACITY]);

#endif
