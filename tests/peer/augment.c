/*
 * usage: peer_augment blur IN OUT D H W SIGMA
 *        peer_augment coarse IN OUT D H W ZOOM
 *        peer_augment gamma IN OUT D H W GAMMA          (of the negative if GAMMA < 0)
 *        peer_augment turn IN OUT D H W ANGLE ANGLE ANGLE SCALE PATCH START          (cubes; prints the matrix)
 * raw float32 in and out.
 */
#include "augment/intensity.h"
#include "augment/spatial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t voxels_of(const int size[3]) { return (size_t)size[0] * (size_t)size[1] * (size_t)size[2]; }

static float *read_raw(const char *path, size_t count) {
    FILE *file = fopen(path, "rb");
    float *data = malloc(count * sizeof *data);
    if (!file || !data || fread(data, sizeof *data, count, file) != count) exit(1);
    fclose(file);
    return data;
}

static int write_raw(const char *path, const float *data, size_t count) {
    FILE *file = fopen(path, "wb");
    return file && fwrite(data, sizeof *data, count, file) == count && fclose(file) == 0 ? 0 : 1;
}

static int turn(char **arguments, const float *image, const int size[3]) {
    const int edge = atoi(arguments[11]), first = atoi(arguments[12]);
    const augment_options options = {.patch = {edge, edge, edge}, .flat_axis = -1};
    augment_choice choice = {.turned = 1, .scale = atof(arguments[10])};
    for (int k = 0; k < 3; k++) choice.angle[k] = atof(arguments[7 + k]);
    const patch_map map = patch_map_of(&options, &choice, (const int[3]){first, first, first});
    for (int k = 0; k < 9; k++) printf("%.17g ", map.matrix[k / 3][k % 3]);
    float *result = malloc(voxels_of(options.patch) * sizeof *result);
    spatial_scratch scratch = {0};
    if (!result || spatial_image(&map, image, size, result, &scratch, NULL) != STATUS_OK) return 1;
    return write_raw(arguments[3], result, voxels_of(options.patch));
}

int main(int count, char **arguments) {
    if (count != 8 && count != 13) return 2;
    const char *kind = arguments[1];
    const int size[3] = {atoi(arguments[4]), atoi(arguments[5]), atoi(arguments[6])};
    const double number = atof(arguments[7]);
    float *voxels = read_raw(arguments[2], voxels_of(size)), *scratch = malloc(voxels_of(size) * sizeof *scratch);
    if (!scratch) return 1;
    if (strcmp(kind, "turn") == 0) return turn(arguments, voxels, size);
    if (strcmp(kind, "blur") == 0) gaussian_blur(voxels, size, number, scratch);
    if (strcmp(kind, "gamma") == 0) change_gamma(voxels, voxels_of(size), fabs(number), number < 0);
    if (strcmp(kind, "coarse") == 0 && lose_resolution(voxels, size, number, -1, scratch, NULL) != STATUS_OK) return 1;
    return write_raw(arguments[3], voxels, voxels_of(size));
}
