#include "preprocess/preprocess.h"

#include "failing_memory.h"
#include "testing.h"

/* Grids here are given as width, height, depth, as volumes have them. */
static volume image_of(const int size[3], const double spacing[3], int channels) {
    volume image;
    const volume_grid grid = volume_grid_plain(size, spacing);
    assert_int_equal(volume_open(&image, &grid, channels, NULL), STATUS_OK);
    memset(image.voxels, 0, volume_grid_voxels(&grid) * (size_t)channels * sizeof *image.voxels);
    return image;
}

static float *voxel(volume *image, int c, int x, int y, int z) {
    const int *size = image->grid.size;
    return &image->voxels[((c * size[2] + z) * size[1] + y) * size[0] + x];
}

static const double EVEN[3] = {1, 1, 1};

static void the_box_holds_what_is_not_zero_in_some_channel(void **state) {
    (void)state;
    volume image = image_of((const int[3]){7, 6, 5}, EVEN, 2);
    *voxel(&image, 0, 2, 3, 1) = 4;
    *voxel(&image, 1, 5, 1, 3) = -2;
    crop crop;
    assert_int_equal(crop_open(&crop, &image, NULL), STATUS_OK);
    assert_memory_equal(crop.original, ((const int[3]){5, 6, 7}), sizeof crop.original);
    assert_memory_equal(crop.box.first, ((const int[3]){1, 1, 2}), sizeof crop.box.first);
    assert_memory_equal(crop.box.size, ((const int[3]){3, 3, 4}), sizeof crop.box.size);
    crop_close(&crop);
    volume_close(&image);
}

static int mask_sum(const crop *crop) {
    int sum = 0;
    for (int k = 0; k < crop->original[0] * crop->original[1] * crop->original[2]; k++) sum += crop->mask[k];
    return sum;
}

static void holes_are_filled_and_open_cups_are_not(void **state) {
    (void)state;
    volume image = image_of((const int[3]){7, 7, 7}, EVEN, 1);
    for (int k = 0; k < 125; k++) {
        const int x = 1 + k % 5, y = 1 + k / 5 % 5, z = 1 + k / 25;
        const int inside = x > 1 && x < 5 && y > 1 && y < 5 && z > 1 && z < 5;
        if (!inside) *voxel(&image, 0, x, y, z) = 1;
    }
    crop crop;
    assert_int_equal(crop_open(&crop, &image, NULL), STATUS_OK);
    assert_int_equal(mask_sum(&crop), 125);
    crop_close(&crop);
    *voxel(&image, 0, 3, 3, 1) = 0;
    assert_int_equal(crop_open(&crop, &image, NULL), STATUS_OK);
    assert_int_equal(mask_sum(&crop), 125 - 27 - 1);
    crop_close(&crop);
    volume_close(&image);
}

static void an_empty_image_is_kept_whole(void **state) {
    (void)state;
    volume image = image_of((const int[3]){3, 4, 5}, EVEN, 1);
    const channel_rule rule = {.kind = NORMALISE_ZSCORE, .masked = 1};
    const preprocessing how = {.channels = 1, .rules = &rule, .spacing = {1, 1, 1}, .threads = 1};
    prepared_case prepared;
    assert_int_equal(preprocess(&how, &image, NULL, &prepared, NULL), STATUS_OK);
    assert_memory_equal(prepared.geometry.size, ((const int[3]){5, 4, 3}), sizeof prepared.geometry.size);
    for (int k = 0; k < 60; k++) assert_true(prepared.image[k] == 0);
    prepared_case_close(&prepared);
    volume_close(&image);
}

