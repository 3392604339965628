#include "predict/sliding.h"

#include "testing.h"

/* A "network" that says what it sees, so that every voxel must come out as it went in. */
typedef struct recorder {
    const sliding *sliding;
    float *out;
    int next_plane;
    size_t windows;
} recorder;

static status_code say_what_is_seen(void *context, const float *patch, float *scores, failure *failure) {
    (void)failure;
    const recorder *r = context;
    const int *p = r->sliding->patch, channels = r->sliding->channels, classes = r->sliding->classes;
    for (int v = 0; v < p[0] * p[1] * p[2]; v++)
        for (int c = 0; c < classes; c++) scores[v * classes + c] = (float)(c + 1) * patch[v * channels + c % channels];
    return STATUS_OK;
}

static status_code keep_plane(void *context, int depth, const float *scores, failure *failure) {
    (void)failure;
    recorder *r = context;
    assert_int_equal(depth, r->next_plane++);
    const size_t floats = (size_t)r->sliding->size[1] * (size_t)r->sliding->size[2] * (size_t)r->sliding->classes;
    memcpy(r->out + (size_t)depth * floats, scores, floats * sizeof *scores);
    return STATUS_OK;
}

static status_code count_windows(void *context, size_t done, size_t all, failure *failure) {
    (void)failure;
    recorder *r = context;
    r->windows++;
    assert_int_equal(done, r->windows);
    assert_true(done <= all);
    return STATUS_OK;
}

static void slide(const sliding *s, float *out) {
    recorder r = {s, out, 0, 0};
    const sliding_calls calls = {&r, say_what_is_seen, keep_plane, count_windows};
    assert_int_equal(sliding_run(s, &calls, NULL), STATUS_OK);
    assert_int_equal(r.next_plane, s->size[0]);
}

static void check_threads(const sliding *s, const float *out, size_t count) {
    float *same = malloc(count * sizeof *same);
    sliding threaded = *s;
    threaded.threads = 3;
    slide(&threaded, same);
    assert_memory_equal(same, out, count * sizeof *same);
    free(same);
}

static void check(const int size[3], const int patch[3], double step, int mirrored) {
    enum { CHANNELS = 2, CLASSES = 3 };
    const size_t voxels = (size_t)(size[0] * size[1] * size[2]);
    float *image = malloc(CHANNELS * voxels * sizeof *image), *out = malloc(CLASSES * voxels * sizeof *out);
    uint64_t state = 7;
    for (size_t i = 0; i < CHANNELS * voxels; i++) image[i] = (float)test_normal(&state);
    const sliding s = {.size = {size[0], size[1], size[2]},
                       .channels = CHANNELS,
                       .image = image,
                       .patch = {patch[0], patch[1], patch[2]},
                       .classes = CLASSES,
                       .step = step,
                       .mirror = {mirrored, mirrored, mirrored}};
    slide(&s, out);
    check_threads(&s, out, CLASSES * voxels);
    for (size_t v = 0; v < voxels; v++)
        for (size_t c = 0; c < CLASSES; c++)
            assert_near(out[v * CLASSES + c], (double)(c + 1) * image[c % CHANNELS * voxels + v], 1e-4);
    free(image);
    free(out);
}

static void overlapping_windows_average_to_what_every_one_of_them_says(void **state) {
    (void)state;
    check((const int[3]){13, 17, 11}, (const int[3]){4, 6, 5}, 0.5, 0);
    check((const int[3]){13, 17, 11}, (const int[3]){4, 6, 5}, 0.5, 1);
    check((const int[3]){8, 8, 8}, (const int[3]){8, 8, 8}, 0.5, 1);
    check((const int[3]){9, 5, 30}, (const int[3]){4, 4, 4}, 1, 0);
}

static void volumes_smaller_than_a_window_are_padded(void **state) {
    (void)state;
    check((const int[3]){3, 17, 1}, (const int[3]){4, 6, 5}, 0.5, 1);
    check((const int[3]){1, 1, 1}, (const int[3]){4, 4, 4}, 0.5, 1);
}

static void windows_are_spread_evenly(void **state) {
    (void)state;
    int starts[8];
    assert_int_equal(sliding_starts(40, 40, 0.5, starts), 1);
    assert_int_equal(sliding_starts(41, 40, 0.5, starts), 2);
    assert_int_equal(starts[1], 1);
    assert_int_equal(sliding_starts(4, 1, 0.5, starts), 4); /* each slice once */
    for (int k = 0; k < 4; k++) assert_int_equal(starts[k], k);
    assert_int_equal(sliding_starts(100, 40, 0.5, starts), 4);
    assert_int_equal(starts[0], 0);
    assert_int_equal(starts[1], 20);
    assert_int_equal(starts[2], 40);
    assert_int_equal(starts[3], 60);
}

static void weights_are_largest_in_the_middle(void **state) {
    (void)state;
    float weights[40];
    sliding_weights(40, weights);
    assert_near(weights[20], 1, 1e-7);
    assert_near(weights[25], exp(-0.5), 1e-6);
    for (int i = 1; i < 20; i++) assert_true(weights[i] > weights[i - 1] && weights[i - 1] > 0);
}

static void senseless_windows_are_refused(void **state) {
    (void)state;
    failure failure;
    const float image[1] = {0};
    sliding s = {.size = {1, 1, 1}, .channels = 1, .image = image, .patch = {1, 1, 1}, .classes = 1, .step = 0};
    const sliding_calls calls = {0};
    assert_int_equal(sliding_run(&s, &calls, &failure), STATUS_BAD_INPUT);
    s.step = 0.5;
    s.patch[1] = 0;
    assert_int_equal(sliding_run(&s, &calls, &failure), STATUS_BAD_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlapping_windows_average_to_what_every_one_of_them_says),
        cmocka_unit_test(volumes_smaller_than_a_window_are_padded),
        cmocka_unit_test(windows_are_spread_evenly),
        cmocka_unit_test(weights_are_largest_in_the_middle),
        cmocka_unit_test(senseless_windows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
