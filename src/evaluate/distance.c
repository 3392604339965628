#include "evaluate/distance.h"

#include "core/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the transform ---- */

/* The lower envelope of the parabolas over a line's voxels; `from` is where each one begins to be the lowest. */
typedef struct envelope {
    double *values, *from;
    int *vertices;
} envelope;

static void envelope_close(envelope *envelope) {
    free(envelope->values);
    free(envelope->from);
    free(envelope->vertices);
}

static int envelope_open(envelope *envelope, const int size[3]) {
    size_t longest = 1;
    for (int axis = 0; axis < 3; axis++)
        if ((size_t)size[axis] > longest) longest = (size_t)size[axis];
    envelope->values = malloc(longest * sizeof *envelope->values);
    envelope->from = malloc(longest * sizeof *envelope->from);
    envelope->vertices = malloc(longest * sizeof *envelope->vertices);
    return envelope->values && envelope->from && envelope->vertices;
}

/* Where the parabolas of the voxels p < q cross. */
static double crossing(const envelope *envelope, int p, int q, double spacing) {
    const double at_p = p * spacing, at_q = q * spacing;
    return (envelope->values[q] - envelope->values[p] + (at_q - at_p) * (at_q + at_p)) / (2 * (at_q - at_p));
}

static int build_envelope(envelope *envelope, int length, double spacing) {
    int count = 0;
    for (int q = 0; q < length; q++) {
        if (envelope->values[q] == (double)INFINITY) continue;
        double from = -(double)INFINITY;
        while (count > 0) {
            from = crossing(envelope, envelope->vertices[count - 1], q, spacing);
            if (from > envelope->from[count - 1]) break;
            count--;
        }
        envelope->from[count] = count > 0 ? from : -(double)INFINITY;
        envelope->vertices[count++] = q;
    }
    return count;
}

static void transform_line(double *line, size_t stride, int length, double spacing, envelope *envelope) {
    for (int i = 0; i < length; i++) envelope->values[i] = line[(size_t)i * stride];
    const int count = build_envelope(envelope, length, spacing);
    if (count == 0) return;
    for (int i = 0, k = 0; i < length; i++) {
        while (k + 1 < count && envelope->from[k + 1] < i * spacing) k++;
        const double offset = (i - envelope->vertices[k]) * spacing;
        line[(size_t)i * stride] = offset * offset + envelope->values[envelope->vertices[k]];
    }
}

static void transform_axis(double *squared, const int size[3], int axis, double spacing, envelope *envelope) {
    const size_t strides[3] = {1, (size_t)size[0], (size_t)size[0] * (size_t)size[1]};
    const int other = axis == 0 ? 1 : 0, last = axis == 2 ? 1 : 2;
    for (int b = 0; b < size[last]; b++)
        for (int a = 0; a < size[other]; a++)
            transform_line(squared + (size_t)a * strides[other] + (size_t)b * strides[last], strides[axis], size[axis],
                           spacing, envelope);
}

status_code distance_transform(const uint8_t *mask, const int size[3], const double spacing[3], double *squared,
                               failure *failure) {
    envelope envelope = {0};
    if (!envelope_open(&envelope, size)) {
        envelope_close(&envelope);
        return fail_memory(failure, "a distance transform");
    }
    const size_t count = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    for (size_t i = 0; i < count; i++) squared[i] = mask[i] ? 0 : (double)INFINITY;
    for (int axis = 0; axis < 3; axis++) transform_axis(squared, size, axis, spacing[axis], &envelope);
    envelope_close(&envelope);
    return STATUS_OK;
}

/* ---- surfaces ---- */

/* All that matters lies in the box around both regions. */
typedef struct box {
    int from[3], size[3];
} box;

static void stretch(int low[3], int high[3], int x, int y, int z) {
    const int at[3] = {x, y, z};
    for (int axis = 0; axis < 3; axis++) {
        if (at[axis] < low[axis]) low[axis] = at[axis];
        if (at[axis] > high[axis]) high[axis] = at[axis];
    }
}

static box box_around(const uint8_t *a, const uint8_t *b, const int size[3]) {
    int low[3] = {size[0], size[1], size[2]}, high[3] = {-1, -1, -1};
    size_t i = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++)
                if (a[i] | b[i]) stretch(low, high, x, y, z);
    box box;
    for (int axis = 0; axis < 3; axis++) {
        box.from[axis] = low[axis];
        box.size[axis] = high[axis] - low[axis] + 1;
    }
    return box;
}

static int is_inside(const uint8_t *mask, const int size[3], int x, int y, int z) {
    if (x < 0 || y < 0 || z < 0 || x >= size[0] || y >= size[1] || z >= size[2]) return 0;
    return mask[((size_t)z * (size_t)size[1] + (size_t)y) * (size_t)size[0] + (size_t)x];
}