/* As nnU-Net's 2D networks want it: slices stay what they are, and are resampled within. */
static void an_axis_may_keep_the_spacing_of_the_image(void **state) {
    (void)state;
    volume image = image_of((const int[3]){6, 4, 5}, (const double[3]){1, 1, 7}, 1); /* width, height, depth */
    for (int k = 0; k < 120; k++) image.voxels[k] = (float)(1 + k / 24);             /* each slice has one value */
    const channel_rule rule = {.kind = NORMALISE_NONE};
    const preprocessing how = {
        .channels = 1, .rules = &rule, .spacing = {3, 2, 2}, .unresampled = {1, 0, 0}, .threads = 1};
    prepared_case prepared;
    assert_int_equal(preprocess(&how, &image, NULL, &prepared, NULL), STATUS_OK);
    assert_memory_equal(prepared.geometry.size, ((const int[3]){5, 2, 3}), sizeof prepared.geometry.size);
    assert_true(prepared.geometry.spacing[0] == 7 && prepared.geometry.spacing[1] == 2);
    for (int k = 0; k < 30; k++) assert_true(fabsf(prepared.image[k] - (float)(1 + k / 6)) < 1e-5f);
    prepared_case_close(&prepared);
    volume_close(&image);
}

static void zscores_have_mean_0_and_deviation_1(void **state) {
    (void)state;
    float voxels[5] = {1, 2, 3, 6, 100};
    const uint8_t mask[5] = {1, 1, 1, 1, 0};
    normalise(&(const channel_rule){.kind = NORMALISE_ZSCORE, .masked = 1}, voxels, mask, 5);
    const double deviation = sqrt((4.0 + 1 + 0 + 9) / 4);
    const double expected[5] = {-2 / deviation, -1 / deviation, 0, 3 / deviation, 0};
    for (int k = 0; k < 5; k++) assert_near((double)voxels[k], expected[k], 1e-6);

    float all[2] = {10, 14};
    normalise(&(const channel_rule){.kind = NORMALISE_ZSCORE}, all, mask, 2);
    assert_true(all[0] == -1 && all[1] == 1);
}

static void ct_is_clipped_and_scaled_by_the_dataset(void **state) {
    (void)state;
    float voxels[4] = {-1000, 0, 50, 3000};
    const channel_rule rule = {.kind = NORMALISE_CT, .mean = 40, .deviation = 20, .low = -60, .high = 240};
    normalise(&rule, voxels, NULL, 4);
    const double expected[4] = {-5, -2, 0.5, 10};
    for (int k = 0; k < 4; k++) assert_near((double)voxels[k], expected[k], 1e-6);
}

/* As RescaleTo01Normalization: the least value becomes 0, the largest 1, whatever the mask says. */
static void the_range_of_an_image_becomes_0_to_1(void **state) {
    (void)state;
    float voxels[5] = {-3, 1, 5, 0, 2};
    const uint8_t mask[5] = {1, 1, 0, 1, 1};
    const channel_rule rule = {.kind = NORMALISE_RESCALE, .masked = 1};
    normalise(&rule, voxels, mask, 5);
    const double expected[5] = {0, 0.5, 1, 0.375, 0.625};
    for (int k = 0; k < 5; k++) assert_near((double)voxels[k], expected[k], 1e-7);

    float constant[3] = {7, 7, 7};
    normalise(&rule, constant, mask, 3);
    for (int k = 0; k < 3; k++) assert_true(constant[k] == 0);

    float large[2] = {3e38f, -3e38f}; /* their difference is no float */
    normalise(&rule, large, mask, 2);
    assert_true(large[0] == 1 && large[1] == 0);
}

