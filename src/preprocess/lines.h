/*
 * The lines of a volume along one axis, a block of them at a time, turned so that their voxels lie side by side.
 *
 * Blocks hold SPLINE_BLOCK lines that are neighbours in memory order; the last block repeats its last line.
 */
#ifndef HWS_PREPROCESS_LINES_H
#define HWS_PREPROCESS_LINES_H

#include "preprocess/spline.h"

#include <stddef.h>

typedef struct line_layout {
    int length;    /* voxels of a line */
    size_t stride; /* between them */
    size_t outer;  /* how many groups of `stride` lines there are */
} line_layout;

static inline line_layout line_layout_of(const int size[3], int axis) {
    line_layout layout = {.length = size[axis], .stride = 1, .outer = 1};
    for (int k = axis + 1; k < 3; k++) layout.stride *= (size_t)size[k];
    for (int k = 0; k < axis; k++) layout.outer *= (size_t)size[k];
    return layout;
}

static inline size_t line_count(const line_layout *layout) { return layout->outer * layout->stride; }

static inline size_t line_blocks(const line_layout *layout) {
    return (line_count(layout) + SPLINE_BLOCK - 1) / SPLINE_BLOCK;
}

/* The first voxel of a line. */
static inline size_t line_start(const line_layout *layout, size_t line) {
    return line / layout->stride * layout->stride * (size_t)layout->length + line % layout->stride;
}

void lines_gather(const line_layout *layout, size_t block, const float *voxels, double (*lines)[SPLINE_BLOCK]);
void lines_scatter(const line_layout *layout, size_t block, double (*lines)[SPLINE_BLOCK], float *voxels);

#endif
