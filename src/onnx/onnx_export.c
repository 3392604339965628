#include "onnx/onnx.h"

#include "core/file_writer.h"
#include "core/memory.h"
#include "core/path.h"
#include "core/protobuf.h"
#include "onnx/onnx_metadata.h"
#include "onnx/onnx_nodes.h"

#include <hws.h>
#include <stdio.h>
#include <string.h>

/* Fields of ONNX's messages (onnx.proto). */
enum { MODEL_VERSION = 1, MODEL_PRODUCER = 2, MODEL_PRODUCER_VERSION = 3, MODEL_GRAPH = 7, MODEL_OPERATORS = 8 };
enum { OPERATORS_DOMAIN = 1, OPERATORS_VERSION = 2 };
enum { GRAPH_NAME = 2, GRAPH_WEIGHTS = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { TENSOR_SHAPE = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_BYTES = 9 };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1, TENSOR_TYPE_ELEMENT = 1, TENSOR_TYPE_SHAPE = 2 };
enum { SHAPE_AXIS = 1, AXIS_SIZE = 1, AXIS_PARAMETER = 2 };

enum { FORMAT_VERSION = 7, FLOAT32 = 1, AXES_MAX = 5, MESSAGE_MAX = 0x7fffffff };
#define BATCH "batch" /* any number */

typedef struct exported {
    onnx_network network;
    onnx_nodes nodes;
    text model, ends; /* what stands before the graph, and its ends */
    float *values;    /* of the largest parameter */
} exported;

/* ---- inputs and outputs ------------------------------------------------------------------------------------------ */

/* Sizes behind the batch: channels, then the axes that there are. */
static int tensor_sizes(const onnx_network *n, int channels, int has_axes, int sizes[AXES_MAX]) {
    const shape in = graph_input_shape(n->graph);
    int rank = 0;
    sizes[rank++] = channels;
    for (int k = 0; has_axes && k < n->axis_count; k++)
        sizes[rank++] = n->plan
                            ? in.size[n->axes[k]]
                            : (n->axes[k] == 1 ? n->classifier.config.facts.height : n->classifier.config.facts.width);
    return rank;
}

static void add_value(text *graph, int field, const char *name, const int *sizes, int rank) {
    text value = {0}, type = {0}, tensor = {0}, shape = {0}, axis = {0};
    protobuf_add_string(&axis, AXIS_PARAMETER, BATCH);
    protobuf_add_message(&shape, SHAPE_AXIS, &axis);
    for (int k = 0; k < rank; k++) {
        protobuf_add_integer(&axis, AXIS_SIZE, sizes[k]);
        protobuf_add_message(&shape, SHAPE_AXIS, &axis);
    }
    protobuf_add_integer(&tensor, TENSOR_TYPE_ELEMENT, FLOAT32);
    protobuf_add_message(&tensor, TENSOR_TYPE_SHAPE, &shape);
    protobuf_add_message(&type, TYPE_TENSOR, &tensor);
    protobuf_add_string(&value, VALUE_NAME, name);
    protobuf_add_message(&value, VALUE_TYPE, &type);
    protobuf_add_message(graph, field, &value);
}

static void describe_shape(const int *sizes, int rank, char shape[ONNX_SHAPE_SIZE]) {
    int used = snprintf(shape, ONNX_SHAPE_SIZE, BATCH);
    for (int k = 0; k < rank; k++) used += snprintf(shape + used, ONNX_SHAPE_SIZE - (size_t)used, " x %d", sizes[k]);
}

