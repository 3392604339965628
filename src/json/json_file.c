#include "json/json_file.h"

#include "core/atomic_file.h"
#include "core/whole_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const size_t LARGEST_FILE = (size_t)64 << 20;

static status_code parse(const char *path, const char *bytes, size_t size, json_t **root, failure *failure) {
    json_error_t error;
    *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &error);
    if (*root) return STATUS_OK;
    if (json_error_code(&error) == json_error_out_of_memory) return fail_memory(failure, path);
    return fail(failure, STATUS_CORRUPT, "%s, line %d: this is not JSON: %s", path, error.line, error.text);
}

status_code json_file_read(const char *path, json_t **root, failure *failure) {
    char *bytes;
    size_t size;
    *root = NULL;
    status_code status = whole_file_read(path, LARGEST_FILE, &bytes, &size, failure);
    if (status == STATUS_OK) status = parse(path, bytes, size, root, failure);
    free(bytes);
    return status;
}

static int write_bytes(const char *path, const char *bytes) {
    atomic_file file;
    if (!atomic_file_open(&file, path)) return 0;
    if (atomic_file_write(&file, bytes, strlen(bytes)) && atomic_file_write(&file, "\n", 1))
        return atomic_file_commit(&file);
    const int reason = errno;
    atomic_file_abandon(&file);
    errno = reason;
    return 0;
}

status_code json_file_write(const char *path, const json_t *root, failure *failure) {
    char *bytes = root ? json_dumps(root, JSON_INDENT(4)) : NULL;
    if (!bytes) return fail_memory(failure, path);
    const int good = write_bytes(path, bytes);
    const int reason = errno;
    free(bytes);
    return good ? STATUS_OK : fail(failure, STATUS_CANNOT_WRITE, "%s: cannot be written: %s", path, strerror(reason));
}
