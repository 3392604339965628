#include "evaluate/case_volume.h"

#include "core/quantile.h"
#include "nifti/nifti.h"
#include "picture/png.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VOXELS = 300000, MARGIN = 6 };

/* What was read, before it is cropped. */
typedef struct source {
    volume image;
    label_map maps[CASE_VOLUME_MAPS];
    int count; /* of maps */
    int low[3], high[3];
} source;

static status_code read_maps(source *source, const case_files *files, failure *failure) {
    status_code status = nifti_read_volume(files->image, 0, &source->image, failure);
    for (; source->count <= files->methods && status == STATUS_OK; source->count++) {
        const char *path = source->count ? files->predictions[source->count - 1] : files->reference;
        label_map *map = &source->maps[source->count];
        status = nifti_read_labels(path, map, failure);
        for (int axis = 0; axis < 3 && status == STATUS_OK; axis++)
            if (map->grid.size[axis] != source->image.grid.size[axis])
                status = fail(failure, STATUS_BAD_INPUT, "%.400s is not of the size of its image", path);
    }
    return status;
}

static void source_close(source *source) {
    volume_close(&source->image);
    for (int k = 0; k < CASE_VOLUME_MAPS; k++) label_map_close(&source->maps[k]);
}

/* Where the reference says that nothing counts, no map has a label. */
static void ignore(source *source, int label) {
    const size_t voxels = volume_grid_voxels(&source->image.grid);
    for (size_t i = 0; i < voxels && label > 0; i++) {
        if (source->maps[0].labels[i] != label) continue;
        for (int k = 0; k < source->count; k++) source->maps[k].labels[i] = 0;
    }
}

/* ---- which part is shown ---- */

static int has_label(const source *source, size_t at) {
    for (int k = 0; k < source->count; k++)
        if (source->maps[k].labels[at] > 0) return 1;
    return 0;
}

static void find_box(source *source) {
    const int *size = source->image.grid.size;
    for (int axis = 0; axis < 3; axis++) {
        source->low[axis] = size[axis];
        source->high[axis] = -1;
    }
    size_t at = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, at++) {
                if (!has_label(source, at)) continue;
                const int place[3] = {x, y, z};
                for (int axis = 0; axis < 3; axis++) {
                    if (place[axis] < source->low[axis]) source->low[axis] = place[axis];
                    if (place[axis] > source->high[axis]) source->high[axis] = place[axis];
                }
            }
}

/* Some room around, so that one sees where in the body it is; all, if there is no label. */
static void widen_box(source *source) {
    for (int axis = 0; axis < 3; axis++) {
        const int size = source->image.grid.size[axis], extent = source->high[axis] - source->low[axis] + 1;
        if (extent <= 0) source->low[axis] = 0, source->high[axis] = size - 1;
        const int margin = extent / 5 > MARGIN ? extent / 5 : MARGIN;
        source->low[axis] = source->low[axis] > margin ? source->low[axis] - margin : 0;
        source->high[axis] = source->high[axis] + margin < size ? source->high[axis] + margin : size - 1;
    }
}

static int fits(const case_volume *shown) {
    const double voxels = (double)shown->size[0] * shown->size[1] * shown->size[2];
    int good = voxels <= MOST_VOXELS;
    for (int axis = 0; axis < 3; axis++) {
        const slices planes = case_volume_slices(shown, axis);
        good = good && planes.width <= PNG_MAX_SIDE && (double)planes.height * planes.count <= PNG_MAX_SIDE;
    }
    return good;
}

/* Leaves out more and more where voxels are closest. */
static void choose_steps(case_volume *shown, const source *source) {
    for (int axis = 0; axis < 3; axis++) shown->step[axis] = 1;
    for (;;) {
        int densest = 0;
        for (int axis = 0; axis < 3; axis++) {
            const int extent = source->high[axis] - source->low[axis] + 1;
            shown->size[axis] = (extent + shown->step[axis] - 1) / shown->step[axis];
            shown->spacing[axis] = source->image.grid.spacing[axis] * shown->step[axis];
            if (!(shown->spacing[axis] > 0)) shown->spacing[axis] = shown->step[axis];
            if (shown->size[axis] > 1 && (shown->size[densest] <= 1 || shown->spacing[axis] < shown->spacing[densest]))
                densest = axis;
        }
        if (fits(shown)) return;
        shown->step[densest]++;
    }
}

/* ---- what is shown ---- */

static size_t source_voxel(const case_volume *shown, const source *source, size_t at) {
    size_t place = 0, stride = 1;
    for (int axis = 0; axis < 3; axis++) {
        const size_t size = (size_t)shown->size[axis];
        place += ((size_t)source->low[axis] + at % size * (size_t)shown->step[axis]) * stride;
        stride *= (size_t)source->image.grid.size[axis];
        at /= size;
    }
    return place;
}

