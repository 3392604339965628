#include "nnunet/nnunet.h"

#include "core/memory.h"
#include "core/whole_file.h"
#include "model/segmentation_model.h"
#include "model/weights.h"
#include "nnunet/nnunet_names.h"
#include "nnunet/nnunet_plan.h"
#include "predict/model_folder.h"
#include "torch_file/torch_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct exported {
    const nnunet_export_request *request;
    plan plan, other;
    nnunet_axes axes;
    graph *graph;
    int has_bias;  /* in transposed convolutions and heads */
    float *values; /* of one parameter; room for all */
    torch_writer checkpoint;
} exported;

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* A convolution's kernel in nnU-Net's shape: networks for slices have two axes, ours has a third of size 1. */
static size_t kernel_shape(const nnunet_axes *axes, const parameter *p, size_t shape[5]) {
    size_t rank = 0;
    const int across = axes->dimensions == 2 && p->rank == 5 ? 2 + axes->order[0] : -1;
    for (int k = 0; k < p->rank; k++)
        if (k != across) shape[rank++] = (size_t)p->shape[k];
    return rank;
}

static void add_again(torch_writer *writer, const char *name, size_t rank, const size_t *shape, size_t storage) {
    char within[NNUNET_NAME_SIZE + 64];
    torch_add_tensor_again(writer, name, rank, shape, storage);
    snprintf(within, sizeof within, "decoder.%s", name); /* the decoder refers to the encoder */
    if (strncmp(name, "encoder.", 8) == 0) torch_add_tensor_again(writer, within, rank, shape, storage);
}

/* A tensor under all the names that nnU-Net's modules have for it. */
static void add_tensor(torch_writer *writer, const char *name, size_t rank, const size_t *shape, const float *values) {
    char listed[NNUNET_NAME_SIZE + 32];
    const size_t storage = torch_add_tensor(writer, name, rank, shape, values);
    snprintf(listed, sizeof listed, "decoder.%s", name);
    if (strncmp(name, "encoder.", 8) == 0) torch_add_tensor_again(writer, listed, rank, shape, storage);
    const char *conv = strstr(name, ".conv."), *norm = strstr(name, ".norm."), *layer = conv ? conv : norm;
    if (!layer) return;
    snprintf(listed, sizeof listed, "%.*s.all_modules.%d.%s", (int)(layer - name), name, conv ? 0 : 1, layer + 6);
    add_again(writer, listed, rank, shape, storage);
}

/* nnU-Net has biases in transposed convolutions and heads; networks of ours that have none get zeros. */
static void add_missing_bias(exported *e, const parameter *p, const char *name) {
    static const char WEIGHT[] = ".weight";
    const size_t stem = strlen(name) - (sizeof WEIGHT - 1);
    const int is_up = strncmp(p->name, "up.", 3) == 0, is_head = strncmp(p->name, "heads.", 6) == 0;
    if ((!is_up && !is_head) || e->has_bias || strcmp(name + stem, WEIGHT) != 0) return;
    const size_t features =
        (size_t)p->shape[is_up ? 1 : 0]; /* a transposed convolution's weights begin with its input */
    char bias[NNUNET_NAME_SIZE];
    snprintf(bias, sizeof bias, "%.*s.bias", (int)stem, name);
    memset(e->values, 0, features * sizeof *e->values);
    torch_add_tensor(&e->checkpoint, bias, 1, &features, e->values);
}

static status_code add_parameter(exported *e, const parameter *p, failure *failure) {
    char name[NNUNET_NAME_SIZE];
    size_t shape[5];
    if (!nnunet_name(p->name, &e->plan.topology, name))
        return fail(failure, STATUS_FAILED, "the parameter '%s' has no name in nnU-Net", p->name);
    const size_t rank = kernel_shape(&e->axes, p, shape);
    graph_export(p, graph_values(e->graph), e->values);
    add_tensor(&e->checkpoint, name, rank, shape, e->values);
    add_missing_bias(e, p, name);
    return STATUS_OK;
}

/* ---- a fold ------------------------------------------------------------------------------------------------------ */

static void add_facts(exported *e) {
    int axes[3], count = 0;
    const int across = 3 - e->axes.dimensions;
    for (int k = across; k < 3; k++)
        if (!e->plan.unmirrored[e->axes.order[k]]) axes[count++] = k - across;
    torch_add_none(&e->checkpoint, "optimizer_state");
    torch_add_none(&e->checkpoint, "grad_scaler_state");
    torch_add_whole(&e->checkpoint, "current_epoch", 0);
    torch_begin_dict(&e->checkpoint, "init_args");
    torch_add_string(&e->checkpoint, "configuration", nnunet_configuration(&e->plan));
    torch_end_dict(&e->checkpoint);
    torch_add_string(&e->checkpoint, "trainer_name", "nnUNetTrainer");
    if (count) torch_add_tuple(&e->checkpoint, "inference_allowed_mirroring_axes", axes, count);
    else torch_add_none(&e->checkpoint, "inference_allowed_mirroring_axes");
}

static status_code write_checkpoint(exported *e, const char *path, failure *failure) {
    status_code status = STATUS_OK;
    torch_writer_open(&e->checkpoint, path);
    torch_begin_dict(&e->checkpoint, NULL);
    torch_begin_dict(&e->checkpoint, "network_weights");
    for (int k = 0; k < graph_parameter_count(e->graph) && status == STATUS_OK; k++)
        status = add_parameter(e, graph_parameter(e->graph, k), failure);
    torch_end_dict(&e->checkpoint);
    add_facts(e);
    torch_end_dict(&e->checkpoint);
    if (status == STATUS_OK) return torch_writer_close(&e->checkpoint, failure);
    torch_writer_abandon(&e->checkpoint);
    return status;
}