/* As RGBTo01Normalization: not by the range, so that a dark picture stays dark. */
static void colours_are_divided_by_255(void **state) {
    (void)state;
    float voxels[3] = {0, 51, 102};
    normalise(&(const channel_rule){.kind = NORMALISE_RGB}, voxels, NULL, 3);
    assert_true(voxels[0] == 0 && voxels[1] == 0.2f && voxels[2] == 0.4f);

    volume image = image_of((const int[3]){2, 1, 1}, EVEN, 2);
    const channel_rule rules[2] = {{.kind = NORMALISE_NONE}, {.kind = NORMALISE_RGB}};
    const preprocessing how = {.channels = 2, .rules = rules, .spacing = {1, 1, 1}, .threads = 1};
    prepared_case prepared;
    failure failure;
    memcpy(image.voxels, ((const float[4]){-4, 300, 255, 0}), 4 * sizeof(float));
    assert_int_equal(preprocess(&how, &image, NULL, &prepared, &failure), STATUS_OK);
    assert_memory_equal(prepared.image, ((const float[4]){-4, 300, 1, 0}), 4 * sizeof(float));
    prepared_case_close(&prepared);
    const float wrong[2] = {-1, 256};
    for (int k = 0; k < 2; k++) {
        image.voxels[3] = wrong[k];
        assert_int_equal(preprocess(&how, &image, NULL, &prepared, &failure), STATUS_BAD_INPUT);
        assert_string_equal(failure.message, k ? "channel 1 has a voxel of 256, and the values of a channel that is "
                                                 "rgb_to_0_1 are 0 to 255"
                                               : "channel 1 has a voxel of -1, and the values of a channel that is "
                                                 "rgb_to_0_1 are 0 to 255");
    }
    volume_close(&image);
}

static void channel_names_decide_the_rule(void **state) {
    (void)state;
    assert_int_equal(normalisation_of_channel("CT"), NORMALISE_CT);
    assert_int_equal(normalisation_of_channel("T2"), NORMALISE_ZSCORE);
    assert_int_equal(normalisation_of_channel("CTA"), NORMALISE_ZSCORE);
    assert_int_equal(normalisation_of_channel("nonorm"), NORMALISE_NONE);
    assert_int_equal(normalisation_of_channel("rescale_0_1"), NORMALISE_RESCALE);
    assert_int_equal(normalisation_of_channel("Rescale_to_0_1"), NORMALISE_RESCALE);
    assert_int_equal(normalisation_of_channel("rgb_to_0_1"), NORMALISE_RGB);
    assert_int_equal(normalisation_of_channel("zscore"), NORMALISE_ZSCORE);
    for (int k = 0; k < 5; k++) assert_int_equal(normalisation_named(normalisation_name((normalisation)k)), k);
    assert_int_equal(normalisation_named("zscore?"), -1);
}

/* A ball of label 1 with a core of label 2, in an image with an empty rim. */
static volume ball(label_map *labels) {
    const int size[3] = {30, 26, 12};
    const double spacing[3] = {1, 1, 2.5};
    volume image = image_of(size, spacing, 1);
    assert_int_equal(label_map_open(labels, &image.grid, NULL), STATUS_OK);
    for (int z = 0; z < 12; z++)
        for (int y = 0; y < 26; y++)
            for (int x = 0; x < 30; x++) {
                const double r = hypot(hypot(x - 15, y - 12), 2.5 * (z - 6));
                if (x > 1 && x < 28 && y > 1 && y < 24) *voxel(&image, 0, x, y, z) = (float)(20 - r / 2);
                labels->labels[(z * 26 + y) * 30 + x] = r < 4 ? 2 : r < 9 ? 1 : 0;
            }
    return image;
}

static long differing(const int16_t *a, const int16_t *b, int count) {
    long different = 0;
    for (int k = 0; k < count; k++) different += a[k] != b[k];
    return different;
}

static prepared_case prepared_ball(label_map *labels, double spacing) {
    volume image = ball(labels);
    const channel_rule rule = {.kind = NORMALISE_ZSCORE};
    const preprocessing how = {.channels = 1, .rules = &rule, .spacing = {spacing, spacing, spacing}, .threads = 2};
    prepared_case prepared;
    assert_int_equal(preprocess(&how, &image, labels, &prepared, NULL), STATUS_OK);
    volume_close(&image);
    return prepared;
}

