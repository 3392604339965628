/* plans.json, written to be read by people and read strictly, because people change it. */
#include "core/json_writer.h"
#include "core/whole_file.h"
#include "plan/plan.h"
#include "json/json_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1, FILE_LIMIT = 1 << 22, MAX_FEATURES = 4096, MAX_BLOCKS = 64 };
#define MAX_PATCH_VOXELS 1e9

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* Laid out by hand, with a line for each thing that people compare and change. */
static void add_three(text *text, const char *name, const double three[3]) {
    text_format(text, "\"%s\": [%.17g, %.17g, %.17g]", name, three[0], three[1], three[2]);
}

static void add_whole_three(text *text, const char *name, const int three[3]) {
    text_format(text, "\"%s\": [%d, %d, %d]", name, three[0], three[1], three[2]);
}

static void add_channel(text *text, const plan_channel *channel) {
    const channel_rule *rule = &channel->rule;
    text_add(text, "    {\"name\": ");
    json_text_string(text, channel->name);
    text_format(text, ", \"normalisation\": \"%s\", \"masked\": %s,\n     ", normalisation_name(rule->kind),
                rule->masked ? "true" : "false");
    text_format(text, "\"mean\": %.17g, \"deviation\": %.17g, \"low\": %.17g, \"high\": %.17g}", rule->mean,
                rule->deviation, rule->low, rule->high);
}

static void add_stage(text *text, const topology_stage *stage) {
    text_format(text, "    {\"features\": %d, ", stage->features);
    if (stage->blocks) text_format(text, "\"blocks\": %d, ", stage->blocks);
    add_whole_three(text, "kernel", stage->kernel);
    text_add(text, ", ");
    add_whole_three(text, "stride", stage->stride);
    text_add(text, "}");
}

static void add_values(text *text, const char *name, const label_scheme *labels, unsigned within) {
    const char *between = "";
    text_format(text, "\"%s\": [", name);
    for (int c = 0; c < labels->classes; c++) {
        if (within && !(labels->inside[c] & within)) continue;
        text_format(text, "%s%d", between, labels->values[c]);
        between = ", ";
    }
    text_add(text, "]");
}

static void add_region(text *text, const label_scheme *labels, int r) {
    text_add(text, "    {\"name\": ");
    json_text_string(text, labels->region[r].name);
    text_add(text, ", ");
    add_values(text, "values", labels, 1u << r);
    text_format(text, ", \"writes\": %d}", labels->values[labels->region[r].writes]);
}

/* Values only where some are left out, regions only where there are any: all other plans are as they always were. */
static void add_labels(text *text, const label_scheme *labels) {
    text_format(text, ",\n  \"classes\": %d,\n  ", labels->classes);
    if (label_scheme_has_gaps(labels)) {
        add_values(text, "labels", labels, 0);
        text_add(text, ",\n  ");
    }
    if (labels->regions) text_add(text, "\"regions\": [\n");
    for (int r = 0; r < labels->regions; r++) {
        add_region(text, labels, r);
        text_add(text, r + 1 < labels->regions ? ",\n" : "\n  ],\n  ");
    }
}

/* A plan without a model is of the plain U-Net in 3D, as all once were. */
static void add_model(text *text, const plan_model *model) {
    char name[PLAN_MODEL_SIZE];
    plan_model_name(model, name);
    if (model->residual || model->slices) text_format(text, ",\n  \"model\": \"%s\"", name);
}

/* Only where they differ from what plans always were. */
static void add_marked_axes(text *text, const char *key, const int axes[3]) {
    if (!axes[0] && !axes[1] && !axes[2]) return;
    text_add(text, "  ");
    add_whole_three(text, key, axes);
    text_add(text, ",\n");
}

static void add_choices(text *text, const plan *plan) {
    if (plan->bias) text_add(text, "  \"bias\": true,\n");
    add_marked_axes(text, "unmirrored", plan->unmirrored);
    add_marked_axes(text, "unresampled", plan->unresampled);
}

