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

static status_code size_of(const char *path, uintmax_t *size, failure *failure) {
    struct stat info;
    if (stat(path, &info) != 0) return fail_unreadable(failure, path, errno);
    if (!S_ISREG(info.st_mode)) return fail(failure, STATUS_CORRUPT, "%s: is not a regular file", path);
    *size = info.st_size > 0 ? (uintmax_t)info.st_size : 0;
    return STATUS_OK;
}

status_code whole_file_read(const char *path, size_t limit, char **bytes, size_t *size, failure *failure) {
    uintmax_t expected = 0;
    *bytes = NULL;
    *size = 0;
    status_code status = size_of(path, &expected, failure);
    if (status != STATUS_OK) return status;
    if (expected > limit) return fail(failure, STATUS_CORRUPT, "%s: is larger than %zu bytes", path, limit);
    const opened_file file = {fopen(path, "rb"), path, (size_t)expected, limit};
    if (!file.stream) return fail_unreadable(failure, path, errno);
    status = read_opened(&file, bytes, size, failure);
    fclose(file.stream);
    return status;
}

/* At most `most` bytes from where the stream is. */
static status_code read_part(FILE *stream, const char *path, size_t most, char **bytes, size_t *size,
                             failure *failure) {
    char *text = malloc(most + 1);
    if (!text) return fail_memory(failure, path);
    const size_t used = fread(text, 1, most, stream);
    if (ferror(stream)) return free(text), fail_unreadable(failure, path, errno);
    text[used] = 0;
    *bytes = text;
    *size = used;
    return STATUS_OK;
}

status_code whole_file_read_end(const char *path, size_t most, char **bytes, size_t *size, failure *failure) {
    uintmax_t all = 0;
    *bytes = NULL;
    *size = 0;
    status_code status = size_of(path, &all, failure);
    if (status != STATUS_OK) return status;
    FILE *stream = fopen(path, "rb");
    if (!stream) return fail_unreadable(failure, path, errno);
    if (all > most && fseeko(stream, (off_t)(all - most), SEEK_SET) != 0)
        status = fail_unreadable(failure, path, errno);
    if (status == STATUS_OK) status = read_part(stream, path, most, bytes, size, failure);
    fclose(stream);
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
