/* Reads and writes a file as a whole. */
#ifndef HWS_CORE_WHOLE_FILE_H
#define HWS_CORE_WHOLE_FILE_H

#include "core/failure.h"
#include "core/text.h"

#include <stddef.h>

/*
 * The bytes of a regular file of at most `limit` bytes, with a zero behind the last that `size` does not count. The
 * caller frees them. STATUS_CANNOT_READ when it cannot be read, STATUS_CORRUPT when it is larger or no regular file.
 */
status_code whole_file_read(const char *path, size_t limit, char **bytes, size_t *size, failure *failure);

/* The same of a file of any size, whose last `most` bytes these are. */
status_code whole_file_read_end(const char *path, size_t most, char **bytes, size_t *size, failure *failure);

/* The file appears whole or not at all (core/atomic_file.h). */
status_code whole_file_write(const char *path, const char *bytes, size_t size, failure *failure);

/* The same for a text, which may have run out of memory. */
status_code whole_file_write_text(const char *path, const text *text, failure *failure);

#endif
