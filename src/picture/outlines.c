#include "picture/outlines.h"

#include "picture/png.h"

#include <math.h>
#include <stdlib.h>

enum { LARGEST_ENLARGEMENT = 8, WANTED_SIDE = 400 };

typedef struct grey_range {
    float low, high;
} grey_range;

enum { TOP = 1, BOTTOM = 2, LEFT = 4, RIGHT = 8 };

/* The sides on which a labelled voxel has a neighbour of another label, or none. */
static int open_sides(const int16_t *labels, const outlined_plane *plane, int y, int x) {
    const int own = labels[y * plane->width + x];
    int sides = 0;
    for (int k = 0; k < 4 && own > 0; k++) { /* in the order of TOP to RIGHT */
        const int ny = y - (k == 0) + (k == 1), nx = x - (k == 2) + (k == 3);
        const int outside = ny < 0 || nx < 0 || ny >= plane->height || nx >= plane->width;
        if (outside || labels[ny * plane->width + nx] != own) sides |= 1 << k;
    }
    return sides;
}

/* Whether the pixel of a voxel of factor x factor lies on one of these sides. */
static int is_on(int sides, int dy, int dx, int factor) {
    return (sides & TOP && dy == 0) || (sides & BOTTOM && dy == factor - 1) || (sides & LEFT && dx == 0) ||
           (sides & RIGHT && dx == factor - 1);
}

static grey_range range_of(const outlined_plane *plane) {
    grey_range range = {INFINITY, -INFINITY};
    for (size_t k = 0; k < (size_t)plane->width * (size_t)plane->height; k++) {
        if (!isfinite(plane->grey[k])) continue;
        range.low = fminf(range.low, plane->grey[k]);
        range.high = fmaxf(range.high, plane->grey[k]);
    }
    return range;
}

static uint8_t shade(float grey, grey_range range) {
    if (!isfinite(grey) || !(range.high > range.low)) return 0;
    return (uint8_t)lround(255 * ((double)grey - (double)range.low) / ((double)range.high - (double)range.low));
}

static int enlargement(const outlined_plane *plane) {
    const int side = plane->width > plane->height ? plane->width : plane->height;
    const int factor = WANTED_SIDE / side;
    return factor < 1 ? 1 : factor > LARGEST_ENLARGEMENT ? LARGEST_ENLARGEMENT : factor;
}

/* A voxel becomes factor x factor pixels. Its outline is as thin as a pixel, so that what it
   surrounds stays visible. */
static void draw_voxel(const outlined_plane *plane, int y, int x, int factor, uint8_t grey, uint8_t *pixels) {
    static const uint8_t COLOURS[4][3] = {{0, 0, 0}, {230, 159, 0}, {86, 180, 233}, {255, 255, 255}};
    const size_t stride = (size_t)plane->width * (size_t)factor;
    const int reference = open_sides(plane->reference, plane, y, x);
    const int prediction = open_sides(plane->prediction, plane, y, x);
    for (int dy = 0; dy < factor; dy++)
        for (int dx = 0; dx < factor; dx++) {
            uint8_t *pixel = pixels + 3 * ((size_t)(y * factor + dy) * stride + (size_t)(x * factor + dx));
            const int outlines = is_on(reference, dy, dx, factor) | is_on(prediction, dy, dx, factor) << 1;
            for (int c = 0; c < 3; c++) pixel[c] = outlines ? COLOURS[outlines][c] : grey;
        }
}

status_code outlined_plane_save(const outlined_plane *plane, const char *path, failure *failure) {
    const int factor = enlargement(plane);
    const size_t width = (size_t)plane->width * (size_t)factor, height = (size_t)plane->height * (size_t)factor;
    const grey_range range = range_of(plane);
    uint8_t *pixels = malloc(width * height * 3);
    if (!pixels) return fail_memory(failure, "a picture");
    for (int y = 0; y < plane->height; y++)
        for (int x = 0; x < plane->width; x++)
            draw_voxel(plane, y, x, factor, shade(plane->grey[y * plane->width + x], range), pixels);
    const status_code status = png_save(path, pixels, width, height, PNG_RGB, failure);
    free(pixels);
    return status;
}
