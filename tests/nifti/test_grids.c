#include "nifti/spacing_doubts.h"

#include "testing.h"

static volume_grid some_grid(void) {
    const int size[3] = {10, 20, 30};
    const double spacing[3] = {1, 0.5, 2};
    return volume_grid_plain(size, spacing);
}

static void a_plain_grid_lies_along_the_axes(void **state) {
    (void)state;
    const volume_grid grid = some_grid();
    assert_int_equal(volume_grid_voxels(&grid), 6000);
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 4; column++)
            assert_true(grid.affine[row][column] == (row == column ? grid.spacing[row] : 0));
}

static void grids_are_the_same_if_their_corners_meet(void **state) {
    (void)state;
    const volume_grid grid = some_grid();
    failure failure;
    volume_grid other = grid;
    assert_int_equal(volume_grid_check_same(&grid, &other, "a", &failure), STATUS_OK);
    other.affine[0][3] += 0.02;
    assert_int_equal(volume_grid_check_same(&grid, &other, "a", &failure), STATUS_OK);
    other.affine[0][3] += 0.02;
    assert_int_equal(volume_grid_check_same(&grid, &other, "a", &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "a: the affines differ"));
    other = grid;
    other.affine[0][0] = -1;
    assert_int_equal(volume_grid_check_same(&grid, &other, "a", &failure), STATUS_BAD_INPUT);
    other = grid;
    other.affine[2][2] = NAN;
    assert_int_equal(volume_grid_check_same(&grid, &other, "a", &failure), STATUS_BAD_INPUT);
    other = grid;
    other.size[1] = 21;
    assert_int_equal(volume_grid_check_same(&grid, &other, "case_7", &failure), STATUS_BAD_INPUT);
    assert_string_equal(failure.message, "case_7: the sizes differ, 10 x 20 x 30 and 10 x 21 x 30");
}

static void absurd_sizes_are_out_of_memory_not_overflow(void **state) {
    (void)state;
    volume_grid grid = some_grid();
    volume volume;
    label_map labels;
    failure failure;
    for (int axis = 0; axis < 3; axis++) grid.size[axis] = INT32_MAX;
    assert_int_equal(volume_open(&volume, &grid, INT32_MAX, &failure), STATUS_OUT_OF_MEMORY);
    assert_int_equal(label_map_open(&labels, &grid, &failure), STATUS_OUT_OF_MEMORY);
    grid.size[0] = 0;
    assert_int_equal(volume_open(&volume, &grid, 1, &failure), STATUS_OUT_OF_MEMORY);
    volume_close(&volume);
    label_map_close(&labels);
}

static void hear(void *context, const char *message) { snprintf(context, 1000, "%s", message); }

/* An sform may turn and flip; only lengths count, and not along axes of one voxel. */
static void spacings_that_the_sform_contradicts_are_told(void **state) {
    (void)state;
    char heard[1000] = "";
    const listener listener = {.context = heard, .notice = hear};
    spacing_doubts doubts = {0};
    volume_grid grid = some_grid(), turned = grid, flat = grid;
    turned.affine[0][0] = 0, turned.affine[1][0] = -1;
    turned.affine[0][1] = 0.503, turned.affine[1][1] = 0;
    spacing_doubts_add(&doubts, &grid, "a");
    spacing_doubts_add(&doubts, &turned, "b");
    flat.size[2] = 1;
    flat.affine[2][2] = 9;
    spacing_doubts_add(&doubts, &flat, "c");
    spacing_doubts_tell(&doubts, &listener);
    assert_int_equal(doubts.count, 0);
    assert_string_equal(heard, "");
    grid.affine[2][2] = 2.5;
    spacing_doubts_add(&doubts, &grid, "d");
    spacing_doubts_tell(&doubts, &listener);
    assert_string_equal(heard,
                        "d: the sform puts voxels 1 x 0.5 x 2.5 mm apart, the spacing (pixdim) is 1 x 0.5 x 2 mm; "
                        "the spacing counts");
    grid.affine[2][2] = NAN;
    spacing_doubts_add(&doubts, &grid, "e");
    spacing_doubts_add(&doubts, &grid, "f");
    spacing_doubts_tell(&doubts, &listener);
    assert_non_null(strstr(heard, "d: the sform"));
    assert_non_null(strstr(heard, "(and 2 more cases)"));
    spacing_doubts_add(NULL, &grid, "g");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spacings_that_the_sform_contradicts_are_told),
        cmocka_unit_test(a_plain_grid_lies_along_the_axes),
        cmocka_unit_test(grids_are_the_same_if_their_corners_meet),
        cmocka_unit_test(absurd_sizes_are_out_of_memory_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
