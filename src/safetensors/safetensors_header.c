#include "safetensors/safetensors_inside.h"
#include "json/json_file.h"

#include <stdlib.h>
#include <string.h>

#define NAME(name, size) #name,
static const char *const DTYPES[] = {SAFETENSORS_DTYPES(NAME)};

/* More values than this make a hostile header, which would fill the memory with the parser's objects. */
static const size_t MOST_VALUES = 1000000;
enum { DEEPEST = 3 }; /* the header, a tensor, its shape */

static status_code corrupt(const safetensors *file, const char *what, failure *failure) {
    return fail(failure, STATUS_CORRUPT, "%s: %s: this is not a valid safetensors file", file->path, what);
}

static status_code corrupt_tensor(const safetensors *file, const char *name, const char *what, failure *failure) {
    return fail(failure, STATUS_CORRUPT, "%s: the tensor '%.200s' has %s: this is not a valid safetensors file",
                file->path, name, what);
}

int safetensors_is_plausible(const char *header, size_t size) {
    size_t values = 0;
    int depth = 0, quoted = 0;
    for (size_t i = 0; i < size; i++) {
        const char c = header[i];
        if (quoted) {
            if (c == '\\') i++;
            else if (c == '"') quoted = 0;
        } else if (c == '"') {
            quoted = 1;
        } else if (c == '{' || c == '[') {
            values++;
            if (++depth > DEEPEST) return 0;
        } else if (c == '}' || c == ']') {
            depth--;
        } else if (c == ',') {
            values++;
        }
    }
    return values <= MOST_VALUES;
}

static int read_size(const json_t *value, size_t *size) {
    if (!json_is_integer(value) || json_integer_value(value) < 0) return 0;
    if ((uintmax_t)json_integer_value(value) > SIZE_MAX) return 0;
    *size = (size_t)json_integer_value(value);
    return 1;
}

static int read_sizes(const json_t *array, size_t most, size_t *count, size_t *sizes) {
    if (!json_is_array(array) || json_array_size(array) > most) return 0;
    *count = json_array_size(array);
    for (size_t k = 0; k < *count; k++)
        if (!read_size(json_array_get(array, k), &sizes[k])) return 0;
    return 1;
}

static int read_dtype(const json_t *value, safetensors_dtype *dtype) {
    for (size_t k = 0; json_is_string(value) && k < sizeof DTYPES / sizeof *DTYPES; k++)
        if (strcmp(json_string_value(value), DTYPES[k]) == 0) {
            *dtype = (safetensors_dtype)k;
            return 1;
        }
    return 0;
}

static status_code read_tensor(const safetensors *file, const char *name, const json_t *entry,
                               const safetensors_span *data, safetensor *tensor, failure *failure) {
    size_t offsets[2], count = 0, bytes = 0;
    *tensor = (safetensor){.name = name};
    if (!json_is_object(entry) || json_object_size(entry) != 3)
        return corrupt_tensor(file, name, "not exactly the fields dtype, shape and data_offsets", failure);
    if (!read_dtype(json_object_get(entry, "dtype"), &tensor->dtype))
        return corrupt_tensor(file, name, "no type that is known", failure);
    if (!read_sizes(json_object_get(entry, "shape"), SAFETENSORS_RANK, &tensor->rank, tensor->shape))
        return corrupt_tensor(file, name, "no shape of up to 8 sizes", failure);
    if (!read_sizes(json_object_get(entry, "data_offsets"), 2, &count, offsets) || count != 2)
        return corrupt_tensor(file, name, "no pair of data offsets", failure);
    if (offsets[0] > offsets[1] || offsets[1] > data->size)
        return corrupt_tensor(file, name, "data offsets beyond the file", failure);
    if (!safetensors_bytes(tensor->dtype, tensor->rank, tensor->shape, &bytes) || bytes != offsets[1] - offsets[0])
        return corrupt_tensor(file, name, "a shape that does not fit its data", failure);
    tensor->data = data->bytes + offsets[0];
    tensor->size = bytes;
    return STATUS_OK;
}

static status_code read_metadata(safetensors *file, const json_t *entry, failure *failure) {
    const char *key;
    json_t *value;
    if (!json_is_object(entry)) return corrupt(file, "its metadata is not an object", failure);
    json_object_foreach((json_t *)(uintptr_t)entry, key, value) {
        if (!json_is_string(value)) return corrupt(file, "its metadata is not made of strings", failure);
    }
    file->metadata = entry;
    return STATUS_OK;
}

static int compare_places(const void *a, const void *b) {
    const safetensor *x = a, *y = b;
    const uintptr_t p = (uintptr_t)x->data, q = (uintptr_t)y->data;
    if (p != q) return p < q ? -1 : 1;
    return x->size < y->size ? -1 : x->size > y->size;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(((const safetensor *)a)->name, ((const safetensor *)b)->name);
}

/* One tensor after the other, from the first byte to the last. */
static int covers_all(safetensor *tensors, size_t count, const safetensors_span *data) {
    const unsigned char *at = data->bytes;
    if (count) qsort(tensors, count, sizeof *tensors, compare_places);
    for (size_t k = 0; k < count; k++) {
        if ((const unsigned char *)tensors[k].data != at) return 0;
        at += tensors[k].size;
    }
    return at == data->bytes + data->size;
}

static status_code read_entries(safetensors *file, const safetensors_span *data, failure *failure) {
    const char *name;
    json_t *entry;
    file->tensors = calloc(json_object_size(file->header) + 1, sizeof *file->tensors);
    if (!file->tensors) return fail_memory(failure, file->path);
    json_object_foreach(file->header, name, entry) {
        const status_code status = strcmp(name, SAFETENSORS_METADATA) == 0
                                       ? read_metadata(file, entry, failure)
                                       : read_tensor(file, name, entry, data, &file->tensors[file->count++], failure);
        if (status != STATUS_OK) return status;
    }
    if (!covers_all(file->tensors, file->count, data))
        return corrupt(file, "its tensors overlap or leave parts of the file out", failure);
    if (file->count) qsort(file->tensors, file->count, sizeof *file->tensors, compare_names);
    return STATUS_OK;
}

status_code safetensors_parse(safetensors *file, const char *header, size_t header_size, const safetensors_span *data,
                              failure *failure) {
    json_error_t error;
    if (header_size == 0 || header[0] != '{') return corrupt(file, "its header does not start with '{'", failure);
    if (!safetensors_is_plausible(header, header_size))
        return corrupt(file, "its header is nested too deeply or holds too many values", failure);
    int lost;
    file->header = json_load_bytes(header, header_size, &error, &lost);
    if (lost) return fail_memory(failure, file->path);
    if (!file->header)
        return fail(failure, STATUS_CORRUPT, "%s: its header is not valid at byte %d: %.200s", file->path,
                    error.position, error.text);
    return read_entries(file, data, failure);
}
