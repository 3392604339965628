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

static status_code read_description(dataset *set, const char *path, failure *failure) {
    json_t *root;
    status_code status = json_file_read(path, &root, failure);
    if (status == STATUS_OK) status = dataset_describe(set, root, path, failure);
    if (status == STATUS_OK) status = dataset_list(set, root, path, failure);
    json_decref(root);
    return status;
}

static status_code open_folder(dataset *set, const char *folder, failure *failure) {
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    set->folder = strndup(folder, length);
    text path = {0};
    text_format(&path, "%s/dataset.json", set->folder ? set->folder : "");
    status_code status;
    if (!set->folder || path.failed) status = fail_memory(failure, folder);
    else if (!path_exists(path.bytes))
        status = fail(failure, STATUS_CANNOT_READ, "%s is not a dataset: it has no dataset.json", folder);
    else status = read_description(set, path.bytes, failure);
    text_close(&path);
    return status;
}

status_code dataset_open(dataset *set, const char *folder, failure *failure) {
    *set = (dataset){0};
    const status_code status = open_folder(set, folder, failure);
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
    free(set->ids);
    free(set->name);
    free(set->folder);
    *set = (dataset){0};
}

static int by_id(const void *key, const void *one) { return strcmp(key, ((const dataset_case *)one)->id); }

const dataset_case *dataset_find(const dataset *set, const char *id) {
    return set->train ? bsearch(id, set->train, set->train_count, sizeof *set->train, by_id) : NULL;
}

/* ---- checks of one case ------------------------------------------------------------------------------------------ */

const char *dataset_channel_file(const dataset_case *one, int channel, int *inside) {
    *inside = one->files == 1 ? channel : 0;
    return one->images[one->files == 1 ? 0 : channel];
}

status_code dataset_inspect_image(const dataset *set, const dataset_case *one, int file, volume_grid *grid,
                                  failure *failure) {
    const char *path = one->images[file];
    if (!path_exists(path) && one->files == 1)
        return fail(failure, STATUS_CORRUPT, "%s: the image is missing: there is no %s", one->id, path);
    if (!path_exists(path))
        return fail(failure, STATUS_CORRUPT, "%s: channel %d (%s) is missing: there is no %s", one->id, file,
                    set->channel_names[file], path);
    nifti_info info;
    struct failure inner;
    const status_code status = nifti_inspect(path, &info, &inner);
    if (status != STATUS_OK) return fail(failure, status, "%s: %s", one->id, inner.message);
    *grid = info.grid;
    const int expected = one->files == 1 ? set->channels : 1;
    if (info.channels != expected)
        return fail(failure, STATUS_CORRUPT, "%s: %s holds %d channels where %d are expected", one->id, path,
                    info.channels, expected);
    return STATUS_OK;
}

status_code dataset_check_finite(const dataset_case *one, const char *path, const float *voxels, size_t count,
                                 failure *failure) {
    size_t bad = 0;
    for (size_t i = 0; i < count; i++) bad += isfinite(voxels[i]) ? 0 : 1;
    if (bad == 0) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT, "%s: %zu voxels of %s are NaN or infinite; replace them, by 0 perhaps",
                one->id, bad, path);
}

static void count_values(const label_map *labels, size_t counts[1 << 16]) {
    const size_t voxels = volume_grid_voxels(&labels->grid);
    for (size_t i = 0; i < voxels; i++) counts[(uint16_t)labels->labels[i]]++;
}

/* A list of what does not belong, up to a few. */
static int list_unknown(const dataset *set, const size_t counts[1 << 16], text *unknown) {
    int kinds = 0;
    for (int value = INT16_MIN; value <= INT16_MAX; value++) {
        const int known = value >= 0 && (value < set->values || value == set->ignore);
        if (known || counts[(uint16_t)value] == 0) continue;
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
    for (int value = 1; value < set->values; value++) *foreground |= counts[value] > 0;
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

status_code dataset_check_grids(const dataset_case *one, const char *image, const volume_grid *a, const volume_grid *b,
                                failure *failure) {
    struct failure inner;
    if (volume_grid_check_same(a, b, image, &inner) == STATUS_OK) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT, "%s: image and label map do not fit: %s", one->id, inner.message);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* All files first, so that the memory is asked for once. */
static status_code inspect_images(const dataset *set, const dataset_case *one, volume_grid *grid, failure *failure) {
    status_code status = dataset_inspect_image(set, one, 0, grid, failure);
    for (int file = 1; status == STATUS_OK && file < one->files; file++) {
        volume_grid other;
        status = dataset_inspect_image(set, one, file, &other, failure);
        struct failure inner;
        if (status == STATUS_OK && volume_grid_check_same(grid, &other, one->images[file], &inner) != STATUS_OK)
            status = fail(failure, STATUS_CORRUPT, "%s: the channels do not fit: %s", one->id, inner.message);
    }
    return status;
}

static status_code load_file(const dataset_case *one, int file, volume *image, failure *failure) {
    const size_t voxels = volume_grid_voxels(&image->grid);
    volume part;
    struct failure inner;
    status_code status = nifti_read_volume(one->images[file], NIFTI_ALL_CHANNELS, &part, &inner);
    if (status != STATUS_OK) return fail(failure, status, "%s: %s", one->id, inner.message);
    const int fits = memcmp(part.grid.size, image->grid.size, sizeof part.grid.size) == 0 &&
                     part.channels == (one->files == 1 ? image->channels : 1);
    const size_t count = voxels * (size_t)part.channels;
    if (!fits) status = fail(failure, STATUS_CORRUPT, "%s: %s has changed", one->id, one->images[file]);
    else status = dataset_check_finite(one, one->images[file], part.voxels, count, failure);
    if (status == STATUS_OK) memcpy(image->voxels + (size_t)file * voxels, part.voxels, count * sizeof *part.voxels);
    volume_close(&part);
    return status;
}

static status_code load_image(const dataset *set, const dataset_case *one, volume *image, failure *failure) {
    volume_grid grid;
    status_code status = inspect_images(set, one, &grid, failure);
    if (status == STATUS_OK) status = volume_open(image, &grid, set->channels, failure);
    for (int file = 0; status == STATUS_OK && file < one->files; file++) status = load_file(one, file, image, failure);
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
