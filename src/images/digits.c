#include "images/digits.h"

#include "core/random.h"
#include "images/glyphs.h"
#include "images/pen.h"
#include "images/purposes.h"

#include <math.h>

enum { CLASSES = 10 };

/* ---- a hand ----------------------------------------------------------------------------------------------------- */

/* How one example is written. Lengths are in pixels. */
typedef struct hand {
    double wobble;         /* of the points, as a fraction of the digit's height */
    double height, width;  /* of the digit */
    double x, y;           /* its middle */
    double slant;          /* to the right per height */
    double cosine, sine;   /* rotation */
    double radius, softer; /* of the pen, and how much of it is lost when the pressure is low */
    double softness;       /* of the edges */
    double ink, grain;     /* brightest grey, and the standard deviation of the noise */
} hand;

/* Normal, but cut off, so that nothing leaves the image. */
static double normal(random_stream *stream, double deviation) {
    const double value = random_normal(stream);
    return deviation * (value < -2.5 ? -2.5 : value > 2.5 ? 2.5 : value);
}

static hand draw_hand(random_stream *stream) {
    hand hand;
    const double haste = random_unit(stream); /* most people take care, few do not */
    hand.wobble = 0.016 + 0.075 * haste * haste * haste;
    hand.height = random_between(stream, 16, 21);
    hand.width = hand.height * random_between(stream, 0.58, 0.95);
    hand.x = 13.5 + normal(stream, 0.7);
    hand.y = 13.5 + normal(stream, 0.7);
    hand.slant = 0.12 + normal(stream, 0.17);
    /* Half the angle's tangent gives sine and cosine without trigonometry, whose bits differ between machines. */
    const double tangent = normal(stream, 0.05);
    hand.cosine = (1 - tangent * tangent) / (1 + tangent * tangent);
    hand.sine = 2 * tangent / (1 + tangent * tangent);
    const double broad = random_unit(stream);
    hand.radius = 0.75 + 1.05 * broad * sqrt(broad);
    hand.softer = random_between(stream, 0, 0.35);
    hand.softness = random_between(stream, 0.9, 1.7);
    hand.ink = random_between(stream, 215, 255);
    const double rough = random_unit(stream);
    hand.grain = 2 + 16 * rough * rough;
    return hand;
}

/* ---- strokes ---------------------------------------------------------------------------------------------------- */

static int same(glyph_point a, glyph_point b) { return a.x == b.x && a.y == b.y; }

/* Where a point of the glyph comes to lie on the paper. */
static pen_point place(const hand *hand, double x, double y, double radius) {
    const double up = 0.5 - y, right = (x - 0.5) * hand->width + hand->slant * up * hand->height;
    const double down = -up * hand->height;
    return (pen_point){hand->x + hand->cosine * right - hand->sine * down,
                       hand->y + hand->sine * right + hand->cosine * down, radius};
}

/* Pressure wanders between points, and both halves of a corner wobble together. */
static void place_stroke(const hand *hand, const glyph_stroke *stroke, random_stream *stream, pen_point *points) {
    for (int k = 0; k < stroke->count; k++) {
        if (k > 0 && same(stroke->points[k], stroke->points[k - 1])) {
            points[k] = points[k - 1];
            continue;
        }
        const double x = stroke->points[k].x + normal(stream, hand->wobble * hand->height / hand->width);
        const double y = stroke->points[k].y + normal(stream, hand->wobble);
        points[k] = place(hand, x, y, hand->radius * (1 - hand->softer * random_unit(stream)));
    }
}

static void write_glyph(const hand *hand, const glyph *glyph, random_stream *stream, pen_canvas *canvas) {
    pen_point points[GLYPH_POINTS];
    for (int k = 0; k < glyph->strokes; k++) {
        place_stroke(hand, &glyph->stroke[k], stream, points);
        pen_draw(canvas, points, glyph->stroke[k].count);
    }
}

/* ---- examples --------------------------------------------------------------------------------------------------- */

/* About normal with deviation 1, from 16 bits: the sum of four numbers of 4 bits. It has to be cheap. */
static double speck(uint64_t bits) {
    const int sum = (int)(bits & 15) + (int)(bits >> 4 & 15) + (int)(bits >> 8 & 15) + (int)(bits >> 12 & 15);
    return (sum - 30) / 9.22;
}

/* Ink on rough paper is noisier than the paper. */
static void develop(const hand *hand, const double *ink, random_stream *stream, uint8_t *pixels) {
    for (int i = 0; i < DIGITS_PIXELS; i++) {
        const double grey = hand->ink * ink[i] + hand->grain * speck(random_bits(stream, 16)) * (0.25 + ink[i]);
        pixels[i] = (uint8_t)(grey <= 0 ? 0 : grey >= 255 ? 255 : grey + 0.5);
    }
}

int digits_make(uint64_t seed, digits_split split, int64_t index, uint8_t pixels[DIGITS_PIXELS]) {
    random_stream stream;
    random_start(&stream, seed, RANDOM_DIGITS, (uint64_t)index, (uint32_t)split);
    const int label = (int)random_below(&stream, CLASSES), way = (int)random_below(&stream, GLYPH_WAYS);
    const hand hand = draw_hand(&stream);
    double ink[DIGITS_PIXELS] = {0};
    pen_canvas canvas = {DIGITS_SIDE, DIGITS_SIDE, hand.softness, ink};
    write_glyph(&hand, glyph_of(label, way), &stream, &canvas);
    develop(&hand, ink, &stream, pixels);
    return label;
}

status_code digits_open(labelled_images *set, uint64_t seed, digits_split split, int64_t count, failure *failure) {
    *set = (labelled_images){0};
    if (count < 1 || count > DIGITS_COUNT_MAX)
        return fail(failure, STATUS_BAD_INPUT, "%lld digits cannot be made; 1 to %d are possible", (long long)count,
                    DIGITS_COUNT_MAX);
    const status_code status =
        labelled_images_open(set, &(labelled_images_shape){count, DIGITS_SIDE, DIGITS_SIDE, 1, CLASSES}, failure);
    if (status != STATUS_OK) return status;
    for (int64_t i = 0; i < count; i++)
        set->labels[i] = (uint8_t)digits_make(seed, split, i, set->pixels + i * DIGITS_PIXELS);
    return STATUS_OK;
}
