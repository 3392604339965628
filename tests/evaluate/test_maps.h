/* Small label maps in files, to test with. Include it after defining _XOPEN_SOURCE as 700. */
#ifndef HWS_TESTS_TEST_MAPS_H
#define HWS_TESTS_TEST_MAPS_H

#include "nifti/nifti.h"
#include "remove_tree.h"
#include "testing.h"

#include <sys/stat.h>
#include <unistd.h>

static char root[64], predictions[96], references[96];

static inline int maps_setup(void **state) {
    (void)state;
    snprintf(root, sizeof root, "maps_test_%ld", (long)getpid());
    snprintf(predictions, sizeof predictions, "%s/pred", root);
    snprintf(references, sizeof references, "%s/ref", root);
    return mkdir(root, 0777) | mkdir(predictions, 0777) | mkdir(references, 0777);
}

static inline int maps_teardown(void **state) {
    (void)state;
    return remove_tree(root);
}

/* 2 x 2 x 2 voxels, given as eight digits. */
static inline void write_map(const char *folder, const char *file, const char *digits, double spacing) {
    char path[256];
    const int size[3] = {2, 2, 2};
    const double spacings[3] = {spacing, 1, 1};
    const volume_grid grid = volume_grid_plain(size, spacings);
    label_map map;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    assert_int_equal(label_map_open(&map, &grid, NULL), STATUS_OK);
    for (int i = 0; i < 8; i++) map.labels[i] = (int16_t)(digits[i] - '0');
    assert_int_equal(nifti_write_labels(path, &map, NULL), STATUS_OK);
    label_map_close(&map);
}

#endif
