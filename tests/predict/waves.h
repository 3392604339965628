/* Small models of random weights in a folder of /tmp, and images of waves. Include it after defining _XOPEN_SOURCE. */
#ifndef HWS_TESTS_PREDICT_WAVES_H
#define HWS_TESTS_PREDICT_WAVES_H

#include "model/model.h"
#include "model/segmentation_model.h"
#include "model/weights.h"
#include "remove_tree.h"
#include "testing.h"

#include <sys/stat.h>

enum { CLASSES = 3 };

static char root[64];
static plan planned;

static const char *run_of(const char *name) {
    static char paths[32][128];
    static unsigned next;
    char *path = paths[next++ % 32];
    snprintf(path, sizeof paths[0], "%s/%s", root, name);
    return path;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static void make_plan(void) {
    planned = (plan){.dataset = "waves",
                     .channels = 1,
                     .classes = CLASSES,
                     .channel = {{.name = "T2", .rule = {.kind = NORMALISE_ZSCORE, .deviation = 1}}},
                     .spacing = {3, 2, 2.5},
                     .median_size = {16, 16, 16},
                     .patch = {16, 16, 16},
                     .batch = 2,
                     .topology = {.count = 2,
                                  .stages = {{.features = 8, .kernel = {3, 3, 3}, .stride = {1, 1, 1}},
                                             {.features = 16, .kernel = {3, 3, 3}, .stride = {2, 2, 2}}}}};
    label_scheme_plain(&planned.labels, CLASSES);
}

/* The weights of the head are moved by `change` times numbers that are the same for all runs. */
static void make_run(const char *name, double change) {
    char path[200];
    model_options model;
    graph *graph = NULL;
    const graph_options options = {.threads = 1, .inference = 1};
    segmentation_model(&planned, &model);
    assert_int_equal(model_open(&model, &options, &graph, NULL), STATUS_OK);
    graph_initialise(graph, 5);
    uint64_t seed = 9;
    for (int k = 0; k < graph_parameter_count(graph); k++) {
        const parameter *one = graph_parameter(graph, k);
        if (strncmp(one->name, "heads.0", 7) != 0) continue;
        for (size_t i = 0; i < one->count; i++)
            graph_values(graph)[one->offset + i] += (float)(change * test_normal(&seed));
    }
    assert_int_equal(mkdir(run_of(name), 0777), 0);
    snprintf(path, sizeof path, "%s/plans.json", run_of(name));
    assert_int_equal(plan_write(&planned, path, NULL), STATUS_OK);
    snprintf(path, sizeof path, "%s/best.safetensors", run_of(name));
    assert_int_equal(weights_save(graph, 0, path, NULL), STATUS_OK);
    graph_close(&graph);
}

static int open_root(void) {
    strcpy(root, "/tmp/hws_predict_XXXXXX");
    make_plan();
    return mkdtemp(root) ? 0 : -1;
}

static int close_root(void **state) {
    (void)state;
    return remove_tree(root);
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

/* Turned about z and moved; sizes and spacings are along x, y, z. */
static volume waves(const int size[3], const double spacing[3], int channels) {
    volume_grid grid = volume_grid_plain(size, spacing);
    const double c = cos(0.4), s = sin(0.4);
    const double turn[3][3] = {{c, -s, 0}, {s, c, 0}, {0, 0, 1}};
    for (int k = 0; k < 9; k++) grid.affine[k / 3][k % 3] = turn[k / 3][k % 3] * spacing[k % 3];
    for (int k = 0; k < 3; k++) grid.affine[k][3] = 10 * k - 7;
    memcpy(grid.sform, grid.affine, sizeof grid.sform);
    grid.sform_code = 2;
    volume image;
    assert_int_equal(volume_open(&image, &grid, channels, NULL), STATUS_OK);
    float *voxel = image.voxels;
    for (int z = 0; z < size[2] * channels; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++)
                *voxel++ = (float)(10 + 3 * sin(0.21 * x * spacing[0] + 0.1 * y * spacing[1]) +
                                   2 * cos(0.17 * y * spacing[1]) + sin(0.13 * z * spacing[2] + 1));
    return image;
}

static inline volume finer_waves(void) {
    return waves((const int[3]){40, 34, 24}, (const double[3]){1.5, 1.7, 2}, planned.channels);
}

#endif
