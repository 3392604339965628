/* usage: make_maps FOLDER NAME=DIGITS[@SPACING]...: writes FOLDER/NAME, a map of 2 x 2 x 2 voxels from eight digits. */
#include "nifti/nifti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int write_map(const char *folder, const char *argument) {
    const char *equal = strchr(argument, '=');
    if (!equal || strlen(equal) < 9) return 2;
    const double first = equal[9] == '@' ? atof(equal + 10) : 1;
    const int size[3] = {2, 2, 2};
    const double spacing[3] = {first, 1, 1};
    const volume_grid grid = volume_grid_plain(size, spacing);
    char path[1024];
    snprintf(path, sizeof path, "%s/%.*s", folder, (int)(equal - argument), argument);
    label_map map;
    failure failure;
    if (label_map_open(&map, &grid, &failure) != STATUS_OK) return 1;
    for (int i = 0; i < 8; i++) map.labels[i] = (int16_t)(equal[1 + i] - '0');
    const status_code status = nifti_write_labels(path, &map, &failure);
    if (status != STATUS_OK) fprintf(stderr, "%s\n", failure.message);
    label_map_close(&map);
    return status != STATUS_OK;
}

int main(int count, char **arguments) {
    int failed = count < 3;
    for (int k = 2; k < count && !failed; k++) failed = write_map(arguments[1], arguments[k]);
    return failed;
}
