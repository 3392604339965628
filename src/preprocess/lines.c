#include "preprocess/lines.h"

/* The lines of a block; returns how many of them are not repetitions. */
static int block_starts(const line_layout *layout, size_t block, size_t starts[SPLINE_BLOCK]) {
    const size_t first = block * SPLINE_BLOCK, left = line_count(layout) - first;
    const int count = left < SPLINE_BLOCK ? (int)left : SPLINE_BLOCK;
    for (int b = 0; b < SPLINE_BLOCK; b++) starts[b] = line_start(layout, first + (size_t)(b < count ? b : count - 1));
    return count;
}

/* Whether the block's lines begin at voxels that follow each other. */
static int side_by_side(const line_layout *layout, size_t block) {
    return block * SPLINE_BLOCK % layout->stride + SPLINE_BLOCK <= layout->stride;
}

void lines_gather(const line_layout *layout, size_t block, const float *voxels, double (*lines)[SPLINE_BLOCK]) {
    size_t starts[SPLINE_BLOCK];
    block_starts(layout, block, starts);
    if (side_by_side(layout, block)) {
        const float *row = voxels + starts[0];
        for (int i = 0; i < layout->length; i++, row += layout->stride)
            for (int b = 0; b < SPLINE_BLOCK; b++) lines[i][b] = (double)row[b];
        return;
    }
    for (int i = 0; i < layout->length; i++)
        for (int b = 0; b < SPLINE_BLOCK; b++) lines[i][b] = (double)voxels[starts[b] + (size_t)i * layout->stride];
}

void lines_scatter(const line_layout *layout, size_t block, double (*lines)[SPLINE_BLOCK], float *voxels) {
    size_t starts[SPLINE_BLOCK];
    const int count = block_starts(layout, block, starts);
    if (side_by_side(layout, block)) {
        float *row = voxels + starts[0];
        for (int i = 0; i < layout->length; i++, row += layout->stride)
            for (int b = 0; b < SPLINE_BLOCK; b++) row[b] = (float)lines[i][b];
        return;
    }
    for (int i = 0; i < layout->length; i++)
        for (int b = 0; b < count; b++) voxels[starts[b] + (size_t)i * layout->stride] = (float)lines[i][b];
}
