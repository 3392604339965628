/*
 * Writes a file piece by piece; it appears whole or not at all (core/atomic_file.h). The first error is remembered,
 * later pieces do nothing, and the end tells:
 *
 *     file_writer file;
 *     file_writer_open(&file, path);
 *     file_writer_add(&file, bytes, size);
 *     status = file_writer_close(&file, &failure);
 */
#ifndef HWS_CORE_FILE_WRITER_H
#define HWS_CORE_FILE_WRITER_H

#include "core/atomic_file.h"
#include "core/failure.h"

typedef struct file_writer {
    atomic_file file;
    const char *path; /* the caller's, until it is closed */
    int error;        /* an errno; 0 while all is well */
} file_writer;

void file_writer_open(file_writer *writer, const char *path);
void file_writer_add(file_writer *writer, const void *bytes, size_t size);

/* Puts the file in its place, or says why it cannot be written, in which case nothing has changed. */
status_code file_writer_close(file_writer *writer, failure *failure);

/* Instead of closing it: nothing is put in place. */
void file_writer_abandon(file_writer *writer);

#endif
