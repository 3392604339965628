#include "safetensors/safetensors_inside.h"

#include "core/array.h"
#include "core/file_writer.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

struct safetensors_writer {
    json_t *metadata;
    safetensor *tensors; /* with names of their own */
    size_t count, capacity;
};

status_code safetensors_writer_open(safetensors_writer **writer, failure *failure) {
    *writer = calloc(1, sizeof **writer);
    if (*writer && ((*writer)->metadata = json_object())) return STATUS_OK;
    safetensors_writer_close(writer);
    return fail_memory(failure, "a file of tensors");
}

void safetensors_writer_close(safetensors_writer **writer) {
    if (!writer || !*writer) return;
    for (size_t k = 0; k < (*writer)->count; k++) free((char *)(uintptr_t)(*writer)->tensors[k].name);
    free((*writer)->tensors);
    json_decref((*writer)->metadata);
    free(*writer);
    *writer = NULL;
}

static int is_text(const char *string) {
    json_t *value = json_string(string); /* checks that it is UTF-8 */
    json_decref(value);
    return value != NULL;
}

status_code safetensors_add(safetensors_writer *writer, const safetensors_entry *entry, const void *data,
                            failure *failure) {
    const char *name = entry->name;
    safetensor tensor = {.dtype = entry->dtype, .rank = entry->rank, .data = data};
    if (entry->rank > SAFETENSORS_RANK || !safetensors_bytes(entry->dtype, entry->rank, entry->shape, &tensor.size))
        return fail(failure, STATUS_BAD_INPUT, "the tensor '%.200s' is too large to be written", name);
    if (!is_text(name) || strcmp(name, SAFETENSORS_METADATA) == 0)
        return fail(failure, STATUS_BAD_INPUT, "a tensor cannot be named '%.200s'", name);
    for (size_t k = 0; k < entry->rank; k++) tensor.shape[k] = entry->shape[k];
    char *copy = malloc(strlen(name) + 1);
    safetensor *tensors = array_grow(writer->tensors, writer->count, &writer->capacity, sizeof *tensors);
    if (tensors) writer->tensors = tensors;
    if (!copy || !tensors) {
        free(copy);
        return fail_memory(failure, "a file of tensors");
    }
    tensor.name = strcpy(copy, name);
    writer->tensors[writer->count++] = tensor;
    return STATUS_OK;
}

status_code safetensors_add_metadata(safetensors_writer *writer, const char *key, const char *value, failure *failure) {
    if (!is_text(key) || !is_text(value) || strcmp(key, SAFETENSORS_CRC) == 0 || json_object_get(writer->metadata, key))
        return fail(failure, STATUS_BAD_INPUT, "the metadata '%.200s' is there already, reserved or not text", key);
    if (json_object_set_new(writer->metadata, key, json_string(value)) != 0)
        return fail_memory(failure, "a file of tensors");
    return STATUS_OK;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(((const safetensor *)a)->name, ((const safetensor *)b)->name);
}

static int compare_order(const void *a, const void *b) {
    const safetensor *x = a, *y = b;
    const size_t p = safetensors_dtype_size(x->dtype), q = safetensors_dtype_size(y->dtype);
    if (p != q) return p > q ? -1 : 1;
    return compare_names(a, b);
}

static status_code put_in_order(safetensors_writer *writer, failure *failure) {
    if (!writer->count) return STATUS_OK;
    qsort(writer->tensors, writer->count, sizeof *writer->tensors, compare_names);
    for (size_t k = 1; k < writer->count; k++)
        if (compare_names(&writer->tensors[k - 1], &writer->tensors[k]) == 0)
            return fail(failure, STATUS_BAD_INPUT, "there are two tensors named '%.200s'", writer->tensors[k].name);
    qsort(writer->tensors, writer->count, sizeof *writer->tensors, compare_order);
    return STATUS_OK;
}