static status_code export_fold(exported *e, int fold, failure *failure) {
    char path[PATH_SIZE];
    status_code status = model_folder_weights(e->request->runs[fold], e->request->weights, path, failure);
    if (status == STATUS_OK) status = weights_load(e->graph, path, NULL, failure);
    if (status == STATUS_OK) status = path_format(path, failure, "%s/fold_%d", e->request->output, fold);
    if (status == STATUS_OK) status = folder_make(path, failure);
    if (status == STATUS_OK)
        status = path_format(path, failure, "%s/fold_%d/checkpoint_final.pth", e->request->output, fold);
    return status == STATUS_OK ? write_checkpoint(e, path, failure) : status;
}

/* ---- the folder -------------------------------------------------------------------------------------------------- */

static status_code open_graph(exported *e, failure *failure) {
    const graph_options options = {.threads = 1, .inference = 1};
    model_options model;
    segmentation_model(&e->plan, &model);
    e->has_bias = model.unet_bias;
    status_code status = segmentation_model_open(&e->plan, &options, &e->graph, failure);
    if (status == STATUS_OK && !(e->values = memory_open(graph_trained_floats(e->graph) * sizeof *e->values + 64)))
        status = fail_memory(failure, "the weights");
    return status;
}

static status_code write_text(const exported *e, const char *name, text *text, failure *failure) {
    char path[PATH_SIZE];
    status_code status = path_join(path, e->request->output, name, failure);
    if (status == STATUS_OK) status = whole_file_write_text(path, text, failure);
    text_close(text);
    return status;
}

/* What tells about the folds: written behind them, so that a folder with both files is whole. */
static status_code describe(const exported *e, failure *failure) {
    char **names;
    text plans = {0}, dataset = {0};
    status_code status = model_folder_labels(e->request->runs[0], &e->plan, &names, failure);
    if (status != STATUS_OK) return status;
    nnunet_plan_format(&e->plan, &plans);
    nnunet_dataset_format(&e->plan, names, &dataset);
    free(names);
    status = write_text(e, "dataset.json", &dataset, failure);
    return status == STATUS_OK ? write_text(e, "plans.json", &plans, failure) : status;
}

static status_code check_names(const exported *e, failure *failure) {
    const label_scheme *labels = &e->plan.labels;
    char **names;
    status_code status = model_folder_labels(e->request->runs[0], &e->plan, &names, failure);
    if (status != STATUS_OK) return status;
    for (int k = labels->regions ? 0 : 1; k < label_scheme_outputs(labels) && status == STATUS_OK; k++)
        if (strcmp(names[k], NNUNET_BACKGROUND) == 0)
            status = fail(failure, STATUS_BAD_INPUT,
                          "%.500s: a label other than 0 is called " NNUNET_BACKGROUND
                          ", which nnU-Net keeps for 0: call it otherwise",
                          e->request->runs[0]);
    free(names);
    return status;
}

static status_code compare_plans(exported *e, failure *failure) {
    const char *const *runs = e->request->runs;
    status_code status = STATUS_OK;
    for (int k = 1; k < e->request->run_count && status == STATUS_OK; k++) {
        status = model_folder_plan(runs[k], &e->other, failure);
        if (status == STATUS_OK)
            status = plan_check_ensemble((const plan *const[2]){&e->plan, &e->other},
                                         (const char *const[2]){runs[0], runs[k]}, "export each alone", failure);
    }
    return status;
}

static status_code export_folds(exported *e, const listener *listener, failure *failure) {
    status_code status = STATUS_OK;
    for (int k = 0; k < e->request->run_count && status == STATUS_OK; k++) {
        listener_progress(listener, "exporting", (size_t)k, (size_t)e->request->run_count);
        if (listener_stops(listener)) return fail(failure, STATUS_STOPPED, "stopped after %d folds", k);
        status = export_fold(e, k, failure);
    }
    return status == STATUS_OK ? describe(e, failure) : status;
}

/* The folder was not there before, nor perhaps some above it: what is not whole goes again. */
static status_code export_all(exported *e, const listener *listener, failure *failure) {
    const size_t existing = folder_existing(e->request->output);
    status_code status = model_folder_plan(e->request->runs[0], &e->plan, failure);
    if (status == STATUS_OK) status = compare_plans(e, failure);
    if (status == STATUS_OK) status = check_names(e, failure);
    if (status == STATUS_OK) status = open_graph(e, failure);
    if (status != STATUS_OK) return status;
    e->axes = nnunet_plan_axes(&e->plan);
    status = export_folds(e, listener, failure);
    if (status == STATUS_OK) return STATUS_OK;
    folder_remove(e->request->output);
    folder_unmake(e->request->output, existing);
    return status;
}

status_code nnunet_export(const nnunet_export_request *request, const listener *listener, failure *failure) {
    if (path_exists(request->output))
        return fail(failure, STATUS_BAD_INPUT, "%.500s is there already: name a new folder for --out", request->output);
    exported *e = calloc(1, sizeof *e);
    if (!e) return fail_memory(failure, "the model");
    e->request = request;
    const status_code status = export_all(e, listener, failure);
    graph_close(&e->graph);
    memory_close(e->values);
    free(e);
    return status;
}
