#include "augment/spatial.h"

#include "core/memory.h"
#include "preprocess/spline.h"

#include <math.h>
#include <string.h>

/* The prefilter looks this far; what lies beyond has a share of 2e-6 at most. */
enum { REACH = 10 };

_Static_assert(SPLINE_BLOCK == 16, "spatial_scratch keeps lines of one block");

void spatial_scratch_close(spatial_scratch *scratch) {
    memory_close(scratch->coefficients);
    memory_close(scratch->lines);
    *scratch = (spatial_scratch){0};
}

/* ---- where to look ---------------------------------------------------------------------------------------------- */

/* matrix := matrix * rotation about an axis */
static void rotate(double matrix[3][3], int axis, double angle) {
    const int a = (axis + 1) % 3, b = (axis + 2) % 3;
    const double c = cos(angle), s = sin(angle);
    for (int row = 0; row < 3; row++) {
        const double left = matrix[row][a], right = matrix[row][b];
        matrix[row][a] = c * left + s * right;
        matrix[row][b] = c * right - s * left;
    }
}

/* About a flat axis alone, what is scaled are the two others. */
patch_map patch_map_of(const augment_options *options, const augment_choice *choice, const int start[3]) {
    patch_map map = {0};
    for (int k = 0; k < 3; k++) {
        map.matrix[k][k] = 1;
        map.patch[k] = options->patch[k];
        map.middle[k] = (options->patch[k] - 1) / 2.0;
        map.centre[k] = start[k] + map.middle[k];
    }
    for (int k = 0; k < 3; k++)
        if (choice->angle[k] != 0) rotate(map.matrix, k, choice->angle[k]);
    for (int row = 0; row < 3; row++)
        for (int k = 0; k < 3; k++)
            if (k != options->flat_axis) map.matrix[row][k] *= choice->scale;
    return map;
}

typedef struct span {
    int start[3], size[3];
} span;

/* A patch of one slice that is turned within its plane looks at no other slice. */
static int stays_in_slice(const patch_map *map, int axis) {
    const int a = (axis + 1) % 3, b = (axis + 2) % 3;
    return map->patch[axis] == 1 && map->matrix[axis][a] == 0 && map->matrix[axis][b] == 0;
}

/* What the patch looks at, with the prefilter's reach, but not farther beyond the case than that. */
static span span_of(const patch_map *map, const int size[3]) {
    span span;
    for (int k = 0; k < 3; k++) {
        if (stays_in_slice(map, k)) {
            span.start[k] = (int)map->centre[k];
            span.size[k] = 1;
            continue;
        }
        double extent = 0;
        for (int j = 0; j < 3; j++) extent += fabs(map->matrix[k][j]) * map->middle[j];
        const double low = fmax(floor(map->centre[k] - extent) - 1, 0), high = ceil(map->centre[k] + extent) + 1;
        span.start[k] = (int)low - REACH;
        span.size[k] = (int)fmin(high, size[k] - 1) + REACH + 1 - span.start[k];
        if (span.size[k] < 1) span.size[k] = 1;
    }
    return span;
}

static status_code grow_scratch(spatial_scratch *scratch, const span *span, failure *failure) {
    const size_t voxels = (size_t)span->size[0] * (size_t)span->size[1] * (size_t)span->size[2];
    const int longest = (int)fmax(fmax(span->size[0], span->size[1]), span->size[2]);
    const size_t rows = (size_t)longest + 2 * SPLINE_MARGIN;
    if (voxels > scratch->voxels) {
        memory_close(scratch->coefficients);
        scratch->coefficients = memory_open(voxels * sizeof *scratch->coefficients);
        scratch->voxels = scratch->coefficients ? voxels : 0;
    }
    if (rows > scratch->rows) {
        memory_close(scratch->lines);
        scratch->lines = memory_open(rows * sizeof *scratch->lines);
        scratch->rows = scratch->lines ? rows : 0;
    }
    return scratch->coefficients && scratch->lines ? STATUS_OK : fail_memory(failure, "rotating a patch");
}

/* ---- images ----------------------------------------------------------------------------------------------------- */

static void cubic_weights(float x, float weight[4]) {
    const float y = 1 - x;
    weight[0] = y * y * y / 6;
    weight[1] = (x * x * (x - 2) * 3 + 4) / 6;
    weight[2] = (y * y * (y - 2) * 3 + 4) / 6;
    weight[3] = x * x * x / 6;
}

/* The spline at a place inside of the coefficients; 0 where it would need others. */
static float spline_at(const float *coefficients, const int size[3], const double place[3]) {
    float weight[3][4];
    int first[3];
    for (int k = 0; k < 3; k++) {
        const double below = floor(place[k]);
        if (below < 1 || below > size[k] - 3) return 0;
        first[k] = (int)below - 1;
        cubic_weights((float)(place[k] - below), weight[k]);
    }
    const size_t row = (size_t)size[2], slice = (size_t)size[1] * row;
    const float *corner = coefficients + (size_t)first[0] * slice + (size_t)first[1] * row + (size_t)first[2];
    float sum[4] = {0};
    for (int i = 0; i < 4; i++, corner += slice) {
        float line[4] = {0};
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 4; k++) line[k] += weight[1][j] * corner[(size_t)j * row + (size_t)k];
        for (int k = 0; k < 4; k++) sum[k] += weight[0][i] * line[k];
    }
    return sum[0] * weight[2][0] + sum[1] * weight[2][1] + sum[2] * weight[2][2] + sum[3] * weight[2][3];
}

