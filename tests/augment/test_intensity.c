#include "augment/intensity.h"
#include "augment/purposes.h"

#include "testing.h"

enum { D = 9, H = 12, W = 7, COUNT = D * H * W };
static const int SIZE[3] = {D, H, W};

typedef struct moments {
    double mean, deviation, low, high;
} moments;

static moments moments_of(const float *voxels, int count) {
    double sum = 0, squares = 0;
    moments moments = {.low = INFINITY, .high = -INFINITY};
    for (int k = 0; k < count; k++) {
        sum += (double)voxels[k];
        squares += (double)voxels[k] * (double)voxels[k];
        moments.low = fmin(moments.low, (double)voxels[k]);
        moments.high = fmax(moments.high, (double)voxels[k]);
    }
    moments.mean = sum / count;
    moments.deviation = sqrt(squares / count - moments.mean * moments.mean);
    return moments;
}

static void fill(float *voxels, uint64_t seed) {
    for (int k = 0; k < COUNT; k++) voxels[k] = (float)(test_normal(&seed) * 2 + 0.5);
}

static void gamma_keeps_mean_and_deviation_and_order(void **state) {
    (void)state;
    for (int inverted = 0; inverted < 2; inverted++)
        for (double gamma = 0.7; gamma < 1.6; gamma += 0.2) {
            float before[COUNT], after[COUNT];
            fill(before, 3);
            memcpy(after, before, sizeof after);
            change_gamma(after, COUNT, gamma, inverted);
            const moments a = moments_of(before, COUNT), b = moments_of(after, COUNT);
            assert_near(b.mean, a.mean, 1e-5);
            assert_near(b.deviation, a.deviation, 1e-5);
            for (int k = 1; k < COUNT; k++)
                assert_true((before[k] > before[k - 1]) == (after[k] > after[k - 1]) || before[k] == before[k - 1]);
        }
}

/* With a power above 1 the distribution leans to the low end, of the negative image to the high end. */
static void inverted_gamma_leans_to_the_other_side(void **state) {
    (void)state;
    float plain[COUNT], inverted[COUNT];
    for (int k = 0; k < COUNT; k++) plain[k] = inverted[k] = (float)k;
    change_gamma(plain, COUNT, 1.5, 0);
    change_gamma(inverted, COUNT, 1.5, 1);
    assert_true(plain[COUNT / 2] < (COUNT - 1) / 2.0f - 10);
    for (int k = 0; k < COUNT; k++) assert_near((double)plain[k] + (double)inverted[COUNT - 1 - k], COUNT - 1, 1e-2);
}

static void a_constant_survives_gamma(void **state) {
    (void)state;
    float voxels[8] = {2, 2, 2, 2, 2, 2, 2, 2};
    change_gamma(voxels, 8, 1.3, 0);
    change_gamma(voxels, 8, 0.8, 1);
    for (int k = 0; k < 8; k++) assert_near((double)voxels[k], 2, 1e-6);
}

static void contrast_stretches_within_the_range(void **state) {
    (void)state;
    float voxels[4] = {0, 1, 2, 5};
    change_contrast(voxels, 4, 0.5);
    const double less[4] = {1, 1.5, 2, 3.5};
    for (int k = 0; k < 4; k++) assert_near((double)voxels[k], less[k], 1e-6);
    float more[4] = {0, 1, 2, 5};
    change_contrast(more, 4, 1.25);
    const double expected[4] = {0, 0.75, 2, 5};
    for (int k = 0; k < 4; k++) assert_near((double)more[k], expected[k], 1e-6);
}

static void brightness_is_a_factor(void **state) {
    (void)state;
    float voxels[2] = {-2, 4};
    change_brightness(voxels, 2, 1.25);
    assert_true(voxels[0] == -2.5f && voxels[1] == 5);
}

