#define _POSIX_C_SOURCE 200809L
#include "core/whole_file.h"

#include "core/file_writer.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct opened_file {
    FILE *stream;
    const char *path;
    size_t expected, limit; /* bytes */
} opened_file;

/* A file may grow or shrink while it is read: what counts is what was read, up to the limit. */
static status_code read_opened(const opened_file *file, char **bytes, size_t *size, failure *failure) {
    size_t capacity = file->expected + 2, used = 0;
    char *text = malloc(capacity);
    while (text) {
        used += fread(text + used, 1, capacity - 1 - used, file->stream);
        if (used < capacity - 1) break;
        if (used > file->limit) break;
        char *grown = realloc(text, capacity *= 2);
        if (!grown) free(text);
        text = grown;
    }
    if (!text) return fail_memory(failure, file->path);
    status_code status = STATUS_OK;
    if (ferror(file->stream)) status = fail_unreadable(failure, file->path, errno);
    else if (used > file->limit)
        status = fail(failure, STATUS_CORRUPT, "%s: is larger than %zu bytes", file->path, file->limit);
    if (status != STATUS_OK) return free(text), status;
    text[used] = 0;
    *bytes = text;
    *size = used;
    return STATUS_OK;
}

status_code whole_file_read(const char *path, size_t limit, char **bytes, size_t *size, failure *failure) {
    struct stat info;
    *bytes = NULL;
    *size = 0;
    if (stat(path, &info) != 0) return fail_unreadable(failure, path, errno);
    if (!S_ISREG(info.st_mode)) return fail(failure, STATUS_CORRUPT, "%s: is not a regular file", path);
    if (info.st_size < 0 || (uintmax_t)info.st_size > limit)
        return fail(failure, STATUS_CORRUPT, "%s: is larger than %zu bytes", path, limit);
    const opened_file file = {fopen(path, "rb"), path, (size_t)info.st_size, limit};
    if (!file.stream) return fail_unreadable(failure, path, errno);
    const status_code status = read_opened(&file, bytes, size, failure);
    fclose(file.stream);
    return status;
}

status_code whole_file_write(const char *path, const char *bytes, size_t size, failure *failure) {
    file_writer file;
    file_writer_open(&file, path);
    file_writer_add(&file, bytes, size);
    return file_writer_close(&file, failure);
}

status_code whole_file_write_text(const char *path, const text *text, failure *failure) {
    if (text->failed) return fail_memory(failure, path);
    return whole_file_write(path, text_string(text), text->size, failure);
}
