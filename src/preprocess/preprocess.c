#include "preprocess/preprocess.h"

#include "core/available.h"
#include "core/memory.h"
#include "preprocess/resample.h"

#include <math.h>
#include <string.h>

static size_t voxel_count(const int size[3]) { return (size_t)size[0] * (size_t)size[1] * (size_t)size[2]; }

size_t case_geometry_voxels(const case_geometry *geometry) { return voxel_count(geometry->size); }
size_t case_geometry_original_voxels(const case_geometry *geometry) { return voxel_count(geometry->original); }

void prepared_case_close(prepared_case *prepared) {
    memory_close(prepared->image);
    memory_close(prepared->labels);
    *prepared = (prepared_case){0};
}

/* ---- there ------------------------------------------------------------------------------------------------------ */

static status_code check_rgb(const float *channel, size_t voxels, int number, failure *failure) {
    for (size_t k = 0; k < voxels; k++)
        if (channel[k] < 0 || channel[k] > NORMALISE_RGB_MOST)
            return fail(failure, STATUS_BAD_INPUT,
                        "channel %d has a voxel of %g, and the values of a channel that is rgb_to_0_1 are 0 to %d",
                        number, (double)channel[k], NORMALISE_RGB_MOST);
    return STATUS_OK;
}

static status_code check_image(const preprocessing *how, const volume *image, failure *failure) {
    if (image->channels != how->channels)
        return fail(failure, STATUS_BAD_INPUT, "the image has %d channels, the plan is for %d", image->channels,
                    how->channels);
    const size_t voxels = volume_grid_voxels(&image->grid), count = voxels * (size_t)image->channels;
    for (size_t k = 0; k < count; k++)
        if (!isfinite(image->voxels[k]))
            return fail(failure, STATUS_BAD_INPUT,
                        "the image has voxels that are NaN or infinite; replace them by numbers");
    status_code status = STATUS_OK;
    for (int c = 0; c < how->channels && status == STATUS_OK; c++)
        if (how->rules[c].kind == NORMALISE_RGB)
            status = check_rgb(image->voxels + (size_t)c * voxels, voxels, c, failure);
    return status;
}

/* A header of a few bytes can ask for any size: what real images become is far below these. */
#define MOST_GROWTH 100.0
#define MOST_GROWN_BYTES 256e6

static const char *too_large(const case_geometry *geometry, int channels, double available) {
    const double voxels = (double)geometry->size[0] * geometry->size[1] * geometry->size[2];
    const double bytes = 4 * voxels * channels, temporary = 4 * voxels;
    if (voxels > UINT32_MAX) return "more than can be handled";
    if (voxels > MOST_GROWTH * (double)case_geometry_original_voxels(geometry) && bytes > MOST_GROWN_BYTES)
        return "more than 100 times what it has";
    return bytes + temporary > available ? "more than fit into the memory that is available" : NULL;
}

status_code case_geometry_check(const case_geometry *geometry, int channels, double available, failure *failure) {
    const char *reason = too_large(geometry, channels, available);
    if (!reason) return STATUS_OK;
    const int *size = geometry->size;
    const double *from = geometry->original_spacing, *to = geometry->spacing;
    return fail(
        failure, STATUS_BAD_INPUT,
        "the image would have %d x %d x %d voxels at the plan's spacing %g x %g x %g, %s, from a spacing of %g x "
        "%g x %g; check the spacing in its header",
        size[2], size[1], size[0], to[2], to[1], to[0], reason, from[2], from[1], from[0]);
}

static status_code find_geometry(const preprocessing *how, const volume *image, const crop *crop,
                                 case_geometry *geometry, failure *failure) {
    memcpy(geometry->original, crop->original, sizeof geometry->original);
    grid_spacing(&image->grid, geometry->original_spacing);
    geometry->box = crop->box;
    for (int k = 0; k < 3; k++)
        geometry->spacing[k] = how->unresampled[k] ? geometry->original_spacing[k] : how->spacing[k];
    resample_size(crop->box.size, geometry->original_spacing, geometry->spacing, geometry->size);
    return case_geometry_check(geometry, how->channels, memory_available(), failure);
}

static resampling there(const case_geometry *geometry, resample_order order, int threads) {
    const int coarse = resample_coarse_axis(geometry->original_spacing, geometry->spacing);
    return resampling_of(geometry->box.size, geometry->size, order, coarse, threads);
}

