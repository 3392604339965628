/*
 * Files of named tensors in the safetensors format, which PyTorch users and many other programs read.
 *
 * The reader is strict: whatever is not exactly as the format says is refused with a sentence (docs/formats.md). The
 * writer gives the same bytes for the same content, replaces the file at once or not at all, and stores a checksum over
 * everything, which the reader verifies where it is present.
 */
#ifndef HWS_SAFETENSORS_SAFETENSORS_H
#define HWS_SAFETENSORS_SAFETENSORS_H

#include "core/failure.h"

#include <stddef.h>
#include <stdint.h>

/* The types: name, size in bytes. */
#define SAFETENSORS_DTYPES(X)                                                                                          \
    X(F64, 8)                                                                                                          \
    X(F32, 4)                                                                                                          \
    X(F16, 2) X(BF16, 2) X(I64, 8) X(I32, 4) X(I16, 2) X(I8, 1) X(U64, 8) X(U32, 4) X(U16, 2) X(U8, 1) X(BOOL, 1)

typedef enum safetensors_dtype {
#define SAFETENSORS_ENUMERATOR(name, size) SAFETENSORS_##name,
    SAFETENSORS_DTYPES(SAFETENSORS_ENUMERATOR)
#undef SAFETENSORS_ENUMERATOR
} safetensors_dtype;

const char *safetensors_dtype_name(safetensors_dtype dtype);
size_t safetensors_dtype_size(safetensors_dtype dtype);

enum { SAFETENSORS_RANK = 8 }; /* tensors of more dimensions are refused */

typedef struct safetensor {
    const char *name;
    safetensors_dtype dtype;
    size_t rank; /* 0 is a single number */
    size_t shape[SAFETENSORS_RANK];
    const void *data; /* little-endian, row-major; in files of other programs not always aligned: copy it */
    size_t size;      /* in bytes */
} safetensor;

/* What a tensor is called and what it must be like, when it is written or asked for. */
typedef struct safetensors_entry {
    const char *name;
    safetensors_dtype dtype;
    size_t rank;
    const size_t *shape; /* of `rank` sizes; may be NULL for a single number */
} safetensors_entry;

/* ---- reading --------------------------------------------------------------------------------------------------- */

typedef struct safetensors safetensors;

/* Opens a file. What it returns stays valid until close; the data is mapped, not copied. */
status_code safetensors_open(safetensors **file, const char *path, failure *failure);

/* The same from memory, which must outlive it. `what` stands for the path in messages. */
status_code safetensors_open_bytes(safetensors **file, const void *bytes, size_t size, const char *what,
                                   failure *failure);
void safetensors_close(safetensors **file);

/* Whether the file carries a checksum, which was verified then: what reads files of ours alone asks for it. */
int safetensors_verified(const safetensors *file);

/* The tensors in the order of their names; NULL if there is none of a name. */
size_t safetensors_count(const safetensors *file);
const safetensor *safetensors_at(const safetensors *file, size_t index);
const safetensor *safetensors_find(const safetensors *file, const char *name);

/* Copies a tensor that must be there in this type and shape. */
status_code safetensors_copy(const safetensors *file, const safetensors_entry *entry, void *destination,
                             failure *failure);

/* The value of a key of the metadata, or NULL. The checksum is none. */
const char *safetensors_metadata(const safetensors *file, const char *key);

/* ---- writing --------------------------------------------------------------------------------------------------- */

typedef struct safetensors_writer safetensors_writer;

status_code safetensors_writer_open(safetensors_writer **writer, failure *failure);
void safetensors_writer_close(safetensors_writer **writer);

/* Names and strings are copied; the data must stay until the file is written. */
status_code safetensors_add(safetensors_writer *writer, const safetensors_entry *entry, const void *data,
                            failure *failure);
status_code safetensors_add_metadata(safetensors_writer *writer, const char *key, const char *value, failure *failure);

/* Writes the file, whole or not at all. Tensors lie in the order of the size of their type, then of their names, so
   that each is aligned and the order of adding does not matter; metadata keys are in alphabetical order. */
status_code safetensors_write(safetensors_writer *writer, const char *path, failure *failure);

#endif
