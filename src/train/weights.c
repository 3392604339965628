#include "train/weights.h"

#include <stdlib.h>
#include <string.h>

static size_t shape_of(const parameter *p, size_t shape[SAFETENSORS_RANK]) {
    for (int k = 0; k < p->rank; k++) shape[k] = (size_t)p->shape[k];
    return (size_t)p->rank;
}

static size_t all_floats(const graph *g) { return graph_trained_floats(g) + graph_running_floats(g); }

static float *block_of(graph *g, const parameter *p) { return p->running ? graph_running(g) : graph_values(g); }

/* "norm.running_mean" gives "norm.num_batches_tracked"; once per normalisation. */
static hws_status add_counter(safetensors_writer *writer, const parameter *p, const int64_t *batches,
                              failure *failure) {
    static const char END[] = ".running_mean";
    char name[sizeof p->name + 32];
    const size_t length = strlen(p->name), end = sizeof END - 1;
    if (length < end || strcmp(p->name + length - end, END) != 0) return HWS_OK;
    memcpy(name, p->name, length - end);
    strcpy(name + length - end, ".num_batches_tracked");
    return safetensors_add(writer, name, SAFETENSORS_I64, 0, 0, batches, failure);
}

hws_status weights_add(safetensors_writer *writer, graph *g, int64_t batches, void **buffer, failure *failure) {
    *buffer = malloc(sizeof batches + all_floats(g) * sizeof(float));
    if (!*buffer) return fail_memory(failure, "the weights");
    memcpy(*buffer, &batches, sizeof batches);
    float *at = (float *)((char *)*buffer + sizeof batches);
    hws_status status = HWS_OK;
    for (int k = 0; k < graph_parameter_count(g) && status == HWS_OK; k++) {
        const parameter *p = graph_parameter(g, k);
        size_t shape[SAFETENSORS_RANK];
        const size_t rank = shape_of(p, shape);
        graph_export(p, block_of(g, p), at);
        status = safetensors_add(writer, p->name, SAFETENSORS_F32, rank, shape, at, failure);
        if (status == HWS_OK) status = add_counter(writer, p, *buffer, failure);
        at += p->count;
    }
    if (status != HWS_OK) weights_free(buffer);
    return status;
}

void weights_free(void **buffer) {
    free(*buffer);
    *buffer = 0;
}

hws_status weights_read(const safetensors *file, graph *g, failure *failure) {
    float *values = malloc((all_floats(g) + 1) * sizeof *values);
    if (!values) return fail_memory(failure, "the weights");
    hws_status status = HWS_OK;
    for (int k = 0; k < graph_parameter_count(g) && status == HWS_OK; k++) {
        const parameter *p = graph_parameter(g, k);
        size_t shape[SAFETENSORS_RANK];
        const size_t rank = shape_of(p, shape);
        status = safetensors_copy(file, p->name, SAFETENSORS_F32, rank, shape, values, failure);
        if (status == HWS_OK) graph_import(p, values, block_of(g, p));
    }
    free(values);
    return status;
}
