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

/* A file that is read into a graph. */
typedef struct reading {
    const safetensors *file;
    const char *path;
    graph *graph;
    int lenient;  /* weights to begin with: see weights_begin */
    int replaced; /* the classes of a last layer that does not fit */
    int64_t steps;
} reading;

static status_code take_counter(reading *r, const parameter *p, failure *failure) {
    char name[sizeof p->name + sizeof TRACKED];
    int64_t value = 0;
    if (!counter_of(p, name, sizeof name) || (r->lenient && !safetensors_find(r->file, name))) return STATUS_OK;
    const status_code status =
        safetensors_copy(r->file, &(safetensors_entry){name, SAFETENSORS_I64, 0, NULL}, &value, failure);
    if (status != STATUS_OK) return status;
    if (value < 0) return fail(failure, STATUS_CORRUPT, "%s: '%s' is negative", r->path, name);
    if (value > r->steps) r->steps = value;
    return STATUS_OK;
}

/* Whether a parameter is of the fully connected layer at the end. */
static int is_last_layer(const graph *g, const parameter *p) {
    const parameter *last = graph_parameter(g, graph_parameter_count(g) - 1), *weight = NULL;
    const size_t length = (size_t)(strrchr(last->name, '.') - last->name) + 1;
    for (int i = 0; i < graph_parameter_count(g); i++) {
        const parameter *one = graph_parameter(g, i);
        if (strncmp(one->name, last->name, length) == 0 && one->rank == 2) weight = one;
    }
    return weight && strncmp(p->name, last->name, length) == 0;
}

/* Whether the last layer of the file differs in its classes and in nothing else: then the graph's own is kept. */
static int is_replaced(reading *r, const parameter *p) {
    const safetensor *found = r->lenient && is_last_layer(r->graph, p) ? safetensors_find(r->file, p->name) : NULL;
    if (!found || found->rank != (size_t)p->rank || found->shape[0] == (size_t)p->shape[0]) return 0;
    for (int k = 1; k < p->rank; k++)
        if (found->shape[k] != (size_t)p->shape[k]) return 0;
    r->replaced = (int)found->shape[0];
    return 1;
}

static status_code read_parameter(reading *r, const parameter *p, float *to, failure *failure) {
    size_t shape[5];
    if (is_replaced(r, p)) {
        graph_export(p, graph_values(r->graph), to);
        return STATUS_OK;
    }
    shape_of(p, shape);
    status_code status =
        safetensors_copy(r->file, &(safetensors_entry){p->name, SAFETENSORS_F32, (size_t)p->rank, shape}, to, failure);
    if (status == STATUS_OK) status = check_values(p, to, r->path, failure);
    return status == STATUS_OK ? take_counter(r, p, failure) : status;
}

/* All tensors of the network, one after the other, checked. */
static status_code read_all(reading *r, float *to, failure *failure) {
    status_code status = STATUS_OK;
    for (int i = 0; i < graph_parameter_count(r->graph) && status == STATUS_OK; i++) {
        const parameter *p = graph_parameter(r->graph, i);
        status = read_parameter(r, p, to, failure);
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

static status_code refuse_more(const reading *r, failure *failure) {
    for (size_t k = 0; k < safetensors_count(r->file); k++) {
        const char *name = safetensors_at(r->file, k)->name;
        if (!not_ours(name) && !is_of(r->graph, name))
            return fail(failure, STATUS_CORRUPT,
                        "%s: the tensor '%.200s' has no place in this network: is it a file of another model?", r->path,
                        name);
    }
    return STATUS_OK;
}

static status_code take(reading *r, failure *failure) {
    graph *g = r->graph;
    float *values = memory_open(all_floats(g) * sizeof *values + 64);
    if (!values) return fail_memory(failure, "the weights");
    status_code status = read_all(r, values, failure);
    if (status == STATUS_OK) status = refuse_more(r, failure);
    const float *from = values;
    for (int i = 0; i < graph_parameter_count(g) && status == STATUS_OK; i++) {
        const parameter *p = graph_parameter(g, i);
        graph_import(p, from, p->running ? graph_running(g) : graph_values(g));
        from += p->count;
    }
    memory_close(values);
    return status;
}

status_code weights_take(const safetensors *file, const char *path, graph *g, int64_t *steps, failure *failure) {
    reading r = {.file = file, .path = path, .graph = g};
    const status_code status = take(&r, failure);
    if (status == STATUS_OK && steps) *steps = r.steps;
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

status_code weights_begin(graph *g, const char *path, int *replaced, failure *failure) {
    safetensors *file;
    status_code status = safetensors_open(&file, path, failure);
    if (status != STATUS_OK) return status;
    reading r = {.file = file, .path = path, .graph = g, .lenient = 1};
    status = take(&r, failure);
    *replaced = status == STATUS_OK ? r.replaced : 0;
    safetensors_close(&file);
    return status;
}
