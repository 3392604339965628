#include "images/picture_augment.h"

#include "core/random.h"
#include "images/purposes.h"

#include <math.h>
#include <string.h>

enum { ATTEMPTS = 10 };

int picture_augment_is_on(const picture_augment *a) {
    return a->flip || a->crop || a->resized_crop > 0 || a->rotate > 0 || a->jitter > 0 || a->erase > 0;
}

/* ---- place ------------------------------------------------------------------------------------------------------- */

/* Which part of the picture is seen: a box around a point, turned and mirrored. */
typedef struct view {
    double centre[2], size[2], cosine, sine;
    int mirrored;
} view;

/* As torchvision's RandomResizedCrop: the first box that fits of ten, or else all. */
static void choose_box(const picture_augment *a, random_stream *stream, const double side[2], view *v) {
    for (int k = 0; k < ATTEMPTS; k++) {
        const double area = side[0] * side[1] * random_between(stream, a->resized_crop, 1);
        const double ratio = exp(random_between(stream, log(3.0 / 4), log(4.0 / 3)));
        const double height = floor(sqrt(area / ratio) + 0.5), width = floor(sqrt(area * ratio) + 0.5);
        if (height < 1 || width < 1 || height > side[0] || width > side[1]) continue;
        v->size[0] = height;
        v->size[1] = width;
        v->centre[0] = (double)random_below(stream, (uint64_t)(side[0] - height) + 1) + height / 2;
        v->centre[1] = (double)random_below(stream, (uint64_t)(side[1] - width) + 1) + width / 2;
        return;
    }
}

static view choose_view(const picture_augment *a, random_stream *stream, const labelled_images *like) {
    const double side[2] = {like->height, like->width};
    view v = {.centre = {side[0] / 2, side[1] / 2}, .size = {side[0], side[1]}, .cosine = 1};
    v.mirrored = a->flip && random_below(stream, 2);
    if (a->resized_crop > 0) choose_box(a, stream, side, &v);
    for (int k = 0; k < 2 && a->crop; k++)
        v.centre[k] += (double)random_below(stream, 2 * (uint64_t)a->crop + 1) - a->crop;
    if (a->rotate > 0) {
        const double angle = random_between(stream, -a->rotate, a->rotate) * 3.14159265358979323846 / 180;
        v.cosine = cos(angle);
        v.sine = sin(angle);
    }
    return v;
}

static int clamp(int at, int side) { return at < 0 ? 0 : at >= side ? side - 1 : at; }

/* Bilinear; exact where the point is the middle of a pixel. */
static void sample(const labelled_images *like, const uint8_t *from, double y, double x, uint8_t *to) {
    const int top = (int)floor(y), left = (int)floor(x), c = like->channels;
    const double v = y - top, u = x - left;
    const int rows[2] = {clamp(top, like->height), clamp(top + 1, like->height)};
    const int columns[2] = {clamp(left, like->width), clamp(left + 1, like->width)};
    for (int k = 0; k < c; k++) {
        double sum = 0;
        for (int i = 0; i < 4; i++) {
            const double weight = (i / 2 ? v : 1 - v) * (i % 2 ? u : 1 - u);
            sum += weight * from[(rows[i / 2] * like->width + columns[i % 2]) * c + k];
        }
        to[k] = (uint8_t)(sum + 0.5);
    }
}

static void look(const view *v, const labelled_images *like, const uint8_t *from, uint8_t *to) {
    for (int y = 0; y < like->height; y++)
        for (int x = 0; x < like->width; x++, to += like->channels) {
            const int column = v->mirrored ? like->width - 1 - x : x;
            const double down = ((y + 0.5) / like->height - 0.5) * v->size[0];
            const double right = ((column + 0.5) / like->width - 0.5) * v->size[1];
            /* Rounding must not move what is the middle of a pixel. */
            const double at_y = v->centre[0] + v->cosine * down - v->sine * right - 0.5;
            const double at_x = v->centre[1] + v->sine * down + v->cosine * right - 0.5;
            sample(like, from, floor(at_y * 4096 + 0.5) / 4096, floor(at_x * 4096 + 0.5) / 4096, to);
        }
}

/* ---- colours ----------------------------------------------------------------------------------------------------- */

static uint8_t byte_of(double value) { return (uint8_t)(value <= 0 ? 0 : value >= 255 ? 255 : value + 0.5); }

static double grey_at(const uint8_t *pixel, int channels) {
    return channels == 3 ? 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2] : pixel[0];
}

/* Each value moves away from, or towards, `anchor`. */
static void stretch(uint8_t *pixels, size_t count, double factor, double anchor) {
    for (size_t k = 0; k < count; k++) pixels[k] = byte_of(anchor + factor * (pixels[k] - anchor));
}

static void recolour(const picture_augment *a, random_stream *stream, const labelled_images *like, uint8_t *pixels) {
    const size_t all = labelled_images_stride(like), c = (size_t)like->channels;
    double factors[3], mean = 0;
    for (int k = 0; k < 3; k++) factors[k] = random_between(stream, fmax(0, 1 - a->jitter), 1 + a->jitter);
    stretch(pixels, all, factors[0], 0);
    for (size_t k = 0; k < all; k += c) mean += grey_at(pixels + k, like->channels);
    stretch(pixels, all, factors[1], mean / (double)(all / c));
    for (size_t k = 0; c == 3 && k < all; k += c) stretch(pixels + k, c, factors[2], grey_at(pixels + k, 3));
}

/* As torchvision's RandomErasing. */
static void erase(const picture_augment *a, random_stream *stream, const labelled_images *like, uint8_t *pixels) {
    for (int k = 0; k < ATTEMPTS; k++) {
        const double area = (double)like->height * like->width * random_between(stream, 0.02, 0.33);
        const double ratio = exp(random_between(stream, log(0.3), log(3.3)));
        const int height = (int)(sqrt(area * ratio) + 0.5), width = (int)(sqrt(area / ratio) + 0.5);
        if (height < 1 || width < 1 || height >= like->height || width >= like->width) continue;
        const int top = (int)random_below(stream, (uint64_t)(like->height - height) + 1);
        const int left = (int)random_below(stream, (uint64_t)(like->width - width) + 1);
        for (int y = top; y < top + height; y++)
            memset(pixels + (size_t)(y * like->width + left) * (size_t)like->channels, a->mean,
                   (size_t)width * (size_t)like->channels);
        return;
    }
}

/* ------------------------------------------------------------------------------------------------------------------ */

void picture_augment_apply(const picture_augment *a, const labelled_images *like, const uint64_t key[2], uint32_t slot,
                           const uint8_t *from, uint8_t *to) {
    random_stream stream;
    random_start(&stream, key[0], RANDOM_PICTURE, key[1], slot);
    const view v = choose_view(a, &stream, like);
    look(&v, like, from, to);
    if (a->jitter > 0) recolour(a, &stream, like, to);
    if (a->erase > 0 && random_unit(&stream) < a->erase) erase(a, &stream, like, to);
}
