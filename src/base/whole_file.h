/* Reads and writes a file as a whole. */
#ifndef HWS_BASE_WHOLE_FILE_H
#define HWS_BASE_WHOLE_FILE_H

#include "base/failure.h"

#include <stddef.h>

/*
 * The bytes of a regular file of at most `limit` bytes, with a zero behind the last that `size` does not count.
 * The caller frees them. HWS_ERROR_IO when it cannot be read, HWS_ERROR_CORRUPT when it is larger or no regular file.
 */
hws_status whole_file_read(const char *path, size_t limit, char **bytes, size_t *size, failure *failure);

/* The file appears whole or not at all (sampler/atomic_file.h). */
hws_status whole_file_write(const char *path, const char *bytes, size_t size, failure *failure);

/* Whether there is something at this path that can be looked at. */
int whole_file_exists(const char *path);

#endif
