#define _POSIX_C_SOURCE 200809L
#include "safetensors/safetensors_inside.h"

#include "core/array.h"
#include "core/file_writer.h"
#include "core/json_writer.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

typedef struct metadata {
    char *key, *value;
} metadata;

struct safetensors_writer {
    metadata *metadata;
    size_t metadata_count, metadata_capacity;
    safetensor *tensors; /* with names of their own */
    size_t count, capacity;
};

status_code safetensors_writer_open(safetensors_writer **writer, failure *failure) {
    *writer = calloc(1, sizeof **writer);
    return *writer ? STATUS_OK : fail_memory(failure, "a file of tensors");
}

void safetensors_writer_close(safetensors_writer **writer) {
    if (!writer || !*writer) return;
    for (size_t k = 0; k < (*writer)->count; k++) free((char *)(uintptr_t)(*writer)->tensors[k].name);
    free((*writer)->tensors);
    for (size_t k = 0; k < (*writer)->metadata_count; k++) {
        free((*writer)->metadata[k].key);
        free((*writer)->metadata[k].value);
    }
    free((*writer)->metadata);
    free(*writer);
    *writer = NULL;
}

status_code safetensors_add(safetensors_writer *writer, const safetensors_entry *entry, const void *data,
                            failure *failure) {
    const char *name = entry->name;
    safetensor tensor = {.dtype = entry->dtype, .rank = entry->rank, .data = data};
    if (entry->rank > SAFETENSORS_RANK || !safetensors_bytes(entry->dtype, entry->rank, entry->shape, &tensor.size))
        return fail(failure, STATUS_BAD_INPUT, "the tensor '%.200s' is too large to be written", name);
    if (!json_is_text(name) || strcmp(name, SAFETENSORS_METADATA) == 0)
        return fail(failure, STATUS_BAD_INPUT, "a tensor cannot be named '%.200s'", name);
    for (size_t k = 0; k < entry->rank; k++) tensor.shape[k] = entry->shape[k];
    char *copy = strdup(name);
    safetensor *tensors = array_grow(writer->tensors, writer->count, &writer->capacity, sizeof *tensors);
    if (tensors) writer->tensors = tensors;
    if (!copy || !tensors) {
        free(copy);
        return fail_memory(failure, "a file of tensors");
    }
    tensor.name = copy;
    writer->tensors[writer->count++] = tensor;
    return STATUS_OK;
}

static int has_metadata(const safetensors_writer *writer, const char *key) {
    for (size_t k = 0; k < writer->metadata_count; k++)
        if (strcmp(writer->metadata[k].key, key) == 0) return 1;
    return 0;
}

status_code safetensors_add_metadata(safetensors_writer *writer, const char *key, const char *value, failure *failure) {
    if (!json_is_text(key) || !json_is_text(value) || strcmp(key, SAFETENSORS_CRC) == 0 || has_metadata(writer, key))
        return fail(failure, STATUS_BAD_INPUT, "the metadata '%.200s' is there already, reserved or not text", key);
    metadata *grown = array_grow(writer->metadata, writer->metadata_count, &writer->metadata_capacity, sizeof *grown);
    if (!grown) return fail_memory(failure, "a file of tensors");
    writer->metadata = grown;
    const metadata added = {strdup(key), strdup(value)};
    if (added.key && added.value) return grown[writer->metadata_count++] = added, STATUS_OK;
    free(added.key);
    free(added.value);
    return fail_memory(failure, "a file of tensors");
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

static int compare_keys(const void *a, const void *b) {
    return strcmp(((const metadata *)a)->key, ((const metadata *)b)->key);
}

/* In alphabetical order, so that equal content gives equal bytes; the checksum is zeros as yet. */
static void describe_metadata(const safetensors_writer *writer, text *out) {
    if (writer->metadata_count) qsort(writer->metadata, writer->metadata_count, sizeof *writer->metadata, compare_keys);
    text_add(out, "\"" SAFETENSORS_METADATA "\":{");
    for (size_t k = 0; k < writer->metadata_count; k++) {
        json_text_string(out, writer->metadata[k].key);
        text_add(out, ":");
        json_text_string(out, writer->metadata[k].value);
        text_add(out, ",");
    }
    text_add(out, "\"" SAFETENSORS_CRC "\":\"0000000000000000\"}");
}

static void describe(const safetensor *tensor, size_t start, text *out) {
    text_add(out, ",");
    json_text_string(out, tensor->name);
    text_format(out, ":{\"dtype\":\"%s\",\"shape\":[", safetensors_dtype_name(tensor->dtype));
    for (size_t k = 0; k < tensor->rank; k++) text_format(out, k ? ",%zu" : "%zu", tensor->shape[k]);
    text_format(out, "],\"data_offsets\":[%zu,%zu]}", start, start + tensor->size);
}

/* Length, header and spaces up to the data, which starts at a multiple of 64. Compact, unlike what core/json_writer.h
   makes: programs read this, and there are many tensors. */
static void build_header(const safetensors_writer *writer, text *out) {
    char length[SAFETENSORS_LENGTH_BYTES] = {0};
    size_t start = 0;
    text_add_bytes(out, length, sizeof length);
    text_add(out, "{");
    describe_metadata(writer, out);
    for (size_t k = 0; k < writer->count; start += writer->tensors[k++].size) describe(&writer->tensors[k], start, out);
    text_add(out, "}");
    while (!out->failed && out->size % ALIGNMENT) text_add(out, " ");
    for (int k = 0; !out->failed && k < SAFETENSORS_LENGTH_BYTES; k++)
        out->bytes[k] = (char)(unsigned char)((uint64_t)(out->size - SAFETENSORS_LENGTH_BYTES) >> (8 * k));
}

static int set_crc(const safetensors_writer *writer, text *header) {
    char *json = header->bytes + SAFETENSORS_LENGTH_BYTES, digits[SAFETENSORS_CRC_DIGITS + 1];
    const size_t length = header->size - SAFETENSORS_LENGTH_BYTES;
    safetensors_span *spans = malloc((writer->count + 1) * sizeof *spans);
    if (!spans) return 0;
    for (size_t k = 0; k < writer->count; k++)
        spans[k] = (safetensors_span){writer->tensors[k].data, writer->tensors[k].size};
    safetensors_crc(json, length, writer->count, spans, digits);
    memcpy(json + (safetensors_find_crc(json, length) - json), digits, SAFETENSORS_CRC_DIGITS);
    free(spans);
    return 1;
}

static status_code write_bytes(const safetensors_writer *writer, const text *header, const char *path,
                               failure *failure) {
    file_writer file;
    file_writer_open(&file, path);
    file_writer_add(&file, header->bytes, header->size);
    for (size_t k = 0; k < writer->count; k++) file_writer_add(&file, writer->tensors[k].data, writer->tensors[k].size);
    return file_writer_close(&file, failure);
}

status_code safetensors_write(safetensors_writer *writer, const char *path, failure *failure) {
    status_code status = put_in_order(writer, failure);
    if (status != STATUS_OK) return status;
    text header = {0};
    build_header(writer, &header);
    if (header.failed || !set_crc(writer, &header)) status = fail_memory(failure, path);
    else if (header.size > SAFETENSORS_LARGEST_HEADER ||
             !safetensors_is_plausible(header.bytes + SAFETENSORS_LENGTH_BYTES, header.size - SAFETENSORS_LENGTH_BYTES))
        status = fail(failure, STATUS_BAD_INPUT, "%s: there are too many tensors for one file", path);
    else status = write_bytes(writer, &header, path, failure);
    text_close(&header);
    return status;
}
