#include "onnx/onnx_nodes.h"

#include "core/array.h"
#include "core/protobuf.h"
#include "nn/graph_layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fields of ONNX's messages (onnx.proto). */
enum { GRAPH_NODE = 1 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OPERATOR = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_FLOAT = 2, ATTRIBUTE_INTEGER = 3, ATTRIBUTE_INTEGERS = 8, ATTRIBUTE_TYPE = 20 };
enum { TYPE_FLOAT = 1, TYPE_INTEGER = 2, TYPE_INTEGERS = 7 };

enum { NAME_SIZE = 32, INPUTS_MAX = 5 };
typedef char name[NAME_SIZE];

/* Nodes are written one after the other; a layer may become several, of which the last makes its output. */
typedef struct node_list {
    onnx_nodes *nodes;
    const onnx_network *network;
    name *tensors; /* what ONNX calls each tensor of the graph */
    char *needed;  /* whether the output depends on it */
    tensor made;   /* by the layer that is being written */
    int steps;     /* nodes that it has become so far */
    status_code status;
    failure *failure;
} node_list;

/* A node that is being put together. */
typedef struct node_draft {
    const char *operator;
    const char *label; /* a name for people */
    const char *inputs[INPUTS_MAX];
    int input_count;
    text attributes;
} node_draft;

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void attribute_float(node_draft *node, const char *key, float value) {
    text attribute = {0};
    protobuf_add_string(&attribute, ATTRIBUTE_NAME, key);
    protobuf_add_float(&attribute, ATTRIBUTE_FLOAT, value);
    protobuf_add_integer(&attribute, ATTRIBUTE_TYPE, TYPE_FLOAT);
    protobuf_add_message(&node->attributes, NODE_ATTRIBUTE, &attribute);
}

static void attribute_integer(node_draft *node, const char *key, int value) {
    text attribute = {0};
    protobuf_add_string(&attribute, ATTRIBUTE_NAME, key);
    protobuf_add_integer(&attribute, ATTRIBUTE_INTEGER, value);
    protobuf_add_integer(&attribute, ATTRIBUTE_TYPE, TYPE_INTEGER);
    protobuf_add_message(&node->attributes, NODE_ATTRIBUTE, &attribute);
}

static void attribute_integers(node_draft *node, const char *key, const int *values, int count) {
    text attribute = {0};
    protobuf_add_string(&attribute, ATTRIBUTE_NAME, key);
    for (int k = 0; k < count; k++) protobuf_add_integer(&attribute, ATTRIBUTE_INTEGERS, values[k]);
    protobuf_add_integer(&attribute, ATTRIBUTE_TYPE, TYPE_INTEGERS);
    protobuf_add_message(&node->attributes, NODE_ATTRIBUTE, &attribute);
}

/* Window, strides and paddings along the axes that the input has; ONNX wants those before and those behind. */
static void attribute_window(const onnx_network *n, node_draft *node, const graph_layer *layer) {
    int window[3], stride[3], padding[6];
    for (int k = 0; k < n->axis_count; k++) {
        window[k] = layer->window[n->axes[k]];
        stride[k] = layer->stride[n->axes[k]];
        padding[k] = padding[k + n->axis_count] = layer->padding[n->axes[k]];
    }
    attribute_integers(node, "kernel_shape", window, n->axis_count);
    attribute_integers(node, "strides", stride, n->axis_count);
    attribute_integers(node, "pads", padding, 2 * n->axis_count);
}

/* Writes the node with the output of this name, and closes it. */
static void write_node(node_list *list, node_draft *node, const char *output) {
    text message = {0};
    for (int k = 0; k < node->input_count; k++) protobuf_add_string(&message, NODE_INPUT, node->inputs[k]);
    protobuf_add_string(&message, NODE_OUTPUT, output);
    if (node->label) protobuf_add_string(&message, NODE_NAME, node->label);
    protobuf_add_string(&message, NODE_OPERATOR, node->operator);
    text_add_bytes(&message, node->attributes.bytes, node->attributes.size);
    message.failed |= node->attributes.failed;
    text_close(&node->attributes);
    protobuf_add_message(&list->nodes->bytes, GRAPH_NODE, &message);
}

