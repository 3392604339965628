/*
 * Writes checkpoints that torch.load reads: values one after the other, as a pickle wants them.
 *
 *     torch_writer writer;
 *     torch_writer_open(&writer, path);
 *     torch_begin_dict(&writer, NULL);                         the outermost has no key
 *     torch_add_string(&writer, "trainer_name", "nnUNetTrainer");
 *     torch_begin_dict(&writer, "network_weights");
 *     torch_add_tensor(&writer, "conv.weight", 2, shape, values);
 *     torch_end_dict(&writer);
 *     torch_end_dict(&writer);
 *     status = torch_writer_close(&writer, &failure);
 *
 * The first error is remembered, and the end tells. The file appears whole or not at all.
 */
#ifndef HWS_TORCH_FILE_TORCH_WRITER_H
#define HWS_TORCH_FILE_TORCH_WRITER_H

#include "core/text.h"
#include "zip/zip_writer.h"

typedef struct torch_writer {
    zip_writer archive;
    text program; /* the pickle; the archive gets it at the end */
    size_t tensors;
    int depth; /* of dicts that are open */
} torch_writer;

/* The path must stay until it is closed. */
void torch_writer_open(torch_writer *writer, const char *path);
status_code torch_writer_close(torch_writer *writer, failure *failure);
void torch_writer_abandon(torch_writer *writer);

/* What stands in a dict has a key. */
void torch_begin_dict(torch_writer *writer, const char *key);
void torch_end_dict(torch_writer *writer);
void torch_add_none(torch_writer *writer, const char *key);
void torch_add_string(torch_writer *writer, const char *key, const char *string);
void torch_add_whole(torch_writer *writer, const char *key, long long whole);
/* A tuple of whole numbers. */
void torch_add_tuple(torch_writer *writer, const char *key, const int *numbers, int count);

/* 32-bit floating-point numbers, the last dimension running fastest; written at once, so that they need not stay.
   Returns the number of their storage, for further tensors of the same numbers. */
size_t torch_add_tensor(torch_writer *writer, const char *key, size_t rank, const size_t *shape, const float *values);
void torch_add_tensor_again(torch_writer *writer, const char *key, size_t rank, const size_t *shape, size_t storage);

#endif
