/* A plan of ours as nnU-Net's plans.json and dataset.json. */
#include "core/json_writer.h"
#include "nnunet/nnunet_plan.h"

#include <stdio.h>

nnunet_axes nnunet_plan_axes(const plan *plan) {
    nnunet_axes axes = {{0, 1, 2}, plan->model.slices ? 2 : 3};
    int across = 0, at = 0;
    for (int k = 1; k < 3; k++)
        if (plan->patch[k] == 1 && plan->patch[across] != 1) across = k;
    if (!plan->model.slices) return axes;
    axes.order[at++] = across;
    for (int k = 0; k < 3; k++)
        if (k != across) axes.order[at++] = k;
    return axes;
}

const char *nnunet_configuration(const plan *plan) { return plan->model.slices ? "2d" : "3d_fullres"; }

/* ---- plans.json -------------------------------------------------------------------------------------------------- */

/* The numbers of the network's axes. */
static void add_wholes(json_writer *json, const char *key, const nnunet_axes *axes, const int *ours) {
    json_begin_row(json, key);
    for (int k = 3 - axes->dimensions; k < 3; k++) json_add_integer(json, NULL, ours[axes->order[k]]);
    json_end(json);
}

static void add_numbers(json_writer *json, const char *key, const nnunet_axes *axes, int from, const double *ours) {
    json_begin_row(json, key);
    for (int k = from; k < 3; k++) json_add_number(json, NULL, ours[axes->order[k]]);
    json_end(json);
}

static void add_kernels(json_writer *json, const char *key, const plan *plan) {
    const nnunet_axes axes = nnunet_plan_axes(plan);
    json_begin_list(json, key);
    for (int k = 0; k < plan->topology.count; k++) add_wholes(json, NULL, &axes, plan->topology.stages[k].kernel);
    json_end(json);
}

static void add_strides(json_writer *json, const char *key, const plan *plan) {
    const nnunet_axes axes = nnunet_plan_axes(plan);
    json_begin_list(json, key);
    for (int k = 0; k < plan->topology.count; k++) add_wholes(json, NULL, &axes, plan->topology.stages[k].stride);
    json_end(json);
}

/* Convolutions, or residual blocks, of each stage on the way down; convolutions on the way up. */
static void add_depths(json_writer *json, const char *encoder, const char *decoder, const plan *plan) {
    const topology *t = &plan->topology;
    json_begin_row(json, encoder);
    for (int k = 0; k < t->count; k++) json_add_integer(json, NULL, t->stages[k].blocks ? t->stages[k].blocks : 2);
    json_end(json);
    json_begin_row(json, decoder);
    for (int k = 0; k + 1 < t->count; k++) json_add_integer(json, NULL, plan->model.residual ? 1 : 2);
    json_end(json);
}

/* The network as versions from 2.3 on describe it. */
static void add_architecture(json_writer *json, const plan *plan) {
    static const char *const IMPORTED[] = {"conv_op", "norm_op", "dropout_op", "nonlin"};
    const int dimensions = plan->model.slices ? 2 : 3, residual = plan->model.residual;
    char layer[64];
    json_begin_object(json, "architecture");
    json_add_string(json, "network_class_name",
                    residual ? "dynamic_network_architectures.architectures.unet.ResidualEncoderUNet"
                             : "dynamic_network_architectures.architectures.unet.PlainConvUNet");
    json_begin_object(json, "arch_kwargs");
    json_add_integer(json, "n_stages", plan->topology.count);
    json_begin_row(json, "features_per_stage");
    for (int k = 0; k < plan->topology.count; k++) json_add_integer(json, NULL, plan->topology.stages[k].features);
    json_end(json);
    snprintf(layer, sizeof layer, "torch.nn.modules.conv.Conv%dd", dimensions);
    json_add_string(json, "conv_op", layer);
    add_kernels(json, "kernel_sizes", plan);
    add_strides(json, "strides", plan);
    add_depths(json, residual ? "n_blocks_per_stage" : "n_conv_per_stage", "n_conv_per_stage_decoder", plan);
    json_add_bool(json, "conv_bias", 1);
    snprintf(layer, sizeof layer, "torch.nn.modules.instancenorm.InstanceNorm%dd", dimensions);
    json_add_string(json, "norm_op", layer);
    json_begin_object(json, "norm_op_kwargs");
    json_add_number(json, "eps", 1e-5);
    json_add_bool(json, "affine", 1);
    json_end(json);
    json_add_string(json, "dropout_op", NULL);
    json_add_string(json, "dropout_op_kwargs", NULL);
    json_add_string(json, "nonlin", "torch.nn.LeakyReLU");
    json_begin_object(json, "nonlin_kwargs");
    json_add_bool(json, "inplace", 1);
    json_end(json);
    json_end(json);
    json_begin_row(json, "_kw_requires_import");
    for (int k = 0; k < 4; k++) json_add_string(json, NULL, IMPORTED[k]);
    json_end(json);
    json_end(json);
}