/* The next node of the layer: what it makes is the layer's output, unless another follows. */
static void next_node(node_list *list, node_draft *node) {
    name output;
    if (list->steps) snprintf(output, sizeof output, "t%d.%d", list->made, list->steps);
    else snprintf(output, sizeof output, "t%d", list->made);
    write_node(list, node, output);
    list->steps++;
    memcpy(list->tensors[list->made], output, sizeof output);
}

static node_draft draft(const char *operator, const char * label, const char *input) {
    return (node_draft){.operator= operator, .label = label, .inputs = {input}, .input_count = 1};
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static void use_parameter(node_list *list, node_draft *node, const graph_layer *layer, int index) {
    const parameter *p = layer->parameters[index];
    const onnx_network *n = list->network;
    onnx_nodes *nodes = list->nodes;
    if (!p || list->status != STATUS_OK) return;
    onnx_weights *grown =
        array_grow(nodes->weights, nodes->weights_count, &nodes->weights_capacity, sizeof *nodes->weights);
    if (!grown) {
        list->status = fail_memory(list->failure, "the list of weights");
        return;
    }
    nodes->weights = grown;
    onnx_weights *w = &grown[nodes->weights_count++];
    *w = (onnx_weights){.parameter = p};
    for (; w->rank < p->rank && w->rank < 2; w->rank++) w->shape[w->rank] = p->shape[w->rank];
    for (int k = 0; p->rank > 2 && k < n->axis_count; k++) w->shape[w->rank++] = layer->window[n->axes[k]];
    node->inputs[node->input_count++] = p->name;
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

static void activate(node_list *list, float slope) {
    if (slope == 1) return;
    node_draft node = draft(slope == 0 ? "Relu" : "LeakyRelu", NULL, list->tensors[list->made]);
    if (slope != 0) attribute_float(&node, "alpha", slope);
    next_node(list, &node);
}

static void add_to(node_list *list, tensor addend) {
    if (addend == NO_TENSOR) return;
    node_draft node = draft("Add", NULL, list->tensors[list->made]);
    node.inputs[node.input_count++] = list->tensors[addend];
    next_node(list, &node);
}

static void concatenate(node_list *list, const graph_layer *layer) {
    node_draft node = draft("Concat", NULL, list->tensors[layer->inputs[0]]);
    node.inputs[node.input_count++] = list->tensors[layer->inputs[1]];
    attribute_integer(&node, "axis", 1);
    next_node(list, &node);
}

static void convolve(node_list *list, const graph_layer *layer) {
    const int two = layer->input_count == 2;
    if (two) concatenate(list, layer);
    node_draft node = draft(layer->kind == LAYER_CONVOLUTION ? "Conv" : "ConvTranspose", layer->name,
                            list->tensors[two ? list->made : layer->inputs[0]]);
    attribute_window(list->network, &node, layer);
    for (int k = 0; k < 2; k++) use_parameter(list, &node, layer, k);
    next_node(list, &node);
    add_to(list, layer->addend);
}

static void connect(node_list *list, const graph_layer *layer) {
    node_draft node = draft("Gemm", layer->name, list->tensors[layer->inputs[0]]);
    attribute_integer(&node, "transB", 1);
    for (int k = 0; k < 2; k++) use_parameter(list, &node, layer, k);
    next_node(list, &node);
}

static void normalise_layer(node_list *list, const graph_layer *layer) {
    const int batch = layer->norm.kind == NORM_BATCH;
    node_draft node =
        draft(batch ? "BatchNormalization" : "InstanceNormalization", layer->name, list->tensors[layer->inputs[0]]);
    attribute_float(&node, "epsilon", (float)layer->norm.epsilon);
    for (int k = 0; k < (batch ? 4 : 2); k++) use_parameter(list, &node, layer, k);
    next_node(list, &node);
    add_to(list, layer->addend);
    activate(list, layer->norm.slope);
}

static void pool(node_list *list, const graph_layer *layer) {
    node_draft node =
        draft(layer->kind == LAYER_MAX_POOL ? "MaxPool" : "AveragePool", NULL, list->tensors[layer->inputs[0]]);
    attribute_window(list->network, &node, layer);
    next_node(list, &node);
}

static void flatten(node_list *list) {
    node_draft node = draft("Flatten", NULL, list->tensors[list->made]);
    attribute_integer(&node, "axis", 1);
    next_node(list, &node);
}

static void average(node_list *list, const graph_layer *layer) {
    node_draft node = draft("GlobalAveragePool", NULL, list->tensors[layer->inputs[0]]);
    next_node(list, &node);
    flatten(list);
}

static void write_layer(node_list *list, const graph_layer *layer) {
    memcpy(list->tensors[layer->output], list->tensors[layer->inputs[0]], sizeof(name));
    list->made = layer->output;
    list->steps = 0;
    switch (layer->kind) {
    case LAYER_CONVOLUTION:
    case LAYER_TRANSPOSED_CONVOLUTION: convolve(list, layer); return;
    case LAYER_FULLY_CONNECTED: connect(list, layer); return;
    case LAYER_NORM: normalise_layer(list, layer); return;
    case LAYER_ACTIVATION: activate(list, layer->slope); return;
    case LAYER_MAX_POOL:
    case LAYER_AVERAGE_POOL: pool(list, layer); return;
    case LAYER_MEAN: average(list, layer); return;
    case LAYER_DROPOUT: return; /* for training alone: what comes in goes out */
    }
}

/* ---- the network ------------------------------------------------------------------------------------------------- */

/* From the output backwards: the coarser heads of a U-Net are for training alone. */
static void mark_needed(node_list *list) {
    const graph *g = list->network->graph;
    list->needed[graph_output_tensor(g, 0)] = 1;
    for (int k = graph_layer_count(g) - 1; k >= 0; k--) {
        const graph_layer layer = graph_layer_at(g, k);
        if (!list->needed[layer.output]) continue;
        for (int i = 0; i < layer.input_count; i++) list->needed[layer.inputs[i]] = 1;
        if (layer.addend != NO_TENSOR) list->needed[layer.addend] = 1;
    }
}

/* Tensor 0. A fully connected network takes the pixels in our order, the channels of a pixel side by side. */
static void write_input(node_list *list) {
    static const int CHANNELS_LAST[4] = {0, 2, 3, 1};
    snprintf(list->tensors[0], sizeof(name), "%s", list->network->input);
    if (!list->network->flattens) return;
    node_draft node = draft("Transpose", NULL, list->tensors[0]);
    attribute_integers(&node, "perm", CHANNELS_LAST, 4);
    list->made = 0;
    next_node(list, &node);
    flatten(list);
}

static status_code write_all(node_list *list) {
    const graph *g = list->network->graph;
    mark_needed(list);
    write_input(list);
    for (int k = 0; k < graph_layer_count(g) && list->status == STATUS_OK; k++) {
        const graph_layer layer = graph_layer_at(g, k);
        if (list->needed[layer.output]) write_layer(list, &layer);
    }
    if (list->status != STATUS_OK) return list->status;
    node_draft last = draft("Identity", NULL, list->tensors[graph_output_tensor(g, 0)]);
    write_node(list, &last, ONNX_OUTPUT);
    return list->nodes->bytes.failed ? fail_memory(list->failure, "the network's nodes") : STATUS_OK;
}

status_code onnx_nodes_make(onnx_nodes *nodes, const onnx_network *network, failure *failure) {
    *nodes = (onnx_nodes){0};
    const size_t tensors = (size_t)graph_layer_count(network->graph) + 1; /* each layer makes one */
    node_list list = {.nodes = nodes,
                      .network = network,
                      .tensors = calloc(tensors, sizeof *list.tensors),
                      .needed = calloc(tensors, 1),
                      .failure = failure};
    const status_code status =
        list.tensors && list.needed ? write_all(&list) : fail_memory(failure, "the names of tensors");
    free(list.tensors);
    free(list.needed);
    return status;
}

void onnx_nodes_close(onnx_nodes *nodes) {
    text_close(&nodes->bytes);
    for (size_t k = 0; k < nodes->weights_count; k++) text_close(&nodes->weights[k].field);
    free(nodes->weights);
    *nodes = (onnx_nodes){0};
}
