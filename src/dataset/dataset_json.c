#define _POSIX_C_SOURCE 200809L
#include "dataset/dataset_inside.h"

#include "core/path.h"

#include <stdlib.h>
#include <string.h>

typedef struct parser {
    dataset *set;
    const char *path; /* of dataset.json */
    failure *failure;
} parser;

/* What failed here is what is wrong with the file. */
#define refuse(p, ...) fail((p)->failure, STATUS_CORRUPT, __VA_ARGS__)

static status_code no_memory(const parser *p) { return fail_memory(p->failure, p->path); }

/* A decimal number without sign, spaces or leading zeros, below `limit`; -1 if the text is something else. */
static int small_number(const char *text, int limit) {
    int value = 0;
    if (!*text || (text[0] == '0' && text[1])) return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return -1;
        value = value * 10 + (*text - '0');
        if (value >= limit) return -1;
    }
    return value;
}

/* ---- channels ---------------------------------------------------------------------------------------------------- */

static status_code describe_channels(parser *p, const json_t *channels, const char *key) {
    dataset *set = p->set;
    const size_t count = json_object_size(channels);
    if (count < 1 || count > DATASET_MAX_CHANNELS)
        return refuse(p, "%s: \"%s\" must be {\"0\": name, \"1\": name, ...}, 1 to %d channels", p->path, key,
                      DATASET_MAX_CHANNELS);
    set->channel_names = calloc(count, sizeof *set->channel_names);
    if (!set->channel_names) return no_memory(p);
    set->channels = (int)count;
    const char *number;
    json_t *name;
    json_object_foreach((json_t *)channels, number, name) {
        const int channel = small_number(number, (int)count);
        if (channel < 0 || !json_is_string(name))
            return refuse(p, "%s: \"%s\" must be {\"0\": name, \"1\": name, ...} without gaps; '%.60s' does not fit",
                          p->path, key, number);
        set->channel_names[channel] = strdup(json_string_value(name));
        if (!set->channel_names[channel]) return no_memory(p);
    }
    return STATUS_OK;
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

static int is_label_value(const json_t *json) {
    return json_is_integer(json) && json_integer_value(json) >= 0 && json_integer_value(json) <= DATASET_MAX_LABELS;
}

static status_code add_label(parser *p, const char *name, const json_t *const *values, size_t count) {
    dataset_label *label = &p->set->labels[p->set->label_count++];
    label->name = strdup(name);
    label->values = malloc(count * sizeof *label->values);
    if (!label->name || !label->values) return no_memory(p);
    label->count = (int)count;
    for (size_t k = 0; k < count; k++) {
        const int16_t value = (int16_t)json_integer_value(values[k]);
        size_t at = k; /* ascending, so that the same labels look the same */
        for (; at > 0 && label->values[at - 1] > value; at--) label->values[at] = label->values[at - 1];
        label->values[at] = value;
    }
    if (count > 1) p->set->has_regions = 1;
    return STATUS_OK;
}

static status_code refuse_label(parser *p, const char *name) {
    return refuse(p, "%s: the label '%.100s' must be a whole number from 0 to %d, or a list of such", p->path, name,
                  DATASET_MAX_LABELS);
}

static status_code add_region(parser *p, const char *name, const json_t *list) {
    const json_t *values[DATASET_MAX_LABELS];
    const size_t count = json_array_size(list);
    if (count < 1 || count > DATASET_MAX_LABELS) return refuse_label(p, name);
    for (size_t k = 0; k < count; k++) {
        values[k] = json_array_get(list, k);
        if (!is_label_value(values[k])) return refuse_label(p, name);
        for (size_t j = 0; j < k; j++)
            if (json_integer_value(values[j]) == json_integer_value(values[k]))
                return refuse(p, "%s: the label '%.100s' names the value %d twice", p->path, name,
                              (int)json_integer_value(values[k]));
    }
    return add_label(p, name, values, count);
}

/* nnU-Net v2: name -> value or list of values. */
static status_code add_named(parser *p, const char *name, const json_t *value) {
    if (json_is_string(value))
        return refuse(p, "%s: \"labels\" must be {name: number}, as nnU-Net v2 has it; '%.60s' is the other way round",
                      p->path, name);
    if (json_is_array(value)) return add_region(p, name, value);
    if (!is_label_value(value)) return refuse_label(p, name);
    if (strcmp(name, "ignore") == 0) {
        p->set->ignore = (int)json_integer_value(value);
        return STATUS_OK;
    }
    return add_label(p, name, &value, 1);
}

/* The Decathlon: value -> name. */
static status_code add_numbered(parser *p, const char *number, const json_t *name) {
    const int value = small_number(number, DATASET_MAX_LABELS + 1);
    if (value < 0 || !json_is_string(name))
        return refuse(p,
                      "%s: \"labels\" must be {\"0\": name, ...}, as in the Decathlon's layout; '%.60s' does not fit",
                      p->path, number);
    json_t *json = json_integer(value);
    if (!json) return no_memory(p);
    const json_t *only = json;
    const status_code status = add_label(p, json_string_value(name), &only, 1);
    json_decref(json);
    return status;
}

/* The values that belong to labels, in their order: each is a class. */
static status_code list_values(parser *p, const unsigned char *named, int largest) {
    dataset *set = p->set;
    set->value = calloc((size_t)largest + 1, sizeof *set->value);
    if (!set->value) return no_memory(p);
    for (int value = 0; value <= largest; value++)
        if (named[value]) set->value[set->values++] = (int16_t)value;
    return STATUS_OK;
}

static status_code gather_values(parser *p) {
    dataset *set = p->set;
    unsigned char named[DATASET_MAX_LABELS + 1] = {0};
    int largest = 0;
    for (int k = 0; k < set->label_count; k++)
        for (int j = 0; j < set->labels[k].count; j++) {
            const int value = set->labels[k].values[j];
            if (value == 0 && set->labels[k].count > 1)
                return refuse(p, "%s: the region '%.100s' holds 0, which is the background", p->path,
                              set->labels[k].name);
            named[value] = 1;
            if (value > largest) largest = value;
        }
    if (!named[0]) return refuse(p, "%s: no label has the value 0, which the background must have", p->path);
    if (largest == 0) return refuse(p, "%s: \"labels\" has nothing but the background", p->path);
    if (set->ignore >= 0 && set->ignore <= largest)
        return refuse(p, "%s: the label 'ignore' must be the highest value, above %d", p->path, largest);
    return list_values(p, named, largest);
}

static int same_values(const dataset_label *a, const dataset_label *b) {
    return a->count == b->count && memcmp(a->values, b->values, (size_t)a->count * sizeof *a->values) == 0;
}

static status_code check_doubles(parser *p) {
    const dataset_label *labels = p->set->labels;
    for (int k = 0; k < p->set->label_count; k++)
        for (int j = 0; j < k; j++)
            if (same_values(&labels[j], &labels[k]) || strcmp(labels[j].name, labels[k].name) == 0)
                return refuse(p, "%s: the labels '%.100s' and '%.100s' are the same", p->path, labels[j].name,
                              labels[k].name);
    return STATUS_OK;
}

static status_code describe_labels(parser *p, const json_t *labels) {
    const size_t count = json_object_size(labels);
    if (count < 2 || count > DATASET_MAX_LABELS)
        return refuse(p, "%s: \"labels\" must name the background, which is 0, and 1 to %d others", p->path,
                      DATASET_MAX_LABELS - 1);
    p->set->labels = calloc(count, sizeof *p->set->labels);
    if (!p->set->labels) return no_memory(p);
    status_code status = STATUS_OK;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)labels, key, value) {
        status = (p->set->layout == DATASET_NNUNET ? add_named : add_numbered)(p, key, value);
        if (status != STATUS_OK) return status;
    }
    status = gather_values(p);
    return status == STATUS_OK ? check_doubles(p) : status;
}