/* The different labels, in order; those beyond the last colour share it. */
static void collect_labels(case_volume *shown, const source *source) {
    const size_t voxels = volume_grid_voxels(&source->image.grid);
    uint8_t *seen = calloc(INT16_MAX + 1, 1);
    for (int k = 0; k < source->count && seen; k++)
        for (size_t i = 0; i < voxels; i++)
            if (source->maps[k].labels[i] > 0) seen[source->maps[k].labels[i]] = 1;
    for (int value = 1; value <= INT16_MAX && seen && shown->label_count < CASE_VOLUME_LABELS; value++)
        if (seen[value]) shown->values[shown->label_count++] = (int16_t)value;
    free(seen);
}

static uint8_t position_of(const case_volume *shown, int16_t label) {
    int k = 0;
    if (label <= 0) return 0;
    while (k + 1 < shown->label_count && shown->values[k] < label) k++;
    return (uint8_t)(k + 1);
}

static status_code take_labels(case_volume *shown, const source *source, size_t voxels, failure *failure) {
    collect_labels(shown, source);
    for (int k = 0; k < source->count; k++) {
        shown->labels[k] = malloc(voxels);
        if (!shown->labels[k]) return fail_memory(failure, "a picture");
        for (size_t at = 0; at < voxels; at++)
            shown->labels[k][at] = position_of(shown, source->maps[k].labels[source_voxel(shown, source, at)]);
    }
    return STATUS_OK;
}

static uint8_t shade(double value, double low, double high) {
    if (!isfinite(value) || !(high > low)) return 0;
    return (uint8_t)lround(255 * fmin(1, fmax(0, (value - low) / (high - low))));
}

static status_code take_grey(case_volume *shown, const source *source, size_t voxels, failure *failure) {
    float *sorted = malloc(voxels * sizeof *sorted);
    size_t count = 0;
    shown->grey = malloc(voxels);
    if (sorted && shown->grey) {
        for (size_t at = 0; at < voxels; at++) {
            const float value = source->image.voxels[source_voxel(shown, source, at)];
            if (isfinite(value)) sorted[count++] = value;
        }
        sort_floats(sorted, count);
        const double low = quantile_of_sorted_floats(sorted, count, 0.005);
        const double high = quantile_of_sorted_floats(sorted, count, 0.995);
        for (size_t at = 0; at < voxels; at++)
            shown->grey[at] = shade((double)source->image.voxels[source_voxel(shown, source, at)], low, high);
    }
    const int good = sorted && shown->grey;
    free(sorted);
    return good ? STATUS_OK : fail_memory(failure, "a picture");
}

status_code case_volume_open(case_volume *shown, const case_files *files, failure *failure) {
    source source = {0};
    *shown = (case_volume){.methods = files->methods};
    status_code status = read_maps(&source, files, failure);
    if (status == STATUS_OK) {
        ignore(&source, files->ignored);
        find_box(&source);
        widen_box(&source);
        choose_steps(shown, &source);
        const size_t voxels = (size_t)shown->size[0] * (size_t)shown->size[1] * (size_t)shown->size[2];
        status = take_labels(shown, &source, voxels, failure);
        if (status == STATUS_OK) status = take_grey(shown, &source, voxels, failure);
    }
    source_close(&source);
    return status;
}

void case_volume_close(case_volume *shown) {
    free(shown->grey);
    for (int k = 0; k < CASE_VOLUME_MAPS; k++) free(shown->labels[k]);
    *shown = (case_volume){0};
}

/* ---- slices ---- */

slices case_volume_slices(const case_volume *shown, int axis) {
    const int across = axis == 0 ? 1 : 0, down = axis == 2 ? 1 : 2;
    return (slices){.axis = axis,
                    .across = across,
                    .down = down,
                    .count = shown->size[axis],
                    .width = shown->size[across],
                    .height = shown->size[down]};
}

size_t slices_voxel(const case_volume *shown, const slices *slices, int slice, int row, int column) {
    const size_t stride[3] = {1, (size_t)shown->size[0], (size_t)shown->size[0] * (size_t)shown->size[1]};
    return (size_t)slice * stride[slices->axis] + (size_t)(slices->height - 1 - row) * stride[slices->down] +
           (size_t)column * stride[slices->across];
}

static size_t count_in_slice(const case_volume *shown, const slices *slices, int slice, int wrong) {
    size_t count = 0;
    for (int row = 0; row < slices->height; row++)
        for (int column = 0; column < slices->width; column++) {
            const size_t at = slices_voxel(shown, slices, slice, row, column);
            if (!wrong) count += shown->labels[0][at] > 0;
            for (int k = 1; k <= shown->methods && wrong; k++) count += shown->labels[k][at] != shown->labels[0][at];
        }
    return count;
}

int case_volume_telling(const case_volume *shown, const slices *slices) {
    for (int wrong = 1; wrong >= 0; wrong--) {
        size_t most = 0;
        int best = 0;
        for (int slice = 0; slice < slices->count; slice++) {
            const size_t count = count_in_slice(shown, slices, slice, wrong);
            if (count > most) most = count, best = slice;
        }
        if (most) return best;
    }
    return slices->count / 2;
}

int case_volume_widest(const case_volume *shown) {
    int axis = 2;
    for (int k = 1; k >= 0; k--)
        if (shown->spacing[k] > 1.01 * shown->spacing[axis]) axis = k;
    return axis;
}
