/* Sizes of activations, channels-last: [sample][depth][height][width][channel]. Pictures have depth 1. */
#ifndef HWS_NN_SHAPE_H
#define HWS_NN_SHAPE_H

#include <stddef.h>

typedef struct shape {
    int samples, size[3], channels; /* size: depth, height, width */
} shape;

static inline size_t shape_positions(const shape *s) {
    return (size_t)s->size[0] * (size_t)s->size[1] * (size_t)s->size[2];
}
static inline size_t shape_rows(const shape *s) { return (size_t)s->samples * shape_positions(s); }
static inline size_t shape_count(const shape *s) { return shape_rows(s) * (size_t)s->channels; }

#endif
