/* A plane of a segmented image: grey values, with the labels of the reference and of the prediction as outlines. */
#ifndef HWS_PICTURE_OUTLINES_H
#define HWS_PICTURE_OUTLINES_H

#include "core/failure.h"

#include <stdint.h>

/* All of [height][width], the top row first. */
typedef struct outlined_plane {
    int width, height;
    const float *grey;         /* the lowest finite value becomes black, the highest white; others are black */
    const int16_t *reference;  /* outlined in orange; 0 and below is background */
    const int16_t *prediction; /* outlined in blue; where both outlines meet, in white */
} outlined_plane;

/* Small planes are enlarged by a whole number. The file appears whole or not at all. */
status_code outlined_plane_save(const outlined_plane *plane, const char *path, failure *failure);

#endif
