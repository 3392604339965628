#define _POSIX_C_SOURCE 200809L
#include "dataset/dataset.h"

#include "core/path.h"
#include "core/text.h"
#include "dataset/dataset_inside.h"
#include "nifti/nifti.h"
#include "json/json_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static status_code read_description(dataset *set, const char *path, int cases, failure *failure) {
    json_t *root;
    status_code status = json_file_read(path, &root, failure);
    if (status == STATUS_OK) status = dataset_describe(set, root, path, failure);
    if (status == STATUS_OK && cases) status = dataset_list(set, root, path, failure);
    json_decref(root);
    return status;
}

static status_code open_folder(dataset *set, const char *folder, int cases, failure *failure) {
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    set->folder = strndup(folder, length);
    if (!set->folder) return fail_memory(failure, folder);
    char path[PATH_SIZE];
    const status_code status = path_join(path, set->folder, "dataset.json", failure);
    if (status != STATUS_OK) return status;
    if (!path_exists(path))
        return fail(failure, STATUS_CANNOT_READ, "%s is not a dataset: it has no dataset.json", folder);
    return read_description(set, path, cases, failure);
}

status_code dataset_open(dataset *set, const char *folder, failure *failure) {
    *set = (dataset){0};
    const status_code status = open_folder(set, folder, 1, failure);
    if (status != STATUS_OK) dataset_close(set);
    return status;
}

status_code dataset_open_description(dataset *set, const char *folder, failure *failure) {
    *set = (dataset){0};
    const status_code status = open_folder(set, folder, 0, failure);
    if (status != STATUS_OK) dataset_close(set);
    return status;
}

static void close_cases(dataset_case *cases, size_t count) {
    for (size_t k = 0; k < count; k++) {
        for (int file = 0; file < cases[k].files; file++) free(cases[k].images[file]);
        free(cases[k].images);
        free(cases[k].labels);
        free(cases[k].id);
    }
    free(cases);
}

void dataset_close(dataset *set) {
    close_cases(set->train, set->train_count);
    close_cases(set->test, set->test_count);
    for (int k = 0; k < set->channels; k++) free(set->channel_names[k]);
    for (int k = 0; k < set->label_count; k++) {
        free(set->labels[k].name);
        free(set->labels[k].values);
    }
    free(set->channel_names);
    free(set->labels);
    free(set->class_order);
    free(set->value);
    free(set->ids);
    free(set->name);
    free(set->folder);
    *set = (dataset){0};
}

static int has_label(const dataset *set, const dataset_label *label) {
    for (int k = 0; k < set->label_count; k++) {
        const dataset_label *other = &set->labels[k];
        if (strcmp(label->name, other->name) == 0)
            return label->count == other->count &&
                   memcmp(label->values, other->values, (size_t)label->count * sizeof *label->values) == 0;
    }
    return 0;
}

int dataset_same_labels(const dataset *a, const dataset *b) {
    int same = a->label_count == b->label_count && a->ignore == b->ignore;
    for (int k = 0; k < a->label_count && same; k++) same = has_label(b, &a->labels[k]);
    return same;
}

/* ---- checks of one case ------------------------------------------------------------------------------------------ */

int dataset_file_channels(const dataset *set, const dataset_case *one) { return one->files == 1 ? set->channels : 1; }

status_code dataset_open_image(const dataset *set, const dataset_case *one, int file, image_file *opened,
                               failure *failure) {
    const char *path = one->images[file];
    *opened = (image_file){0};
    if (!path_exists(path) && one->files == 1)
        return fail(failure, STATUS_CORRUPT, "%s: the image is missing: there is no %s", one->id, path);
    if (!path_exists(path))
        return fail(failure, STATUS_CORRUPT, "%s: channel %d (%s) is missing: there is no %s", one->id, file,
                    set->channel_names[file], path);
    nifti_info info;
    struct failure inner;
    const status_code status = nifti_reader_open(&opened->reader, path, &info, &inner);
    if (status != STATUS_OK) return fail(failure, status, "%s: %s", one->id, inner.message);
    opened->path = path;
    opened->grid = info.grid;
    const int expected = dataset_file_channels(set, one);
    if (info.channels == expected) return STATUS_OK;
    nifti_reader_close(&opened->reader);
    return fail(failure, STATUS_CORRUPT, "%s: %s holds %d channels where %d are expected", one->id, path, info.channels,
                expected);
}

static status_code check_finite(const dataset_case *one, const char *path, const float *voxels, size_t count,
                                failure *failure) {
    size_t bad = 0;
    for (size_t i = 0; i < count; i++) bad += isfinite(voxels[i]) ? 0 : 1;
    if (bad == 0) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT, "%s: %zu voxels of %s are NaN or infinite; replace them, by 0 perhaps",
                one->id, bad, path);
}

status_code dataset_read_channel(const dataset_case *one, const image_file *file, float *voxels, failure *failure) {
    struct failure inner;
    const status_code status = nifti_reader_next(file->reader, voxels, &inner);
    if (status != STATUS_OK) return fail(failure, status, "%s: %s", one->id, inner.message);
    return check_finite(one, file->path, voxels, volume_grid_voxels(&file->grid), failure);
}

