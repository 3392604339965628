/* Small networks for segmentation, written as exported models: a folder with a plan and weights. */
#ifndef HWS_TESTS_SMALL_MODEL_H
#define HWS_TESTS_SMALL_MODEL_H

#include "core/path.h"
#include "model/segmentation_model.h"
#include "model/weights.h"
#include "plan/plan.h"
#include "testing.h"

#include <stdio.h>
#include <string.h>

/* Three stages of 4, 8 and 8 features; slices lie across the axis `across`, or -1 in 3D. */
static inline plan small_plan(int residual, int across) {
    plan plan = {.dataset = "Dataset001_Test",
                 .model = {.residual = residual, .slices = across >= 0},
                 .channels = 2,
                 .channel = {{"CT", {NORMALISE_CT, 0, 10, 2, -100, 300}}, {"T2", {NORMALISE_ZSCORE, 1, 1, 1, 0, 2}}},
                 .spacing = {1, 2, 3.5},
                 .median_size = {20, 24, 28},
                 .patch = {8, 16, 24},
                 .batch = 3,
                 .topology = {.count = 3}};
    label_scheme_plain(&plan.labels, 3);
    for (int level = 0; level < 3; level++) {
        topology_stage *stage = &plan.topology.stages[level];
        *stage = (topology_stage){level ? 8 : 4, residual ? level + 1 : 0, {3, 3, 3}, {1, 2, 2}};
        for (int axis = 0; axis < 3; axis++) {
            if (!level) stage->stride[axis] = 1;
            if (axis == across) stage->kernel[axis] = stage->stride[axis] = 1;
        }
        if (!level && across < 0) stage->kernel[0] = 1;
    }
    if (across >= 0 && across < 3) plan.patch[across] = 1;
    if (across == 0) plan.patch[2] = 32;
    if (across > 0) plan.topology.stages[1].stride[0] = plan.topology.stages[2].stride[0] = 2;
    plan.classes = label_scheme_outputs(&plan.labels);
    return plan;
}

/* Three nested regions of label values with a gap, in nnU-Net's order. */
static inline void use_regions(plan *plan) {
    static const char *const NAMES[] = {"whole", "core", "centre"};
    label_scheme_plain(&plan->labels, 4);
    plan->labels.values[3] = 6;
    plan->labels.regions = 3;
    for (int r = 0; r < 3; r++) {
        strcpy(plan->labels.region[r].name, NAMES[r]);
        plan->labels.region[r].writes = (int16_t)(r + 1);
        for (int c = r + 1; c < 4; c++) plan->labels.inside[c] |= (uint16_t)(1u << r);
    }
    plan->classes = label_scheme_outputs(&plan->labels);
}

static inline void small_model_must(status_code status, const failure *failure) {
    if (status != STATUS_OK) fail_msg("%s", failure->message);
}

/* Into a new folder, with random weights. */
static inline void small_model_write(const plan *plan, const char *folder, uint64_t seed) {
    char path[PATH_SIZE];
    model_options model;
    graph *g;
    failure failure = {0};
    small_model_must(folder_make(folder, &failure), &failure);
    small_model_must(path_join(path, folder, "plans.json", &failure), &failure);
    small_model_must(plan_write(plan, path, &failure), &failure);
    segmentation_model(plan, &model);
    small_model_must(model_open(&model, &(graph_options){.threads = 1, .inference = 1}, &g, &failure), &failure);
    graph_initialise(g, seed);
    small_model_must(path_join(path, folder, "best.safetensors", &failure), &failure);
    small_model_must(weights_save(g, 0, path, &failure), &failure);
    graph_close(&g);
}

#endif
