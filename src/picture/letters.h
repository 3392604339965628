/* Words in a picture, in small capitals of a fixed width. */
#ifndef HWS_PICTURE_LETTERS_H
#define HWS_PICTURE_LETTERS_H

#include <stddef.h>
#include <stdint.h>

enum { LETTER_WIDTH = 5, LETTER_HEIGHT = 7, LETTER_ADVANCE = 6 };

/* What is drawn into: RGB, the top row first. What lies outside is not drawn. */
typedef struct raster_target {
    uint8_t *pixels;
    size_t width, height;
    uint8_t colour[3];
} raster_target;

size_t letters_width(const char *words);
void letters_draw(const raster_target *target, size_t x, size_t y, const char *words);

#endif
