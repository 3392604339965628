/* A file's bytes as memory that is read when it is looked at: nothing is allocated for its size, whatever it is. */
#ifndef HWS_CORE_MAPPED_FILE_H
#define HWS_CORE_MAPPED_FILE_H

#include "core/failure.h"

#include <stddef.h>

typedef struct mapped_file {
    const unsigned char *bytes; /* NULL while none is open */
    size_t size;
    struct mapped_name *name;
} mapped_file;

/* Maps a regular file of at least one byte. STATUS_CANNOT_READ when it cannot be read, STATUS_CORRUPT when it is empty
   or no regular file, STATUS_OUT_OF_MEMORY. Nothing is left open after a failure. */
status_code mapped_file_open(mapped_file *file, const char *path, failure *failure);

/* Accepts one that is not open. */
void mapped_file_close(mapped_file *file);

/*
 * The path of the mapped file that an address lies in, or NULL. When somebody cuts a file short while it is
 * mapped, or its disk fails, looking at what is gone raises SIGBUS: a program's handler, where this may be
 * called, can say which it was.
 */
const char *mapped_file_at(const void *address);

#endif
