#define _POSIX_C_SOURCE 200809L
#include "torch_file/torch_file.h"

#include "core/mapped_file.h"
#include "zip/zip_archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char PICKLE[] = "/data.pkl";
enum { NAME_SIZE = 512 };

struct torch_file {
    char *path;
    mapped_file mapped; /* not open when the bytes are the caller's */
    zip_archive *archive;
    const char *prefix; /* of the entries' names, before "/data.pkl" */
    int prefix_length;
    pickle *pickle;
};

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static const zip_entry *find_pickle(torch_file *file) {
    for (size_t k = 0; k < zip_count(file->archive); k++) {
        const zip_entry *entry = zip_at(file->archive, k);
        const size_t length = strlen(entry->name), end = sizeof PICKLE - 1;
        if (length < end || strcmp(entry->name + length - end, PICKLE) != 0) continue;
        file->prefix = entry->name;
        file->prefix_length = (int)(length - end);
        return entry;
    }
    return NULL;
}

static const zip_entry *find_entry(const torch_file *file, const char *name) {
    char whole[NAME_SIZE];
    const int length = snprintf(whole, sizeof whole, "%.*s/%s", file->prefix_length, file->prefix, name);
    return length > 0 && length < NAME_SIZE ? zip_find(file->archive, whole) : NULL;
}

static status_code check_order(const torch_file *file, failure *failure) {
    const zip_entry *order = find_entry(file, "byteorder");
    if (!order || (order->size == 6 && !order->deflated && memcmp(order->bytes, "little", 6) == 0)) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT, "%s: was written on a machine with another order of bytes", file->path);
}

static status_code read_archive(torch_file *file, failure *failure) {
    const zip_entry *entry = find_pickle(file);
    if (!entry)
        return fail(failure, STATUS_CORRUPT,
                    "%s: is a zip archive, but not one that torch.save wrote: it has no data.pkl", file->path);
    status_code status = check_order(file, failure);
    if (status != STATUS_OK) return status;
    if (entry->deflated)
        return fail(failure, STATUS_CORRUPT, "%s: its data.pkl is compressed, which torch.save does not do",
                    file->path);
    status = zip_verify(file->archive, entry, failure);
    return status == STATUS_OK ? pickle_open(&file->pickle, entry->bytes, entry->size, file->path, failure) : status;
}

static status_code read_bytes(torch_file *file, const void *bytes, size_t size, failure *failure) {
    /* Until 1.6 PyTorch wrote a bare pickle, whose first opcode is its protocol. */
    if (size && *(const unsigned char *)bytes == 0x80)
        return fail(failure, STATUS_CORRUPT,
                    "%s: was written by PyTorch before 1.6, or is no checkpoint: load it there and torch.save it again",
                    file->path);
    const status_code status = zip_open(&file->archive, bytes, size, file->path, failure);
    return status == STATUS_OK ? read_archive(file, failure) : status;
}

static torch_file *new_file(const char *path) {
    torch_file *file = calloc(1, sizeof *file);
    if (file && !(file->path = strdup(path))) torch_file_close(&file);
    return file;
}

status_code torch_file_open_bytes(torch_file **file, const void *bytes, size_t size, const char *what,
                                  failure *failure) {
    *file = new_file(what);
    if (!*file) return fail_memory(failure, what);
    const status_code status = read_bytes(*file, bytes, size, failure);
    if (status != STATUS_OK) torch_file_close(file);
    return status;
}

status_code torch_file_open(torch_file **file, const char *path, failure *failure) {
    *file = new_file(path);
    if (!*file) return fail_memory(failure, path);
    status_code status = mapped_file_open(&(*file)->mapped, path, failure);
    if (status == STATUS_OK) status = read_bytes(*file, (*file)->mapped.bytes, (*file)->mapped.size, failure);
    if (status != STATUS_OK) torch_file_close(file);
    return status;
}

void torch_file_close(torch_file **file) {
    if (!file || !*file) return;
    pickle_close(&(*file)->pickle);
    zip_close(&(*file)->archive);
    mapped_file_close(&(*file)->mapped);
    free((*file)->path);
    free(*file);
    *file = NULL;
}

const pickle_value *torch_file_root(const torch_file *file) { return pickle_root(file->pickle); }

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static status_code no_tensor(const torch_file *file, const char *name, const char *why, failure *failure) {
    return fail(failure, STATUS_CORRUPT, "%s: '%.200s' %s", file->path, name, why);
}

static const pickle_value *argument(const pickle_value *call, size_t index, pickle_kind kind) {
    const pickle_value *arguments = call->item[1];
    return index < arguments->count && arguments->item[index]->kind == kind ? arguments->item[index] : NULL;
}

