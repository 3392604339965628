#include "augment/augment.h"
#include "augment/spatial.h"

#include "testing.h"

/* A case of two channels with three classes; its memory belongs to the test. */
typedef struct some_case {
    case_view view;
    float *image;
    int16_t *labels;
    uint64_t first[4];
    uint32_t *places;
} some_case;

static void list_places(some_case *made) {
    const size_t voxels = case_view_voxels(&made->view);
    uint64_t count = 0;
    for (int class = 1; class < 3; class ++) {
        made->first[class] = count;
        for (size_t k = 0; k < voxels; k++)
            if (made->labels[k] == class) made->places[count++] = (uint32_t)k;
    }
    made->first[3] = count;
}

/* Channel 0 is a smooth function, by which the labels are cut; channel 1 is noise. */
static some_case case_of(int d, int h, int w) {
    some_case made = {.view = {.channels = 2, .size = {d, h, w}, .classes = 3}};
    const size_t voxels = case_view_voxels(&made.view);
    made.image = malloc(2 * voxels * sizeof *made.image);
    made.labels = malloc(voxels * sizeof *made.labels);
    made.places = malloc(voxels * sizeof *made.places);
    uint64_t seed = 1;
    size_t at = 0;
    for (int z = 0; z < d; z++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++, at++) {
                const double f = sin(0.15 * z + 0.2) + cos(0.17 * y) + sin(0.13 * x + 0.05 * y);
                made.image[at] = (float)f;
                made.image[voxels + at] = (float)test_normal(&seed);
                made.labels[at] = f > 1 ? 2 : f > 0 ? 1 : 0;
            }
    list_places(&made);
    return made;
}

static case_view *view_of(some_case *made) {
    made->view.image = made->image;
    made->view.labels = made->labels;
    made->view.first = made->first;
    made->view.places = made->places;
    return &made->view;
}

static void case_free(some_case *made) {
    free(made->image);
    free(made->labels);
    free(made->places);
}

static plan plan_for(int d, int h, int w) {
    plan plan = {.channels = 2, .classes = 3, .patch = {d, h, w}};
    return plan;
}

/* ---- choices ---------------------------------------------------------------------------------------------------- */

typedef struct tally {
    long rotated, scaled, noise, blur, brightness, contrast, coarse, inverted, gamma, mirrored[3], small_scale;
} tally;

static void expect_share(const char *name, long count, long total, double probability) {
    const double share = (double)count / (double)total;
    const double error = 5 * sqrt(probability * (1 - probability) / (double)total);
    if (fabs(share - probability) > error) fail_msg("%s: %g instead of %g", name, share, probability);
}

static int inside(double value, double low, double high) { return value >= low && value <= high; }

static void count_choice(tally *tally, const augment_choice *choice) {
    const channel_choice *c = &choice->channels[0];
    const int rotated = choice->angle[0] != 0;
    assert_int_equal(choice->turned, rotated || choice->scale != 1);
    for (int k = 0; k < 3; k++) {
        assert_true(inside(choice->angle[k], -0.5236, 0.5236));
        tally->mirrored[k] += choice->mirror[k];
    }
    assert_true(inside(choice->scale, 0.7, 1.4) && inside(choice->noise, 0, 0.1));
    assert_true(c->blur == 0 || inside(c->blur, 0.5, 1));
    assert_true(inside(c->brightness, 0.75, 1.25) && inside(c->contrast, 0.75, 1.25) && inside(c->coarse, 0.5, 1));
    assert_true(inside(c->inverted_gamma, 0.7, 1.5) && inside(c->gamma, 0.7, 1.5));
    tally->rotated += rotated;
    tally->scaled += choice->scale != 1;
    tally->small_scale += choice->scale < 1;
    tally->noise += choice->noise > 0;
    tally->blur += c->blur > 0;
    tally->brightness += c->brightness != 1;
    tally->contrast += c->contrast != 1;
    tally->coarse += c->coarse != 1;
    tally->inverted += c->inverted_gamma != 1;
    tally->gamma += c->gamma != 1;
}

