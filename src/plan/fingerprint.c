#include "plan/fingerprint.h"

#include "core/memory.h"
#include "core/quantile.h"
#include "core/random.h"
#include "plan/purposes.h"
#include "preprocess/crop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Enough for percentiles 0.5 and 99.5 to lie on thousands of samples, within 8 MB per channel. */
enum { SAMPLES = 2000000, MOST_PER_CASE = 20000, FEWEST_PER_CASE = 100 };

status_code fingerprint_open(fingerprint *print, size_t count, int channels, failure *failure) {
    *print = (fingerprint){.count = count, .channels = channels};
    const size_t share = SAMPLES / count;
    print->samples_per_case = share > MOST_PER_CASE     ? MOST_PER_CASE
                              : share < FEWEST_PER_CASE ? FEWEST_PER_CASE
                                                        : (int)share;
    print->cases = calloc(count, sizeof *print->cases);
    print->intensities = calloc((size_t)channels, sizeof *print->intensities);
    print->sampled = calloc(count, sizeof *print->sampled);
    print->samples = memory_open((size_t)channels * count * (size_t)print->samples_per_case * sizeof *print->samples);
    if (print->cases && print->intensities && print->sampled && print->samples) return STATUS_OK;
    fingerprint_close(print);
    return fail_memory(failure, "the fingerprint of a dataset");
}

void fingerprint_close(fingerprint *print) {
    free(print->cases);
    free(print->intensities);
    free(print->sampled);
    memory_close(print->samples);
    *print = (fingerprint){0};
}

/* ---- one case --------------------------------------------------------------------------------------------------- */

static size_t list_foreground(const int16_t *labels, size_t voxels, uint32_t *places) {
    size_t count = 0;
    for (size_t k = 0; k < voxels; k++)
        if (labels[k] > 0) places[count++] = (uint32_t)k;
    return count;
}

static float *samples_of(const fingerprint *print, int channel, size_t index) {
    return print->samples + ((size_t)channel * print->count + index) * (size_t)print->samples_per_case;
}

static void sample_foreground(fingerprint *print, size_t index, const volume *image, const uint32_t *places,
                              size_t foreground) {
    const size_t voxels = volume_grid_voxels(&image->grid);
    random_stream stream;
    random_start(&stream, 0, RANDOM_FINGERPRINT, index, 0);
    for (int k = 0; k < print->samples_per_case; k++) {
        const size_t place = places[random_below(&stream, foreground)];
        for (int c = 0; c < print->channels; c++)
            samples_of(print, c, index)[k] = image->voxels[(size_t)c * voxels + place];
    }
    print->sampled[index] = print->samples_per_case;
}

static status_code add_samples(fingerprint *print, size_t index, const volume *image, const label_map *labels,
                               failure *failure) {
    const size_t voxels = volume_grid_voxels(&image->grid);
    uint32_t *places = memory_open(voxels * sizeof *places);
    if (!places) return fail_memory(failure, "the fingerprint of a case");
    const size_t foreground = list_foreground(labels->labels, voxels, places);
    if (foreground > 0) sample_foreground(print, index, image, places, foreground);
    memory_close(places);
    return STATUS_OK;
}

status_code fingerprint_add(fingerprint *print, size_t index, const volume *image, const label_map *labels,
                            failure *failure) {
    crop crop;
    status_code status = crop_open(&crop, image, failure);
    if (status != STATUS_OK) return status;
    fingerprint_case *one = &print->cases[index];
    memcpy(one->size, crop.box.size, sizeof one->size);
    grid_spacing(&image->grid, one->spacing);
    one->kept = (double)one->size[0] * one->size[1] * one->size[2] / (double)volume_grid_voxels(&image->grid);
    crop_close(&crop);
    return add_samples(print, index, image, labels, failure);
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
static size_t gather_samples(const fingerprint *print, int channel) {
    float *first = samples_of(print, channel, 0);
    size_t count = 0;
    for (size_t index = 0; index < print->count; index++) {
        memmove(first + count, samples_of(print, channel, index), (size_t)print->sampled[index] * sizeof *first);
        count += (size_t)print->sampled[index];
    }
    return count;
}

void fingerprint_finish(fingerprint *print) {
    for (int c = 0; c < print->channels; c++)
        print->intensities[c] = intensities_of(samples_of(print, c, 0), gather_samples(print, c));
}
