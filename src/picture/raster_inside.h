/* The decoders behind raster.h, a file each. */
#ifndef HWS_PICTURE_RASTER_INSIDE_H
#define HWS_PICTURE_RASTER_INSIDE_H

#include "picture/raster.h"

/* A file in memory. */
typedef struct encoded {
    const uint8_t *bytes;
    size_t size;
    const char *name;
    raster_greys greys;
} encoded;

/* What raster_read_greys and raster_look_file do with the bytes that they have read. */
status_code raster_decode(raster *picture, const encoded *file, raster_facts *facts, failure *failure);
status_code raster_look(raster_facts *facts, const encoded *file, failure *failure);

/* Facts of the file, and unless `picture` is NULL its pixels, not turned yet. On failure the
   picture may be half made. */
status_code raster_decode_png(const encoded *file, raster_facts *facts, raster *picture, failure *failure);
status_code raster_decode_jpeg(const encoded *file, raster_facts *facts, raster *picture, failure *failure);

/* Whether a picture of this size is small enough to be read. */
status_code raster_check_size(const encoded *file, uint64_t width, uint64_t height, failure *failure);

#endif
