#define _POSIX_C_SOURCE 200809L
#include "nnunet/nnunet.h"

#include "core/memory.h"
#include "model/segmentation_model.h"
#include "model/weights.h"
#include "nnunet/nnunet_names.h"
#include "nnunet/nnunet_plan.h"
#include "run/config.h"
#include "run/run_folder.h"
#include "torch_file/torch_file.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char FOLD[] = "fold_";

typedef struct fold_name {
    char text[24]; /* "0" or "all" */
} fold_name;

typedef struct import {
    const nnunet_import_request *request;
    int count;
    fold_name folds[NNUNET_MAX_FOLDS];
    plan plan;
    nnunet_axes axes;
    char **names; /* of the network's outputs */
} import;

static status_code checkpoint_path(const import *i, int fold, char path[PATH_SIZE], failure *failure) {
    return path_format(path, failure, "%s/%s%s/checkpoint_%s.pth", i->request->model, FOLD, i->folds[fold].text,
                       i->request->checkpoint);
}

/* ---- which folds ------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    const fold_name *x = a, *y = b;
    const size_t m = strlen(x->text), n = strlen(y->text);
    return m != n ? (m > n) - (m < n) : strcmp(x->text, y->text);
}

/* What nnU-Net calls a fold; copies of the folder, such as fold_0_old, are none. */
static int is_fold(const char *name, size_t length) {
    if (length == 3 && strncmp(name, "all", length) == 0) return 1;
    return length > 0 && length < sizeof((fold_name *)0)->text && strspn(name, "0123456789") >= length;
}

static int has_fold(const import *i, const char *name, size_t length) {
    int found = 0;
    for (int k = 0; k < i->count; k++)
        found |= strlen(i->folds[k].text) == length && strncmp(i->folds[k].text, name, length) == 0;
    return found;
}

static status_code add_fold(import *i, const char *name, size_t length, failure *failure) {
    char path[PATH_SIZE];
    if (i->count == NNUNET_MAX_FOLDS || !is_fold(name, length) || has_fold(i, name, length))
        return fail(failure, STATUS_BAD_INPUT,
                    "--folds takes different numbers with commas between them, such as 0,1,2, or all");
    snprintf(i->folds[i->count].text, sizeof i->folds->text, "%.*s", (int)length, name);
    const status_code status = checkpoint_path(i, i->count++, path, failure);
    if (status != STATUS_OK || path_exists(path)) return status;
    return fail(failure, STATUS_CANNOT_READ,
                "%s is not there: was fold %s trained to its end? --checkpoint best may be", path,
                i->folds[i->count - 1].text);
}

static status_code named_folds(import *i, const char *names, failure *failure) {
    status_code status = STATUS_OK;
    for (const char *at = names; status == STATUS_OK;) {
        const size_t length = strcspn(at, ",");
        status = add_fold(i, at, length, failure);
        if (!at[length]) break;
        at += length + 1;
    }
    return status;
}

static status_code found_folds(import *i, failure *failure) {
    DIR *listing = opendir(i->request->model);
    if (!listing && errno != ENOENT && errno != ENOTDIR) return fail_unreadable(failure, i->request->model, errno);
    status_code status = STATUS_OK;
    for (const struct dirent *entry; listing && status == STATUS_OK && (entry = readdir(listing));) {
        char path[PATH_SIZE];
        if (strncmp(entry->d_name, FOLD, sizeof FOLD - 1) != 0) continue;
        const char *name = entry->d_name + sizeof FOLD - 1;
        if (!is_fold(name, strlen(name))) continue;
        status = path_format(path, failure, "%s/%s/checkpoint_%s.pth", i->request->model, entry->d_name,
                             i->request->checkpoint);
        if (status == STATUS_OK && path_exists(path)) status = add_fold(i, name, strlen(name), failure);
    }
    if (listing) closedir(listing);
    if (status == STATUS_OK && !i->count)
        return fail(failure, STATUS_CANNOT_READ,
                    "%s has no fold_K/checkpoint_%s.pth: name nnU-Net's folder TRAINER__PLANS__CONFIGURATION",
                    i->request->model, i->request->checkpoint);
    qsort(i->folds, (size_t)i->count, sizeof *i->folds, by_name);
    return status;
}

/* ---- one checkpoint ---------------------------------------------------------------------------------------------- */

/* Bits of the network's axes that may be mirrored; none where the checkpoint does not tell. */
static unsigned mirrored_axes(const pickle_value *root) {
    const pickle_value *axes = pickle_get(root, "inference_allowed_mirroring_axes");
    unsigned bits = 0;
    for (size_t k = 0; axes && (axes->kind == PICKLE_TUPLE || axes->kind == PICKLE_LIST) && k < axes->count; k++)
        if (axes->item[k]->kind == PICKLE_WHOLE && axes->item[k]->whole >= 0 && axes->item[k]->whole < 3)
            bits |= 1u << axes->item[k]->whole;
    return bits;
}

