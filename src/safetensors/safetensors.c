#define _POSIX_C_SOURCE 200809L
#include "safetensors/safetensors_inside.h"

#include <stdlib.h>
#include <string.h>

static uint64_t read_length(const unsigned char *bytes) {
    uint64_t length = 0;
    for (int k = SAFETENSORS_LENGTH_BYTES - 1; k >= 0; k--) length = length << 8 | bytes[k];
    return length;
}

static status_code verify(const safetensors *file, const char *header, size_t header_size, failure *failure) {
    if (!safetensors_verified(file)) return STATUS_OK;
    const char *expected = json_string_value(json_object_get(file->metadata, SAFETENSORS_CRC));
    const char *digits = safetensors_find_crc(header, header_size);
    const size_t start = SAFETENSORS_LENGTH_BYTES + header_size;
    const safetensors_span data = {file->bytes + start, file->size - start};
    char found[SAFETENSORS_CRC_DIGITS + 1] = "";
    if (digits) safetensors_crc(header, header_size, 1, &data, found);
    if (digits && strcmp(found, expected) == 0) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT,
                "%s: is damaged: its checksum does not match. If another program changed it on purpose, remove %s from "
                "its metadata",
                file->path, SAFETENSORS_CRC);
}

static status_code read_bytes(safetensors *file, failure *failure) {
    if (file->size < SAFETENSORS_LENGTH_BYTES)
        return fail(failure, STATUS_CORRUPT, "%s: is too short for a safetensors file", file->path);
    const uint64_t length = read_length(file->bytes);
    const size_t rest = file->size - SAFETENSORS_LENGTH_BYTES;
    if (length > SAFETENSORS_LARGEST_HEADER || length > rest)
        return fail(failure, STATUS_CORRUPT,
                    "%s: its header is said to have %llu bytes: the file is cut off or not a safetensors file",
                    file->path, (unsigned long long)length);
    const char *header = (const char *)file->bytes + SAFETENSORS_LENGTH_BYTES;
    const safetensors_span data = {file->bytes + SAFETENSORS_LENGTH_BYTES + length, rest - (size_t)length};
    const status_code status = safetensors_parse(file, header, (size_t)length, &data, failure);
    return status == STATUS_OK ? verify(file, header, (size_t)length, failure) : status;
}

static safetensors *new_file(const char *path) {
    safetensors *file = calloc(1, sizeof *file);
    if (file && !(file->path = strdup(path))) safetensors_close(&file);
    return file;
}

static status_code finish(safetensors **file, safetensors *opened, status_code status) {
    if (status != STATUS_OK) safetensors_close(&opened);
    *file = opened;
    return status;
}

status_code safetensors_open_bytes(safetensors **file, const void *bytes, size_t size, const char *what,
                                   failure *failure) {
    safetensors *opened = new_file(what);
    *file = NULL;
    if (!opened) return fail_memory(failure, what);
    opened->bytes = bytes;
    opened->size = size;
    return finish(file, opened, read_bytes(opened, failure));
}

status_code safetensors_open(safetensors **file, const char *path, failure *failure) {
    safetensors *opened = new_file(path);
    *file = NULL;
    if (!opened) return fail_memory(failure, path);
    status_code status = mapped_file_open(&opened->mapped, path, failure);
    opened->bytes = opened->mapped.bytes;
    opened->size = opened->mapped.size;
    if (status == STATUS_OK) status = read_bytes(opened, failure);
    return finish(file, opened, status);
}

void safetensors_close(safetensors **file) {
    if (!file || !*file) return;
    mapped_file_close(&(*file)->mapped);
    json_decref((*file)->header);
    free((*file)->tensors);
    free((*file)->path);
    free(*file);
    *file = NULL;
}

int safetensors_verified(const safetensors *file) {
    return file->metadata && json_object_get(file->metadata, SAFETENSORS_CRC) != NULL;
}

size_t safetensors_count(const safetensors *file) { return file->count; }
const safetensor *safetensors_at(const safetensors *file, size_t index) { return &file->tensors[index]; }

static int compare_name(const void *name, const void *tensor) {
    return strcmp(name, ((const safetensor *)tensor)->name);
}

const safetensor *safetensors_find(const safetensors *file, const char *name) {
    return file->count ? bsearch(name, file->tensors, file->count, sizeof *file->tensors, compare_name) : NULL;
}

/* A shape as text: [2, 3]. */
static void describe(size_t rank, const size_t *shape, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "[");
    for (size_t k = 0; k < rank && used < size; k++)
        used += (size_t)snprintf(text + used, size - used, k ? ", %zu" : "%zu", shape[k]);
    if (used < size) snprintf(text + used, size - used, "]");
}

static int is_as(const safetensor *tensor, const safetensors_entry *entry) {
    int same = tensor->dtype == entry->dtype && tensor->rank == entry->rank;
    for (size_t k = 0; same && k < entry->rank; k++) same = tensor->shape[k] == entry->shape[k];
    return same;
}

status_code safetensors_copy(const safetensors *file, const safetensors_entry *entry, void *destination,
                             failure *failure) {
    const safetensor *tensor = safetensors_find(file, entry->name);
    if (!tensor)
        return fail(failure, STATUS_CORRUPT, "%s: there is no tensor '%.200s': is it a file of this model?", file->path,
                    entry->name);
    if (!is_as(tensor, entry)) {
        char found[200], wanted[200];
        describe(tensor->rank, tensor->shape, found, sizeof found);
        describe(entry->rank, entry->shape, wanted, sizeof wanted);
        return fail(failure, STATUS_CORRUPT, "%s: the tensor '%.200s' is %s %s, but the model needs %s %s", file->path,
                    entry->name, safetensors_dtype_name(tensor->dtype), found, safetensors_dtype_name(entry->dtype),
                    wanted);
    }
    if (tensor->size) memcpy(destination, tensor->data, tensor->size);
    return STATUS_OK;
}

const char *safetensors_metadata(const safetensors *file, const char *key) {
    if (!file->metadata || strcmp(key, SAFETENSORS_CRC) == 0) return NULL;
    return json_string_value(json_object_get(file->metadata, key));
}
