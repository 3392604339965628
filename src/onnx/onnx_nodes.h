/* A network's layers as nodes of ONNX, and the tensors of weights that they refer to. */
#ifndef HWS_ONNX_ONNX_NODES_H
#define HWS_ONNX_ONNX_NODES_H

#include "core/text.h"
#include "onnx/onnx_network.h"

#define ONNX_OUTPUT "logits"
enum { ONNX_OPERATORS = 13 }; /* the version of ONNX's set of operators that the nodes are of */

/* A parameter as an initializer of that name. ONNX's filters are PyTorch's, without the axes that the input has not. */
typedef struct onnx_weights {
    const parameter *parameter;
    int64_t shape[5];
    int rank;
    text field; /* for whoever writes it: all but its bytes */
} onnx_weights;

typedef struct onnx_nodes {
    text bytes; /* fields `node` of a GraphProto */
    onnx_weights *weights;
    size_t weights_count, weights_capacity;
} onnx_nodes;

/* Those that the first output needs, from network->input to ONNX_OUTPUT. Close them in any case. */
status_code onnx_nodes_make(onnx_nodes *nodes, const onnx_network *network, failure *failure);
void onnx_nodes_close(onnx_nodes *nodes);

#endif
