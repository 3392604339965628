/*
 * Handwriting-like digits, 28 x 28, generated: data for the demo and the tests without any network.
 *
 * Every example follows from (seed, split, index) alone, to the bit on every machine, and can be made without
 * the others. Digits are drawn in one of several ways, with wobbling strokes, slant, rotation, size, place,
 * width and pressure of the pen, and noise on the paper. All ten are equally likely. A few are written so
 * carelessly that nobody could tell.
 */
#ifndef HWS_IMAGES_DIGITS_H
#define HWS_IMAGES_DIGITS_H

#include "images/labelled_images.h"

enum { DIGITS_SIDE = 28, DIGITS_PIXELS = DIGITS_SIDE * DIGITS_SIDE, DIGITS_COUNT_MAX = 10000000 };

typedef enum digits_split { DIGITS_TRAIN = 0, DIGITS_TEST = 1 } digits_split;

/* Makes one example, whose index is not negative, and returns its label. */
int digits_make(uint64_t seed, digits_split split, int64_t index, uint8_t pixels[DIGITS_PIXELS]);

/* The examples 0 to count - 1 of a split; count is 1 to DIGITS_COUNT_MAX. */
status_code digits_open(labelled_images *set, uint64_t seed, digits_split split, int64_t count, failure *failure);

#endif
