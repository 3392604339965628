/* Whether a file may give way to one that hws writes: what somebody else has put there must not be lost. */
#ifndef HWS_CORE_REPLACEABLE_H
#define HWS_CORE_REPLACEABLE_H

#include "core/failure.h"

enum { BEGINNING_SIZE = 4096 };

/* The first bytes of a regular file, and a zero; 0, with errno set, if it cannot be read. */
int file_beginning(const char *path, char beginning[BEGINNING_SIZE]);

/* Whether a file that begins so is one of ours. */
typedef int own_beginning(const char *beginning, const void *context);

/*
 * Fails unless the file is not there, is empty, or is ours; `what` is what messages call its contents, such as
 * "scores". A device or a pipe is left to the writer, which refuses it.
 */
status_code replaceable_check(const char *path, own_beginning *is_ours, const void *context, const char *what,
                              failure *failure);

#endif
