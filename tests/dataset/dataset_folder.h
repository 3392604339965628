/* Small dataset folders made for tests, and removed afterwards. */
#ifndef HWS_TESTS_DATASET_FOLDER_H
#define HWS_TESTS_DATASET_FOLDER_H

#include "dataset/dataset.h"
#include "nifti/nifti.h"
#include "remove_tree.h"
#include "testing.h"

#include <sys/stat.h>
#include <unistd.h>

static inline const char *dataset_root(void) {
    static char root[64];
    if (!*root) snprintf(root, sizeof root, "dataset_test_%ld", (long)getpid());
    return root;
}

/* A few may be in use at the same time. */
static inline const char *inside(const char *name) {
    static char paths[4][300];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, 300, "%s/%s", dataset_root(), name);
    return path;
}

static inline void remove_root(void) { remove_tree(dataset_root()); }

static inline int remove_root_at_the_end(void **state) {
    (void)state;
    remove_root();
    return 0;
}

static inline void write_text(const char *name, const char *text) {
    FILE *file = fopen(inside(name), "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* An empty dataset with this dataset.json. */
static inline void start_root(const char *json) {
    static const char *const parts[] = {"imagesTr", "labelsTr", "imagesTs", "labelsTs"};
    remove_root();
    assert_int_equal(mkdir(dataset_root(), 0777), 0);
    for (int k = 0; k < 4; k++) assert_int_equal(mkdir(inside(parts[k]), 0777), 0);
    write_text("dataset.json", json);
}

static inline volume_grid small_grid(void) {
    const int size[3] = {4, 5, 6};
    const double spacing[3] = {1, 1, 2};
    return volume_grid_plain(size, spacing);
}

/* Voxel i of channel c is first + 1000 c + i. */
static inline void write_image(const char *name, const volume_grid *grid, int channels, float first) {
    volume image;
    assert_int_equal(volume_open(&image, grid, channels, NULL), STATUS_OK);
    const size_t voxels = volume_grid_voxels(grid);
    for (size_t i = 0; i < voxels * (size_t)channels; i++)
        image.voxels[i] = first + (float)(1000 * (i / voxels) + i % voxels);
    assert_int_equal(nifti_write_volume(inside(name), &image, NULL), STATUS_OK);
    volume_close(&image);
}

/* Zeros, but for the first voxel. */
static inline void write_labels(const char *name, const volume_grid *grid, int16_t first) {
    label_map labels;
    assert_int_equal(label_map_open(&labels, grid, NULL), STATUS_OK);
    memset(labels.labels, 0, volume_grid_voxels(grid) * sizeof *labels.labels);
    labels.labels[0] = first;
    assert_int_equal(nifti_write_labels(inside(name), &labels, NULL), STATUS_OK);
    label_map_close(&labels);
}

static inline void assert_lacks_nothing(const char *message, const char *words) {
    if (!strstr(message, words)) fail_msg("'%s' lacks '%s'", message, words);
}

static const char TWO_CHANNELS[] =
    "{\"channel_names\": {\"0\": \"T1\", \"1\": \"T2\"}, \"labels\": {\"background\": 0, "
    "\"a\": 1, \"b\": 2}, \"numTraining\": 2, \"file_ending\": \".nii.gz\"}";

/* Cases p and q, both fine, and a test case t without labels. */
static inline void start_two_cases(void) {
    const volume_grid grid = small_grid();
    start_root(TWO_CHANNELS);
    write_image("imagesTr/q_0000.nii.gz", &grid, 1, 0);
    write_image("imagesTr/q_0001.nii.gz", &grid, 1, 1000);
    write_image("imagesTr/p_0000.nii.gz", &grid, 1, 5);
    write_image("imagesTr/p_0001.nii.gz", &grid, 1, 1005);
    write_image("imagesTs/t_0000.nii.gz", &grid, 1, 0);
    write_image("imagesTs/t_0001.nii.gz", &grid, 1, 0);
    write_labels("labelsTr/p.nii.gz", &grid, 1);
    write_labels("labelsTr/q.nii.gz", &grid, 2);
}

#endif
