#include "augment/intensity.h"

#include "preprocess/resample.h"

#include <math.h>
#include <string.h>

typedef struct summary {
    double mean, deviation;
    float low, high;
} summary;

static summary summary_of(const float *voxels, size_t count) {
    summary summary = {.low = voxels[0], .high = voxels[0]};
    double sum = 0, squares = 0;
    for (size_t k = 0; k < count; k++) {
        sum += (double)voxels[k];
        summary.low = voxels[k] < summary.low ? voxels[k] : summary.low;
        summary.high = voxels[k] > summary.high ? voxels[k] : summary.high;
    }
    summary.mean = sum / (double)count;
    for (size_t k = 0; k < count; k++) {
        const double distance = (double)voxels[k] - summary.mean;
        squares += distance * distance;
    }
    summary.deviation = sqrt(squares / (double)count);
    return summary;
}

void add_noise(float *voxels, size_t count, double deviation, random_stream *stream) {
    for (size_t k = 0; k < count; k++) voxels[k] += (float)(deviation * random_normal(stream));
}

void change_brightness(float *voxels, size_t count, double factor) {
    for (size_t k = 0; k < count; k++) voxels[k] *= (float)factor;
}

void change_contrast(float *voxels, size_t count, double factor) {
    const summary before = summary_of(voxels, count);
    const float mean = (float)before.mean, stretch = (float)factor;
    for (size_t k = 0; k < count; k++) {
        const float value = (voxels[k] - mean) * stretch + mean;
        voxels[k] = value < before.low ? before.low : value > before.high ? before.high : value;
    }
}

status_code lose_resolution(float *voxels, const int size[3], double zoom, int flat_axis, float *scratch,
                            failure *failure) {
    int coarse[3];
    for (int k = 0; k < 3; k++) {
        coarse[k] = k == flat_axis ? size[k] : (int)rint(size[k] * zoom);
        if (coarse[k] < 1) coarse[k] = 1;
    }
    const resampling down = resampling_of(size, coarse, RESAMPLE_NEAREST, -1, 1);
    const resampling up = resampling_of(coarse, size, RESAMPLE_CUBIC, -1, 1);
    const status_code status = resample_image(&down, voxels, scratch, failure);
    return status == STATUS_OK ? resample_image(&up, scratch, voxels, failure) : status;
}

void change_gamma(float *voxels, size_t count, double gamma, int inverted) {
    const float sign = inverted ? -1.0f : 1.0f;
    for (size_t k = 0; k < count; k++) voxels[k] *= sign;
    const summary before = summary_of(voxels, count);
    const float range = before.high - before.low + 1e-7f, exponent = (float)gamma;
    for (size_t k = 0; k < count; k++) voxels[k] = powf((voxels[k] - before.low) / range, exponent) * range;
    const summary after = summary_of(voxels, count);
    const double scale = before.deviation / fmax(after.deviation, 1e-8);
    for (size_t k = 0; k < count; k++)
        voxels[k] = sign * (float)(((double)voxels[k] - after.mean) * scale + before.mean);
}
