#include "plan/fingerprint.h"

#include "core/memory.h"
#include "core/quantile.h"
#include "core/random.h"
#include "plan/purposes.h"
#include "preprocess/crop.h"
#include "ranks/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Enough for percentiles 0.5 and 99.5 to lie on thousands of samples, within 8 MB per channel. */
enum { SAMPLES = 2000000, MOST_PER_CASE = 20000, FEWEST_PER_CASE = 100 };

status_code fingerprint_open(fingerprint *fingerprint, size_t count, int channels, failure *failure) {
    *fingerprint = (struct fingerprint){.count = count, .channels = channels};
    const size_t share = SAMPLES / count;
    fingerprint->samples_per_case = share > MOST_PER_CASE     ? MOST_PER_CASE
                                    : share < FEWEST_PER_CASE ? FEWEST_PER_CASE
                                                              : (int)share;
    fingerprint->cases = calloc(count, sizeof *fingerprint->cases);
    fingerprint->intensities = calloc((size_t)channels, sizeof *fingerprint->intensities);
    fingerprint->sampled = calloc(count, sizeof *fingerprint->sampled);
    fingerprint->samples =
        memory_open((size_t)channels * count * (size_t)fingerprint->samples_per_case * sizeof *fingerprint->samples);
    if (fingerprint->cases && fingerprint->intensities && fingerprint->sampled && fingerprint->samples)
        return STATUS_OK;
    fingerprint_close(fingerprint);
    return fail_memory(failure, "the fingerprint of a dataset");
}

void fingerprint_close(fingerprint *fingerprint) {
    free(fingerprint->cases);
    free(fingerprint->intensities);
    free(fingerprint->sampled);
    memory_close(fingerprint->samples);
    *fingerprint = (struct fingerprint){0};
}

/* ---- one case --------------------------------------------------------------------------------------------------- */

static size_t list_foreground(const int16_t *labels, size_t voxels, uint32_t *places) {
    size_t count = 0;
    for (size_t k = 0; k < voxels; k++)
        if (labels[k] > 0) places[count++] = (uint32_t)k;
    return count;
}

static float *samples_of(const fingerprint *fingerprint, int channel, size_t index) {
    return fingerprint->samples +
           ((size_t)channel * fingerprint->count + index) * (size_t)fingerprint->samples_per_case;
}

static void sample_foreground(fingerprint *fingerprint, size_t index, const volume *image, const uint32_t *places,
                              size_t foreground) {
    const size_t voxels = volume_grid_voxels(&image->grid);
    random_stream stream;
    random_start(&stream, 0, RANDOM_FINGERPRINT, index, 0);
    for (int k = 0; k < fingerprint->samples_per_case; k++) {
        const size_t place = places[random_below(&stream, foreground)];
        for (int c = 0; c < fingerprint->channels; c++)
            samples_of(fingerprint, c, index)[k] = image->voxels[(size_t)c * voxels + place];
    }
    fingerprint->sampled[index] = fingerprint->samples_per_case;
}

static status_code add_samples(fingerprint *fingerprint, size_t index, const volume *image, const label_map *labels,
                               failure *failure) {
    const size_t voxels = volume_grid_voxels(&image->grid);
    uint32_t *places = memory_open(voxels * sizeof *places);
    if (!places) return fail_memory(failure, "the fingerprint of a case");
    const size_t foreground = list_foreground(labels->labels, voxels, places);
    if (foreground > 0) sample_foreground(fingerprint, index, image, places, foreground);
    memory_close(places);
    return STATUS_OK;
}

status_code fingerprint_add(fingerprint *fingerprint, size_t index, const volume *image, const label_map *labels,
                            failure *failure) {
    crop crop;
    status_code status = crop_open(&crop, image, failure);
    if (status != STATUS_OK) return status;
    fingerprint_case *one = &fingerprint->cases[index];
    memcpy(one->size, crop.box.size, sizeof one->size);
    grid_spacing(&image->grid, one->spacing);
    one->kept = (double)one->size[0] * one->size[1] * one->size[2] / (double)volume_grid_voxels(&image->grid);
    crop_close(&crop);
    return add_samples(fingerprint, index, image, labels, failure);
}

status_code fingerprint_share(fingerprint *f, failure *failure) {
    const ranks *r = ranks_here();
    status_code status = ranks_gather_items(r, f->cases, f->count, sizeof *f->cases, failure);
    if (status == STATUS_OK) status = ranks_gather_items(r, f->sampled, f->count, sizeof *f->sampled, failure);
    for (int c = 0; c < f->channels && status == STATUS_OK; c++)
        status = ranks_gather_items(r, samples_of(f, c, 0), f->count, (size_t)f->samples_per_case * sizeof *f->samples,
                                    failure);
    return status;
}

/* ---- all cases -------------------------------------------------------------------------------------------------- */

static intensities intensities_of(float *samples, size_t count) {
    if (count == 0) return (intensities){0};
    sort_floats(samples, count);
    double sum = 0, squares = 0;
    for (size_t k = 0; k < count; k++) sum += (double)samples[k];
    const double mean = sum / (double)count;
    for (size_t k = 0; k < count; k++) squares += ((double)samples[k] - mean) * ((double)samples[k] - mean);
    return (intensities){.mean = mean,
                         .deviation = sqrt(squares / (double)count),
                         .low = quantile_of_sorted_floats(samples, count, 0.5 / 100),
                         .high = quantile_of_sorted_floats(samples, count, 99.5 / 100)};
}

/* Moves a channel's samples together, over those of cases without foreground. */
static size_t gather_samples(const fingerprint *fingerprint, int channel) {
    float *first = samples_of(fingerprint, channel, 0);
    size_t count = 0;
    for (size_t index = 0; index < fingerprint->count; index++) {
        memmove(first + count, samples_of(fingerprint, channel, index),
                (size_t)fingerprint->sampled[index] * sizeof *first);
        count += (size_t)fingerprint->sampled[index];
    }
    return count;
}

void fingerprint_finish(fingerprint *fingerprint) {
    for (int c = 0; c < fingerprint->channels; c++)
        fingerprint->intensities[c] = intensities_of(samples_of(fingerprint, c, 0), gather_samples(fingerprint, c));
}
