#include "nnunet/nnunet_plan.h"

#include "cache/dataset_scheme.h"
#include "core/path.h"
#include "dataset/dataset.h"
#include "json/json_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INHERITANCE_MAX = 16 };

/* The configuration with those that it inherits from, nearest first. Once something failed, the rest does nothing. */
typedef struct source {
    const char *file;
    const json_t *plans;
    const json_t *configuration[INHERITANCE_MAX];
    int depth;
    const json_t *network; /* arch_kwargs, from version 2.3 on; else NULL */
    status_code status;
    failure *failure;
} source;

static void refuse(source *s, const char *what, const char *why) {
    if (s->status == STATUS_OK) s->status = fail(s->failure, STATUS_BAD_INPUT, "%s: %s %s", s->file, what, why);
}

/* ---- looking things up ------------------------------------------------------------------------------------------- */

static const json_t *get(const source *s, const char *key) {
    const json_t *value = NULL;
    for (int k = 0; k < s->depth && !value; k++) value = json_object_get(s->configuration[k], key);
    return value;
}

static const json_t *need(source *s, const char *key) {
    const json_t *value = get(s, key);
    if (!value) refuse(s, key, "is missing: is it a plans.json of nnU-Net v2?");
    return value;
}

/* A number of a list, or the number itself, which then stands for all. */
static double number_at(source *s, const json_t *list, size_t index, const char *what) {
    const json_t *value = json_is_array(list) ? json_array_get(list, index) : list;
    if (!json_is_number(value)) refuse(s, what, "has too few numbers");
    return json_number_value(value);
}

static int whole_at(source *s, const json_t *list, size_t index, const char *what) {
    const double value = number_at(s, list, index, what);
    if (!(value >= 0 && value <= 1e6 && value == floor(value))) refuse(s, what, "holds an impossible number");
    return value >= 0 && value <= 1e6 ? (int)value : 0;
}

static int is_text(const json_t *value, const char *text) {
    return json_is_string(value) && strcmp(json_string_value(value), text) == 0;
}

/* Finds the configuration and what it inherits from. */
static void find_configuration(source *s, const char *name) {
    const json_t *all = json_object_get(s->plans, "configurations");
    for (const char *next = name; next && s->status == STATUS_OK;) {
        const json_t *found = json_object_get(all, next);
        if (!json_is_object(found)) refuse(s, next, "is no configuration of these plans");
        else if (s->depth == INHERITANCE_MAX) refuse(s, name, "inherits from itself");
        else s->configuration[s->depth++] = found;
        next = json_string_value(json_object_get(found, "inherits_from"));
    }
    s->network = json_object_get(get(s, "architecture"), "arch_kwargs");
}

/* ---- what we do only in one way ---------------------------------------------------------------------------------- */

static void expect_text(source *s, const char *key, const char *text) {
    const json_t *value = need(s, key);
    char why[256];
    snprintf(why, sizeof why, "is %.100s; only %s can be served",
             json_is_string(value) ? json_string_value(value) : "no text", text);
    if (value && !is_text(value, text)) refuse(s, key, why);
}

static void expect_resampling(source *s, const char *function, double order) {
    char key[64];
    snprintf(key, sizeof key, "%s_kwargs", function);
    expect_text(s, function, "resample_data_or_seg_to_shape");
    const json_t *options = need(s, key), *separate = json_object_get(options, "force_separate_z");
    if (json_number_value(json_object_get(options, "order")) != order ||
        json_number_value(json_object_get(options, "order_z")) != 0 || (separate && !json_is_null(separate)))
        refuse(s, key, "has other orders of interpolation than nnU-Net's usual ones: that cannot be served");
}

/* Others turn the images first, or read other files than NIfTI. Plans that do not tell are taken to mean these two. */
static void check_reader(source *s) {
    const json_t *reader = json_object_get(s->plans, "image_reader_writer");
    char why[256];
    snprintf(why, sizeof why,
             "is %.100s, which may turn images or read other files: only SimpleITKIO and NibabelIO can be served",
             json_is_string(reader) ? json_string_value(reader) : "no text");
    if (reader && !is_text(reader, "SimpleITKIO") && !is_text(reader, "NibabelIO"))
        refuse(s, "image_reader_writer", why);
}

static void check_preprocessing(source *s) {
    const json_t *previous = get(s, "previous_stage");
    if (previous && !json_is_null(previous))
        refuse(s, "previous_stage",
               "makes it a cascade, which cannot be served: import its first stage, or 3d_fullres");
    check_reader(s);
    expect_text(s, "preprocessor_name", "DefaultPreprocessor");
    expect_resampling(s, "resampling_fn_data", 3);
    expect_resampling(s, "resampling_fn_probabilities", 1);
}