static void labels_come_back_to_the_original_grid(void **state) {
    (void)state;
    label_map labels;
    prepared_case prepared = prepared_ball(&labels, 1);
    assert_memory_equal(prepared.geometry.box.size, ((const int[3]){12, 22, 26}), 12);
    assert_memory_equal(prepared.geometry.size, ((const int[3]){30, 22, 26}), 12);
    const int count = 30 * 26 * 12;
    int16_t *back = malloc((size_t)count * sizeof *back);
    assert_int_equal(restore_labels(&prepared.geometry, prepared.labels, 2, back, NULL), STATUS_OK);
    assert_true(differing(back, labels.labels, count) < count / 100);
    free(back);
    prepared_case_close(&prepared);
    label_map_close(&labels);
}

static void scores_come_back_as_their_best_class(void **state) {
    (void)state;
    label_map labels;
    prepared_case prepared = prepared_ball(&labels, 0.8);
    const size_t voxels = case_geometry_voxels(&prepared.geometry);
    float *values = calloc(voxels * 3, sizeof *values);
    for (size_t k = 0; k < voxels; k++) values[k * 3 + (size_t)(prepared.labels[k] > 0 ? prepared.labels[k] : 0)] = 1;
    const class_scores scores = {.classes = 3, .values = values, .voxel_stride = 3, .class_stride = 1};
    const int count = 30 * 26 * 12;
    int16_t *back = malloc((size_t)count * sizeof *back);
    float *core = malloc((size_t)count * sizeof *core);
    assert_int_equal(restore_scores(&prepared.geometry, &scores, 1, back, NULL), STATUS_OK);
    assert_true(differing(back, labels.labels, count) < count / 100);
    const score_map map = class_score_map(&scores, 2, -3);
    assert_int_equal(restore_score_map(&prepared.geometry, &map, 1, core, NULL), STATUS_OK);
    assert_true(core[0] == -3);
    assert_near((double)core[(6 * 26 + 12) * 30 + 15], 1, 1e-6);
    free(values), free(back), free(core);
    prepared_case_close(&prepared);
    label_map_close(&labels);
}

static void emptiness_inside_the_box_is_labelled_outside(void **state) {
    (void)state;
    volume image = image_of((const int[3]){4, 1, 1}, EVEN, 1);
    const float row[4] = {1, 0, 0, 2};
    memcpy(image.voxels, row, sizeof row);
    label_map labels;
    assert_int_equal(label_map_open(&labels, &image.grid, NULL), STATUS_OK);
    memcpy(labels.labels, ((const int16_t[]){0, 0, 3, 1}), 8);
    const channel_rule rule = {.kind = NORMALISE_NONE};
    const preprocessing how = {.channels = 1, .rules = &rule, .spacing = {1, 1, 1}, .threads = 1};
    prepared_case prepared;
    assert_int_equal(preprocess(&how, &image, &labels, &prepared, NULL), STATUS_OK);
    assert_memory_equal(prepared.labels, ((const int16_t[]){0, LABEL_OUTSIDE, 3, 1}), 8);
    prepared_case_close(&prepared);
    volume_close(&image);
    label_map_close(&labels);
}

static void images_that_cannot_be_used_are_refused(void **state) {
    (void)state;
    volume image = image_of((const int[3]){4, 1, 1}, EVEN, 1);
    const channel_rule rules[2] = {{.kind = NORMALISE_ZSCORE}, {.kind = NORMALISE_ZSCORE}};
    preprocessing how = {.channels = 2, .rules = rules, .spacing = {1, 1, 1}, .threads = 1};
    prepared_case prepared;
    failure failure;
    assert_int_equal(preprocess(&how, &image, NULL, &prepared, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "1 channels"));
    how.channels = 1;
    image.voxels[2] = NAN;
    assert_int_equal(preprocess(&how, &image, NULL, &prepared, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "NaN"));
    image.voxels[2] = 1;
    how.spacing[0] = how.spacing[1] = 1e-9;
    assert_int_equal(preprocess(&how, &image, NULL, &prepared, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "check the spacing"));
    volume_close(&image);
}

