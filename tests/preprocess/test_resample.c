#include "preprocess/resample.h"

#include "testing.h"

static const float LINE[8] = {3, -1, 4, 1, -5, 9, 2, 6};

static size_t voxels(const int size[3]) { return (size_t)size[0] * (size_t)size[1] * (size_t)size[2]; }

static float *some_image(const int size[3], uint64_t seed) {
    float *image = malloc(voxels(size) * sizeof *image);
    assert_non_null(image);
    for (size_t k = 0; k < voxels(size); k++) image[k] = (float)test_normal(&seed);
    return image;
}

static void expect_line(int to, resample_order order, const double *expected) {
    for (int axis = 0; axis < 3; axis++) {
        resampling how = {.from = {1, 1, 1}, .to = {1, 1, 1}, .order = {order, order, order}, .threads = 1};
        how.from[axis] = 8;
        how.to[axis] = to;
        float result[16];
        assert_int_equal(resample_image(&how, LINE, result, NULL), STATUS_OK);
        for (int o = 0; o < to; o++) assert_near((double)result[o], expected[o], 2e-6);
    }
}

static void lines_are_resampled_as_by_scipy(void **state) {
    (void)state;
    expect_line(5, RESAMPLE_NEAREST, (const double[]){3, 4, -5, 9, 6});
    expect_line(5, RESAMPLE_LINEAR, (const double[]){1.8, 3.5, -2, 8.3, 4.8});
    expect_line(5, RESAMPLE_CUBIC, (const double[]){1.59439305, 3.56616846, -4.08897522, 9.21439532, 4.20291505});
    expect_line(12, RESAMPLE_NEAREST, (const double[]){3, -1, -1, 4, 1, 1, -5, 9, 9, 2, 6, 6});
    expect_line(12, RESAMPLE_LINEAR,
                (const double[]){3, 1, -0.166666667, 3.16666667, 2.5, 0, -4, 2, 7.83333333, 3.16666667, 4, 6});
    expect_line(12, RESAMPLE_CUBIC,
                (const double[]){3.41409705, 0.491352559, -0.637397136, 3.21670192, 4.14815023, -0.709331888,
                                 -5.6117517, 2.33275067, 9.11415811, 3.14470028, 2.88535914, 6.53902693});
}

static void clipping_keeps_the_range(void **state) {
    (void)state;
    const int from[3] = {1, 1, 8}, to[3] = {1, 1, 12};
    const resampling how = resampling_of(from, to, RESAMPLE_CUBIC, -1, 1);
    float result[12];
    assert_int_equal(resample_image(&how, LINE, result, NULL), STATUS_OK);
    assert_true(result[6] == -5 && result[8] == 9);
}

static void the_same_size_copies(void **state) {
    (void)state;
    const int size[3] = {5, 7, 3};
    const resampling how = resampling_of(size, size, RESAMPLE_CUBIC, -1, 2);
    float *image = some_image(size, 1), result[105];
    assert_int_equal(resample_image(&how, image, result, NULL), STATUS_OK);
    assert_memory_equal(image, result, sizeof result);
    free(image);
}

static void a_constant_stays_constant(void **state) {
    (void)state;
    const int from[3] = {3, 1, 5}, to[3] = {4, 9, 2};
    float image[15], result[72];
    for (int k = 0; k < 15; k++) image[k] = 7.25f;
    for (int order = 0; order <= 3; order += order == 1 ? 2 : 1) {
        resampling how = resampling_of(from, to, (resample_order)order, -1, 1);
        how.clip = 0;
        assert_int_equal(resample_image(&how, image, result, NULL), STATUS_OK);
        for (int k = 0; k < 72; k++) assert_near((double)result[k], 7.25, 1e-6);
    }
}

/* There and back on a grid of odd multiples: the middle of three voxels lies where the original one was. */
static void enlarging_thrice_passes_through_the_voxels(void **state) {
    (void)state;
    const int from[3] = {6, 5, 9}, to[3] = {18, 15, 27};
    float *image = some_image(from, 2), *result = malloc(voxels(to) * sizeof *result);
    resampling how = resampling_of(from, to, RESAMPLE_CUBIC, -1, 2);
    how.clip = 0;
    assert_int_equal(resample_image(&how, image, result, NULL), STATUS_OK);
    for (int z = 0; z < 6; z++)
        for (int y = 0; y < 5; y++)
            for (int x = 0; x < 9; x++)
                assert_near((double)result[((3 * z + 1) * 15 + 3 * y + 1) * 27 + 3 * x + 1],
                            (double)image[(z * 5 + y) * 9 + x], 1e-5);
    free(image);
    free(result);
}

