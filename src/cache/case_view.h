/* A preprocessed case in memory, as training looks at it. Nothing here is owned. */
#ifndef HWS_CACHE_CASE_VIEW_H
#define HWS_CACHE_CASE_VIEW_H

#include <stddef.h>
#include <stdint.h>

typedef struct case_view {
    int channels;
    int size[3];           /* depth, height, width */
    const float *image;    /* [channel][depth][height][width] */
    const int16_t *labels; /* -1 where the image was empty */
    int classes;           /* labels are below */
    /* Some voxels of every class c >= 1, as indices: places[first[c]] up to places[first[c + 1]]. */
    const uint64_t *first; /* classes + 1 of them */
    const uint32_t *places;
} case_view;

static inline size_t case_view_voxels(const case_view *view) {
    return (size_t)view->size[0] * (size_t)view->size[1] * (size_t)view->size[2];
}

#endif
