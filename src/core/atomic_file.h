/* A file that appears whole or not at all: written beside its place (core/temporary_file.h), flushed to the disk, then
   renamed. */
#ifndef HWS_CORE_ATOMIC_FILE_H
#define HWS_CORE_ATOMIC_FILE_H

#include <stddef.h>

typedef struct atomic_file {
    int descriptor;
    char *path, *temporary;
} atomic_file;

/* Each returns 0 on failure, with errno set. After a failed open there is nothing to do; otherwise end with one of
   commit (which cleans up even when it fails) and abandon. What fails leaves what was there before, with one exception:
   when the folder cannot be flushed to the disk, the new file is in its place, but might not outlast a power cut. */
int atomic_file_open(atomic_file *file, const char *path);
int atomic_file_write(atomic_file *file, const void *bytes, size_t size);
int atomic_file_commit(atomic_file *file);
void atomic_file_abandon(atomic_file *file);

#endif
