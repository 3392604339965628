#include "json/json_file.h"

#include "core/whole_file.h"

#include <stdlib.h>

static const size_t LARGEST_FILE = (size_t)64 << 20;

/* jansson takes most texts for damaged when memory runs out: whether it did is seen here by who has asked to watch. */
static _Thread_local int memory_ran_out;

static void *allocate(size_t size) {
    void *block = malloc(size);
    if (!block) memory_ran_out = 1;
    return block;
}

void json_watch_memory(void) { json_set_alloc_funcs(allocate, free); }

/* What jansson itself says about it. */
static int is_memory(const json_error_t *error) {
    return !*error->text || json_error_code(error) == json_error_out_of_memory;
}

json_t *json_load_bytes(const char *bytes, size_t size, json_error_t *error, int *lost) {
    memory_ran_out = 0;
    json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, error);
    *lost = !root && (memory_ran_out || is_memory(error));
    return root;
}

status_code json_parse(const char *name, const char *bytes, size_t size, json_t **root, failure *failure) {
    json_error_t error;
    int lost;
    *root = json_load_bytes(bytes, size, &error, &lost);
    if (*root) return STATUS_OK;
    if (lost) return fail_memory(failure, name);
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
