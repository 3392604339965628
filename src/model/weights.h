/*
 * A network's weights in safetensors files, under the names and in the shapes of PyTorch's state_dict: what
 * python/hws/models.py loads and saves.
 *
 * Tensors whose names begin with "hws." are not weights (the optimiser's state of a checkpoint and the like) and are
 * ignored here.
 *
 * A batch normalisation NAME also has NAME.num_batches_tracked, a single I64, as in PyTorch: here the number of
 * training steps that were made.
 */
#ifndef HWS_MODEL_WEIGHTS_H
#define HWS_MODEL_WEIGHTS_H

#include "nn/graph.h"
#include "safetensors/safetensors.h"

#define WEIGHTS_NOT_OURS "hws."

/* Writes the trained parameters and running statistics, whole or not at all. */
status_code weights_save(graph *graph, int64_t steps, const char *path, failure *failure);

/*
 * Reads them. The file must hold exactly the network's tensors as F32 in the right shapes, and nothing else outside
 * "hws."; they must be finite, variances not negative. STATUS_CORRUPT says which tensor is not, and the graph stays as
 * it was. `steps` (may be NULL) receives the largest num_batches_tracked, 0 if there is none.
 */
status_code weights_load(graph *graph, const char *path, int64_t *steps, failure *failure);

/*
 * The same for weights to begin with, such as torchvision's for ImageNet: there need be no num_batches_tracked, and
 * where the fully connected layer at the end is for another number of classes, the graph's own stays as it is and
 * `replaced` receives that number; 0 otherwise.
 */
status_code weights_begin(graph *graph, const char *path, int *replaced, failure *failure);

/* ---- for checkpoints, which hold more than weights --------------------------------------------------------------- */

/* The same into a file that is being written, and from one that is open. */
typedef struct weights_copy weights_copy; /* what the writer points to: close it after safetensors_write */
status_code weights_add(safetensors_writer *writer, graph *graph, int64_t steps, weights_copy **copy, failure *failure);
void weights_copy_close(weights_copy **copy);
status_code weights_take(const safetensors *file, const char *path, graph *graph, int64_t *steps, failure *failure);

#endif