static int is_call_of(const pickle_value *value, const char *name) {
    return value && value->kind == PICKLE_CALL && pickle_is_name(value->item[0], name);
}

/* A parameter is a tensor with a call around it. */
static const pickle_value *tensor_call(const pickle_value *value) {
    if (is_call_of(value, "torch._utils _rebuild_parameter") && value->item[1]->count) value = value->item[1]->item[0];
    return is_call_of(value, "torch._utils _rebuild_tensor_v2") ? value : NULL;
}

static int read_sizes(const pickle_value *tuple, size_t sizes[TORCH_RANK]) {
    for (size_t k = 0; k < tuple->count; k++) {
        if (tuple->item[k]->kind != PICKLE_WHOLE || tuple->item[k]->whole < 0) return 0;
        sizes[k] = (size_t)tuple->item[k]->whole;
    }
    return 1;
}

/* How many elements there are, and the index of the last in the storage; 0 if that does not fit into a size_t. */
static int measure(torch_tensor *tensor, size_t *last) {
    int fits = 1, empty = 0;
    tensor->count = 1;
    *last = 0;
    for (size_t k = 0; k < tensor->rank; k++) empty |= !tensor->shape[k];
    for (size_t k = 0; k < tensor->rank && !empty; k++) {
        size_t reach;
        fits &= !__builtin_mul_overflow(tensor->count, tensor->shape[k], &tensor->count);
        fits &= !__builtin_mul_overflow(tensor->shape[k] - 1, tensor->stride[k], &reach);
        fits &= !__builtin_add_overflow(*last, reach, last);
    }
    if (empty) tensor->count = 0;
    return fits;
}

/* ('storage', torch.FloatStorage, key, location, elements) */
static const zip_entry *storage_of(const torch_file *file, const pickle_value *persistent, int *is_float) {
    const pickle_value *about = persistent->item[0];
    *is_float = 1;
    if (about->kind != PICKLE_TUPLE || about->count != 5 || !pickle_is_string(about->item[0], "storage") ||
        about->item[2]->kind != PICKLE_STRING || strlen(about->item[2]->string) > NAME_SIZE / 4)
        return NULL;
    *is_float = pickle_is_name(about->item[1], "torch FloatStorage");
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "data/%s", about->item[2]->string);
    return find_entry(file, name);
}

static status_code place(const torch_file *file, const pickle_value *call, const char *name, torch_tensor *tensor,
                         failure *failure) {
    const pickle_value *persistent = argument(call, 0, PICKLE_PERSISTENT), *offset = argument(call, 1, PICKLE_WHOLE);
    int is_float = 1;
    const zip_entry *storage = persistent ? storage_of(file, persistent, &is_float) : NULL;
    if (!is_float)
        return no_tensor(file, name, "does not hold 32-bit floating-point numbers, as trained weights do", failure);
    if (!storage || storage->deflated || !offset || offset->whole < 0)
        return no_tensor(file, name, "has no storage in this file", failure);
    size_t last;
    const size_t elements = storage->size / sizeof(float), first = (size_t)offset->whole;
    if (!measure(tensor, &last) || (tensor->count && (first >= elements || last >= elements - first)))
        return no_tensor(file, name, "reaches out of its storage: the file is damaged", failure);
    tensor->bytes = tensor->count ? storage->bytes + first * sizeof(float) : storage->bytes;
    return zip_verify(file->archive, storage, failure);
}

status_code torch_tensor_open(const torch_file *file, const pickle_value *value, const char *name, torch_tensor *tensor,
                              failure *failure) {
    const pickle_value *call = tensor_call(value);
    const pickle_value *shape = call ? argument(call, 2, PICKLE_TUPLE) : NULL;
    const pickle_value *stride = call ? argument(call, 3, PICKLE_TUPLE) : NULL;
    *tensor = (torch_tensor){0};
    if (!shape || !stride || shape->count != stride->count || shape->count > TORCH_RANK)
        return no_tensor(file, name, value ? "is no tensor" : "is missing", failure);
    tensor->rank = shape->count;
    if (!read_sizes(shape, tensor->shape) || !read_sizes(stride, tensor->stride))
        return no_tensor(file, name, "has an impossible size", failure);
    return place(file, call, name, tensor, failure);
}

void torch_tensor_copy(const torch_tensor *tensor, float *to) {
    size_t index[TORCH_RANK] = {0}, from = 0;
    for (size_t k = 0; k < tensor->count; k++) {
        memcpy(&to[k], tensor->bytes + from * sizeof(float), sizeof(float));
        for (size_t axis = tensor->rank; axis-- > 0;) {
            from += tensor->stride[axis];
            if (++index[axis] < tensor->shape[axis]) break;
            from -= tensor->stride[axis] * index[axis];
            index[axis] = 0;
        }
    }
}
