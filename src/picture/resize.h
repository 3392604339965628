/* Pictures in another size, antialiased, to the same bytes as Pillow's bilinear filter (and so
   torchvision's transforms). */
#ifndef HWS_PICTURE_RESIZE_H
#define HWS_PICTURE_RESIZE_H

#include "picture/raster.h"

/* A picture of this size, stretched as needed; `to` is opened. */
status_code raster_resize(const raster *from, int height, int width, raster *to, failure *failure);

/* The size to which a picture is resized so that it just covers height x width and keeps its proportions: for a square,
   torchvision's Resize of the shorter side. */
void raster_cover(const raster *from, int height, int width, int64_t *covering_height, int64_t *covering_width);

/* Resizes it so that it covers height x width, and cuts that out of the middle, to the bytes of torchvision's Resize
   and CenterCrop; only what is cut out is computed, so that the thinnest picture takes no more memory than others.
   `pixels` has room for height x width x channels bytes. */
status_code raster_fit(const raster *from, int height, int width, uint8_t *pixels, failure *failure);

#endif
