#include "core/file_writer.h"

#include <errno.h>
#include <string.h>

void file_writer_open(file_writer *writer, const char *path) {
    *writer = (file_writer){.path = path};
    if (!atomic_file_open(&writer->file, path)) writer->error = errno;
}

/* An error abandons the file at once: what is left to do is to tell. */
void file_writer_add(file_writer *writer, const void *bytes, size_t size) {
    if (writer->error || atomic_file_write(&writer->file, bytes, size)) return;
    writer->error = errno;
    atomic_file_abandon(&writer->file);
}

status_code file_writer_close(file_writer *writer, failure *failure) {
    if (!writer->error && !atomic_file_commit(&writer->file)) writer->error = errno;
    if (!writer->error) return STATUS_OK;
    return fail(failure, STATUS_CANNOT_WRITE, "%.500s cannot be written: %s", writer->path, strerror(writer->error));
}

void file_writer_abandon(file_writer *writer) {
    if (!writer->error) atomic_file_abandon(&writer->file);
}
