/* The weights of a network in safetensors files, under the names and in the shapes of a PyTorch state_dict. */
#ifndef HWS_TRAIN_WEIGHTS_H
#define HWS_TRAIN_WEIGHTS_H

#include "io/safetensors.h"
#include "nn/graph.h"

/*
 * Adds all parameters and running statistics to a file, and for each batch normalisation the number of batches it has
 * seen as num_batches_tracked, which PyTorch expects. What is added lives in *buffer until the file is written; the
 * caller frees it with weights_free.
 */
hws_status weights_add(safetensors_writer *writer, graph *graph, int64_t batches, void **buffer, failure *failure);
void weights_free(void **buffer);

/* Reads all of them; every one must be there in its shape. On failure some may have been replaced. */
hws_status weights_read(const safetensors *file, graph *graph, failure *failure);

#endif
