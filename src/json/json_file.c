#include "json/json_file.h"

#include "core/whole_file.h"

#include <stdlib.h>

static const size_t LARGEST_FILE = (size_t)64 << 20;

status_code json_parse(const char *name, const char *bytes, size_t size, json_t **root, failure *failure) {
    json_error_t error;
    *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &error);
    if (*root) return STATUS_OK;
    if (json_error_code(&error) == json_error_out_of_memory) return fail_memory(failure, name);
    return fail(failure, STATUS_CORRUPT, "%s, line %d: this is not JSON: %s", name, error.line, error.text);
}

status_code json_file_read(const char *path, json_t **root, failure *failure) {
    char *bytes;
    size_t size;
    *root = NULL;
    status_code status = whole_file_read(path, LARGEST_FILE, &bytes, &size, failure);
    if (status == STATUS_OK) status = json_parse(path, bytes, size, root, failure);
    free(bytes);
    return status;
}
