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

/* A line of `from` pixels that becomes one of `to`, of which `count` are made, from `first` on. A picture that is thin
   enough has more than an int can count. */
typedef struct stretch {
    int from;
    int64_t to, first;
    int count;
} stretch;

/* The filter is as wide as a new pixel, or as an old one where the picture grows. */
static void weigh(taps *t, const stretch *s, int k) {
    const double scale = (double)s->from / (double)s->to, width = fmax(scale, 1);
    const double centre = ((double)(s->first + k) + 0.5) * scale;
    int first = (int)(centre - width + 0.5), last = (int)(centre + width + 0.5);
    double sum = 0;
    if (first < 0) first = 0;
    if (last > s->from) last = s->from;
    t->first[k] = first;
    t->count[k] = last - first;
    for (int j = 0; j < last - first; j++) sum += t->exact[j] = triangle((j + first - centre + 0.5) / width);
    for (int j = 0; j < last - first; j++)
        t->weights[(size_t)k * (size_t)t->most + (size_t)j] = (int32_t)(t->exact[j] / sum * (1 << BITS) + 0.5);
}

static status_code taps_open(taps *t, const stretch *s, failure *failure) {
    const size_t count = (size_t)s->count;
    t->most = (int)ceil(fmax((double)s->from / (double)s->to, 1)) * 2 + 1;
    t->first = malloc(count * sizeof *t->first);
    t->count = malloc(count * sizeof *t->count);
    t->weights = malloc(count * (size_t)t->most * sizeof *t->weights);
    t->exact = malloc((size_t)t->most * sizeof *t->exact);
    if (!t->first || !t->count || !t->weights || !t->exact) return fail_memory(failure, "a picture");
    for (int k = 0; k < s->count; k++) weigh(t, s, k);
    return STATUS_OK;
}

/* One new pixel of one channel; `step` bytes lie between neighbours. */
static uint8_t mix(const uint8_t *line, size_t step, const int32_t *weights, int count) {
    int64_t sum = HALF;
    for (int j = 0; j < count; j++) sum += (int64_t)line[(size_t)j * step] * weights[j];
    const int64_t value = sum >> BITS;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* The rows from `top` on, as many as `to` has. */
static void squeeze_rows(const raster *from, int top, const taps *t, raster *to) {
    const size_t c = (size_t)from->channels;
    for (int y = 0; y < to->height; y++)
        for (int x = 0; x < to->width; x++)
            for (size_t k = 0; k < c; k++) {
                const uint8_t *line =
                    from->pixels + ((size_t)(top + y) * (size_t)from->width + (size_t)t->first[x]) * c + k;
                to->pixels[((size_t)y * (size_t)to->width + (size_t)x) * c + k] =
                    mix(line, c, t->weights + (size_t)x * (size_t)t->most, t->count[x]);
            }
}

/* `from` has the rows from `top` on. */
static void squeeze_columns(const raster *from, int top, const taps *t, raster *to) {
    const size_t stride = (size_t)from->width * (size_t)from->channels;
    for (int y = 0; y < to->height; y++)
        for (size_t k = 0; k < stride; k++)
            to->pixels[(size_t)y * stride + k] = mix(from->pixels + (size_t)(t->first[y] - top) * stride + k, stride,
                                                     t->weights + (size_t)y * (size_t)t->most, t->count[y]);
}

/* Both passes, over those rows and columns alone that are seen in the end. */
static status_code resample(const raster *from, const stretch *rows, const stretch *columns, raster *to,
                            failure *failure) {
    taps down = {0}, across = {0};
    raster narrow = {0};
    status_code status = taps_open(&down, rows, failure);
    if (status == STATUS_OK) status = taps_open(&across, columns, failure);
    if (status == STATUS_OK) {
        const int top = down.first[0], last = rows->count - 1, bottom = down.first[last] + down.count[last];
        status = raster_open(&narrow, bottom - top, columns->count, from->channels, failure);
        if (status == STATUS_OK) status = raster_open(to, rows->count, columns->count, from->channels, failure);
        if (status == STATUS_OK) squeeze_rows(from, top, &across, &narrow);
        if (status == STATUS_OK) squeeze_columns(&narrow, top, &down, to);
    }
    if (status != STATUS_OK) raster_close(to);
    raster_close(&narrow);
    taps_close(&down);
    taps_close(&across);
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
    if (from->width == width && from->height == height) return copy(from, to, failure);
    const stretch rows = {from->height, height, 0, height}, columns = {from->width, width, 0, width};
    return resample(from, &rows, &columns, to, failure);
}

void raster_cover(const raster *from, int height, int width, int64_t *covering_height, int64_t *covering_width) {
    const int64_t h = from->height, w = from->width;
    const int by_height = h * width <= w * height;
    *covering_height = by_height ? height : h * width / w;
    *covering_width = by_height ? w * height / h : width;
}

/* As Python rounds a half: to the even neighbour. */
static int64_t half_of(int64_t difference) { return difference % 4 == 3 ? difference / 2 + 1 : difference / 2; }

status_code raster_fit(const raster *from, int height, int width, uint8_t *pixels, failure *failure) {
    const size_t size = (size_t)height * (size_t)width * (size_t)from->channels;
    if (from->height == height && from->width == width) return memcpy(pixels, from->pixels, size), STATUS_OK;
    int64_t h, w;
    raster cut = {0};
    raster_cover(from, height, width, &h, &w);
    const stretch rows = {from->height, h, half_of(h - height), height};
    const stretch columns = {from->width, w, half_of(w - width), width};
    const status_code status = resample(from, &rows, &columns, &cut, failure);
    if (status == STATUS_OK) memcpy(pixels, cut.pixels, size);
    raster_close(&cut);
    return status;
}