/* The same as versions before 2.3 want it; later ones pass over it. */
static void add_old_architecture(json_writer *json, const plan *plan) {
    const topology *t = &plan->topology;
    const nnunet_axes axes = nnunet_plan_axes(plan);
    int pools[3] = {0};
    for (int k = 0; k < t->count; k++)
        for (int axis = 0; axis < 3; axis++) pools[axis] += t->stages[k].stride[axis] > 1;
    json_add_string(json, "UNet_class_name", plan->model.residual ? "ResidualEncoderUNet" : "PlainConvUNet");
    json_add_integer(json, "UNet_base_num_features", t->stages[0].features);
    json_add_integer(json, "unet_max_num_features", t->stages[t->count - 1].features);
    add_depths(json, "n_conv_per_stage_encoder", "n_conv_per_stage_decoder", plan);
    add_wholes(json, "num_pool_per_axis", &axes, pools);
    add_strides(json, "pool_op_kernel_sizes", plan);
    add_kernels(json, "conv_kernel_sizes", plan);
}

static void add_resampling(json_writer *json, const char *function, int is_labels, int order) {
    char key[64];
    json_add_string(json, function, "resample_data_or_seg_to_shape");
    snprintf(key, sizeof key, "%s_kwargs", function);
    json_begin_object(json, key);
    json_add_bool(json, "is_seg", is_labels);
    json_add_integer(json, "order", order);
    json_add_integer(json, "order_z", 0);
    json_add_string(json, "force_separate_z", NULL);
    json_end(json);
}

static void add_normalisations(json_writer *json, const plan *plan) {
    static const char *const SCHEMES[] = {[NORMALISE_ZSCORE] = "ZScoreNormalization",
                                          [NORMALISE_CT] = "CTNormalization",
                                          [NORMALISE_RESCALE] = "RescaleTo01Normalization",
                                          [NORMALISE_NONE] = "NoNormalization",
                                          [NORMALISE_RGB] = "RGBTo01Normalization"};
    json_begin_row(json, "normalization_schemes");
    for (int c = 0; c < plan->channels; c++) json_add_string(json, NULL, SCHEMES[plan->channel[c].rule.kind]);
    json_end(json);
    json_begin_row(json, "use_mask_for_norm");
    for (int c = 0; c < plan->channels; c++) json_add_bool(json, NULL, plan->channel[c].rule.masked);
    json_end(json);
}

static void add_configuration(json_writer *json, const plan *plan) {
    const nnunet_axes axes = nnunet_plan_axes(plan);
    char identifier[64];
    snprintf(identifier, sizeof identifier, "nnUNetPlans_%s", nnunet_configuration(plan));
    json_begin_object(json, nnunet_configuration(plan));
    json_add_string(json, "data_identifier", identifier);
    json_add_string(json, "preprocessor_name", "DefaultPreprocessor");
    json_add_integer(json, "batch_size", plan->batch);
    add_wholes(json, "patch_size", &axes, plan->patch);
    add_numbers(json, "median_image_size_in_voxels", &axes, 3 - axes.dimensions, plan->median_size);
    add_numbers(json, "spacing", &axes, 3 - axes.dimensions, plan->spacing);
    add_normalisations(json, plan);
    add_resampling(json, "resampling_fn_data", 0, 3);
    add_resampling(json, "resampling_fn_seg", 1, 1);
    add_resampling(json, "resampling_fn_probabilities", 0, 1);
    json_add_bool(json, "batch_dice", 0);
    add_old_architecture(json, plan);
    add_architecture(json, plan);
    json_end(json);
}

