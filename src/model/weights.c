#include "model/weights.h"
#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char MEAN[] = ".running_mean", VARIANCE[] = ".running_var", TRACKED[] = ".num_batches_tracked";

struct weights_copy {
    float *values; /* all parameters in PyTorch's layout, one after the other */
    int64_t steps;
};

static int ends_with(const char *name, const char *end) {
    const size_t length = strlen(name), behind = strlen(end);
    return length >= behind && strcmp(name + length - behind, end) == 0;
}

/* Batch normalisations are known by their running means; the name of their counters. */
static int counter_of(const parameter *p, char *name, size_t size) {
    if (!ends_with(p->name, MEAN)) return 0;
    snprintf(name, size, "%.*s%s", (int)(strlen(p->name) - strlen(MEAN)), p->name, TRACKED);
    return 1;
}

static void shape_of(const parameter *p, size_t shape[5]) {
    for (int k = 0; k < p->rank; k++) shape[k] = (size_t)p->shape[k];
}

static size_t all_floats(const graph *g) {
    size_t floats = 0;
    for (int i = 0; i < graph_parameter_count(g); i++) floats += graph_parameter(g, i)->count;
    return floats;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

static status_code add_parameter(safetensors_writer *writer, const parameter *p, const float *values,
                                 const int64_t *steps, failure *failure) {
    size_t shape[5];
    char counter[sizeof p->name + sizeof TRACKED];
    shape_of(p, shape);
    status_code status = safetensors_add(writer, &(safetensors_entry){p->name, SAFETENSORS_F32, (size_t)p->rank, shape},
                                         values, failure);
    if (status == STATUS_OK && counter_of(p, counter, sizeof counter))
        status = safetensors_add(writer, &(safetensors_entry){counter, SAFETENSORS_I64, 0, shape}, steps, failure);
    return status;
}

status_code weights_add(safetensors_writer *writer, graph *g, int64_t steps, weights_copy **copy, failure *failure) {
    weights_copy *c = *copy = calloc(1, sizeof *c);
    if (!c) return fail_memory(failure, "the weights");
    c->values = memory_open(all_floats(g) * sizeof *c->values + 64);
    c->steps = steps;
    status_code status = c->values ? STATUS_OK : fail_memory(failure, "the weights");
    float *to = c->values;
    for (int i = 0; i < graph_parameter_count(g) && status == STATUS_OK; i++) {
        const parameter *p = graph_parameter(g, i);
        graph_export(p, p->running ? graph_running(g) : graph_values(g), to);
        status = add_parameter(writer, p, to, &c->steps, failure);
        to += p->count;
    }
    if (status != STATUS_OK) weights_copy_close(copy);
    return status;
}

void weights_copy_close(weights_copy **copy) {
    if (!copy || !*copy) return;
    memory_close((*copy)->values);
    free(*copy);
    *copy = NULL;
}

status_code weights_save(graph *g, int64_t steps, const char *path, failure *failure) {
    safetensors_writer *writer = NULL;
    weights_copy *copy = NULL;
    status_code status = safetensors_writer_open(&writer, failure);
    if (status == STATUS_OK) status = weights_add(writer, g, steps, &copy, failure);
    if (status == STATUS_OK) status = safetensors_write(writer, path, failure);
    safetensors_writer_close(&writer);
    weights_copy_close(&copy);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static status_code check_values(const parameter *p, const float *values, const char *path, failure *failure) {
    const int variance = p->running && ends_with(p->name, VARIANCE);
    for (size_t k = 0; k < p->count; k++)
        if (!isfinite(values[k]) || (variance && values[k] < 0))
            return fail(failure, STATUS_CORRUPT,
                        "%s: the tensor '%s' holds %g at index %zu: use the weights of a run that did not diverge",
                        path, p->name, (double)values[k], k);
    return STATUS_OK;
}

static status_code take_counter(const safetensors *file, const parameter *p, const char *path, int64_t *steps,
                                failure *failure) {
    char name[sizeof p->name + sizeof TRACKED];
    int64_t value = 0;
    if (!counter_of(p, name, sizeof name)) return STATUS_OK;
    const status_code status =
        safetensors_copy(file, &(safetensors_entry){name, SAFETENSORS_I64, 0, NULL}, &value, failure);
    if (status != STATUS_OK) return status;
    if (value < 0) return fail(failure, STATUS_CORRUPT, "%s: '%s' is negative", path, name);
    if (value > *steps) *steps = value;
    return STATUS_OK;
}

/* All tensors of the network, one after the other, checked. */
static status_code read_all(const safetensors *file, const char *path, const graph *g, float *to, int64_t *steps,
                            failure *failure) {
    status_code status = STATUS_OK;
    for (int i = 0; i < graph_parameter_count(g) && status == STATUS_OK; i++) {
        const parameter *p = graph_parameter(g, i);
        size_t shape[5];
        shape_of(p, shape);
        status =
            safetensors_copy(file, &(safetensors_entry){p->name, SAFETENSORS_F32, (size_t)p->rank, shape}, to, failure);
        if (status == STATUS_OK) status = check_values(p, to, path, failure);
        if (status == STATUS_OK) status = take_counter(file, p, path, steps, failure);
        to += p->count;
    }
    return status;
}

static int is_of(const graph *g, const char *name) {
    for (int i = 0; i < graph_parameter_count(g); i++) {
        const parameter *p = graph_parameter(g, i);
        char counter[sizeof p->name + sizeof TRACKED];
        if (strcmp(p->name, name) == 0 || (counter_of(p, counter, sizeof counter) && strcmp(counter, name) == 0))
            return 1;
    }
    return 0;
}

static int not_ours(const char *name) { return strncmp(name, WEIGHTS_NOT_OURS, strlen(WEIGHTS_NOT_OURS)) == 0; }

/* The tensors of the network are all there, so it is enough to count; who is too many is searched for only then. */
static status_code refuse_more(const safetensors *file, const char *path, const graph *g, failure *failure) {
    size_t found = 0, ours = 0;
    for (size_t k = 0; k < safetensors_count(file); k++) found += !not_ours(safetensors_at(file, k)->name);
    for (int i = 0; i < graph_parameter_count(g); i++) ours += ends_with(graph_parameter(g, i)->name, MEAN) ? 2 : 1;
    for (size_t k = 0; found != ours && k < safetensors_count(file); k++) {
        const char *name = safetensors_at(file, k)->name;
        if (!not_ours(name) && !is_of(g, name))
            return fail(failure, STATUS_CORRUPT,
                        "%s: the tensor '%.200s' has no place in this network: is it a file of another model?", path,
                        name);
    }
    return STATUS_OK;
}

status_code weights_take(const safetensors *file, const char *path, graph *g, int64_t *steps, failure *failure) {
    int64_t made = 0;
    float *values = memory_open(all_floats(g) * sizeof *values + 64);
    if (!values) return fail_memory(failure, "the weights");
    status_code status = read_all(file, path, g, values, &made, failure);
    if (status == STATUS_OK) status = refuse_more(file, path, g, failure);
    const float *from = values;
    for (int i = 0; i < graph_parameter_count(g) && status == STATUS_OK; i++) {
        const parameter *p = graph_parameter(g, i);
        graph_import(p, from, p->running ? graph_running(g) : graph_values(g));
        from += p->count;
    }
    if (status == STATUS_OK && steps) *steps = made;
    memory_close(values);
    return status;
}

status_code weights_load(graph *g, const char *path, int64_t *steps, failure *failure) {
    safetensors *file;
    status_code status = safetensors_open(&file, path, failure);
    if (status != STATUS_OK) return status;
    status = weights_take(file, path, g, steps, failure);
    safetensors_close(&file);
    return status;
}
