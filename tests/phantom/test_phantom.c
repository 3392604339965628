#include "phantom/phantom.h"

#include "failing_memory.h"
#include "memory.h"
#include "testing.h"

enum { CASES = 5 };

typedef struct drawn {
    volume image;
    label_map labels;
    phantom_facts facts;
} drawn;

static drawn draw(uint64_t seed, phantom_split split, uint32_t index, phantom_condition condition, int spacing) {
    const int size[3] = {120 / spacing, 144 / spacing, 120 / spacing};
    const volume_grid grid = phantom_grid(size, spacing);
    drawn d;
    failure failure;
    if (phantom_make(&(phantom_key){seed, split, index, condition}, &grid, &d.image, &d.labels, &d.facts, &failure) !=
        STATUS_OK)
        fail_msg("%s", failure.message);
    return d;
}

static void release(drawn *d) {
    volume_close(&d->image);
    label_map_close(&d->labels);
}

static int same(const drawn *a, const drawn *b) {
    const size_t voxels = volume_grid_voxels(&a->image.grid);
    return memcmp(a->image.voxels, b->image.voxels, voxels * sizeof(float)) == 0 &&
           memcmp(a->labels.labels, b->labels.labels, voxels * sizeof(int16_t)) == 0;
}

/* Voxels, mean height and mean grey of a label. */
typedef struct organ {
    double voxels, height, grey;
} organ;

static organ measure(const drawn *d, int label) {
    organ organ = {0};
    const size_t voxels = volume_grid_voxels(&d->labels.grid);
    const size_t slice = (size_t)d->labels.grid.size[0] * (size_t)d->labels.grid.size[1];
    for (size_t i = 0; i < voxels; i++)
        if (d->labels.labels[i] == label) {
            organ.voxels++;
            organ.height += (double)(i / slice);
            organ.grey += d->image.voxels[i];
        }
    organ.height /= organ.voxels;
    organ.grey /= organ.voxels;
    return organ;
}

static void a_case_follows_from_its_key(void **state) {
    (void)state;
    drawn first = draw(1, PHANTOM_TRAIN, 3, PHANTOM_CONTROL, 6), again = draw(1, PHANTOM_TRAIN, 3, PHANTOM_CONTROL, 6);
    assert_true(same(&first, &again));
    drawn others[] = {draw(2, PHANTOM_TRAIN, 3, PHANTOM_CONTROL, 6), draw(1, PHANTOM_TEST, 3, PHANTOM_CONTROL, 6),
                      draw(1, PHANTOM_TRAIN, 4, PHANTOM_CONTROL, 6), draw(1, PHANTOM_TRAIN, 3, PHANTOM_OTHER, 6)};
    for (int k = 0; k < 4; k++) {
        assert_false(same(&first, &others[k]));
        release(&others[k]);
    }
    release(&first);
    release(&again);
}

/* Pins the bits for all compilers and machines; a change of the drawing changes it, and belongs into the changelog. */
static void bits_are_the_same_everywhere(void **state) {
    (void)state;
    uint64_t hash = UINT64_C(1469598103934665603);
    for (uint32_t k = 0; k < 3; k++) {
        drawn d = draw(0, PHANTOM_TRAIN, k, (phantom_condition)k, 6);
        for (size_t i = 0; i < volume_grid_voxels(&d.image.grid); i++) {
            hash = (hash ^ (uint64_t)d.image.voxels[i]) * UINT64_C(1099511628211);
            hash = (hash ^ (uint64_t)d.labels.labels[i]) * UINT64_C(1099511628211);
        }
        release(&d);
    }
    if (hash != UINT64_C(0x52c576b46453ebf8)) fail_msg("the hash is 0x%llx", (unsigned long long)hash);
}

/* The same index is the same fetus but for its condition, so that the comparison is a paired one. */
static void spina_bifida_has_a_small_low_cerebellum_and_wide_ventricles(void **state) {
    (void)state;
    double cerebellum = 0, ventricles = 0, height = 0;
    for (uint32_t k = 0; k < CASES; k++) {
        drawn well = draw(5, PHANTOM_TRAIN, k, PHANTOM_CONTROL, 3),
              ill = draw(5, PHANTOM_TRAIN, k, PHANTOM_SPINA_BIFIDA, 3);
        const organ a = measure(&well, 3), b = measure(&ill, 3);
        assert_true(well.facts.weeks == ill.facts.weeks);
        assert_true(b.voxels > 8 && b.voxels < 0.7 * a.voxels);
        cerebellum += b.voxels / a.voxels / CASES;
        height += (b.height - a.height) / CASES;
        ventricles += measure(&ill, 2).voxels / measure(&well, 2).voxels / CASES;
        release(&well);
        release(&ill);
    }
    assert_true(cerebellum > 0.1 && cerebellum < 0.5);
    assert_true(ventricles > 1.8 && ventricles < 6);
    assert_true(height < -0.5);
}

