/*
 * Pictures in memory, and how they get there: PNG and JPEG files as 8-bit grey or colour.
 *
 *     raster picture;
 *     status = raster_read_greys(&picture, "image.jpeg", (raster_greys){0}, NULL, &failure);
 *     ...
 *     raster_close(&picture);
 *
 * What a file is, its contents say, whatever its name. Decoded are PNG of every kind (16 bits become 8, as greys
 * say, palettes colours, transparency is left out; of an animation the first picture) and JPEG (baseline and
 * progressive; CMYK becomes RGB). A picture that its EXIF data call rotated is turned upright. Every failure names
 * the file; files that are cut or altered are refused, and so are pictures of more than RASTER_PIXELS_MAX pixels,
 * before memory is taken for them.
 */
#ifndef HWS_PICTURE_RASTER_H
#define HWS_PICTURE_RASTER_H

#include "core/failure.h"

#include <stddef.h>
#include <stdint.h>

enum { RASTER_PIXELS_MAX = 89478485 /* a quarter of a gigabyte in colour */ };

typedef struct raster {
    int height, width, channels; /* 1: grey, 3: red, green, blue */
    uint8_t *pixels;             /* row by row from the top, without padding; owned, from memory_open */
} raster;

enum { RASTER_GREY_MOST = 65535 };

/* Which values of 16-bit samples become black and white, 0 and 255; those between are spread evenly, those beyond cut
   off. Zeros: all, 0 to 65535. */
typedef struct raster_greys {
    int low, high;
} raster_greys;

/* From "LOW,HIGH", or "" for all. */
status_code raster_greys_parse(raster_greys *greys, const char *words, failure *failure);

/* What the header of a file tells. */
typedef struct raster_facts {
    int height, width, channels; /* as decoding would give them */
    int bits;                    /* of a sample in the file: 1 to 16 */
    int orientation;             /* of EXIF, 1 to 8; 1: as it is */
    int animated;                /* 1: there are more pictures in the file */
    int least, most; /* of its samples, where they have 16 bits and were decoded: not in the header; else 0 */
} raster_facts;

/* Memory for pixels that the caller fills. */
status_code raster_open(raster *picture, int height, int width, int channels, failure *failure);
/* Accepts what was never opened, if it is zero. Leaves zeros. */
void raster_close(raster *picture);

/* A file of at most a gigabyte. Greys are about pictures of 16 bits: unless they are all, others are refused. `facts`
   may be NULL. On failure the picture is closed. */
status_code raster_read_greys(raster *picture, const char *path, raster_greys greys, raster_facts *facts,
                              failure *failure);

/* The header alone: refuses what certainly is no picture, and what is too large. */
status_code raster_look_file(raster_facts *facts, const char *path, failure *failure);

/* Another number of channels, in place: grey is 0.299 red + 0.587 green + 0.114 blue, rounded as Pillow does. Others
   than 1 and 3 are refused, and the picture stays as it is. */
status_code raster_convert(raster *picture, int channels, failure *failure);

/* Turns the picture as an EXIF orientation of 1 to 8 asks for. */
status_code raster_orient(raster *picture, int orientation, failure *failure);

/* The EXIF orientation that a TIFF block tells, 1 to 8; 1 if it tells none. */
int raster_exif_orientation(const uint8_t *tiff, size_t size);

#endif