static json_t *describe(const safetensor *tensor, size_t start) {
    json_t *shape = json_array();
    for (size_t k = 0; k < tensor->rank; k++) json_array_append_new(shape, json_integer((json_int_t)tensor->shape[k]));
    if (json_array_size(shape) != tensor->rank) {
        json_decref(shape);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", safetensors_dtype_name(tensor->dtype), "shape", shape,
                     "data_offsets", (json_int_t)start, (json_int_t)(start + tensor->size));
}

/* The metadata in alphabetical order, so that equal content gives equal bytes; the checksum is zeros as yet. */
static json_t *sorted_metadata(const safetensors_writer *writer) {
    char *text = json_dumps(writer->metadata, JSON_SORT_KEYS);
    json_t *sorted = text ? json_loads(text, 0, NULL) : NULL;
    free(text);
    if (sorted) json_object_set_new(sorted, SAFETENSORS_CRC, json_string("0000000000000000"));
    return sorted;
}

static json_t *describe_all(const safetensors_writer *writer) {
    json_t *header = json_object();
    size_t start = 0;
    int good = json_object_set_new(header, SAFETENSORS_METADATA, sorted_metadata(writer)) == 0;
    for (size_t k = 0; k < writer->count && good; k++) {
        good = json_object_set_new(header, writer->tensors[k].name, describe(&writer->tensors[k], start)) == 0;
        start += writer->tensors[k].size;
    }
    if (good) return header;
    json_decref(header);
    return NULL;
}

/* Length, header and spaces up to the data, which starts at a multiple of 64. The caller frees it. */
static char *build_header(const safetensors_writer *writer, size_t *size) {
    json_t *described = describe_all(writer);
    char *text = described ? json_dumps(described, JSON_COMPACT) : NULL;
    json_decref(described);
    if (!text) return NULL;
    const size_t length = strlen(text);
    *size = (SAFETENSORS_LENGTH_BYTES + length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char *header = malloc(*size + 1);
    if (header) {
        memset(header, ' ', *size);
        memcpy(header + SAFETENSORS_LENGTH_BYTES, text, length);
        for (int k = 0; k < SAFETENSORS_LENGTH_BYTES; k++)
            header[k] = (char)(unsigned char)((uint64_t)(*size - SAFETENSORS_LENGTH_BYTES) >> (8 * k));
    }
    free(text);
    return header;
}

static int set_crc(const safetensors_writer *writer, char *header, size_t size) {
    char *text = header + SAFETENSORS_LENGTH_BYTES, digits[SAFETENSORS_CRC_DIGITS + 1];
    const size_t length = size - SAFETENSORS_LENGTH_BYTES;
    safetensors_span *spans = malloc((writer->count + 1) * sizeof *spans);
    if (!spans) return 0;
    for (size_t k = 0; k < writer->count; k++)
        spans[k] = (safetensors_span){writer->tensors[k].data, writer->tensors[k].size};
    safetensors_crc(text, length, writer->count, spans, digits);
    memcpy(text + (safetensors_find_crc(text, length) - text), digits, SAFETENSORS_CRC_DIGITS);
    free(spans);
    return 1;
}

static status_code write_bytes(const safetensors_writer *writer, const char *header, size_t size, const char *path,
                               failure *failure) {
    file_writer file;
    file_writer_open(&file, path);
    file_writer_add(&file, header, size);
    for (size_t k = 0; k < writer->count; k++) file_writer_add(&file, writer->tensors[k].data, writer->tensors[k].size);
    return file_writer_close(&file, failure);
}

status_code safetensors_write(safetensors_writer *writer, const char *path, failure *failure) {
    size_t size = 0;
    status_code status = put_in_order(writer, failure);
    if (status != STATUS_OK) return status;
    char *header = build_header(writer, &size);
    if (!header || !set_crc(writer, header, size)) status = fail_memory(failure, path);
    else if (size > SAFETENSORS_LARGEST_HEADER ||
             !safetensors_is_plausible(header + SAFETENSORS_LENGTH_BYTES, size - SAFETENSORS_LENGTH_BYTES))
        status = fail(failure, STATUS_BAD_INPUT, "%s: there are too many tensors for one file", path);
    else status = write_bytes(writer, header, size, path, failure);
    free(header);
    return status;
}