static status_code describe_order(parser *p, const json_t *order) {
    dataset *set = p->set;
    if (!order) return STATUS_OK;
    const size_t count = json_array_size(order);
    if (count != (size_t)set->label_count - 1)
        return refuse(p, "%s: \"regions_class_order\" must list a value for each of the %d labels but the background",
                      p->path, set->label_count - 1);
    set->class_order = malloc(count * sizeof *set->class_order);
    if (!set->class_order) return no_memory(p);
    set->order_count = (int)count;
    for (size_t k = 0; k < count; k++) {
        const json_t *value = json_array_get(order, k);
        int known = 0;
        for (int c = 1; c < set->values; c++)
            known |= is_label_value(value) && json_integer_value(value) == set->value[c];
        if (!known)
            return refuse(p, "%s: \"regions_class_order\" must hold label values other than the background's", p->path);
        set->class_order[k] = (int16_t)json_integer_value(value);
    }
    return STATUS_OK;
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

static status_code describe_name(parser *p, const json_t *root) {
    const char *name = json_string_value(json_object_get(root, "name")), *folder = path_name(p->set->folder);
    p->set->name = strdup(name && *name ? name : *folder ? folder : p->set->folder);
    return p->set->name ? STATUS_OK : no_memory(p);
}

static status_code describe_ending(parser *p, const json_t *root) {
    const json_t *json = json_object_get(root, "file_ending");
    const char *ending = json_string_value(json);
    p->set->file_ending = ".nii.gz";
    if (!json && p->set->layout == DATASET_DECATHLON) return STATUS_OK;
    if (ending && strcmp(ending, ".nii") == 0) p->set->file_ending = ".nii";
    else if (!ending || strcmp(ending, ".nii.gz") != 0)
        return refuse(p, "%s: \"file_ending\" must be \".nii.gz\" or \".nii\"; other files than NIfTI are not read",
                      p->path);
    return STATUS_OK;
}

static status_code describe_count(parser *p, const json_t *root) {
    const json_t *count = json_object_get(root, "numTraining");
    p->set->promised = -1;
    if (!count) return STATUS_OK;
    if (!json_is_integer(count) || json_integer_value(count) < 1 || json_integer_value(count) > INT32_MAX)
        return refuse(p, "%s: \"numTraining\" must be the number of training cases", p->path);
    p->set->promised = (long)json_integer_value(count);
    return STATUS_OK;
}

status_code dataset_describe(dataset *set, const json_t *root, const char *path, failure *failure) {
    parser parser = {set, path, failure};
    const json_t *channels = json_object_get(root, "channel_names"), *modality = json_object_get(root, "modality");
    if (!channels && !modality)
        return refuse(&parser,
                      "%s: there is neither \"channel_names\", as nnU-Net has it, nor the Decathlon's \"modality\"",
                      path);
    set->layout = channels ? DATASET_NNUNET : DATASET_DECATHLON;
    set->ignore = -1;
    status_code status = describe_name(&parser, root);
    if (status == STATUS_OK)
        status = describe_channels(&parser, channels ? channels : modality, channels ? "channel_names" : "modality");
    if (status == STATUS_OK) status = describe_labels(&parser, json_object_get(root, "labels"));
    if (status == STATUS_OK) status = describe_order(&parser, json_object_get(root, "regions_class_order"));
    if (status == STATUS_OK) status = describe_ending(&parser, root);
    if (status == STATUS_OK) status = describe_count(&parser, root);
    return status;
}
