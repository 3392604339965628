#include "evaluate/distance.h"

#include "core/quantile.h"
#include "statistics/statistics.h"
#include "testing.h"

enum { LARGEST = 14 * 14 * 14 };

typedef struct example {
    int size[3];
    double spacing[3];
    size_t count;
    uint8_t a[LARGEST], b[LARGEST];
} example;

/* A blob or noise, in a box of random shape and spacing. */
static void fill_mask(uint64_t *random, const example *example, uint8_t *mask) {
    const double radius = 1 + 6 * test_unit(random), density = test_unit(random) < 0.5 ? 1 : 0.2 * test_unit(random);
    double centre[3];
    for (int k = 0; k < 3; k++) centre[k] = test_unit(random) * example->size[k];
    for (size_t i = 0; i < example->count; i++) {
        const double x = (double)(i % (size_t)example->size[0]) - centre[0];
        const double y = (double)(i / (size_t)example->size[0] % (size_t)example->size[1]) - centre[1];
        const double z = (double)(i / (size_t)example->size[0] / (size_t)example->size[1]) - centre[2];
        mask[i] = x * x + y * y + z * z < radius * radius && test_unit(random) < density;
    }
}

static void make_example(uint64_t *random, example *example) {
    for (int k = 0; k < 3; k++) {
        example->size[k] = 1 + (int)(test_random(random) % 14);
        example->spacing[k] = test_random(random) & 1 ? 1 : 0.3 + 3 * test_unit(random);
    }
    example->count = (size_t)example->size[0] * (size_t)example->size[1] * (size_t)example->size[2];
    fill_mask(random, example, example->a);
    fill_mask(random, example, example->b);
}

static double distance(const example *example, size_t i, size_t j) {
    const size_t nx = (size_t)example->size[0], ny = (size_t)example->size[1];
    const double x = ((double)(i % nx) - (double)(j % nx)) * example->spacing[0];
    const double y = ((double)(i / nx % ny) - (double)(j / nx % ny)) * example->spacing[1];
    const double z = ((double)(i / nx / ny) - (double)(j / nx / ny)) * example->spacing[2];
    return sqrt(x * x + y * y + z * z);
}

static double nearest(const example *example, size_t from, const uint8_t *mask) {
    double least = INFINITY;
    for (size_t j = 0; j < example->count; j++)
        if (mask[j]) least = fmin(least, distance(example, from, j));
    return least;
}

static void the_transform_is_exact(void **state) {
    (void)state;
    example *example = malloc(sizeof *example);
    double *squared = malloc(LARGEST * sizeof *squared);
    uint64_t random = 3;
    for (int round = 0; round < 60; round++) {
        make_example(&random, example);
        assert_int_equal(distance_transform(example->a, example->size, example->spacing, squared, NULL), STATUS_OK);
        for (size_t i = 0; i < example->count; i += 1 + test_random(&random) % 5) {
            const double expected = nearest(example, i, example->a);
            if (isinf(expected)) assert_true(isinf(squared[i]));
            else assert_near(sqrt(squared[i]), expected, 1e-9);
        }
    }
    free(squared);
    free(example);
}

static int in_mask(const example *example, const uint8_t *mask, long x, long y, long z) {
    if (x < 0 || y < 0 || z < 0 || x >= example->size[0] || y >= example->size[1] || z >= example->size[2]) return 0;
    return mask[(z * example->size[1] + y) * example->size[0] + x];
}

static size_t plain_surface(const example *example, const uint8_t *mask, uint8_t *surface) {
    static const int steps[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    size_t count = 0, i = 0;
    for (long z = 0; z < example->size[2]; z++)
        for (long y = 0; y < example->size[1]; y++)
            for (long x = 0; x < example->size[0]; x++, i++) {
                surface[i] = 0;
                for (int k = 0; k < 6 && mask[i]; k++)
                    surface[i] |= !in_mask(example, mask, x + steps[k][0], y + steps[k][1], z + steps[k][2]);
                count += surface[i];
            }
    return count;
}

static double plain_directed(const example *example, const uint8_t *from, const uint8_t *to, double *sum) {
    static double distances[LARGEST];
    size_t count = 0;
    for (size_t i = 0; i < example->count; i++) {
        if (!from[i]) continue;
        distances[count] = nearest(example, i, to);
        *sum += distances[count++];
    }
    sort_numbers(distances, count);
    return quantile_of_sorted(distances, count, 0.95);
}

static void surface_distances_agree_with_plain_loops(void **state) {
    (void)state;
    example *example = malloc(sizeof *example);
    uint8_t *surfaces = malloc(2 * LARGEST);
    uint64_t random = 4;
    int compared = 0;
    for (int round = 0; round < 80; round++) {
        make_example(&random, example);
        surface_distance result;
        assert_int_equal(surface_distance_of(&(mask_pair){example->a, example->b, example->size, example->spacing, 1.5},
                                             &result, NULL),
                         STATUS_OK);
        const size_t na = plain_surface(example, example->a, surfaces);
        const size_t nb = plain_surface(example, example->b, surfaces + LARGEST);
        if (na == 0 && nb == 0) {
            assert_true(isnan(result.hd95) && isnan(result.assd) && isnan(result.nsd));
        } else if (na == 0 || nb == 0) {
            double diagonal = 0;
            for (int k = 0; k < 3; k++) diagonal += pow(example->size[k] * example->spacing[k], 2);
            assert_close(result.hd95, sqrt(diagonal), 1e-12);
            assert_close(result.assd, sqrt(diagonal), 1e-12);
            assert_true(result.nsd == 0);
        } else {
            double sum = 0;
            const double there = plain_directed(example, surfaces, surfaces + LARGEST, &sum);
            const double back = plain_directed(example, surfaces + LARGEST, surfaces, &sum);
            assert_near(result.hd95, fmax(there, back), 1e-9);
            assert_near(result.assd, sum / (double)(na + nb), 1e-9);
            size_t close = 0, voxels = (size_t)(example->size[0] * example->size[1] * example->size[2]);
            for (size_t i = 0; i < voxels; i++) {
                close += surfaces[i] && nearest(example, i, surfaces + LARGEST) <= 1.5;
                close += surfaces[LARGEST + i] && nearest(example, i, surfaces) <= 1.5;
            }
            assert_close(result.nsd, (double)close / (double)(na + nb), 1e-12);
            compared++;
        }
    }
    assert_true(compared > 20);
    free(surfaces);
    free(example);
}

static void a_shifted_block_is_as_far_as_it_was_shifted(void **state) {
    (void)state;
    const int size[3] = {20, 10, 10};
    const double spacing[3] = {1.5, 1, 1};
    uint8_t *a = calloc(2000, 1), *b = calloc(2000, 1);
    for (int z = 3; z < 7; z++)
        for (int y = 3; y < 7; y++) a[(z * 10 + y) * 20 + 4] = b[(z * 10 + y) * 20 + 6] = 1;
    surface_distance result;
    assert_int_equal(surface_distance_of(&(mask_pair){a, b, size, spacing, 2}, &result, NULL), STATUS_OK);
    assert_close(result.hd95, 3, 1e-12);
    assert_close(result.assd, 3, 1e-12);
    assert_true(result.nsd == 0);
    assert_int_equal(surface_distance_of(&(mask_pair){a, a, size, spacing, 2}, &result, NULL), STATUS_OK);
    assert_true(result.hd95 == 0 && result.assd == 0 && result.nsd == 1);
    free(a);
    free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_transform_is_exact),
        cmocka_unit_test(surface_distances_agree_with_plain_loops),
        cmocka_unit_test(a_shifted_block_is_as_far_as_it_was_shifted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