static void blurring_spreads_a_point_as_a_gaussian(void **state) {
    (void)state;
    float voxels[COUNT] = {0}, scratch[COUNT];
    voxels[(4 * H + 6) * W + 3] = 1;
    gaussian_blur(voxels, SIZE, 0.6, scratch);
    double sum = 0, weight[3], total = 0;
    for (int k = 0; k < 3; k++) weight[k] = exp(-0.5 * k * k / 0.36), total += (k ? 2 : 1) * weight[k];
    for (int k = 0; k < COUNT; k++) sum += (double)voxels[k];
    assert_near(sum, 1, 1e-6);
    assert_near((double)voxels[(4 * H + 6) * W + 3], pow(weight[0] / total, 3), 1e-6);
    assert_near((double)voxels[(5 * H + 4) * W + 3], weight[1] * weight[2] * weight[0] / pow(total, 3), 1e-6);
}

static void blurring_keeps_a_constant_even_where_the_volume_is_thin(void **state) {
    (void)state;
    const int thin[3] = {1, 2, 30};
    float voxels[60], scratch[60];
    for (int k = 0; k < 60; k++) voxels[k] = 3;
    gaussian_blur(voxels, thin, 1, scratch);
    for (int k = 0; k < 60; k++) assert_near((double)voxels[k], 3, 1e-6);
}

static void noise_has_the_deviation_asked_for(void **state) {
    (void)state;
    enum { MANY = 100000 };
    float *voxels = calloc(MANY, sizeof *voxels);
    random_stream stream;
    random_start(&stream, 1, RANDOM_NOISE, 2, 3);
    add_noise(voxels, MANY, 0.07, &stream);
    const moments moments = moments_of(voxels, MANY);
    assert_near(moments.mean, 0, 5 * 0.07 / sqrt(MANY));
    assert_near(moments.deviation, 0.07, 0.001);
    free(voxels);
}

static void low_resolution_is_smoother_and_keeps_the_range(void **state) {
    (void)state;
    float before[COUNT], after[COUNT], scratch[COUNT];
    fill(before, 9);
    memcpy(after, before, sizeof after);
    assert_int_equal(lose_resolution(after, SIZE, 0.5, -1, scratch, NULL), STATUS_OK);
    const moments a = moments_of(before, COUNT), b = moments_of(after, COUNT);
    assert_true(b.low >= a.low && b.high <= a.high && b.deviation < a.deviation);
    double rough_before = 0, rough_after = 0;
    for (int k = 1; k < COUNT; k++) {
        rough_before += fabs((double)before[k] - (double)before[k - 1]);
        rough_after += fabs((double)after[k] - (double)after[k - 1]);
    }
    assert_true(rough_after < 0.7 * rough_before);
}

static void low_resolution_leaves_a_flat_axis_alone(void **state) {
    (void)state;
    float voxels[COUNT], scratch[COUNT];
    for (int k = 0; k < COUNT; k++) voxels[k] = (float)(k / (H * W) % 2);
    assert_int_equal(lose_resolution(voxels, SIZE, 0.5, 0, scratch, NULL), STATUS_OK);
    for (int k = 0; k < COUNT; k++) assert_near((double)voxels[k], k / (H * W) % 2, 1e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gamma_keeps_mean_and_deviation_and_order),
        cmocka_unit_test(inverted_gamma_leans_to_the_other_side),
        cmocka_unit_test(a_constant_survives_gamma),
        cmocka_unit_test(contrast_stretches_within_the_range),
        cmocka_unit_test(brightness_is_a_factor),
        cmocka_unit_test(blurring_spreads_a_point_as_a_gaussian),
        cmocka_unit_test(blurring_keeps_a_constant_even_where_the_volume_is_thin),
        cmocka_unit_test(noise_has_the_deviation_asked_for),
        cmocka_unit_test(low_resolution_is_smoother_and_keeps_the_range),
        cmocka_unit_test(low_resolution_leaves_a_flat_axis_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