static void expect_layer(source *s, const char *key, const char *last) {
    const char *value = json_string_value(json_object_get(s->network, key));
    const char *dot = value ? strrchr(value, '.') : NULL;
    const char *name = dot ? dot + 1 : value ? value : "nothing";
    char why[256];
    snprintf(why, sizeof why, "is %.100s; only %s can be served", name, last);
    if (strcmp(name, last) != 0) refuse(s, key, why);
}

/* Plans of before 2.3 name no layers: they have always these. */
static void check_layers(source *s, int dimensions) {
    if (!s->network) return;
    const json_t *norm = json_object_get(s->network, "norm_op_kwargs"),
                 *slope = json_object_get(s->network, "nonlin_kwargs");
    const json_t *dropout = json_object_get(s->network, "dropout_op"), *epsilon = json_object_get(norm, "eps");
    expect_layer(s, "conv_op", dimensions == 3 ? "Conv3d" : "Conv2d");
    expect_layer(s, "norm_op", dimensions == 3 ? "InstanceNorm3d" : "InstanceNorm2d");
    expect_layer(s, "nonlin", "LeakyReLU");
    if (!json_is_true(json_object_get(s->network, "conv_bias")))
        refuse(s, "conv_bias", "is false, which cannot be served");
    if (!json_is_true(json_object_get(norm, "affine")) || (epsilon && json_number_value(epsilon) != 1e-5))
        refuse(s, "norm_op_kwargs", "are not nnU-Net's usual ones (affine, eps 1e-5): that cannot be served");
    if (json_object_get(slope, "negative_slope") && json_number_value(json_object_get(slope, "negative_slope")) != 0.01)
        refuse(s, "nonlin_kwargs", "has another slope than 0.01, which cannot be served");
    if (dropout && !json_is_null(dropout)) refuse(s, "dropout_op", "is set, which cannot be served");
}

/* ---- network ----------------------------------------------------------------------------------------------------- */

static int is_residual(source *s) {
    const json_t *value =
        s->network ? json_object_get(get(s, "architecture"), "network_class_name") : need(s, "UNet_class_name");
    const char *whole = json_is_string(value) ? json_string_value(value) : "nothing", *dot = strrchr(whole, '.');
    const char *name = dot ? dot + 1 : whole;
    if (strcmp(name, "PlainConvUNet") == 0) return 0;
    if (strcmp(name, "ResidualEncoderUNet") == 0) return 1;
    char why[200];
    snprintf(why, sizeof why, "is %.100s; only PlainConvUNet and ResidualEncoderUNet can be served", name);
    refuse(s, "the network's class", why);
    return 0;
}

static const json_t *network_value(source *s, const char *now, const char *before) {
    const json_t *value = s->network ? json_object_get(s->network, now) : need(s, before);
    if (!value) refuse(s, now, "is missing in arch_kwargs");
    return value;
}

static int features_at(source *s, int level) {
    if (s->network)
        return whole_at(s, json_object_get(s->network, "features_per_stage"), (size_t)level, "features_per_stage");
    const double most = number_at(s, need(s, "unet_max_num_features"), 0, "unet_max_num_features");
    const double features = ldexp(number_at(s, need(s, "UNet_base_num_features"), 0, "UNet_base_num_features"), level);
    return (int)fmin(fmin(features, most), 4096);
}

/* Three numbers in our order from those of the network's axes; in 2D the axis across the slices has 1. */
static void place(source *s, const json_t *list, const nnunet_axes *axes, const char *what, int out[3]) {
    const int across = 3 - axes->dimensions;
    for (int k = 0; k < 3; k++) out[axes->order[k]] = k < across ? 1 : whole_at(s, list, (size_t)(k - across), what);
}

static void read_stage(source *s, const nnunet_axes *axes, int level, int residual, topology_stage *stage) {
    const json_t *kernels = network_value(s, "kernel_sizes", "conv_kernel_sizes");
    const json_t *strides = network_value(s, "strides", "pool_op_kernel_sizes");
    const json_t *depth =
        network_value(s, residual ? "n_blocks_per_stage" : "n_conv_per_stage", "n_conv_per_stage_encoder");
    const int layers = whole_at(s, depth, (size_t)level, "the number of layers of a stage");
    stage->features = features_at(s, level);
    stage->blocks = residual ? layers : 0;
    place(s, json_array_get(kernels, (size_t)level), axes, "the kernel of a stage", stage->kernel);
    place(s, json_is_array(strides) ? json_array_get(strides, (size_t)level) : strides, axes, "the stride of a stage",
          stage->stride);
    if (!residual && layers != 2) refuse(s, "n_conv_per_stage", "is not 2 in every stage: that cannot be served");
}