static int is_surface(const uint8_t *mask, const int size[3], int x, int y, int z) {
    return is_inside(mask, size, x, y, z) &&
           !(is_inside(mask, size, x - 1, y, z) && is_inside(mask, size, x + 1, y, z) &&
             is_inside(mask, size, x, y - 1, z) && is_inside(mask, size, x, y + 1, z) &&
             is_inside(mask, size, x, y, z - 1) && is_inside(mask, size, x, y, z + 1));
}

/* The surface within the box; returns how many voxels it has. */
static size_t mark_surface(const uint8_t *mask, const int size[3], const box *box, uint8_t *surface) {
    size_t count = 0;
    for (int z = 0; z < box->size[2]; z++)
        for (int y = 0; y < box->size[1]; y++)
            for (int x = 0; x < box->size[0]; x++)
                count += *surface++ =
                    (uint8_t)is_surface(mask, size, x + box->from[0], y + box->from[1], z + box->from[2]);
    return count;
}

typedef struct workspace {
    uint8_t *surface[2];
    double *squared, *distances;
} workspace;

static void workspace_close(workspace *work) {
    free(work->surface[0]);
    free(work->surface[1]);
    free(work->squared);
    free(work->distances);
}

static int workspace_open(workspace *work, size_t count) {
    work->surface[0] = malloc(count);
    work->surface[1] = malloc(count);
    work->squared = malloc(count * sizeof *work->squared);
    work->distances = malloc(count * sizeof *work->distances);
    return work->surface[0] && work->surface[1] && work->squared && work->distances;
}

/* Of the distances from one surface to the other. */
typedef struct directed_distance {
    double percentile, sum; /* the 95th */
    size_t close;           /* how many are within the tolerance */
} directed_distance;

static status_code measure_directed(workspace *work, int from, const box *box, const mask_pair *pair,
                                    directed_distance *result, failure *failure) {
    const status_code status =
        distance_transform(work->surface[!from], box->size, pair->spacing, work->squared, failure);
    if (status != STATUS_OK) return status;
    const size_t voxels = (size_t)box->size[0] * (size_t)box->size[1] * (size_t)box->size[2];
    size_t count = 0;
    for (size_t i = 0; i < voxels; i++)
        if (work->surface[from][i]) work->distances[count++] = sqrt(work->squared[i]);
    for (size_t i = 0; i < count; i++) {
        result->sum += work->distances[i];
        result->close += work->distances[i] <= pair->tolerance;
    }
    sort_numbers(work->distances, count);
    result->percentile = quantile_of_sorted(work->distances, count, 0.95);
    return STATUS_OK;
}

static status_code compare_surfaces(workspace *work, const box *box, const size_t counts[2], const mask_pair *pair,
                                    surface_distance *result, failure *failure) {
    directed_distance there = {0}, back = {0};
    status_code status = measure_directed(work, 0, box, pair, &there, failure);
    back.sum = there.sum; /* one sum over both, in this order */
    if (status == STATUS_OK) status = measure_directed(work, 1, box, pair, &back, failure);
    if (status != STATUS_OK) return status;
    result->hd95 = fmax(there.percentile, back.percentile);
    result->assd = back.sum / (double)(counts[0] + counts[1]);
    result->nsd = (double)(there.close + back.close) / (double)(counts[0] + counts[1]);
    return STATUS_OK;
}

static double diagonal(const int size[3], const double spacing[3]) {
    double sum = 0;
    for (int axis = 0; axis < 3; axis++) sum += pow(size[axis] * spacing[axis], 2);
    return sqrt(sum);
}

status_code surface_distance_of(const mask_pair *pair, surface_distance *result, failure *failure) {
    *result = (surface_distance){(double)NAN, (double)NAN, (double)NAN};
    const box box = box_around(pair->a, pair->b, pair->size);
    if (box.size[0] <= 0) return STATUS_OK;
    workspace work = {0};
    status_code status = STATUS_OK;
    if (!workspace_open(&work, (size_t)box.size[0] * (size_t)box.size[1] * (size_t)box.size[2]))
        status = fail_memory(failure, "surface distances");
    if (status == STATUS_OK) {
        const size_t counts[2] = {mark_surface(pair->a, pair->size, &box, work.surface[0]),
                                  mark_surface(pair->b, pair->size, &box, work.surface[1])};
        if (counts[0] > 0 && counts[1] > 0) status = compare_surfaces(&work, &box, counts, pair, result, failure);
        else *result = (surface_distance){diagonal(pair->size, pair->spacing), diagonal(pair->size, pair->spacing), 0};
    }
    workspace_close(&work);
    return status;
}