/* The same where the coefficients are of one slice, whose axis has a single one. */
static float spline_in_slice(const float *coefficients, const int size[3], const double place[3]) {
    float weight[3][4] = {{1}, {1}, {1}}, sum = 0;
    int first[3] = {0, 0, 0}, taps[3] = {1, 1, 1};
    for (int k = 0; k < 3; k++) {
        const double below = floor(place[k]);
        if (size[k] == 1) continue;
        if (below < 1 || below > size[k] - 3) return 0;
        first[k] = (int)below - 1;
        taps[k] = 4;
        cubic_weights((float)(place[k] - below), weight[k]);
    }
    for (int i = 0; i < taps[0]; i++)
        for (int j = 0; j < taps[1]; j++) {
            const float *row = coefficients +
                               ((size_t)(first[0] + i) * (size_t)size[1] + (size_t)(first[1] + j)) * (size_t)size[2] +
                               (size_t)first[2];
            float line = 0;
            for (int k = 0; k < taps[2]; k++) line += weight[2][k] * row[k];
            sum += weight[0][i] * weight[1][j] * line;
        }
    return sum;
}

/* The place of the first voxel of a row, relative to `origin`. */
static void row_place(const patch_map *map, const int origin[3], int z, int y, double place[3]) {
    const double offset[3] = {z - map->middle[0], y - map->middle[1], -map->middle[2]};
    for (int k = 0; k < 3; k++) {
        place[k] = map->centre[k] - origin[k];
        for (int j = 0; j < 3; j++) place[k] += map->matrix[k][j] * offset[j];
    }
}

static void step_place(const patch_map *map, const double first[3], int x, double place[3]) {
    for (int k = 0; k < 3; k++) place[k] = first[k] + map->matrix[k][2] * x;
}

status_code spatial_image(const patch_map *map, const float *image, const int size[3], float *to,
                          spatial_scratch *scratch, failure *failure) {
    const int *patch = map->patch;
    const span span = span_of(map, size);
    const status_code status = grow_scratch(scratch, &span, failure);
    if (status != STATUS_OK) return status;
    box_copy_image(image, size, span.start, span.size, 0, scratch->coefficients);
    int slice = 0;
    for (int axis = 0; axis < 3; axis++) {
        if (stays_in_slice(map, axis)) slice = 1;
        else spline_filter_axis(scratch->coefficients, span.size, axis, scratch->lines);
    }
    for (int z = 0; z < patch[0]; z++)
        for (int y = 0; y < patch[1]; y++) {
            double first[3], place[3];
            row_place(map, span.start, z, y, first);
            for (int x = 0; x < patch[2]; x++) {
                step_place(map, first, x, place);
                *to++ = slice ? spline_in_slice(scratch->coefficients, span.size, place)
                              : spline_at(scratch->coefficients, span.size, place);
            }
        }
    return STATUS_OK;
}

/* ---- labels ----------------------------------------------------------------------------------------------------- */

static int16_t label_of(const int16_t *labels, const int size[3], const int at[3]) {
    for (int k = 0; k < 3; k++)
        if (at[k] < 0 || at[k] >= size[k]) return LABEL_OUTSIDE;
    return labels[((size_t)at[0] * (size_t)size[1] + (size_t)at[1]) * (size_t)size[2] + (size_t)at[2]];
}

/* The eight voxels around a place; returns whether they are all the same. */
static int corners_of(const int16_t *labels, const int size[3], const int below[3], int16_t corners[8]) {
    int inside = 1, same = 1;
    for (int k = 0; k < 3; k++) inside &= below[k] >= 0 && below[k] + 1 < size[k];
    const size_t row = (size_t)size[2], slice = (size_t)size[1] * row;
    const int16_t *base = inside ? labels + (size_t)below[0] * slice + (size_t)below[1] * row + (size_t)below[2] : NULL;
    for (int k = 0; k < 8; k++) {
        const int dz = k >> 2, dy = k >> 1 & 1, dx = k & 1;
        corners[k] = inside ? base[(size_t)dz * slice + (size_t)dy * row + (size_t)dx]
                            : label_of(labels, size, (const int[3]){below[0] + dz, below[1] + dy, below[2] + dx});
        same &= corners[k] == corners[0];
    }
    return same;
}

static int16_t largest_share(const int16_t corners[8], const double fraction[3]) {
    double share[8];
    for (int k = 0; k < 8; k++)
        share[k] = (k >> 2 ? fraction[0] : 1 - fraction[0]) * (k >> 1 & 1 ? fraction[1] : 1 - fraction[1]) *
                   (k & 1 ? fraction[2] : 1 - fraction[2]);
    int16_t best = corners[0];
    double most = -1;
    for (int k = 0; k < 8; k++) {
        double sum = 0;
        for (int j = 0; j < 8; j++) sum += corners[j] == corners[k] ? share[j] : 0;
        if (sum > most || (sum == most && corners[k] > best)) most = sum, best = corners[k];
    }
    return best;
}

static int16_t label_near(const int16_t *labels, const int size[3], const double place[3]) {
    int below[3];
    double fraction[3];
    for (int k = 0; k < 3; k++) {
        if (!(place[k] > -1 && place[k] < size[k])) return LABEL_OUTSIDE;
        const double whole = floor(place[k]);
        below[k] = (int)whole;
        fraction[k] = place[k] - whole;
    }
    int16_t corners[8];
    return corners_of(labels, size, below, corners) ? corners[0] : largest_share(corners, fraction);
}

void spatial_labels(const patch_map *map, const int16_t *labels, const int size[3], int16_t *to) {
    const int *patch = map->patch;
    const int origin[3] = {0, 0, 0};
    for (int z = 0; z < patch[0]; z++)
        for (int y = 0; y < patch[1]; y++) {
            double first[3], place[3];
            row_place(map, origin, z, y, first);
            for (int x = 0; x < patch[2]; x++) {
                step_place(map, first, x, place);
                *to++ = label_near(labels, size, place);
            }
        }
}