static void every_condition_shows_all_organs_in_sensible_sizes(void **state) {
    (void)state;
    for (uint32_t k = 0; k < 3 * CASES; k++) {
        drawn d = draw(9, PHANTOM_TEST, k, (phantom_condition)(k % 3), 4);
        const double white = measure(&d, 1).voxels, csf = measure(&d, 2).voxels, cerebellum = measure(&d, 3).voxels;
        const double all = (double)volume_grid_voxels(&d.labels.grid);
        assert_true(white > 0.01 * all && white < 0.35 * all);
        assert_true(csf > 0.015 * white && csf < 0.9 * white);
        assert_true(cerebellum > 0.002 * white && cerebellum < 0.25 * white);
        assert_true(d.facts.weeks >= 21 && d.facts.weeks < 36);
        assert_int_equal(d.facts.condition, k % 3);
        release(&d);
    }
}

static void greys_are_those_of_t2(void **state) {
    (void)state;
    for (uint32_t k = 0; k < CASES; k++) {
        drawn d = draw(3, PHANTOM_TRAIN, k, PHANTOM_CONTROL, 3);
        const double white = measure(&d, 1).grey, csf = measure(&d, 2).grey, cerebellum = measure(&d, 3).grey;
        assert_true(csf > white && white > cerebellum);
        for (size_t i = 0; i < volume_grid_voxels(&d.image.grid); i++)
            assert_true(d.image.voxels[i] >= 0 && d.image.voxels[i] < 3000);
        release(&d);
    }
}

static void other_abnormalities_come_in_three_kinds(void **state) {
    (void)state;
    int kinds[3] = {0};
    for (uint32_t k = 0; k < 30; k++) {
        drawn d = draw(3, PHANTOM_TRAIN, k, PHANTOM_OTHER, 12);
        kinds[0] += strcmp(d.facts.diagnosis, "no_callosum") == 0;
        kinds[1] += strcmp(d.facts.diagnosis, "one_sided_ventriculomegaly") == 0;
        kinds[2] += strcmp(d.facts.diagnosis, "fossa_cyst") == 0;
        release(&d);
    }
    assert_int_equal(kinds[0] + kinds[1] + kinds[2], 30);
    for (int k = 0; k < 3; k++) assert_true(kinds[k] > 2);
}

static void the_middle_of_the_image_is_the_origin(void **state) {
    (void)state;
    const volume_grid grid = phantom_grid((const int[3]){40, 48, 41}, 3);
    for (int axis = 0; axis < 3; axis++) assert_near(grid.affine[axis][3] + 0.5 * 3 * (grid.size[axis] - 1), 0, 1e-12);
}

static void failing_memory_and_absurd_sizes_are_reported(void **state) {
    (void)state;
    volume_grid grid = phantom_grid((const int[3]){10, 10, 10}, 12);
    drawn d;
    failure failure;
    for (long k = 0; k < 3; k++) {
        memory_fail_after(k);
        assert_int_equal(phantom_make(&(phantom_key){0, PHANTOM_TRAIN, 0, PHANTOM_CONTROL}, &grid, &d.image, &d.labels,
                                      &d.facts, &failure),
                         STATUS_OUT_OF_MEMORY);
        assert_null(d.image.voxels);
        assert_null(d.labels.labels);
    }
    memory_fail_after(-1);
    grid.size[1] = 5000;
    assert_int_equal(phantom_make(&(phantom_key){0, PHANTOM_TRAIN, 0, PHANTOM_CONTROL}, &grid, &d.image, &d.labels,
                                  &d.facts, &failure),
                     STATUS_BAD_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_case_follows_from_its_key),
        cmocka_unit_test(bits_are_the_same_everywhere),
        cmocka_unit_test(spina_bifida_has_a_small_low_cerebellum_and_wide_ventricles),
        cmocka_unit_test(every_condition_shows_all_organs_in_sensible_sizes),
        cmocka_unit_test(greys_are_those_of_t2),
        cmocka_unit_test(other_abnormalities_come_in_three_kinds),
        cmocka_unit_test(the_middle_of_the_image_is_the_origin),
        cmocka_unit_test(failing_memory_and_absurd_sizes_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