static void sizes_that_no_image_has_are_refused(void **state) {
    (void)state;
    case_geometry geometry = {.original = {16, 16, 16}, .original_spacing = {60, 60, 60}, .spacing = {1, 1, 1}};
    failure failure;
    memcpy(geometry.size, ((const int[3]){960, 960, 960}), sizeof geometry.size);
    assert_int_equal(case_geometry_check(&geometry, 1, INFINITY, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "960 x 960 x 960 voxels at the plan's spacing 1 x 1 x 1"));
    assert_non_null(strstr(failure.message, "100 times"));
    assert_non_null(strstr(failure.message, "from a spacing of 60 x 60 x 60"));
    geometry.original[0] = geometry.original[1] = geometry.original[2] = 480;
    assert_int_equal(case_geometry_check(&geometry, 1, 1e10, NULL), STATUS_OK);
    assert_int_equal(case_geometry_check(&geometry, 4, 1e10, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "available"));
    geometry.size[0] = 5000;
    assert_int_equal(case_geometry_check(&geometry, 1, INFINITY, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "handled"));
    memcpy(geometry.original, ((const int[3]){2, 2, 2}), sizeof geometry.original);
    memcpy(geometry.size, ((const int[3]){120, 120, 120}), sizeof geometry.size);
    assert_int_equal(case_geometry_check(&geometry, 1, INFINITY, NULL), STATUS_OK);
}

static void a_small_file_does_not_become_gigabytes(void **state) {
    (void)state;
    volume image = image_of((const int[3]){16, 16, 16}, (const double[3]){60, 60, 60}, 1);
    for (int k = 0; k < 4096; k++) image.voxels[k] = 1;
    const channel_rule rule = {.kind = NORMALISE_ZSCORE};
    const preprocessing how = {.channels = 1, .rules = &rule, .spacing = {1, 1, 1}, .threads = 1};
    prepared_case prepared;
    failure failure;
    assert_int_equal(preprocess(&how, &image, NULL, &prepared, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "check the spacing"));
    volume_close(&image);
}

/* Wherever memory runs out, preprocessing says so and leaves nothing behind. */
static void running_out_of_memory_is_reported(void **state) {
    (void)state;
    label_map labels;
    volume image = ball(&labels);
    const channel_rule rule = {.kind = NORMALISE_ZSCORE};
    const preprocessing how = {.channels = 1, .rules = &rule, .spacing = {2, 0.9, 1.1}, .threads = 1};
    int failures = 0;
    status_code status = STATUS_OUT_OF_MEMORY;
    while (status != STATUS_OK) {
        prepared_case prepared;
        memory_fail_after(failures);
        status = preprocess(&how, &image, &labels, &prepared, NULL);
        memory_fail_after(-1);
        assert_true(status == STATUS_OK || status == STATUS_OUT_OF_MEMORY);
        failures += status != STATUS_OK;
        prepared_case_close(&prepared);
    }
    assert_true(failures > 10);
    volume_close(&image);
    label_map_close(&labels);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_box_holds_what_is_not_zero_in_some_channel),
        cmocka_unit_test(holes_are_filled_and_open_cups_are_not),
        cmocka_unit_test(an_empty_image_is_kept_whole),
        cmocka_unit_test(an_axis_may_keep_the_spacing_of_the_image),
        cmocka_unit_test(zscores_have_mean_0_and_deviation_1),
        cmocka_unit_test(ct_is_clipped_and_scaled_by_the_dataset),
        cmocka_unit_test(the_range_of_an_image_becomes_0_to_1),
        cmocka_unit_test(colours_are_divided_by_255),
        cmocka_unit_test(channel_names_decide_the_rule),
        cmocka_unit_test(labels_come_back_to_the_original_grid),
        cmocka_unit_test(scores_come_back_as_their_best_class),
        cmocka_unit_test(emptiness_inside_the_box_is_labelled_outside),
        cmocka_unit_test(images_that_cannot_be_used_are_refused),
        cmocka_unit_test(sizes_that_no_image_has_are_refused),
        cmocka_unit_test(a_small_file_does_not_become_gigabytes),
        cmocka_unit_test(running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
