#include "images/pixel_scale.h"

#include <math.h>

/* From a count of each byte value: exact, and the same in any order. */
status_code pixel_scale_measure(pixel_scale *scale, const labelled_images *set, failure *failure) {
    uint64_t counts[256] = {0};
    const size_t all = (size_t)set->count * labelled_images_stride(set);
    for (size_t k = 0; k < all; k++) counts[set->pixels[k]]++;
    double sum = 0, squares = 0;
    for (int v = 0; v < 256; v++) sum += (double)counts[v] * v / 255;
    scale->mean = sum / (double)all;
    for (int v = 0; v < 256; v++) squares += (double)counts[v] * (v / 255.0 - scale->mean) * (v / 255.0 - scale->mean);
    scale->std = sqrt(squares / (double)all);
    return scale->std > 0 ? STATUS_OK : fail(failure, STATUS_BAD_INPUT, "all pixels of the training images are equal");
}

void pixel_scale_apply(const pixel_scale *scale, const uint8_t *pixels, size_t count, float *input) {
    const double factor = 1 / (255 * scale->std), shift = scale->mean / scale->std;
    for (size_t k = 0; k < count; k++) input[k] = (float)(pixels[k] * factor - shift);
}
