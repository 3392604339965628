#include "images/pixel_scale.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

/* From the sums of each picture, whole numbers. */
static void measure_pictures(pixel_scale *scale, const labelled_images *set) {
    const double all = (double)set->count * (double)labelled_images_stride(set);
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < set->count; i++) {
        sum += (double)set->sums[i].sum;
        squares += (double)set->sums[i].squares;
    }
    scale->mean = sum / all / 255;
    scale->std = sqrt(fmax(0, squares / all / (255.0 * 255.0) - scale->mean * scale->mean));
}

/* From a count of each byte value: exact, and the same in any order. */
static void measure_bytes(pixel_scale *scale, const labelled_images *set) {
    uint64_t counts[256] = {0};
    const size_t all = (size_t)set->count * labelled_images_stride(set);
    for (size_t k = 0; k < all; k++) counts[set->pixels[k]]++;
    double sum = 0, squares = 0;
    for (int v = 0; v < 256; v++) sum += (double)counts[v] * v / 255;
    scale->mean = sum / (double)all;
    for (int v = 0; v < 256; v++) squares += (double)counts[v] * (v / 255.0 - scale->mean) * (v / 255.0 - scale->mean);
    scale->std = sqrt(squares / (double)all);
}

status_code pixel_scale_measure(pixel_scale *scale, const labelled_images *set, failure *failure) {
    *scale = (pixel_scale){0, 1};
    if (set->values) return STATUS_OK; /* a table's are standardised, each column by itself */
    if (set->sums) measure_pictures(scale, set);
    else measure_bytes(scale, set);
    return scale->std > 0 ? STATUS_OK : fail(failure, STATUS_BAD_INPUT, "all pixels of the training images are equal");
}

void pixel_scale_apply(const pixel_scale *scale, const uint8_t *pixels, size_t count, float *input) {
    const double factor = 1 / (255 * scale->std), shift = scale->mean / scale->std;
    for (size_t k = 0; k < count; k++) input[k] = (float)(pixels[k] * factor - shift);
}

status_code pixel_scale_example(const pixel_scale *scale, const labelled_images *set, int64_t index, float *input,
                                failure *failure) {
    const size_t stride = labelled_images_stride(set);
    if (set->values) {
        memcpy(input, set->values + (size_t)index * stride, stride * sizeof *input);
        return STATUS_OK;
    }
    if (set->pixels) {
        pixel_scale_apply(scale, labelled_images_at(set, index), stride, input);
        return STATUS_OK;
    }
    uint8_t *pixels = memory_open(stride);
    if (!pixels) return fail_memory(failure, "a picture");
    const status_code status = labelled_images_copy(set, index, pixels, failure);
    if (status == STATUS_OK) pixel_scale_apply(scale, pixels, stride, input);
    memory_close(pixels);
    return status;
}
