/*
 * Writes zip archives of stored entries; the file appears whole or not at all (core/file_writer.h). The first error is
 * remembered, later entries do nothing, and the end tells:
 *
 *     zip_writer archive;
 *     zip_writer_open(&archive, path);
 *     zip_writer_add(&archive, "weights.npy", spans, 2, 64);
 *     status = zip_writer_close(&archive, &failure);
 *
 * The same content gives the same bytes: every entry is dated 1980-01-01. zip64 is used where a size needs it.
 */
#ifndef HWS_ZIP_ZIP_WRITER_H
#define HWS_ZIP_ZIP_WRITER_H

#include "core/file_writer.h"
#include "core/text.h"

#include <stdint.h>

typedef struct zip_writer {
    file_writer file;
    uint64_t written, count;
    text directory;
} zip_writer;

/* Bytes of an entry; the caller's. */
typedef struct zip_span {
    const void *bytes;
    size_t size;
} zip_span;

/* The path must stay until it is closed. */
void zip_writer_open(zip_writer *writer, const char *path);

/* Adds an entry made of `count` spans, whose first byte stands at a multiple of `alignment` in the file: a power of
   two, at most 4096. The name is shorter than 65,536 bytes. */
void zip_writer_add(zip_writer *writer, const char *name, const zip_span *spans, int count, size_t alignment);

status_code zip_writer_close(zip_writer *writer, failure *failure);

/* Instead of closing it: nothing is put in place. */
void zip_writer_abandon(zip_writer *writer);

#endif