static void add_plan(text *text, const plan *plan) {
    text_format(text, "{\n  \"hws_plan\": %d,\n  \"dataset\": ", VERSION);
    json_text_string(text, plan->dataset);
    add_model(text, &plan->model);
    add_labels(text, &plan->labels);
    add_three(text, "spacing", plan->spacing);
    text_add(text, ",\n  ");
    add_three(text, "median_size", plan->median_size);
    text_add(text, ",\n  ");
    add_whole_three(text, "patch", plan->patch);
    text_format(text, ",\n  \"batch\": %d,\n", plan->batch);
    add_choices(text, plan);
    text_add(text, "  \"channels\": [\n");
    for (int c = 0; c < plan->channels; c++) {
        add_channel(text, &plan->channel[c]);
        text_add(text, c + 1 < plan->channels ? ",\n" : "\n  ],\n  \"stages\": [\n");
    }
    for (int k = 0; k < plan->topology.count; k++) {
        add_stage(text, &plan->topology.stages[k]);
        text_add(text, k + 1 < plan->topology.count ? ",\n" : "\n  ]\n}\n");
    }
}

status_code plan_write(const plan *plan, const char *path, failure *failure) {
    text text = {0};
    add_plan(&text, plan);
    const status_code status = whole_file_write_text(path, &text, failure);
    text_close(&text);
    return status;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* Once something failed, the rest does nothing: the first failure is the one to tell. */
typedef struct reader {
    const char *file;
    status_code status;
    failure *failure;
} reader;

static void refuse(reader *reader, const char *where, const char *what) {
    if (reader->status != STATUS_OK) return;
    reader->status = fail(reader->failure, STATUS_CORRUPT,
                          "%s: %s %s; correct it, or have hws plan --replan make a new one", reader->file, where, what);
}

/* The member with this name; NULL, and refused, if it is missing. */
static json_t *member(reader *reader, json_t *object, const char *where, const char *key) {
    json_t *value = json_object_get(object, key);
    char what[128];
    snprintf(what, sizeof what, "has no \"%s\"", key);
    if (!value) refuse(reader, where, what);
    return value;
}

/* An object with exactly `count` members whose names are all asked for elsewhere: others are mistyped ones. */
static void expect_keys(reader *reader, json_t *object, const char *where, const char *const *keys) {
    if (!json_is_object(object)) {
        refuse(reader, where, "must be an object { }");
        return;
    }
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        int known = 0;
        for (int k = 0; keys[k]; k++) known |= strcmp(key, keys[k]) == 0;
        char what[128];
        snprintf(what, sizeof what, "has an unknown key \"%.60s\"", key);
        if (!known) refuse(reader, where, what);
    }
}

static double to_number(reader *reader, const json_t *value, const char *where, double low, double high) {
    const double number = json_is_number(value) ? json_number_value(value) : NAN;
    char what[128];
    snprintf(what, sizeof what, "must be a number from %g to %g", low, high);
    if (!(number >= low && number <= high)) refuse(reader, where, what);
    return number >= low && number <= high ? number : low;
}

static double number(reader *reader, json_t *object, const char *key, double low, double high) {
    json_t *value = member(reader, object, "the plan", key);
    return value ? to_number(reader, value, key, low, high) : low;
}

static int to_whole(reader *reader, const json_t *value, const char *where, int low, int high) {
    const json_int_t whole = json_is_integer(value) ? json_integer_value(value) : (json_int_t)low - 1;
    char what[128];
    snprintf(what, sizeof what, "must be a whole number from %d to %d", low, high);
    if (whole < low || whole > high) refuse(reader, where, what);
    return whole < low || whole > high ? low : (int)whole;
}

static int whole(reader *reader, json_t *object, const char *key, int low, int high) {
    json_t *value = member(reader, object, "the plan", key);
    return value ? to_whole(reader, value, key, low, high) : low;
}

