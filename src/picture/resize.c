#include "picture/resize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums are exact whole numbers: a weight has 22 bits behind the point, and pixels are bytes between the two passes. */
enum { BITS = 22, HALF = 1 << (BITS - 1) };

/* Which pixels of a line make a new one, and with what weights. */
typedef struct taps {
    int most;           /* of any new pixel */
    int *first, *count; /* [size] */
    int32_t *weights;   /* [size][most] */
    double *exact;      /* [most]; for the one at work */
} taps;

static void taps_close(taps *t) {
    free(t->first);
    free(t->count);
    free(t->weights);
    free(t->exact);
}

static double triangle(double x) { return fabs(x) < 1 ? 1 - fabs(x) : 0; }

/* The filter is as wide as a new pixel, or as an old one where the picture grows. */
static void weigh(taps *t, int from, int to, int k) {
    const double scale = (double)from / to, width = fmax(scale, 1), centre = (k + 0.5) * scale;
    int first = (int)(centre - width + 0.5), last = (int)(centre + width + 0.5);
    double sum = 0;
    if (first < 0) first = 0;
    if (last > from) last = from;
    t->first[k] = first;
    t->count[k] = last - first;
    for (int j = 0; j < last - first; j++) sum += t->exact[j] = triangle((j + first - centre + 0.5) / width);
    for (int j = 0; j < last - first; j++)
        t->weights[(size_t)k * (size_t)t->most + (size_t)j] = (int32_t)(t->exact[j] / sum * (1 << BITS) + 0.5);
}

static status_code taps_open(taps *t, int from, int to, failure *failure) {
    const double width = fmax((double)from / to, 1);
    t->most = (int)ceil(width) * 2 + 1;
    t->first = malloc((size_t)to * sizeof *t->first);
    t->count = malloc((size_t)to * sizeof *t->count);
    t->weights = malloc((size_t)to * (size_t)t->most * sizeof *t->weights);
    t->exact = malloc((size_t)t->most * sizeof *t->exact);
    if (!t->first || !t->count || !t->weights || !t->exact) return fail_memory(failure, "a picture");
    for (int k = 0; k < to; k++) weigh(t, from, to, k);
    return STATUS_OK;
}

/* One new pixel of one channel; `step` bytes lie between neighbours. */
static uint8_t mix(const uint8_t *line, size_t step, const int32_t *weights, int count) {
    int64_t sum = HALF;
    for (int j = 0; j < count; j++) sum += (int64_t)line[(size_t)j * step] * weights[j];
    const int64_t value = sum >> BITS;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static void squeeze_rows(const raster *from, const taps *t, raster *to) {
    const size_t c = (size_t)from->channels;
    for (int y = 0; y < from->height; y++)
        for (int x = 0; x < to->width; x++)
            for (size_t k = 0; k < c; k++) {
                const uint8_t *line = from->pixels + ((size_t)y * (size_t)from->width + (size_t)t->first[x]) * c + k;
                to->pixels[((size_t)y * (size_t)to->width + (size_t)x) * c + k] =
                    mix(line, c, t->weights + (size_t)x * (size_t)t->most, t->count[x]);
            }
}

static void squeeze_columns(const raster *from, const taps *t, raster *to) {
    const size_t stride = (size_t)from->width * (size_t)from->channels;
    for (int y = 0; y < to->height; y++)
        for (size_t k = 0; k < stride; k++)
            to->pixels[(size_t)y * stride + k] = mix(from->pixels + (size_t)t->first[y] * stride + k, stride,
                                                     t->weights + (size_t)y * (size_t)t->most, t->count[y]);
}

static status_code resize_axis(const raster *from, int vertical, int size, raster *to, failure *failure) {
    taps t = {0};
    status_code status =
        raster_open(to, vertical ? size : from->height, vertical ? from->width : size, from->channels, failure);
    if (status == STATUS_OK) status = taps_open(&t, vertical ? from->height : from->width, size, failure);
    if (status == STATUS_OK && vertical) squeeze_columns(from, &t, to);
    if (status == STATUS_OK && !vertical) squeeze_rows(from, &t, to);
    taps_close(&t);
    if (status != STATUS_OK) raster_close(to);
    return status;
}

static status_code copy(const raster *from, raster *to, failure *failure) {
    const status_code status = raster_open(to, from->height, from->width, from->channels, failure);
    if (status != STATUS_OK) return status;
    memcpy(to->pixels, from->pixels, (size_t)from->height * (size_t)from->width * (size_t)from->channels);
    return STATUS_OK;
}

status_code raster_resize(const raster *from, int height, int width, raster *to, failure *failure) {
    *to = (raster){0};
    raster narrow = {0};
    if (from->width == width && from->height == height) return copy(from, to, failure);
    if (from->width == width) return resize_axis(from, 1, height, to, failure);
    if (from->height == height) return resize_axis(from, 0, width, to, failure);
    status_code status = resize_axis(from, 0, width, &narrow, failure);
    if (status == STATUS_OK) status = resize_axis(&narrow, 1, height, to, failure);
    raster_close(&narrow);
    return status;
}

void raster_cover(const raster *from, int height, int width, int *covering_height, int *covering_width) {
    const int64_t h = from->height, w = from->width;
    const int by_height = h * width <= w * height;
    *covering_height = by_height ? height : (int)(h * width / w);
    *covering_width = by_height ? (int)(w * height / h) : width;
}

/* As Python rounds a half: to the even neighbour. */
static int half_of(int difference) { return difference % 4 == 3 ? difference / 2 + 1 : difference / 2; }

status_code raster_fit(const raster *from, int height, int width, uint8_t *pixels, failure *failure) {
    int h, w;
    raster cover;
    raster_cover(from, height, width, &h, &w);
    const status_code status = raster_resize(from, h, w, &cover, failure);
    if (status != STATUS_OK) return status;
    const size_t stride = (size_t)width * (size_t)from->channels;
    const size_t top = (size_t)half_of(h - height), left = (size_t)half_of(w - width);
    for (int y = 0; y < height; y++)
        memcpy(pixels + (size_t)y * stride,
               cover.pixels + ((top + (size_t)y) * (size_t)w + left) * (size_t)from->channels, stride);
    raster_close(&cover);
    return STATUS_OK;
}