typedef struct cropped {
    float *channel;
    int16_t *labels;
    uint8_t *mask;
} cropped;

static void cropped_close(cropped *cropped) {
    memory_close(cropped->channel);
    memory_close(cropped->labels);
    memory_close(cropped->mask);
}

static status_code cropped_open(cropped *cropped, const crop *crop, int with_labels, failure *failure) {
    const size_t voxels = voxel_count(crop->box.size);
    cropped->channel = memory_open(voxels * sizeof *cropped->channel);
    cropped->mask = memory_open(voxels);
    if (with_labels) cropped->labels = memory_open(voxels * sizeof *cropped->labels);
    if (!cropped->channel || !cropped->mask || (with_labels && !cropped->labels))
        return fail_memory(failure, "a cropped image");
    crop_copy_out(crop->original, &crop->box, 1, crop->mask, cropped->mask);
    return STATUS_OK;
}

static status_code prepare_channels(const preprocessing *how, const volume *image, const crop *crop, cropped *cropped,
                                    prepared_case *prepared, failure *failure) {
    const resampling resampling = there(&prepared->geometry, RESAMPLE_CUBIC, how->threads);
    status_code status = STATUS_OK;
    for (int c = 0; c < how->channels && status == STATUS_OK; c++) {
        const float *channel = image->voxels + (size_t)c * volume_grid_voxels(&image->grid);
        crop_copy_out(crop->original, &crop->box, sizeof *channel, channel, cropped->channel);
        normalise(&how->rules[c], cropped->channel, cropped->mask, voxel_count(crop->box.size));
        float *target = prepared->image + (size_t)c * case_geometry_voxels(&prepared->geometry);
        status = resample_image(&resampling, cropped->channel, target, failure);
    }
    return status;
}

static status_code prepare_labels(const preprocessing *how, const label_map *labels, const crop *crop, cropped *cropped,
                                  prepared_case *prepared, failure *failure) {
    const resampling resampling = there(&prepared->geometry, RESAMPLE_LINEAR, how->threads);
    crop_copy_out(crop->original, &crop->box, sizeof *labels->labels, labels->labels, cropped->labels);
    const size_t voxels = voxel_count(crop->box.size);
    for (size_t k = 0; k < voxels; k++)
        if (cropped->labels[k] == 0 && !cropped->mask[k]) cropped->labels[k] = LABEL_OUTSIDE;
    return resample_labels(&resampling, cropped->labels, prepared->labels, failure);
}

static status_code prepared_case_open(prepared_case *prepared, int channels, int with_labels, failure *failure) {
    const size_t voxels = case_geometry_voxels(&prepared->geometry);
    prepared->channels = channels;
    prepared->image = memory_open((size_t)channels * voxels * sizeof *prepared->image);
    if (with_labels) prepared->labels = memory_open(voxels * sizeof *prepared->labels);
    const int good = prepared->image && (!with_labels || prepared->labels);
    return good ? STATUS_OK : fail_memory(failure, "a preprocessed image");
}

static status_code prepare(const preprocessing *how, const volume *image, const label_map *labels, const crop *crop,
                           prepared_case *prepared, failure *failure) {
    cropped cropped = {0};
    status_code status = find_geometry(how, image, crop, &prepared->geometry, failure);
    if (status == STATUS_OK) status = prepared_case_open(prepared, how->channels, labels != NULL, failure);
    if (status == STATUS_OK) status = cropped_open(&cropped, crop, labels != NULL, failure);
    if (status == STATUS_OK) status = prepare_channels(how, image, crop, &cropped, prepared, failure);
    if (status == STATUS_OK && labels) status = prepare_labels(how, labels, crop, &cropped, prepared, failure);
    cropped_close(&cropped);
    return status;
}

status_code preprocess(const preprocessing *how, const volume *image, const label_map *labels, prepared_case *prepared,
                       failure *failure) {
    *prepared = (prepared_case){0};
    crop crop = {0};
    status_code status = check_image(how, image, failure);
    if (status == STATUS_OK) status = crop_open(&crop, image, failure);
    if (status == STATUS_OK) status = prepare(how, image, labels, &crop, prepared, failure);
    crop_close(&crop);
    if (status != STATUS_OK) prepared_case_close(prepared);
    return status;
}