static void threads_do_not_change_a_bit(void **state) {
    (void)state;
    const int from[3] = {17, 23, 19}, to[3] = {29, 11, 31};
    float *image = some_image(from, 3), *one = malloc(voxels(to) * 4), *many = malloc(voxels(to) * 4);
    int16_t labels[17 * 23 * 19], *a = malloc(voxels(to) * 2), *b = malloc(voxels(to) * 2);
    for (size_t k = 0; k < voxels(from); k++) labels[k] = (int16_t)(image[k] * 2);
    resampling how = resampling_of(from, to, RESAMPLE_CUBIC, -1, 1);
    assert_int_equal(resample_image(&how, image, one, NULL), STATUS_OK);
    assert_int_equal(resample_labels(&how, labels, a, NULL), STATUS_OK);
    for (how.threads = 2; how.threads < 6; how.threads++) {
        assert_int_equal(resample_image(&how, image, many, NULL), STATUS_OK);
        assert_int_equal(resample_labels(&how, labels, b, NULL), STATUS_OK);
        assert_memory_equal(one, many, voxels(to) * 4);
        assert_memory_equal(a, b, voxels(to) * 2);
    }
    free(image), free(one), free(many), free(a), free(b);
}

static void labels_follow_the_largest_share(void **state) {
    (void)state;
    const int from[3] = {1, 1, 3}, to[3] = {1, 1, 6};
    const int16_t labels[3] = {2, -1, 5};
    int16_t result[6];
    const resampling how = resampling_of(from, to, RESAMPLE_CUBIC, -1, 1);
    assert_int_equal(resample_labels(&how, labels, result, NULL), STATUS_OK);
    assert_memory_equal(result, ((const int16_t[]){2, 2, -1, -1, 5, 5}), sizeof result);
}

static void equal_shares_go_to_the_larger_label(void **state) {
    (void)state;
    const int from[3] = {1, 2, 4}, to[3] = {1, 1, 4};
    const int16_t labels[8] = {0, 3, 1, 1, 2, 1, 1, -1};
    int16_t result[4];
    const resampling how = resampling_of(from, to, RESAMPLE_LINEAR, -1, 1);
    assert_int_equal(resample_labels(&how, labels, result, NULL), STATUS_OK);
    assert_memory_equal(result, ((const int16_t[]){2, 3, 1, 1}), sizeof result);
}

static void the_coarse_axis_is_found(void **state) {
    (void)state;
    const double even[3] = {1, 1, 1}, thick[3] = {5, 1, 1}, thick_last[3] = {0.5, 0.5, 2}, two[3] = {4, 4, 1};
    assert_int_equal(resample_coarse_axis(even, even), -1);
    assert_int_equal(resample_coarse_axis(thick, even), 0);
    assert_int_equal(resample_coarse_axis(even, thick), 0);
    assert_int_equal(resample_coarse_axis(thick_last, thick), 2);
    assert_int_equal(resample_coarse_axis(two, even), -1);
}

static void sizes_are_rounded(void **state) {
    (void)state;
    int to[3];
    resample_size((const int[3]){10, 7, 1}, (const double[3]){1, 1, 0.1}, (const double[3]){0.8, 2.1, 1}, to);
    assert_memory_equal(to, ((const int[3]){12, 3, 1}), sizeof to);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_resampled_as_by_scipy),
        cmocka_unit_test(clipping_keeps_the_range),
        cmocka_unit_test(the_same_size_copies),
        cmocka_unit_test(a_constant_stays_constant),
        cmocka_unit_test(enlarging_thrice_passes_through_the_voxels),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(labels_follow_the_largest_share),
        cmocka_unit_test(equal_shares_go_to_the_larger_label),
        cmocka_unit_test(the_coarse_axis_is_found),
        cmocka_unit_test(sizes_are_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
