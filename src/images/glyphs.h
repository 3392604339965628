/*
 * How people write the ten digits: each way is a few strokes of the pen, each stroke a smooth curve through a few
 * points. x goes right and y down, both from 0 to 1. A point given twice in a row is a corner.
 */
#ifndef HWS_IMAGES_GLYPHS_H
#define HWS_IMAGES_GLYPHS_H

enum { GLYPH_STROKES = 2, GLYPH_POINTS = 14, GLYPH_WAYS = 3 };

typedef struct glyph_point {
    float x, y;
} glyph_point;

typedef struct glyph_stroke {
    int count;
    glyph_point points[GLYPH_POINTS];
} glyph_stroke;

typedef struct glyph {
    int strokes;
    glyph_stroke stroke[GLYPH_STROKES];
} glyph;

/* Ways of writing a digit; `way` is below GLYPH_WAYS. */
const glyph *glyph_of(int digit, int way);

#endif
