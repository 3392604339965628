#include "onnx/onnx_network.h"

#include "model/segmentation_model.h"
#include "model/weights.h"
#include "predict/model_folder.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- segmentation ------------------------------------------------------------------------------------------------ */

/* Slices lie across the axis along which their patches have size 1. */
static void choose_axes(onnx_network *n) {
    for (int axis = 0; axis < 3; axis++)
        if (!n->plan->model.slices || n->plan->patch[axis] > 1) n->axes[n->axis_count++] = axis;
}

static status_code open_unet(onnx_network *n, const char *folder, run_weights weights, failure *failure) {
    char path[PATH_SIZE];
    model_options model;
    segmentation_model(n->plan, &model);
    status_code status = model_open(&model, &(graph_options){.threads = 1, .inference = 1}, &n->graph, failure);
    if (status == STATUS_OK) status = model_folder_weights(folder, weights, path, failure);
    return status == STATUS_OK ? weights_load(n->graph, path, 0, failure) : status;
}

static status_code open_segmentation(onnx_network *n, const char *folder, run_weights weights, failure *failure) {
    n->plan = malloc(sizeof *n->plan);
    status_code status = n->plan ? model_folder_plan(folder, n->plan, failure) : fail_memory(failure, "the plan");
    if (status == STATUS_OK) status = model_folder_labels(folder, n->plan, &n->labels, failure);
    if (status != STATUS_OK) return status;
    n->input = "patch";
    choose_axes(n);
    return open_unet(n, folder, weights, failure);
}

/* ---- classification ---------------------------------------------------------------------------------------------- */

static status_code open_classification(onnx_network *n, const char *folder, run_weights weights, failure *failure) {
    const classifier_options options = {.weights = weights, .threads = 1, .one_by_one = 1};
    const status_code status = classifier_open(&n->classifier, folder, &options, failure);
    if (status != STATUS_OK) return status;
    const run_facts *facts = &n->classifier.config.facts;
    n->graph = learner_graph(n->classifier.learner);
    n->input = facts->height * facts->width > 1 ? "image" : "features";
    n->flattens = learner_settings(n->classifier.learner)->model.kind == MODEL_MLP;
    if (n->flattens && facts->height * facts->width == 1) {
        n->flattens = 0; /* it is a row already */
        return STATUS_OK;
    }
    n->axes[n->axis_count++] = 1;
    n->axes[n->axis_count++] = 2;
    return STATUS_OK;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

status_code onnx_network_open(onnx_network *n, const char *folder, run_weights weights, failure *failure) {
    *n = (onnx_network){0};
    task_kind task = TASK_SEGMENTATION; /* an exported model has no config.json */
    status_code status = STATUS_OK;
    if (run_exists(folder) || !run_has(folder, RUN_PLAN)) status = run_config_task(folder, &task, failure);
    if (status != STATUS_OK) return status;
    status = task == TASK_CLASSIFICATION ? open_classification(n, folder, weights, failure)
                                         : open_segmentation(n, folder, weights, failure);
    if (status != STATUS_OK) onnx_network_close(n);
    return status;
}

void onnx_network_close(onnx_network *n) {
    if (n->plan) graph_close(&n->graph);
    classifier_close(&n->classifier);
    free(n->plan);
    free(n->labels);
    *n = (onnx_network){0};
}

int onnx_network_outputs(const onnx_network *n) { return graph_output_shape(n->graph, 0).channels; }

const char *onnx_network_label(const onnx_network *n, int output, char number[16]) {
    if (n->labels) return n->labels[output];
    const run_facts *facts = &n->classifier.config.facts;
    snprintf(number, 16, "%d", output);
    return facts->class_names ? facts->class_names[output] : number;
}