/* ---- and back --------------------------------------------------------------------------------------------------- */

static resampling back(const case_geometry *geometry, int threads) {
    const int coarse = resample_coarse_axis(geometry->spacing, geometry->original_spacing);
    return resampling_of(geometry->size, geometry->box.size, RESAMPLE_LINEAR, coarse, threads);
}

static void put_labels(const case_geometry *geometry, const int16_t *kept, int16_t *original) {
    memset(original, 0, case_geometry_original_voxels(geometry) * sizeof *original);
    crop_copy_in(geometry->original, &geometry->box, sizeof *kept, kept, original);
}

status_code restore_labels(const case_geometry *geometry, const int16_t *labels, int threads, int16_t *original,
                           failure *failure) {
    const size_t voxels = voxel_count(geometry->box.size);
    int16_t *kept = memory_open(voxels * sizeof *kept);
    if (!kept) return fail_memory(failure, "a label map");
    const resampling resampling = back(geometry, threads);
    const status_code status = resample_labels(&resampling, labels, kept, failure);
    for (size_t k = 0; status == STATUS_OK && k < voxels; k++)
        if (kept[k] == LABEL_OUTSIDE) kept[k] = 0;
    if (status == STATUS_OK) put_labels(geometry, kept, original);
    memory_close(kept);
    return status;
}

score_map class_score_map(const class_scores *scores, int class, float outside) {
    return (score_map){.values = scores->values + (size_t) class * scores->class_stride,
                       .voxel_stride = scores->voxel_stride,
                       .outside = outside};
}

/* `scratch` holds the map on the preprocessed grid, `kept` gets it on the cropped one. */
static status_code restore_kept(const case_geometry *geometry, const score_map *map, int threads, float *scratch,
                                float *kept, failure *failure) {
    const size_t voxels = case_geometry_voxels(geometry);
    for (size_t k = 0; k < voxels; k++) scratch[k] = map->values[k * map->voxel_stride];
    const resampling resampling = back(geometry, threads);
    return resample_image(&resampling, scratch, kept, failure);
}

static void keep_best(int class, const float *scores, float *best, int16_t *labels, size_t voxels) {
    for (size_t k = 0; k < voxels; k++)
        if (class == 0 || scores[k] > best[k]) {
            best[k] = scores[k];
            labels[k] = (int16_t) class;
        }
}

status_code restore_scores(const case_geometry *geometry, const class_scores *scores, int threads, int16_t *original,
                           failure *failure) {
    const size_t voxels = voxel_count(geometry->box.size);
    float *scratch = memory_open(case_geometry_voxels(geometry) * sizeof *scratch);
    float *kept = memory_open(voxels * sizeof *kept), *best = memory_open(voxels * sizeof *best);
    int16_t *labels = memory_open(voxels * sizeof *labels);
    status_code status = scratch && kept && best && labels ? STATUS_OK : fail_memory(failure, "a prediction");
    for (int c = 0; c < scores->classes && status == STATUS_OK; c++) {
        const score_map map = class_score_map(scores, c, 0);
        status = restore_kept(geometry, &map, threads, scratch, kept, failure);
        if (status == STATUS_OK) keep_best(c, kept, best, labels, voxels);
    }
    if (status == STATUS_OK) put_labels(geometry, labels, original);
    memory_close(scratch);
    memory_close(kept);
    memory_close(best);
    memory_close(labels);
    return status;
}

status_code restore_score_map(const case_geometry *geometry, const score_map *map, int threads, float *original,
                              failure *failure) {
    float *scratch = memory_open(case_geometry_voxels(geometry) * sizeof *scratch);
    float *kept = memory_open(voxel_count(geometry->box.size) * sizeof *kept);
    status_code status = scratch && kept ? STATUS_OK : fail_memory(failure, "a prediction");
    if (status == STATUS_OK) status = restore_kept(geometry, map, threads, scratch, kept, failure);
    if (status == STATUS_OK) {
        const size_t voxels = case_geometry_original_voxels(geometry);
        for (size_t k = 0; k < voxels; k++) original[k] = map->outside;
        crop_copy_in(geometry->original, &geometry->box, sizeof *kept, kept, original);
    }
    memory_close(scratch);
    memory_close(kept);
    return status;
}
