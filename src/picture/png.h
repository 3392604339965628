/* Small PNG images: written for the galleries of hard and badly segmented examples, and looked at before
   they are put into a page. */
#ifndef HWS_PICTURE_PNG_H
#define HWS_PICTURE_PNG_H

#include "core/failure.h"
#include "core/text.h"

#include <stddef.h>

typedef enum png_colour { PNG_GREY = 1, PNG_RGB = 3, PNG_RGBA = 4 } png_colour; /* the bytes per pixel */

enum { PNG_MAX_SIDE = 16384 };

/* Writes 8-bit pixels, row by row from the top, without padding. The file appears whole or not at all. */
status_code png_save(const char *path, const unsigned char *pixels, size_t width, size_t height, png_colour colour,
                     failure *failure);

/* The same file in memory, added to `bytes`. 0: there is no such image, or memory ran out. */
int png_encode(text *bytes, const unsigned char *pixels, size_t width, size_t height, png_colour colour);

/* Removes the .png files of a folder but for those that are listed, so that it shows nothing older: /a.png/b.png/ */
void png_remove_others(const char *folder, const char *kept);

/* Whether the bytes begin like a PNG file of at most PNG_MAX_SIDE pixels a side, and its width and height. */
int png_size(const void *bytes, size_t size, unsigned *width, unsigned *height);

#endif