/* The list with `low` to `high` entries, or NULL. */
static json_t *list(reader *reader, json_t *object, const char *key, size_t low, size_t high) {
    json_t *value = member(reader, object, "the plan", key);
    if (!value) return NULL;
    char what[128];
    snprintf(what, sizeof what, "must be a list of %zu to %zu", low, high);
    if (json_is_array(value) && json_array_size(value) >= low && json_array_size(value) <= high) return value;
    refuse(reader, key, what);
    return NULL;
}

static void three(reader *reader, json_t *object, const char *key, double low, double high, double out[3]) {
    json_t *value = list(reader, object, key, 3, 3);
    for (int k = 0; k < 3; k++)
        out[k] = value ? to_number(reader, json_array_get(value, (size_t)k), key, low, high) : low;
}

static void whole_three(reader *reader, json_t *object, const char *key, int low, int high, int out[3]) {
    json_t *value = list(reader, object, key, 3, 3);
    for (int k = 0; k < 3; k++)
        out[k] = value ? to_whole(reader, json_array_get(value, (size_t)k), key, low, high) : low;
}

static void name(reader *reader, json_t *object, const char *key, char out[PLAN_NAME_SIZE]) {
    json_t *value = member(reader, object, "the plan", key);
    if (!value) return;
    const size_t length = json_is_string(value) ? json_string_length(value) : PLAN_NAME_SIZE;
    if (length >= PLAN_NAME_SIZE || memchr(json_string_value(value), 0, length))
        refuse(reader, key, "must be a string of at most 127 bytes");
    else memcpy(out, json_string_value(value), length + 1);
}

static void read_channel(reader *reader, json_t *object, plan_channel *channel) {
    static const char *const KEYS[] = {"name", "normalisation", "masked", "mean", "deviation", "low", "high", NULL};
    expect_keys(reader, object, "a channel", KEYS);
    if (reader->status != STATUS_OK) return;
    channel_rule *rule = &channel->rule;
    char kind[PLAN_NAME_SIZE] = "";
    name(reader, object, "name", channel->name);
    name(reader, object, "normalisation", kind);
    const int found = normalisation_named(kind);
    if (found < 0) refuse(reader, "normalisation", "must be \"z-score\", \"ct\", \"rescale\", \"rgb\" or \"none\"");
    rule->kind = found < 0 ? NORMALISE_NONE : (normalisation)found;
    const json_t *masked = member(reader, object, "a channel", "masked");
    if (!json_is_boolean(masked)) refuse(reader, "masked", "must be true or false");
    rule->masked = json_is_true(masked);
    rule->mean = number(reader, object, "mean", -1e30, 1e30);
    rule->deviation = number(reader, object, "deviation", 0, 1e30);
    rule->low = number(reader, object, "low", -1e30, 1e30);
    rule->high = number(reader, object, "high", -1e30, 1e30);
    if (rule->low > rule->high) refuse(reader, "low", "must not be above high");
}

static void read_stage(reader *reader, json_t *object, const plan *plan, topology_stage *stage) {
    static const char *const KEYS[] = {"features", "kernel", "stride", "blocks", NULL};
    const int first = stage == plan->topology.stages;
    expect_keys(reader, object, "a stage", KEYS);
    if (reader->status != STATUS_OK) return;
    stage->features = whole(reader, object, "features", 1, MAX_FEATURES);
    if (plan->model.residual) stage->blocks = whole(reader, object, "blocks", 1, MAX_BLOCKS);
    else if (json_object_get(object, "blocks")) refuse(reader, "a stage", "has \"blocks\", but its model has none");
    whole_three(reader, object, "kernel", 1, 3, stage->kernel);
    whole_three(reader, object, "stride", 1, first ? 1 : 2, stage->stride);
    for (int k = 0; k < 3; k++)
        if (stage->kernel[k] == 2) refuse(reader, "kernel", "must be 1 or 3 along each axis");
}