static void choices_have_their_probabilities_and_ranges(void **state) {
    (void)state;
    const plan plan = plan_for(40, 56, 40);
    const augment_options options = augment_options_for(&plan, -1);
    channel_choice channels[2];
    augment_choice choice = {.channels = channels};
    tally tally = {0};
    const long total = test_size(40000, 1000000);
    for (long k = 0; k < total; k++) {
        augment_choose(&options, &(const patch_key){.seed = 7, .iteration = (uint64_t)k / 9, .slot = (uint32_t)(k % 9)},
                       &choice);
        count_choice(&tally, &choice);
    }
    expect_share("rotation", tally.rotated, total, 0.2);
    expect_share("scaling", tally.scaled, total, 0.2);
    expect_share("scaling below 1", tally.small_scale, total, 0.1);
    expect_share("noise", tally.noise, total, 0.1);
    expect_share("blur", tally.blur, total, 0.1);
    expect_share("brightness", tally.brightness, total, 0.15);
    expect_share("contrast", tally.contrast, total, 0.15);
    expect_share("low resolution", tally.coarse, total, 0.125);
    expect_share("inverted gamma", tally.inverted, total, 0.1);
    expect_share("gamma", tally.gamma, total, 0.3);
    for (int k = 0; k < 3; k++) expect_share("mirror", tally.mirrored[k], total, 0.5);
}

static void flat_patches_turn_about_their_short_axis_only(void **state) {
    (void)state;
    const plan plan = plan_for(64, 16, 64);
    const augment_options options = augment_options_for(&plan, -1);
    assert_int_equal(options.flat_axis, 1);
    channel_choice channels[2];
    augment_choice choice = {.channels = channels};
    double largest = 0;
    for (uint64_t k = 0; k < 1000; k++) {
        augment_choose(&options, &(const patch_key){.iteration = k}, &choice);
        assert_true(choice.angle[0] == 0 && choice.angle[2] == 0);
        largest = fmax(largest, choice.angle[1]);
        const patch_map map = patch_map_of(&options, &choice, (const int[3]){0, 0, 0});
        assert_near(map.matrix[1][1], 1, 1e-12);
    }
    assert_true(largest > 2.5);
}

/* ---- places ----------------------------------------------------------------------------------------------------- */

static void a_third_of_a_batch_is_forced_onto_foreground(void **state) {
    (void)state;
    int forced = 0;
    for (int j = 0; j < 9; j++) forced += patch_is_forced(j, 9);
    assert_int_equal(forced, 3);
    assert_false(patch_is_forced(0, 2));
    assert_true(patch_is_forced(1, 2));
}

static void patches_stay_within_the_case(void **state) {
    (void)state;
    some_case made = case_of(20, 9, 16);
    const int patch[3] = {8, 12, 16};
    int seen[13] = {0};
    for (uint64_t k = 0; k < 2000; k++) {
        int start[3];
        patch_place(view_of(&made), patch, &(const patch_key){.iteration = k}, (int)(k % 2), start);
        assert_true(start[0] >= 0 && start[0] <= 12);
        assert_true(start[1] == -1 || start[1] == -2);
        assert_int_equal(start[2], 0);
        if (k % 2 == 0) seen[start[0]]++;
    }
    for (int k = 0; k < 13; k++) assert_true(seen[k] > 30);
    case_free(&made);
}

static void forced_patches_hold_foreground_of_every_class_alike(void **state) {
    (void)state;
    some_case made = case_of(40, 40, 40);
    memset(made.labels, 0, 64000 * sizeof *made.labels);
    made.labels[(30 * 40 + 5) * 40 + 17] = 1;
    for (int k = 0; k < 500; k++) made.labels[k] = 2;
    list_places(&made);
    const int patch[3] = {8, 8, 8};
    long rare = 0;
    for (uint64_t k = 0; k < 4000; k++) {
        int start[3];
        patch_place(view_of(&made), patch, &(const patch_key){.iteration = k, .seed = 3}, 1, start);
        if (start[0] == 26) {
            rare++;
            assert_true(start[1] == 1 && start[2] == 13);
        } else assert_int_equal(start[0], 0);
    }
    expect_share("rare class", rare, 4000, 0.5);
    case_free(&made);
}

static void without_foreground_a_forced_patch_lies_anywhere(void **state) {
    (void)state;
    some_case made = case_of(40, 40, 40);
    memset(made.first, 0, sizeof made.first);
    int low = 100, high = -100;
    for (uint64_t k = 0; k < 500; k++) {
        int start[3];
        patch_place(view_of(&made), (const int[3]){8, 8, 8}, &(const patch_key){.iteration = k}, 1, start);
        low = start[0] < low ? start[0] : low;
        high = start[0] > high ? start[0] : high;
    }
    assert_true(low == 0 && high == 32);
    case_free(&made);
}