static int is_value(const dataset *set, int value) {
    for (int c = 0; c < set->values; c++)
        if (set->value[c] == value) return 1;
    return value >= 0 && value == set->ignore;
}

static void count_values(const label_map *labels, size_t counts[1 << 16]) {
    const size_t voxels = volume_grid_voxels(&labels->grid);
    for (size_t i = 0; i < voxels; i++) counts[(uint16_t)labels->labels[i]]++;
}

/* A list of what does not belong, up to a few. */
static int list_unknown(const dataset *set, const size_t counts[1 << 16], text *unknown) {
    int kinds = 0;
    for (int value = INT16_MIN; value <= INT16_MAX; value++) {
        if (counts[(uint16_t)value] == 0 || is_value(set, value)) continue;
        if (kinds++ < 5)
            text_format(unknown, "%s%d (%zu voxels)", kinds > 1 ? ", " : "", value, counts[(uint16_t)value]);
    }
    if (kinds > 5) text_format(unknown, " and %d others", kinds - 5);
    return kinds;
}

status_code dataset_check_values(const dataset *set, const dataset_case *one, const label_map *labels, int *foreground,
                                 failure *failure) {
    size_t *counts = calloc(1 << 16, sizeof *counts);
    if (!counts) return fail_memory(failure, one->labels);
    count_values(labels, counts);
    *foreground = 0;
    for (int c = 1; c < set->values; c++) *foreground |= counts[set->value[c]] > 0;
    text unknown = {0};
    const int kinds = list_unknown(set, counts, &unknown);
    free(counts);
    status_code status = STATUS_OK;
    if (kinds > 0)
        status = fail(failure, STATUS_CORRUPT, "%s: %s has values that dataset.json does not name: %s", one->id,
                      one->labels, text_string(&unknown));
    text_close(&unknown);
    return status;
}

void dataset_to_classes(const dataset *set, label_map *labels) {
    if (set->value[set->values - 1] == set->values - 1 && (set->ignore < 0 || set->ignore == set->values)) return;
    int16_t class[DATASET_MAX_LABELS + 1] = {0};
    for (int c = 0; c < set->values; c++) class[set->value[c]] = (int16_t)c;
    if (set->ignore >= 0) class[set->ignore] = (int16_t)set->values;
    const size_t voxels = volume_grid_voxels(&labels->grid);
    for (size_t i = 0; i < voxels; i++) labels->labels[i] = class[labels->labels[i]];
}

status_code dataset_check_grids(const dataset_case *one, const char *image, const volume_grid *a, const volume_grid *b,
                                failure *failure) {
    struct failure inner;
    if (volume_grid_check_same(a, b, image, &inner) == STATUS_OK) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT, "%s: image and label map do not fit: %s", one->id, inner.message);
}

status_code dataset_check_channels_fit(const dataset_case *one, const char *image, const volume_grid *first,
                                       const volume_grid *other, failure *failure) {
    struct failure inner;
    if (volume_grid_check_same(first, other, image, &inner) == STATUS_OK) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT, "%s: the channels do not fit: %s", one->id, inner.message);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static status_code load_file(const dataset *set, const dataset_case *one, int file, volume *image, failure *failure) {
    image_file opened;
    status_code status = dataset_open_image(set, one, file, &opened, failure);
    if (status == STATUS_OK)
        status = file == 0 ? volume_open(image, &opened.grid, set->channels, failure)
                           : dataset_check_channels_fit(one, opened.path, &image->grid, &opened.grid, failure);
    for (int c = 0; status == STATUS_OK && c < dataset_file_channels(set, one); c++)
        status = dataset_read_channel(one, &opened, volume_channel(image, file + c), failure);
    nifti_reader_close(&opened.reader);
    return status;
}

static status_code load_image(const dataset *set, const dataset_case *one, volume *image, failure *failure) {
    status_code status = STATUS_OK;
    for (int file = 0; status == STATUS_OK && file < one->files; file++)
        status = load_file(set, one, file, image, failure);
    return status;
}

static status_code load_labels(const dataset *set, const dataset_case *one, const volume_grid *grid, label_map *labels,
                               failure *failure) {
    struct failure inner;
    int foreground;
    status_code status = nifti_read_labels(one->labels, labels, &inner);
    if (status != STATUS_OK) return fail(failure, status, "%s: %s", one->id, inner.message);
    status = dataset_check_grids(one, one->images[0], grid, &labels->grid, failure);
    if (status == STATUS_OK) status = dataset_check_values(set, one, labels, &foreground, failure);
    if (status == STATUS_OK) dataset_to_classes(set, labels);
    return status;
}

status_code dataset_load(const dataset *set, const dataset_case *one, volume *image, label_map *labels,
                         failure *failure) {
    memset(image, 0, sizeof *image);
    if (labels) memset(labels, 0, sizeof *labels);
    status_code status = load_image(set, one, image, failure);
    if (status == STATUS_OK && labels && one->labels) status = load_labels(set, one, &image->grid, labels, failure);
    if (status == STATUS_OK) return STATUS_OK;
    volume_close(image);
    if (labels) label_map_close(labels);
    return status;
}