static void add_intensities(json_writer *json, const plan *plan) {
    json_begin_object(json, "foreground_intensity_properties_per_channel");
    for (int c = 0; c < plan->channels; c++) {
        const channel_rule *rule = &plan->channel[c].rule;
        char key[16];
        snprintf(key, sizeof key, "%d", c);
        json_begin_object(json, key);
        json_add_number(json, "mean", rule->mean);
        json_add_number(json, "std", rule->deviation);
        json_add_number(json, "percentile_00_5", rule->low);
        json_add_number(json, "percentile_99_5", rule->high);
        json_end(json);
    }
    json_end(json);
}

static void add_order(json_writer *json, const char *key, const int order[3]) {
    json_begin_row(json, key);
    for (int k = 0; k < 3; k++) json_add_integer(json, NULL, order[k]);
    json_end(json);
}

void nnunet_plan_format(const plan *plan, text *plans) {
    const nnunet_axes axes = nnunet_plan_axes(plan);
    int back[3];
    for (int k = 0; k < 3; k++) back[axes.order[k]] = k;
    json_writer json = json_writer_start(plans);
    json_begin_object(&json, NULL);
    json_add_string(&json, "dataset_name", plan->dataset);
    json_add_string(&json, "plans_name", "nnUNetPlans");
    add_numbers(&json, "original_median_spacing_after_transp", &axes, 0, plan->spacing);
    add_numbers(&json, "original_median_shape_after_transp", &axes, 0, plan->median_size);
    json_add_string(&json, "image_reader_writer", "NibabelIO");
    add_order(&json, "transpose_forward", axes.order);
    add_order(&json, "transpose_backward", back);
    json_begin_object(&json, "configurations");
    add_configuration(&json, plan);
    json_end(&json);
    json_add_string(&json, "experiment_planner_used", "ExperimentPlanner");
    json_add_string(&json, "label_manager", "LabelManager");
    add_intensities(&json, plan);
    json_end(&json);
}

/* ---- dataset.json ------------------------------------------------------------------------------------------------ */

static void add_region(json_writer *json, const label_scheme *labels, int region) {
    json_begin_row(json, labels->region[region].name);
    for (int c = 0; c < labels->classes; c++)
        if (labels->inside[c] >> region & 1) json_add_integer(json, NULL, labels->values[c]);
    json_end(json);
}

static void add_labels(json_writer *json, const label_scheme *labels, char *const *names) {
    json_begin_object(json, "labels");
    json_add_integer(json, NNUNET_BACKGROUND, 0);
    for (int r = 0; r < labels->regions; r++) add_region(json, labels, r);
    for (int c = 1; c < labels->classes && !labels->regions; c++) json_add_integer(json, names[c], labels->values[c]);
    json_end(json);
    if (!labels->regions) return;
    json_begin_row(json, "regions_class_order");
    for (int r = 0; r < labels->regions; r++) json_add_integer(json, NULL, labels->values[labels->region[r].writes]);
    json_end(json);
}

void nnunet_dataset_format(const plan *plan, char *const *names, text *dataset) {
    json_writer json = json_writer_start(dataset);
    json_begin_object(&json, NULL);
    json_begin_object(&json, "channel_names");
    for (int c = 0; c < plan->channels; c++) {
        char key[16];
        snprintf(key, sizeof key, "%d", c);
        json_add_string(&json, key, plan->channel[c].name);
    }
    json_end(&json);
    add_labels(&json, &plan->labels, names);
    json_add_string(&json, "file_ending", ".nii.gz");
    json_end(&json);
}
