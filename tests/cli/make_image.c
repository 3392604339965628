/*
 * usage: make_image PATH X,Y,Z SPACING CHANNELS SEED [LABELS]
 *
 * Writes an image of a ball whose size and place the seed decides, each channel brighter than the one before, on a grid
 * that is turned about z; and, if asked for, the ball as a label map.
 */
#include "nifti/nifti.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static volume_grid turned_grid(const int size[3], double spacing) {
    volume_grid grid = volume_grid_plain(size, (const double[3]){spacing, spacing, spacing});
    const double c = cos(0.3), s = sin(0.3);
    const double affine[3][4] = {
        {spacing * c, -spacing * s, 0, -20}, {spacing * s, spacing * c, 0, 7}, {0, 0, spacing, 3}};
    for (int k = 0; k < 12; k++) grid.affine[k / 4][k % 4] = grid.sform[k / 4][k % 4] = affine[k / 4][k % 4];
    grid.sform_code = 1;
    return grid;
}

static double distance(const int size[3], size_t index, int seed) {
    const double x = (double)(index % (size_t)size[0]), y = (double)(index / (size_t)size[0] % (size_t)size[1]);
    const double z = (double)(index / (size_t)size[0] / (size_t)size[1]);
    const double centre = 0.5 + 0.02 * (seed % 5 - 2);
    return sqrt(pow(x / size[0] - centre, 2) + pow(y / size[1] - centre, 2) + pow(z / size[2] - 0.5, 2));
}

static status_code write_both(char **arguments, const volume_grid *grid, int channels, int seed, failure *failure) {
    volume image = {0};
    label_map labels = {0};
    status_code status = volume_open(&image, grid, channels, failure);
    if (status == STATUS_OK) status = label_map_open(&labels, grid, failure);
    const size_t voxels = volume_grid_voxels(grid);
    for (size_t k = 0; k < voxels && status == STATUS_OK; k++) {
        const double far = distance(grid->size, k, seed);
        labels.labels[k] = far < 0.25 + 0.01 * (seed % 3);
        for (int c = 0; c < channels; c++)
            image.voxels[(size_t)c * voxels + k] = (float)(100 + 50 * (c + 1) * labels.labels[k] + 20 * far);
    }
    if (status == STATUS_OK) status = nifti_write_volume(arguments[1], &image, failure);
    if (status == STATUS_OK && arguments[6]) status = nifti_write_labels(arguments[6], &labels, failure);
    volume_close(&image);
    label_map_close(&labels);
    return status;
}

int main(int count, char **arguments) {
    int size[3];
    if (count < 6 || count > 7 || sscanf(arguments[2], "%d,%d,%d", &size[0], &size[1], &size[2]) != 3) return 2;
    const volume_grid grid = turned_grid(size, atof(arguments[3]));
    failure failure;
    if (write_both(arguments, &grid, atoi(arguments[4]), atoi(arguments[5]), &failure) == STATUS_OK) return 0;
    fprintf(stderr, "%s\n", failure.message);
    return 1;
}