static void read_values(reader *reader, json_t *root, label_scheme *labels) {
    const int classes = labels->classes;
    json_t *values = list(reader, root, "labels", (size_t)classes, (size_t)classes);
    for (int c = 0; values && c < classes; c++) {
        const int value = to_whole(reader, json_array_get(values, (size_t)c), "labels", 0, INT16_MAX);
        if (c ? value <= labels->values[c - 1] : value != 0) refuse(reader, "labels", "must ascend from 0");
        labels->values[c] = (int16_t)value;
    }
}

static int class_of(reader *reader, const label_scheme *labels, const json_t *value, const char *where) {
    const int found = label_scheme_class(labels, to_whole(reader, value, where, 1, INT16_MAX));
    if (found < 0) refuse(reader, where, "must hold values of labels");
    return found < 0 ? 0 : found;
}

static void read_region(reader *reader, json_t *object, label_scheme *labels, int r) {
    static const char *const KEYS[] = {"name", "values", "writes", NULL};
    expect_keys(reader, object, "a region", KEYS);
    if (reader->status != STATUS_OK) return;
    name(reader, object, "name", labels->region[r].name);
    json_t *values = list(reader, object, "values", 1, (size_t)labels->classes - 1);
    for (size_t k = 0; values && k < json_array_size(values); k++)
        labels->inside[class_of(reader, labels, json_array_get(values, k), "values")] |= (uint16_t)(1u << r);
    const json_t *writes = member(reader, object, "a region", "writes");
    if (writes) labels->region[r].writes = (int16_t)class_of(reader, labels, writes, "writes");
}

static void read_labels(reader *reader, json_t *root, plan *plan) {
    label_scheme *labels = &plan->labels;
    label_scheme_plain(labels, whole(reader, root, "classes", 2, LABELS_MAX_CLASSES));
    if (json_object_get(root, "labels")) read_values(reader, root, labels);
    json_t *regions = json_object_get(root, "regions") ? list(reader, root, "regions", 1, LABELS_MAX_REGIONS) : NULL;
    labels->regions = (int)json_array_size(regions);
    for (int r = 0; r < labels->regions; r++) read_region(reader, json_array_get(regions, (size_t)r), labels, r);
    plan->classes = label_scheme_outputs(labels);
}

static void check_patch(reader *reader, const plan *plan) {
    int multiple[3];
    topology_multiple(&plan->topology, multiple);
    char what[128];
    snprintf(what, sizeof what, "must be a multiple of %d x %d x %d, which the strides need", multiple[0], multiple[1],
             multiple[2]);
    for (int k = 0; k < 3; k++)
        if (plan->patch[k] % multiple[k] != 0) refuse(reader, "patch", what);
    if ((double)plan->patch[0] * plan->patch[1] * plan->patch[2] > MAX_PATCH_VOXELS)
        refuse(reader, "patch", "has more than 1e9 voxels");
}

static void read_lists(reader *reader, json_t *root, plan *plan) {
    json_t *channels = list(reader, root, "channels", 1, PLAN_MAX_CHANNELS);
    json_t *stages = list(reader, root, "stages", 2, TOPOLOGY_MAX_STAGES);
    if (!channels || !stages) return;
    plan->channels = (int)json_array_size(channels);
    for (int c = 0; c < plan->channels; c++)
        read_channel(reader, json_array_get(channels, (size_t)c), &plan->channel[c]);
    plan->topology.count = (int)json_array_size(stages);
    for (int k = 0; k < plan->topology.count; k++)
        read_stage(reader, json_array_get(stages, (size_t)k), plan, &plan->topology.stages[k]);
}

