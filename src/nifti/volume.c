#include "nifti/volume.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

volume_grid volume_grid_plain(const int size[3], const double spacing[3]) {
    volume_grid grid = {.nifti_version = 1, .units = 2, .sform_code = 1, .qform_code = 1, .qfac = 1};
    for (int axis = 0; axis < 3; axis++) {
        grid.size[axis] = size[axis];
        grid.spacing[axis] = spacing[axis];
        grid.affine[axis][axis] = spacing[axis];
    }
    memcpy(grid.sform, grid.affine, sizeof grid.sform);
    return grid;
}

size_t volume_grid_voxels(const volume_grid *grid) {
    return (size_t)grid->size[0] * (size_t)grid->size[1] * (size_t)grid->size[2];
}

static void corner_place(const volume_grid *grid, int corner, double place[3]) {
    for (int row = 0; row < 3; row++) {
        place[row] = grid->affine[row][3];
        for (int axis = 0; axis < 3; axis++)
            if (corner >> axis & 1) place[row] += grid->affine[row][axis] * (grid->size[axis] - 1);
    }
}

static double largest_corner_distance(const volume_grid *a, const volume_grid *b) {
    double largest = 0;
    for (int corner = 0; corner < 8; corner++) {
        double at_a[3], at_b[3];
        corner_place(a, corner, at_a);
        corner_place(b, corner, at_b);
        const double distance = hypot(hypot(at_a[0] - at_b[0], at_a[1] - at_b[1]), at_a[2] - at_b[2]);
        if (!(distance <= largest)) largest = distance;
    }
    return largest;
}

status_code volume_grid_check_same(const volume_grid *a, const volume_grid *b, const char *name, failure *failure) {
    if (memcmp(a->size, b->size, sizeof a->size) != 0)
        return fail(failure, STATUS_BAD_INPUT, "%s: the sizes differ, %d x %d x %d and %d x %d x %d", name, a->size[0],
                    a->size[1], a->size[2], b->size[0], b->size[1], b->size[2]);
    const double distance = largest_corner_distance(a, b);
    const double voxel = fmin(fmin(a->spacing[0], a->spacing[1]), a->spacing[2]);
    if (!(distance <= 0.05 * voxel))
        return fail(failure, STATUS_BAD_INPUT,
                    "%s: the affines differ, by %.3g mm at a corner; resample one onto the other's grid", name,
                    distance);
    return STATUS_OK;
}

static void *open_voxels(const volume_grid *grid, int channels, size_t bytes) {
    const int sizes[4] = {grid->size[0], grid->size[1], grid->size[2], channels};
    for (int k = 0; k < 4; k++) {
        if (sizes[k] < 1 || bytes > SIZE_MAX / 2 / (size_t)sizes[k]) return NULL;
        bytes *= (size_t)sizes[k];
    }
    return memory_open(bytes);
}

status_code volume_open(volume *volume, const volume_grid *grid, int channels, failure *failure) {
    volume->grid = *grid;
    volume->channels = channels;
    volume->voxels = open_voxels(grid, channels, sizeof *volume->voxels);
    return volume->voxels ? STATUS_OK : fail_memory(failure, "an image");
}

status_code label_map_open(label_map *labels, const volume_grid *grid, failure *failure) {
    labels->grid = *grid;
    labels->labels = open_voxels(grid, 1, sizeof *labels->labels);
    return labels->labels ? STATUS_OK : fail_memory(failure, "a label map");
}

float *volume_channel(const volume *volume, int channel) {
    return volume->voxels + (size_t)channel * volume_grid_voxels(&volume->grid);
}

void volume_close(volume *volume) {
    memory_close(volume->voxels);
    volume->voxels = NULL;
}

void label_map_close(label_map *labels) {
    memory_close(labels->labels);
    labels->labels = NULL;
}