static status_code read_plan(import *i, const char *path, const torch_file *file, failure *failure) {
    const pickle_value *root = torch_file_root(file);
    const pickle_value *configuration = pickle_get(pickle_get(root, "init_args"), "configuration");
    if (!configuration || configuration->kind != PICKLE_STRING || !pickle_get(root, "network_weights"))
        return fail(failure, STATUS_CORRUPT,
                    "%s: is no checkpoint of nnU-Net v2: it has no network_weights or init_args", path);
    free(i->names);
    return nnunet_plan_read(i->request->model, configuration->string, mirrored_axes(root), &i->plan, &i->axes,
                            &i->names, failure);
}

/* Puts the axes of a kernel into our order, and adds the one that a 2D network lacks. */
static void turn(const nnunet_axes *axes, torch_tensor *tensor, size_t rank) {
    const torch_tensor given = *tensor;
    const int across = 3 - axes->dimensions;
    if (given.rank != (size_t)(2 + axes->dimensions)) return;
    size_t shape[3] = {1, 1, 1}, stride[3] = {0, 0, 0};
    for (int k = across; k < 3; k++) {
        shape[axes->order[k]] = given.shape[2 + k - across];
        stride[axes->order[k]] = given.stride[2 + k - across];
    }
    const size_t skipped = rank == 4; /* pictures in the plane of height and width have no depth */
    tensor->rank = rank;
    for (size_t k = 2; k < rank; k++) {
        tensor->shape[k] = shape[k - 2 + skipped];
        tensor->stride[k] = stride[k - 2 + skipped];
    }
}

static int has_shape(const torch_tensor *tensor, const parameter *p) {
    int same = tensor->rank == (size_t)p->rank && tensor->count == p->count;
    for (int k = 0; same && k < p->rank; k++) same = tensor->shape[k] == (size_t)p->shape[k];
    return same;
}

/* nnU-Net strips this, too: what was saved inside of DistributedDataParallel. */
static const pickle_value *find_tensor(const pickle_value *weights, const char *name) {
    static const char *const PREFIXES[] = {"", "module.", "_orig_mod."};
    const pickle_value *found = NULL;
    for (int k = 0; k < 3 && !found; k++) {
        char whole[NNUNET_NAME_SIZE + 16];
        snprintf(whole, sizeof whole, "%s%s", PREFIXES[k], name);
        found = pickle_get(weights, whole);
    }
    return found;
}

static status_code take_parameter(const import *i, const torch_file *file, const parameter *p, float *values,
                                  failure *failure) {
    char name[NNUNET_NAME_SIZE];
    torch_tensor tensor;
    if (!nnunet_name(p->name, &i->plan.topology, name))
        return fail(failure, STATUS_FAILED, "the parameter '%s' has no name in nnU-Net", p->name);
    const pickle_value *weights = pickle_get(torch_file_root(file), "network_weights");
    const status_code status = torch_tensor_open(file, find_tensor(weights, name), name, &tensor, failure);
    if (status != STATUS_OK) return status;
    turn(&i->axes, &tensor, (size_t)p->rank);
    if (!has_shape(&tensor, p))
        return fail(failure, STATUS_CORRUPT, "the tensor '%s' does not have the shape that plans.json gives it", name);
    torch_tensor_copy(&tensor, values);
    for (size_t k = 0; k < p->count; k++)
        if (!isfinite(values[k]))
            return fail(failure, STATUS_CORRUPT, "the tensor '%s' holds %g: the training of this network diverged",
                        name, (double)values[k]);
    return STATUS_OK;
}

/* Every tensor of the checkpoint must have been used, or stand there twice: another one would
   be a layer that we lack. */
static status_code refuse_others(const pickle_value *weights, int used, const char *path, failure *failure) {
    size_t single = 0;
    const char *last = "";
    for (size_t k = 0; k + 1 < weights->count; k += 2) {
        const pickle_value *key = weights->item[k];
        if (key->kind != PICKLE_STRING || nnunet_name_is_double(key->string)) continue;
        single++;
        if (strstr(key->string, "running_") || strstr(key->string, "num_batches")) last = key->string;
    }
    if (single == (size_t)used) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%s: has %zu tensors where the network of plans.json has %d%s%s: was it trained with a network of the "
                "trainer's own? That cannot be served",
                path, single, used, *last ? ", among them " : "", last);
}