static void add_ends(exported *e, onnx_export_outcome *outcome) {
    const onnx_network *n = &e->network;
    int sizes[AXES_MAX];
    const int channels = n->plan ? n->plan->channels : n->classifier.config.facts.channels;
    int rank = tensor_sizes(n, channels, 1, sizes);
    add_value(&e->ends, GRAPH_INPUT, n->input, sizes, rank);
    describe_shape(sizes, rank, outcome->shape);
    rank = tensor_sizes(n, onnx_network_outputs(n), n->plan != NULL, sizes);
    add_value(&e->ends, GRAPH_OUTPUT, ONNX_OUTPUT, sizes, rank);
    describe_shape(sizes, rank, outcome->result);
    outcome->input = n->input;
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* A TensorProto but for its bytes, which come last. */
static text weights_start(const onnx_weights *w) {
    text tensor = {0};
    for (int k = 0; k < w->rank; k++) protobuf_add_integer(&tensor, TENSOR_SHAPE, w->shape[k]);
    protobuf_add_integer(&tensor, TENSOR_TYPE, FLOAT32);
    protobuf_add_string(&tensor, TENSOR_NAME, w->parameter->name);
    protobuf_begin_bytes(&tensor, TENSOR_BYTES, w->parameter->count * sizeof(float));
    return tensor;
}

/* The fields that hold them up to their bytes, and the length of it all. */
static status_code prepare_weights(exported *e, size_t *bytes, failure *failure) {
    size_t largest = 0;
    for (size_t k = 0; k < e->nodes.weights_count; k++) {
        onnx_weights *w = &e->nodes.weights[k];
        const size_t size = w->parameter->count * sizeof(float);
        text start = weights_start(w);
        protobuf_begin_bytes(&w->field, GRAPH_WEIGHTS, start.size + size);
        text_add_bytes(&w->field, start.bytes, start.size);
        if (start.failed || w->field.failed) return text_close(&start), fail_memory(failure, "the weights");
        text_close(&start);
        *bytes += w->field.size + size;
        if (size > largest) largest = size;
    }
    e->values = memory_open(largest + 64);
    return e->values ? STATUS_OK : fail_memory(failure, "the weights");
}

/* ONNX's floats are lowest byte first, as those of all machines that hws runs on. */
static void write_weights(exported *e, file_writer *file) {
    graph *g = e->network.graph;
    for (size_t k = 0; k < e->nodes.weights_count; k++) {
        const onnx_weights *w = &e->nodes.weights[k];
        graph_export(w->parameter, w->parameter->running ? graph_running(g) : graph_values(g), e->values);
        file_writer_add(file, w->field.bytes, w->field.size);
        file_writer_add(file, e->values, w->parameter->count * sizeof(float));
    }
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static void add_model(exported *e) {
    text operators = {0};
    protobuf_add_integer(&e->model, MODEL_VERSION, FORMAT_VERSION);
    protobuf_add_string(&e->model, MODEL_PRODUCER, "hws");
    protobuf_add_string(&e->model, MODEL_PRODUCER_VERSION, HWS_VERSION);
    protobuf_add_string(&operators, OPERATORS_DOMAIN, ""); /* ONNX's own */
    protobuf_add_integer(&operators, OPERATORS_VERSION, ONNX_OPERATORS);
    protobuf_add_message(&e->model, MODEL_OPERATORS, &operators);
    onnx_metadata_add(&e->model, &e->network);
}

/* The graph is one field of the model, whose length must stand before it: all that is in it is put together first, but
   for the weights, which may be large. */
static status_code write_model(exported *e, const char *path, onnx_export_outcome *outcome, failure *failure) {
    size_t bytes = 0;
    file_writer file;
    const status_code status = prepare_weights(e, &bytes, failure);
    if (status != STATUS_OK) return status;
    bytes += e->nodes.bytes.size + e->ends.size;
    if (e->model.failed || e->ends.failed) return fail_memory(failure, "the model");
    if (bytes > MESSAGE_MAX - e->model.size - 16)
        return fail(failure, STATUS_BAD_INPUT, "the network has %.1f GB, and ONNX files end at 2 GB",
                    (double)bytes / 1e9);
    protobuf_begin_bytes(&e->model, MODEL_GRAPH, bytes);
    if (e->model.failed) return fail_memory(failure, "the model");
    file_writer_open(&file, path);
    file_writer_add(&file, e->model.bytes, e->model.size);
    file_writer_add(&file, e->nodes.bytes.bytes, e->nodes.bytes.size);
    file_writer_add(&file, e->ends.bytes, e->ends.size);
    write_weights(e, &file);
    outcome->bytes = e->model.size + bytes;
    return file_writer_close(&file, failure);
}

/* Something else may have been meant: a file of the run, say. */
static status_code check_output(const char *path, failure *failure) {
    if (!path_exists(path) || path_ends_with(path, ".onnx")) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "%.500s is there already and is not called .onnx: name another file", path);
}

status_code onnx_export(const onnx_export_request *request, onnx_export_outcome *outcome, failure *failure) {
    exported e = {0};
    *outcome = (onnx_export_outcome){0};
    status_code status = check_output(request->output, failure);
    if (status == STATUS_OK) status = onnx_network_open(&e.network, request->run, request->weights, failure);
    if (status != STATUS_OK) return status;
    status = onnx_nodes_make(&e.nodes, &e.network, failure);
    if (status == STATUS_OK) {
        add_model(&e);
        protobuf_add_string(&e.ends, GRAPH_NAME, "hws");
        add_ends(&e, outcome);
        status = write_model(&e, request->output, outcome, failure);
    }
    text_close(&e.model);
    text_close(&e.ends);
    memory_close(e.values);
    onnx_nodes_close(&e.nodes);
    onnx_network_close(&e.network);
    return status;
}