static void read_network(source *s, const nnunet_axes *axes, plan *plan) {
    const int residual = is_residual(s);
    const json_t *kernels = network_value(s, "kernel_sizes", "conv_kernel_sizes");
    const json_t *decoder = network_value(s, "n_conv_per_stage_decoder", "n_conv_per_stage_decoder");
    const char *name = json_string_value(json_object_get(s->plans, "plans_name"));
    plan->topology.count = (int)json_array_size(kernels);
    plan->model = (plan_model){
        .residual = residual, .large = residual && name && strstr(name, "UNetL"), .slices = axes->dimensions == 2};
    plan->bias = 1;
    if (plan->topology.count < 2 || plan->topology.count > TOPOLOGY_MAX_STAGES) {
        refuse(s, "the network", "has a number of stages that cannot be served");
        return;
    }
    for (int k = 0; k < plan->topology.count; k++) read_stage(s, axes, k, residual, &plan->topology.stages[k]);
    for (int k = 0; k < plan->topology.count - 1; k++)
        if (whole_at(s, decoder, (size_t)k, "n_conv_per_stage_decoder") != (residual ? 1 : 2))
            refuse(s, "n_conv_per_stage_decoder",
                   residual ? "is not 1 in every stage: that cannot be served"
                            : "is not 2 in every stage: that cannot be served");
    check_layers(s, axes->dimensions);
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

static void read_axes(source *s, nnunet_axes *axes) {
    const json_t *order = json_object_get(s->plans, "transpose_forward");
    unsigned seen = 0;
    axes->dimensions = (int)json_array_size(need(s, "patch_size"));
    if (axes->dimensions != 2 && axes->dimensions != 3) refuse(s, "patch_size", "has neither two nor three numbers");
    for (int k = 0; k < 3; k++) {
        axes->order[k] = whole_at(s, order, (size_t)k, "transpose_forward");
        if (axes->order[k] < 0 || axes->order[k] > 2) axes->order[k] = 0;
        seen |= 1u << axes->order[k];
    }
    if (seen != 7) refuse(s, "transpose_forward", "is no order of three axes");
}

/* Of images along the network's axis k, where the configuration does not tell: the axis across slices. */
static double usual(source *s, const char *key, int k) {
    return number_at(s, json_object_get(s->plans, key), (size_t)k, key);
}

static void read_sizes(source *s, const nnunet_axes *axes, unsigned mirrored, plan *plan) {
    const json_t *spacing = need(s, "spacing"), *median = need(s, "median_image_size_in_voxels");
    const int across = 3 - axes->dimensions;
    for (int k = 0; k < 3; k++) {
        const int axis = axes->order[k];
        plan->spacing[axis] = k < across ? usual(s, "original_median_spacing_after_transp", k)
                                         : number_at(s, spacing, (size_t)(k - across), "spacing");
        plan->median_size[axis] = k < across
                                      ? usual(s, "original_median_shape_after_transp", k)
                                      : number_at(s, median, (size_t)(k - across), "median_image_size_in_voxels");
        plan->unresampled[axis] = k < across;
        plan->unmirrored[axis] = k >= across && !(mirrored >> (k - across) & 1);
    }
    place(s, need(s, "patch_size"), axes, "patch_size", plan->patch);
    plan->batch = whole_at(s, need(s, "batch_size"), 0, "batch_size");
}

static void read_rule(source *s, int channel, channel_rule *rule) {
    static const struct {
        const char *name;
        normalisation kind;
    } SCHEMES[] = {{"ZScoreNormalization", NORMALISE_ZSCORE},
                   {"CTNormalization", NORMALISE_CT},
                   {"RescaleTo01Normalization", NORMALISE_RESCALE},
                   {"NoNormalization", NORMALISE_NONE},
                   {"RGBTo01Normalization", NORMALISE_RGB}};
    const json_t *scheme = json_array_get(need(s, "normalization_schemes"), (size_t)channel);
    int found = -1;
    for (int k = 0; k < (int)(sizeof SCHEMES / sizeof *SCHEMES); k++)
        if (is_text(scheme, SCHEMES[k].name)) found = k;
    char why[200];
    snprintf(why, sizeof why, "has %.100s, which cannot be served",
             json_is_string(scheme) ? json_string_value(scheme) : "too few entries");
    if (found < 0) refuse(s, "normalization_schemes", why);
    else rule->kind = SCHEMES[found].kind;
    rule->masked = json_is_true(json_array_get(need(s, "use_mask_for_norm"), (size_t)channel));
}

/* Of the foreground in the whole dataset; only CT needs them, but all channels have them. */
static void read_intensities(source *s, int channel, channel_rule *rule) {
    const json_t *all = json_object_get(s->plans, "foreground_intensity_properties_per_channel");
    char key[16];
    snprintf(key, sizeof key, "%d", channel);
    if (!all) all = json_object_get(s->plans, "foreground_intensity_properties_by_modality");
    const json_t *of = json_object_get(all, key);
    rule->mean = json_number_value(json_object_get(of, "mean"));
    rule->deviation = json_number_value(json_object_get(of, "std"));
    rule->low = json_number_value(json_object_get(of, "percentile_00_5"));
    rule->high = json_number_value(json_object_get(of, "percentile_99_5"));
    if (rule->kind == NORMALISE_CT && !json_is_number(json_object_get(of, "mean")))
        refuse(s, "foreground_intensity_properties_per_channel", "do not tell about a channel that is CT");
}

static void read_channels(source *s, const dataset *set, plan *plan) {
    plan->channels = set->channels;
    for (int c = 0; c < set->channels && c < PLAN_MAX_CHANNELS; c++) {
        snprintf(plan->channel[c].name, sizeof plan->channel[c].name, "%s", set->channel_names[c]);
        read_rule(s, c, &plan->channel[c].rule);
        read_intensities(s, c, &plan->channel[c].rule);
    }
}

static void read_all(source *s, const char *configuration, unsigned mirrored, const dataset *set, plan *plan,
                     nnunet_axes *axes) {
    const char *name = json_string_value(json_object_get(s->plans, "dataset_name"));
    snprintf(plan->dataset, sizeof plan->dataset, "%s", name ? name : "nnU-Net");
    find_configuration(s, configuration);
    if (s->status == STATUS_OK) read_axes(s, axes);
    if (s->status == STATUS_OK) check_preprocessing(s);
    if (s->status == STATUS_OK) read_network(s, axes, plan);
    if (s->status == STATUS_OK) read_sizes(s, axes, mirrored, plan);
    if (s->status == STATUS_OK) read_channels(s, set, plan);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* What the network's output is called: a region, or the label of this value. */
static const char *output_name(const dataset *set, const label_scheme *labels, int output) {
    if (labels->regions) return labels->region[output].name;
    for (int k = 0; k < set->label_count; k++)
        if (set->labels[k].count == 1 && set->labels[k].values[0] == labels->values[output]) return set->labels[k].name;
    return "";
}

/* The pointers, then the texts that they point to. */
static char **copy_names(const dataset *set, const label_scheme *labels) {
    const int outputs = label_scheme_outputs(labels);
    size_t bytes = (size_t)outputs * sizeof(char *);
    for (int k = 0; k < outputs; k++) bytes += strlen(output_name(set, labels, k)) + 1;
    char **names = malloc(bytes), *at = names ? (char *)(names + outputs) : NULL;
    for (int k = 0; names && k < outputs; k++) {
        names[k] = strcpy(at, output_name(set, labels, k));
        at += strlen(at) + 1;
    }
    return names;
}

/* ---- from outside ------------------------------------------------------------------------------------------------ */

static status_code read_both(const char *folder, const char *path, dataset *set, json_t **plans, failure *failure) {
    if (!path_exists(path))
        return fail(failure, STATUS_CANNOT_READ,
                    "%s is not there: name nnU-Net's folder TRAINER__PLANS__CONFIGURATION, which holds the folds",
                    path);
    const status_code status = json_file_read(path, plans, failure);
    return status == STATUS_OK ? dataset_open_description(set, folder, failure) : status;
}

status_code nnunet_plan_read(const char *folder, const char *configuration, unsigned mirrored, plan *plan,
                             nnunet_axes *axes, char ***names, failure *failure) {
    char path[PATH_SIZE];
    json_t *plans = NULL;
    dataset set = {0};
    memset(plan, 0, sizeof *plan);
    *names = NULL;
    status_code status = path_join(path, folder, "plans.json", failure);
    if (status == STATUS_OK) status = read_both(folder, path, &set, &plans, failure);
    if (status == STATUS_OK) status = dataset_scheme(&set, &plan->labels, failure);
    if (status == STATUS_OK) {
        source s = {.file = path, .plans = plans, .failure = failure};
        plan->classes = label_scheme_outputs(&plan->labels);
        read_all(&s, configuration, mirrored, &set, plan, axes);
        status = s.status;
    }
    if (status == STATUS_OK) status = plan_check(plan, path, failure);
    if (status == STATUS_OK && !(*names = copy_names(&set, &plan->labels))) status = fail_memory(failure, path);
    dataset_close(&set);
    json_decref(plans);
    return status;
}