static void read_model(reader *reader, json_t *root, plan_model *model) {
    char text[PLAN_NAME_SIZE] = "";
    *model = (plan_model){0};
    if (!json_object_get(root, "model")) return;
    name(reader, root, "model", text);
    if (reader->status == STATUS_OK && plan_model_parse(text, model, NULL) != STATUS_OK)
        refuse(reader, "model", "must be unet, resenc-m or resenc-l, or one of them with -2d behind it");
}

/* A network for slices has patches of one slice, and does nothing across them. */
static void check_slices(reader *reader, const plan *plan) {
    int thin = 0;
    for (int axis = 0; axis < 3; axis++) {
        int across = plan->patch[axis] == 1;
        for (int k = 0; k < plan->topology.count; k++)
            across &= plan->topology.stages[k].kernel[axis] == 1 && plan->topology.stages[k].stride[axis] == 1;
        thin |= across;
    }
    if (plan->model.slices && !thin) refuse(reader, "patch", "must be 1, like kernels and strides, across the slices");
}

static void read_choices(reader *reader, json_t *root, plan *plan) {
    const json_t *bias = json_object_get(root, "bias");
    if (bias && !json_is_boolean(bias)) refuse(reader, "bias", "must be true or false");
    plan->bias = json_is_true(bias);
    if (json_object_get(root, "unmirrored")) whole_three(reader, root, "unmirrored", 0, 1, plan->unmirrored);
    if (json_object_get(root, "unresampled")) whole_three(reader, root, "unresampled", 0, 1, plan->unresampled);
}

static void read_plan(reader *reader, json_t *root, plan *plan) {
    static const char *const KEYS[] = {"hws_plan", "dataset",     "model",       "classes", "labels",   "regions",
                                       "spacing",  "median_size", "patch",       "batch",   "channels", "stages",
                                       "bias",     "unmirrored",  "unresampled", NULL};
    if (json_is_object(root) && !json_object_get(root, "hws_plan")) refuse(reader, "it", "is not a plan of hws");
    expect_keys(reader, root, "the plan", KEYS);
    if (reader->status != STATUS_OK) return;
    whole(reader, root, "hws_plan", VERSION, VERSION);
    name(reader, root, "dataset", plan->dataset);
    read_model(reader, root, &plan->model);
    read_labels(reader, root, plan);
    three(reader, root, "spacing", 1e-6, 1e6, plan->spacing);
    three(reader, root, "median_size", 1, 1e6, plan->median_size);
    whole_three(reader, root, "patch", 1, PLAN_MAX_EDGE, plan->patch);
    plan->batch = whole(reader, root, "batch", 1, PLAN_MAX_BATCH);
    read_choices(reader, root, plan);
    read_lists(reader, root, plan);
    if (reader->status == STATUS_OK) check_patch(reader, plan);
    if (reader->status == STATUS_OK) check_slices(reader, plan);
}

status_code plan_parse(plan *plan, const char *file, const char *bytes, size_t size, failure *failure) {
    memset(plan, 0, sizeof *plan);
    json_t *root;
    struct failure why;
    const status_code status = json_parse(file, bytes, size, &root, &why);
    if (status != STATUS_OK)
        return fail(failure, status, "%.900s; correct it, or have hws plan --replan make a new one", why.message);
    reader reader = {.file = file, .failure = failure};
    read_plan(&reader, root, plan);
    json_decref(root);
    return reader.status;
}

status_code plan_check(const plan *checked, const char *name, failure *failure) {
    text text = {0};
    plan *again = malloc(sizeof *again);
    add_plan(&text, checked);
    const status_code status =
        again && !text.failed ? plan_parse(again, name, text.bytes, text.size, failure) : fail_memory(failure, name);
    text_close(&text);
    free(again);
    return status;
}

status_code plan_read(plan *plan, const char *path, failure *failure) {
    char *bytes = NULL;
    size_t size = 0;
    status_code status = whole_file_read(path, FILE_LIMIT, &bytes, &size, failure);
    if (status == STATUS_OK) status = plan_parse(plan, path, bytes, size, failure);
    free(bytes);
    return status;
}