static void boxes_beyond_the_volume_are_filled(void **state) {
    (void)state;
    const float image[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const int size[3] = {2, 2, 2}, box[3] = {2, 3, 4}, start[3] = {1, -1, -1};
    float result[24];
    box_copy_image(image, size, start, box, -9, result);
    const float expected[24] = {-9, -9, -9, -9, -9, 5,  6,  -9, -9, 7,  8,  -9,
                                -9, -9, -9, -9, -9, -9, -9, -9, -9, -9, -9, -9};
    assert_memory_equal(result, expected, sizeof result);
    const int far[3] = {9, -9, 2};
    box_copy_image(image, size, far, box, 0.5f, result);
    for (int k = 0; k < 24; k++) assert_true(result[k] == 0.5f);
}

/* ---- space ------------------------------------------------------------------------------------------------------ */

static void an_identity_map_changes_nothing(void **state) {
    (void)state;
    some_case made = case_of(30, 28, 26);
    const plan plan = plan_for(16, 18, 20);
    const augment_options options = augment_options_for(&plan, -1);
    const augment_choice choice = {.scale = 1};
    const int start[3] = {7, -3, 12};
    const patch_map map = patch_map_of(&options, &choice, start);
    float straight[16 * 18 * 20], turned[16 * 18 * 20];
    int16_t labels[16 * 18 * 20], turned_labels[16 * 18 * 20];
    spatial_scratch scratch = {0};
    const float *noise = made.image + case_view_voxels(&made.view);
    box_copy_image(noise, made.view.size, start, plan.patch, 0, straight);
    box_copy_labels(made.labels, made.view.size, start, plan.patch, -1, labels);
    assert_int_equal(spatial_image(&map, noise, made.view.size, turned, &scratch, NULL), STATUS_OK);
    spatial_labels(&map, made.labels, made.view.size, turned_labels);
    for (int k = 0; k < 16 * 18 * 20; k++) assert_near((double)turned[k], (double)straight[k], 1e-5);
    assert_memory_equal(labels, turned_labels, sizeof labels);
    spatial_scratch_close(&scratch);
    case_free(&made);
}

static void a_quarter_turn_moves_voxels_to_their_places(void **state) {
    (void)state;
    some_case made = case_of(20, 20, 20);
    const plan plan = plan_for(20, 20, 20);
    const augment_options options = augment_options_for(&plan, -1);
    const augment_choice choice = {.turned = 1, .scale = 1, .angle = {1.5707963267948966, 0, 0}};
    const patch_map map = patch_map_of(&options, &choice, (const int[3]){0, 0, 0});
    float turned[8000];
    int16_t labels[8000];
    spatial_scratch scratch = {0};
    assert_int_equal(spatial_image(&map, made.image, made.view.size, turned, &scratch, NULL), STATUS_OK);
    spatial_labels(&map, made.labels, made.view.size, labels);
    long same = 0;
    for (int z = 0; z < 20; z++)
        for (int y = 0; y < 20; y++)
            for (int x = 0; x < 20; x++) {
                const int from = (z * 20 + 19 - x) * 20 + y, to = (z * 20 + y) * 20 + x;
                assert_near((double)turned[to], (double)made.image[from], 1e-5);
                same += labels[to] == made.labels[from];
            }
    assert_true(same > 7990);
    spatial_scratch_close(&scratch);
    case_free(&made);
}

/* A slice is looked up in its own plane alone, and is the plane of a thicker patch that is turned in the same way. */
static void a_turned_slice_is_a_plane_of_a_turned_volume(void **state) {
    (void)state;
    some_case made = case_of(12, 20, 20);
    const plan thick = plan_for(3, 20, 20), thin = plan_for(1, 20, 20), narrow = plan_for(1, 20, 12);
    const augment_options volume = augment_options_for(&thick, -1), slice = augment_options_for(&thin, -1);
    assert_near(slice.rotation.high, 3.141592653589793, 1e-12);
    assert_near(augment_options_for(&narrow, -1).rotation.high, 3.141592653589793 / 12, 1e-12);
    const augment_choice choice = {.turned = 1, .scale = 1.2, .angle = {0.4, 0, 0}};
    const patch_map maps[2] = {patch_map_of(&volume, &choice, (const int[3]){6, 0, 0}),
                               patch_map_of(&slice, &choice, (const int[3]){7, 0, 0})};
    float turned[2][1200];
    int16_t labels[2][1200];
    spatial_scratch scratch = {0};
    for (int k = 0; k < 2; k++) {
        assert_int_equal(spatial_image(&maps[k], made.image, made.view.size, turned[k], &scratch, NULL), STATUS_OK);
        spatial_labels(&maps[k], made.labels, made.view.size, labels[k]);
    }
    for (int k = 0; k < 400; k++) {
        assert_near((double)turned[1][k], (double)turned[0][400 + k], 1e-4);
        assert_int_equal(labels[1][k], labels[0][400 + k]);
    }
    spatial_scratch_close(&scratch);
    case_free(&made);
}

static void scaling_shows_more_or_less_of_the_case(void **state) {
    (void)state;
    some_case made = case_of(60, 60, 60);
    const plan plan = plan_for(20, 20, 20);
    const augment_options options = augment_options_for(&plan, -1);
    const augment_choice choice = {.turned = 1, .scale = 1.4};
    const patch_map map = patch_map_of(&options, &choice, (const int[3]){20, 20, 20});
    float turned[8000];
    spatial_scratch scratch = {0};
    assert_int_equal(spatial_image(&map, made.image, made.view.size, turned, &scratch, NULL), STATUS_OK);
    for (int k = 0; k < 8000; k++) {
        const double z = 29.5 + 1.4 * (k / 400 - 9.5), y = 29.5 + 1.4 * (k / 20 % 20 - 9.5);
        const double x = 29.5 + 1.4 * (k % 20 - 9.5);
        const double f = sin(0.15 * z + 0.2) + cos(0.17 * y) + sin(0.13 * x + 0.05 * y);
        assert_near((double)turned[k], f, 2e-3);
    }
    spatial_scratch_close(&scratch);
    case_free(&made);
}

/* ---- whole patches ---------------------------------------------------------------------------------------------- */

typedef struct made_patch {
    float image[16 * 20 * 12 * 2];
    int16_t labels[16 * 20 * 12];
} made_patch;

static void make(augmenter *augmenter, some_case *from, patch_key key, made_patch *patch) {
    assert_int_equal(augmenter_make(augmenter, &(patch_request){view_of(from), key, patch_is_forced((int)key.slot, 9)},
                                    patch->image, patch->labels, NULL),
                     STATUS_OK);
}

static void equal_keys_make_equal_patches(void **state) {
    (void)state;
    some_case made = case_of(30, 18, 26);
    const plan plan = plan_for(16, 20, 12);
    const augment_options options = augment_options_for(&plan, -1);
    augmenter *one, *other;
    assert_int_equal(augmenter_open(&one, &options, NULL), STATUS_OK);
    assert_int_equal(augmenter_open(&other, &options, NULL), STATUS_OK);
    made_patch *a = malloc(sizeof *a), *b = malloc(sizeof *b), *last = calloc(1, sizeof *last);
    for (uint32_t k = 0; k < 100; k++) {
        make(one, &made, (patch_key){5, k / 9, k % 9}, a);
        make(other, &made, (patch_key){6, 99 - k, 3}, b);
        make(other, &made, (patch_key){5, k / 9, k % 9}, b);
        assert_memory_equal(a, b, sizeof *a);
        assert_true(memcmp(a, last, sizeof *a) != 0);
        memcpy(last, a, sizeof *a);
    }
    augmenter_close(&one);
    augmenter_close(&other);
    free(a), free(b), free(last);
    case_free(&made);
}

/* With the spatial part alone, labels must stay where the image says. */
static void labels_follow_the_image(void **state) {
    (void)state;
    some_case made = case_of(50, 50, 50);
    const plan plan = plan_for(16, 20, 12);
    const augment_options usual = augment_options_for(&plan, -1);
    augment_options options = augment_options_plain(&plan, -1);
    options.rotation_probability = options.scaling_probability = 0.7;
    options.rotation = usual.rotation;
    options.scaling = usual.scaling;
    for (int k = 0; k < 3; k++) options.mirror_probability[k] = 0.5;
    augmenter *augmenter;
    assert_int_equal(augmenter_open(&augmenter, &options, NULL), STATUS_OK);
    made_patch *patch = malloc(sizeof *patch);
    long wrong = 0, total = 0;
    for (uint64_t k = 0; k < 40; k++) {
        make(augmenter, &made, (patch_key){1, k, 0}, patch);
        for (int v = 0; v < 16 * 20 * 12; v++) {
            const float f = patch->image[2 * v];
            if (fabsf(f) < 0.05f || fabsf(f - 1) < 0.05f) continue;
            total++;
            wrong += patch->labels[v] != (f > 1 ? 2 : f > 0 ? 1 : 0);
        }
    }
    assert_true(total > 50000);
    assert_true(wrong < total / 200);
    augmenter_close(&augmenter);
    free(patch);
    case_free(&made);
}

static void plain_options_cut_patches_as_they_are(void **state) {
    (void)state;
    some_case made = case_of(30, 12, 26);
    const plan plan = plan_for(16, 20, 12);
    const augment_options options = augment_options_plain(&plan, 2);
    augmenter *augmenter;
    assert_int_equal(augmenter_open(&augmenter, &options, NULL), STATUS_OK);
    made_patch *patch = malloc(sizeof *patch);
    const patch_key key = {1, 2, 3};
    make(augmenter, &made, key, patch);
    int start[3];
    patch_place(view_of(&made), plan.patch, &key, 0, start);
    for (int v = 0; v < 16 * 20 * 12; v++) {
        const int z = start[0] + v / 240, y = start[1] + v / 12 % 20, x = start[2] + v % 12;
        const int within = y >= 0 && y < 12, from = (z * 12 + y) * 26 + x;
        for (int c = 0; c < 2; c++)
            assert_true(patch->image[2 * v + c] == (within ? made.image[c * 30 * 12 * 26 + from] : 0));
        const int label = within ? made.labels[from] : 0;
        assert_int_equal(patch->labels[v], label == 2 ? -1 : label);
    }
    augmenter_close(&augmenter);
    free(patch);
    case_free(&made);
}

static void masked_channels_stay_empty_where_the_image_was(void **state) {
    (void)state;
    some_case made = case_of(16, 20, 12);
    for (int v = 0; v < 16 * 20 * 12; v += 3) made.labels[v] = LABEL_OUTSIDE;
    plan plan = plan_for(16, 20, 12);
    plan.channel[1].rule = (channel_rule){.kind = NORMALISE_ZSCORE, .masked = 1};
    augment_options options = augment_options_plain(&plan, -1);
    options.noise_probability = 1;
    options.noise = (augment_range){0.1, 0.2};
    augmenter *augmenter;
    assert_int_equal(augmenter_open(&augmenter, &options, NULL), STATUS_OK);
    made_patch *patch = malloc(sizeof *patch);
    make(augmenter, &made, (patch_key){1, 2, 3}, patch);
    for (int v = 0; v < 16 * 20 * 12; v++) {
        assert_int_equal(patch->image[2 * v + 1] == 0, v % 3 == 0);
        assert_true(patch->image[2 * v] != 0 && patch->labels[v] >= 0);
    }
    augmenter_close(&augmenter);
    free(patch);
    case_free(&made);
}

static void a_case_of_other_channels_is_refused(void **state) {
    (void)state;
    some_case made = case_of(16, 20, 12);
    plan plan = plan_for(16, 20, 12);
    plan.channels = 3;
    const augment_options options = augment_options_for(&plan, -1);
    augmenter *augmenter;
    assert_int_equal(augmenter_open(&augmenter, &options, NULL), STATUS_OK);
    failure failure;
    assert_int_equal(
        augmenter_make(augmenter, &(patch_request){view_of(&made), (const patch_key){0}, 0}, NULL, NULL, &failure),
        STATUS_BAD_INPUT);
    augmenter_close(&augmenter);
    case_free(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_have_their_probabilities_and_ranges),
        cmocka_unit_test(flat_patches_turn_about_their_short_axis_only),
        cmocka_unit_test(a_third_of_a_batch_is_forced_onto_foreground),
        cmocka_unit_test(patches_stay_within_the_case),
        cmocka_unit_test(forced_patches_hold_foreground_of_every_class_alike),
        cmocka_unit_test(without_foreground_a_forced_patch_lies_anywhere),
        cmocka_unit_test(boxes_beyond_the_volume_are_filled),
        cmocka_unit_test(an_identity_map_changes_nothing),
        cmocka_unit_test(a_quarter_turn_moves_voxels_to_their_places),
        cmocka_unit_test(a_turned_slice_is_a_plane_of_a_turned_volume),
        cmocka_unit_test(scaling_shows_more_or_less_of_the_case),
        cmocka_unit_test(equal_keys_make_equal_patches),
        cmocka_unit_test(labels_follow_the_image),
        cmocka_unit_test(plain_options_cut_patches_as_they_are),
        cmocka_unit_test(masked_channels_stay_empty_where_the_image_was),
        cmocka_unit_test(a_case_of_other_channels_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
