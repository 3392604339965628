#include "preprocess/spline.h"

#include "preprocess/lines.h"

#define POLE (-0.26794919243112270647) /* sqrt(3) - 2 */

/* In a signal that goes on with the value s, the causal sums settle at s * SETTLED. */
#define SETTLED (1 / (1 - POLE))

static void filter_forwards(double (*lines)[SPLINE_BLOCK], int count) {
    for (int b = 0; b < SPLINE_BLOCK; b++) lines[0][b] *= 6 * SETTLED;
    for (int i = 1; i < count; i++)
        for (int b = 0; b < SPLINE_BLOCK; b++) lines[i][b] = 6 * lines[i][b] + POLE * lines[i - 1][b];
}

/* The causal sums behind the end decay towards their limit as powers of the pole, so that the anticausal sums are
   known in closed form from the last sample on. */
static void settle_end(double (*lines)[SPLINE_BLOCK], int count, const double *last_sample) {
    for (int b = 0; b < SPLINE_BLOCK; b++) {
        const double limit = 6 * SETTLED * last_sample[b];
        double excess = lines[count - 1][b] - limit;
        for (int k = 0; k <= SPLINE_MARGIN; k++) {
            lines[count - 1 + k][b] = -POLE * (limit * SETTLED + excess / (1 - POLE * POLE));
            excess *= POLE;
        }
    }
}

static void filter_backwards(double (*lines)[SPLINE_BLOCK], int count, const double *first_limit) {
    for (int i = count - 2; i >= 0; i--)
        for (int b = 0; b < SPLINE_BLOCK; b++) lines[i][b] = POLE * (lines[i + 1][b] - lines[i][b]);
    for (int i = -1; i >= -SPLINE_MARGIN; i--)
        for (int b = 0; b < SPLINE_BLOCK; b++) lines[i][b] = POLE * (lines[i + 1][b] - first_limit[b]);
}

void spline_filter_lines(double (*lines)[SPLINE_BLOCK], int count) {
    double first_limit[SPLINE_BLOCK], last_sample[SPLINE_BLOCK];
    for (int b = 0; b < SPLINE_BLOCK; b++) {
        first_limit[b] = 6 * SETTLED * lines[0][b];
        last_sample[b] = lines[count - 1][b];
    }
    filter_forwards(lines, count);
    settle_end(lines, count, last_sample);
    filter_backwards(lines, count, first_limit);
}

void spline_filter_axis(float *voxels, const int size[3], int axis, double (*scratch)[SPLINE_BLOCK]) {
    const line_layout layout = line_layout_of(size, axis);
    const size_t blocks = line_blocks(&layout);
    for (size_t block = 0; block < blocks; block++) {
        lines_gather(&layout, block, voxels, scratch + SPLINE_MARGIN);
        spline_filter_lines(scratch + SPLINE_MARGIN, layout.length);
        lines_scatter(&layout, block, scratch + SPLINE_MARGIN, voxels);
    }
}
