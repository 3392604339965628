/*
 * Checkpoints that PyTorch's torch.save wrote (.pth, .pt), read without executing anything: a zip archive with a pickle
 * (torch_file/pickle.h) and the numbers of the tensors.
 *
 *     status = torch_file_open(&file, "checkpoint_final.pth", &failure);
 *     const pickle_value *weights = pickle_get(torch_file_root(file), "network_weights");
 *     status = torch_tensor_open(file, pickle_get(weights, "conv.weight"), "conv.weight", &tensor, &failure);
 *     torch_tensor_copy(&tensor, values);
 */
#ifndef HWS_TORCH_FILE_TORCH_FILE_H
#define HWS_TORCH_FILE_TORCH_FILE_H

#include "torch_file/pickle.h"

enum { TORCH_RANK = 8 }; /* tensors of more dimensions are refused */

typedef struct torch_file torch_file;

/* Mapped, not copied: what it returns stays valid until close. */
status_code torch_file_open(torch_file **file, const char *path, failure *failure);

/* The same from memory, which must outlive it. `what` stands for the path in messages. */
status_code torch_file_open_bytes(torch_file **file, const void *bytes, size_t size, const char *what,
                                  failure *failure);
void torch_file_close(torch_file **file);

/* What was saved. */
const pickle_value *torch_file_root(const torch_file *file);

/* A tensor of 32-bit floating-point numbers. */
typedef struct torch_tensor {
    size_t rank, shape[TORCH_RANK], stride[TORCH_RANK]; /* strides in elements */
    size_t count;                                       /* of elements */
    const unsigned char *bytes;                         /* of the first one; little-endian, not always aligned */
} torch_tensor;

/* Refuses what is no tensor, another type of numbers, a tensor that reaches out of its storage, and a storage whose
   checksum does not match. `name` is what messages call it. */
status_code torch_tensor_open(const torch_file *file, const pickle_value *value, const char *name, torch_tensor *tensor,
                              failure *failure);

/* Its elements, the last dimension running fastest. */
void torch_tensor_copy(const torch_tensor *tensor, float *to);

#endif