static status_code fill_graph(const import *i, const torch_file *file, graph *g, const char *path, failure *failure) {
    status_code status = STATUS_OK;
    float *values = memory_open(graph_trained_floats(g) * sizeof *values + 64);
    if (!values) status = fail_memory(failure, "the weights");
    for (int k = 0; k < graph_parameter_count(g) && status == STATUS_OK; k++) {
        const parameter *p = graph_parameter(g, k);
        struct failure why = {0};
        status = take_parameter(i, file, p, values, &why);
        if (status != STATUS_OK) status = fail(failure, status, "%s: %.900s", path, why.message);
        else graph_import(p, values, graph_values(g));
    }
    memory_close(values);
    const pickle_value *weights = pickle_get(torch_file_root(file), "network_weights");
    return status == STATUS_OK ? refuse_others(weights, graph_parameter_count(g), path, failure) : status;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static status_code write_config(const import *i, const char *folder, size_t parameters, failure *failure) {
    train_settings settings = run_config_defaults(TASK_SEGMENTATION);
    run_facts facts = {.task = TASK_SEGMENTATION,
                       .class_count = i->plan.classes,
                       .class_names = (const char *const *)i->names,
                       .parameters = parameters};
    settings.data = i->request->model;
    settings.batch = i->plan.batch;
    memcpy(facts.patch, i->plan.patch, sizeof facts.patch);
    const status_code status = run_config_write(folder, &settings, &facts, failure);
    settings_close(&settings);
    return status;
}

static status_code write_run(const import *i, graph *g, const char *folder, failure *failure) {
    char path[PATH_SIZE];
    status_code status = folder_make(folder, failure);
    if (status == STATUS_OK) status = run_path(path, folder, RUN_PLAN, failure);
    if (status == STATUS_OK) status = plan_write(&i->plan, path, failure);
    if (status == STATUS_OK) status = run_path(path, folder, RUN_BEST, failure);
    if (status == STATUS_OK) status = weights_save(g, 0, path, failure);
    return status == STATUS_OK ? write_config(i, folder, graph_trained_floats(g), failure) : status;
}

static status_code import_fold(import *i, int fold, const char *folder, failure *failure) {
    const graph_options options = {.threads = 1, .inference = 1};
    char path[PATH_SIZE];
    torch_file *file = NULL;
    graph *g = NULL;
    status_code status = checkpoint_path(i, fold, path, failure);
    if (status == STATUS_OK) status = torch_file_open(&file, path, failure);
    if (status == STATUS_OK) status = read_plan(i, path, file, failure);
    if (status == STATUS_OK) status = segmentation_model_open(&i->plan, &options, &g, failure);
    if (status == STATUS_OK) status = fill_graph(i, file, g, path, failure);
    if (status == STATUS_OK) status = write_run(i, g, folder, failure);
    graph_close(&g);
    torch_file_close(&file);
    return status;
}

static status_code output_folder(const import *i, int fold, char path[PATH_SIZE], failure *failure) {
    if (i->count == 1) return path_format(path, failure, "%s", i->request->output);
    return path_format(path, failure, "%s/%s%s", i->request->output, FOLD, i->folds[fold].text);
}

static status_code check_output(const import *i, nnunet_import_outcome *outcome, failure *failure) {
    status_code status = STATUS_OK;
    outcome->count = i->count;
    for (int k = 0; k < i->count && status == STATUS_OK; k++) {
        status = output_folder(i, k, outcome->folders[k], failure);
        if (status == STATUS_OK && path_exists(outcome->folders[k]))
            status = fail(failure, STATUS_BAD_INPUT, "%.500s is there already: name a new folder for --out",
                          outcome->folders[k]);
    }
    return status;
}

static status_code import_folds(import *i, const listener *listener, const nnunet_import_outcome *outcome,
                                failure *failure) {
    status_code status = STATUS_OK;
    for (int k = 0; k < i->count && status == STATUS_OK; k++) {
        listener_progress(listener, "importing", (size_t)k, (size_t)i->count);
        if (listener_stops(listener)) return fail(failure, STATUS_STOPPED, "stopped after %d folds", k);
        status = import_fold(i, k, outcome->folders[k], failure);
    }
    if (status == STATUS_OK) listener_progress(listener, "importing", (size_t)i->count, (size_t)i->count);
    return status;
}

static status_code import_all(import *i, const listener *listener, nnunet_import_outcome *outcome, failure *failure) {
    const char *folds = i->request->folds;
    const int is_new = !path_exists(i->request->output);
    status_code status = folds ? named_folds(i, folds, failure) : found_folds(i, failure);
    if (status == STATUS_OK) status = check_output(i, outcome, failure);
    if (status != STATUS_OK) return status;
    status = import_folds(i, listener, outcome, failure);
    if (status == STATUS_OK) return STATUS_OK;
    for (int k = 0; k < i->count; k++) folder_remove(outcome->folders[k]); /* none of them was there before */
    if (is_new) folder_remove(i->request->output);
    return status;
}

status_code nnunet_import(const nnunet_import_request *request, const listener *listener,
                          nnunet_import_outcome *outcome, failure *failure) {
    outcome->count = 0;
    if (strcmp(request->checkpoint, "final") != 0 && strcmp(request->checkpoint, "best") != 0)
        return fail(failure, STATUS_BAD_INPUT, "--checkpoint %.100s is neither final nor best", request->checkpoint);
    if (!path_is_folder(request->model))
        return fail(failure, STATUS_CANNOT_READ,
                    "%.500s is not a folder: name nnU-Net's, which holds plans.json and folds", request->model);
    import *i = calloc(1, sizeof *i);
    if (!i) return fail_memory(failure, "the model");
    i->request = request;
    const status_code status = import_all(i, listener, outcome, failure);
    free(i->names);
    free(i);
    return status;
}
