#include "onnx/onnx_metadata.h"

#include "core/json_writer.h"
#include "core/protobuf.h"
#include "picture/raster.h"

enum { MODEL_METADATA = 14, ENTRY_KEY = 1, ENTRY_VALUE = 2 };

static void add_entry(text *model, const char *key, const char *value) {
    text entry = {0};
    protobuf_add_string(&entry, ENTRY_KEY, key);
    protobuf_add_string(&entry, ENTRY_VALUE, value);
    protobuf_add_message(model, MODEL_METADATA, &entry);
}

static void add_json(text *model, const char *key, text *value) {
    add_entry(model, key, text_string(value));
    model->failed |= value->failed;
    text_close(value);
}

static void add_numbers(text *model, const char *key, const double *values, int count) {
    text value = {0};
    text_add(&value, "[");
    for (int k = 0; k < count; k++) {
        if (k) text_add(&value, ", ");
        json_text_number(&value, values[k]);
    }
    text_add(&value, "]");
    add_json(model, key, &value);
}

static void add_wholes(text *model, const char *key, const int *values, int count) {
    double numbers[3];
    for (int k = 0; k < count; k++) numbers[k] = values[k];
    add_numbers(model, key, numbers, count);
}

static void add_labels(text *model, const onnx_network *n) {
    text value = {0};
    char number[16];
    text_add(&value, "[");
    for (int k = 0; k < onnx_network_outputs(n); k++) {
        if (k) text_add(&value, ", ");
        json_text_string(&value, onnx_network_label(n, k, number));
    }
    text_add(&value, "]");
    add_json(model, "labels", &value);
}

/* ---- segmentation ------------------------------------------------------------------------------------------------ */

static void add_channels(text *model, const plan *plan) {
    text value = {0};
    json_writer json = json_writer_start(&value);
    json_begin_list(&json, NULL);
    for (int c = 0; c < plan->channels; c++) {
        const channel_rule *rule = &plan->channel[c].rule;
        json_begin_object(&json, NULL);
        json_add_string(&json, "name", plan->channel[c].name);
        json_add_string(&json, "normalisation", normalisation_name(rule->kind));
        json_add_bool(&json, "masked", rule->masked);
        json_add_number(&json, "mean", rule->mean);
        json_add_number(&json, "deviation", rule->deviation);
        json_add_number(&json, "low", rule->low);
        json_add_number(&json, "high", rule->high);
        json_end(&json);
    }
    json_end(&json);
    add_json(model, "channels", &value);
}

/* What a label map gets for each output: the class's value, or what the region writes. */
static void add_values(text *model, const label_scheme *labels) {
    text value = {0};
    text_add(&value, "[");
    for (int k = 0; k < label_scheme_outputs(labels); k++)
        text_format(&value, "%s%d", k ? ", " : "", labels->values[labels->regions ? labels->region[k].writes : k]);
    text_add(&value, "]");
    add_json(model, "values", &value);
}

static void add_segmentation(text *model, const plan *plan) {
    int mirrored[3], count = 0;
    double spacing[3];
    for (int axis = 0; axis < 3; axis++) {
        if (plan->patch[axis] > 1 && !plan->unmirrored[axis]) mirrored[count++] = axis;
        spacing[axis] = plan->unresampled[axis] ? 0 : plan->spacing[axis];
    }
    add_entry(model, "output", plan->labels.regions ? "sigmoid" : "softmax");
    add_values(model, &plan->labels);
    add_numbers(model, "spacing", spacing, 3);
    add_wholes(model, "patch", plan->patch, 3);
    add_wholes(model, "mirrored_axes", mirrored, count);
    add_channels(model, plan);
}

/* ---- classification ---------------------------------------------------------------------------------------------- */

/* The setting is text. */
static void add_greys(text *model, const char *words) {
    raster_greys greys;
    if (raster_greys_parse(&greys, words, NULL) != STATUS_OK || !greys.high) return;
    add_wholes(model, "greys", (const int[]){greys.low, greys.high}, 2);
}

static void add_classification(text *model, const run_config *config) {
    const run_facts *facts = &config->facts;
    const int is_image = facts->height * facts->width > 1;
    const double size[2] = {facts->height, facts->width};
    const double scale[2] = {facts->pixel_mean, facts->pixel_std};
    add_entry(model, "output", "softmax");
    if (!is_image) return;
    add_numbers(model, "size", size, 2);
    add_greys(model, config->settings.greys);
    add_numbers(model, "pixel_mean", scale, 1);
    add_numbers(model, "pixel_std", scale + 1, 1);
}

void onnx_metadata_add(text *model, const onnx_network *n) {
    const int classifies = !n->plan;
    add_entry(model, "task", task_kind_name(classifies ? TASK_CLASSIFICATION : TASK_SEGMENTATION));
    add_labels(model, n);
    if (classifies) add_classification(model, &n->classifier.config);
    else add_segmentation(model, n->plan);
}
