#define _POSIX_C_SOURCE 200809L
#include "plan/plan.h"

#include "core/available.h"
#include "core/quantile.h"
#include "testing.h"

#include <unistd.h>

static const char *const MRI[] = {"T2", "CT"};

static const label_scheme *plain(int classes) {
    static label_scheme scheme;
    label_scheme_plain(&scheme, classes);
    return &scheme;
}

/* As many cases of one size and spacing. */
static fingerprint even_fingerprint(size_t count, const double spacing[3], const int size[3]) {
    fingerprint fingerprint;
    assert_int_equal(fingerprint_open(&fingerprint, count, 1, NULL), STATUS_OK);
    for (size_t k = 0; k < count; k++) {
        fingerprint.cases[k].kept = 0.95;
        for (int axis = 0; axis < 3; axis++) {
            fingerprint.cases[k].spacing[axis] = spacing[axis];
            fingerprint.cases[k].size[axis] = size[axis];
        }
    }
    fingerprint_finish(&fingerprint);
    return fingerprint;
}

static plan planned_for(const char *model, size_t count, const double spacing[3], const int size[3], int classes) {
    fingerprint fingerprint = even_fingerprint(count, spacing, size);
    plan_request request = {.dataset = "test", .channel_names = MRI, .labels = plain(classes), .memory = INFINITY};
    plan plan;
    assert_int_equal(plan_model_parse(model, &request.model, NULL), STATUS_OK);
    assert_int_equal(plan_make(&plan, &request, &fingerprint, NULL), STATUS_OK);
    fingerprint_close(&fingerprint);
    return plan;
}

static plan planned(size_t count, const double spacing[3], const int size[3], int classes) {
    return planned_for("unet", count, spacing, size, classes);
}

#define assert_three(three, a, b, c) assert_memory_equal(three, ((const int[3]){a, b, c}), sizeof(int[3]))

static void hippocampus_gets_the_known_plan(void **state) {
    (void)state;
    const plan plan = planned(260, (const double[3]){1, 1, 1}, (const int[3]){36, 50, 35}, 3);
    assert_three(plan.patch, 40, 56, 40);
    assert_int_equal(plan.batch, 9);
    assert_int_equal(plan.topology.count, 4);
    for (int k = 0; k < 4; k++) {
        assert_int_equal(plan.topology.stages[k].features, 32 << k);
        assert_three(plan.topology.stages[k].kernel, 3, 3, 3);
        assert_three(plan.topology.stages[k].stride, 1 + (k > 0), 1 + (k > 0), 1 + (k > 0));
    }
    assert_near(topology_feature_maps(&plan.topology, plan.patch, 3), 19174400, 0.5);
}

/* The patches that nnU-Net v2 has for the liver, brain tumour and pancreas sets of the Decathlon. */
static void larger_sets_get_the_known_patches(void **state) {
    (void)state;
    plan plan = planned(131, (const double[3]){1, 0.767, 0.767}, (const int[3]){432, 512, 512}, 3);
    assert_three(plan.patch, 128, 128, 128);
    assert_int_equal(plan.batch, 2);
    assert_int_equal(plan.topology.count, 6);
    assert_int_equal(plan.topology.stages[5].features, 320);
    plan = planned(484, (const double[3]){1, 1, 1}, (const int[3]){138, 170, 138}, 4);
    assert_three(plan.patch, 128, 128, 128);
    plan = planned(281, (const double[3]){2.5, 0.8, 0.8}, (const int[3]){107, 512, 512}, 3);
    assert_three(plan.patch, 40, 224, 224);
}

static void thick_slices_are_halved_later_and_get_flat_kernels(void **state) {
    (void)state;
    const plan plan = planned(32, (const double[3]){3.6, 0.62, 0.62}, (const int[3]){20, 320, 319}, 3);
    assert_three(plan.patch, 20, 320, 256);
    assert_int_equal(plan.batch, 2);
    assert_int_equal(plan.topology.count, 7);
    const int depth_stride[7] = {1, 1, 1, 2, 2, 1, 1}, depth_kernel[7] = {1, 1, 3, 3, 3, 3, 3};
    for (int k = 0; k < 7; k++) {
        assert_three(plan.topology.stages[k].stride, depth_stride[k], 1 + (k > 0), 1 + (k > 0));
        assert_three(plan.topology.stages[k].kernel, depth_kernel[k], 3, 3);
    }
}

static void the_coarse_axis_may_be_the_last(void **state) {
    (void)state;
    const plan plan = planned(50, (const double[3]){0.5, 0.5, 2}, (const int[3]){400, 300, 40}, 2);
    assert_three(plan.patch, 288, 224, 28);
    assert_three(plan.topology.stages[1].stride, 2, 2, 1);
    assert_three(plan.topology.stages[0].kernel, 3, 3, 1);
}

/* What nnU-Net's own planners give for these sizes: patch, batch and stages. */
static void residual_encoders_get_the_plans_of_nnunets_presets(void **state) {
    (void)state;
    plan plan = planned_for("resenc-m", 260, (const double[3]){1, 1, 1}, (const int[3]){36, 50, 35}, 3);
    assert_three(plan.patch, 40, 56, 40);
    assert_int_equal(plan.batch, 58);
    assert_int_equal(plan.topology.count, 4);
    assert_near(topology_feature_maps(&plan.topology, plan.patch, 3), 23609600, 0.5);
    const int blocks[4] = {1, 3, 4, 6};
    for (int k = 0; k < 4; k++) assert_int_equal(plan.topology.stages[k].blocks, blocks[k]);
    plan = planned_for("resenc-m", 484, (const double[3]){1, 1, 1}, (const int[3]){138, 170, 138}, 4);
    assert_three(plan.patch, 128, 128, 128);
    assert_int_equal(plan.batch, 2);
    assert_int_equal(plan.topology.count, 6);
    plan = planned_for("resenc-l", 100, (const double[3]){1, 1, 1}, (const int[3]){138, 170, 138}, 3);
    assert_three(plan.patch, 160, 192, 160);
    assert_int_equal(plan.batch, 3);
    assert_int_equal(plan.topology.stages[5].features, 320);
}

static void slices_lie_across_the_coarsest_axis(void **state) {
    (void)state;
    plan plan = planned_for("resenc-m-2d", 140, (const double[3]){10, 3, 3}, (const int[3]){10, 120, 110}, 4);
    assert_three(plan.patch, 1, 128, 112);
    assert_int_equal(plan.topology.count, 5);
    assert_int_equal(plan.topology.stages[4].features, 512);
    for (int k = 0; k < 5; k++) {
        assert_three(plan.topology.stages[k].kernel, 1, 3, 3);
        assert_three(plan.topology.stages[k].stride, 1, 1 + (k > 0), 1 + (k > 0));
    }
    plan = planned_for("unet-2d", 50, (const double[3]){0.5, 0.5, 2}, (const int[3]){400, 300, 40}, 2);
    assert_three(plan.patch, 448, 320, 1);
    assert_int_equal(plan.batch, 23);
    assert_int_equal(plan.topology.count, 7);
    assert_three(plan.topology.stages[6].kernel, 3, 3, 1);
    assert_int_equal(plan.topology.stages[6].blocks, 0);
    plan = planned_for("unet-2d", 20, (const double[3]){1, 1, 1}, (const int[3]){6, 7, 5}, 2);
    assert_int_equal(plan.patch[0], 1);
    assert_true(plan.topology.count >= 2);
}

static void models_have_names(void **state) {
    (void)state;
    for (int k = 0; k < PLAN_MODELS; k++) {
        const plan_model model = plan_model_at(k);
        char name[PLAN_MODEL_SIZE];
        plan_model again;
        plan_model_name(&model, name);
        assert_int_equal(plan_model_parse(name, &again, NULL), STATUS_OK);
        assert_memory_equal(&again, &model, sizeof model);
    }
    plan_model model;
    failure failure;
    assert_int_equal(plan_model_parse("wrn-16-1", &model, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "resenc-m"));
}

static void tiny_cases_are_padded_to_something_that_can_be_halved(void **state) {
    (void)state;
    const plan plan = planned(20, (const double[3]){1, 1, 1}, (const int[3]){6, 7, 5}, 2);
    assert_true(plan.topology.count >= 2);
    assert_true(plan.batch >= 2);
    for (int k = 0; k < 3; k++) assert_true(plan.patch[k] >= 7 && plan.patch[k] <= 16);
}

/* Single slices and long cases: no axis is cut to nothing, none is longer than a patch may be. */
static void patches_of_odd_cases_can_be_used(void **state) {
    (void)state;
    static const struct {
        int size[3];
        double spacing[3];
    } ODD[] = {{{1, 2048, 2048}, {999, 1, 1}}, {{1, 16, 5000}, {9999, 1, 1}}, {{5000, 8, 8}, {0.01, 1, 1}}};
    for (int k = 0; k < 3; k++) {
        const plan plan = planned(5, ODD[k].spacing, ODD[k].size, 3);
        for (int axis = 0; axis < 3; axis++) assert_in_range(plan.patch[axis], 1, PLAN_MAX_EDGE);
        assert_int_equal(plan_check(&plan, "the plan", NULL), STATUS_OK);
    }
}

static void spacings_are_medians_and_sizes_follow(void **state) {
    (void)state;
    fingerprint fingerprint = even_fingerprint(5, (const double[3]){1, 1, 1}, (const int[3]){40, 40, 40});
    for (size_t k = 0; k < 5; k++) fingerprint.cases[k].spacing[0] = 0.5 + 0.25 * (double)k;
    const plan_request request = {.dataset = "x", .channel_names = MRI, .labels = plain(2), .memory = INFINITY};
    plan plan;
    assert_int_equal(plan_make(&plan, &request, &fingerprint, NULL), STATUS_OK);
    assert_near(plan.spacing[0], 1, 1e-12);
    assert_near(plan.median_size[0], 40, 1e-12);
    fingerprint_close(&fingerprint);
}

static void an_anisotropic_set_uses_the_tenth_percentile(void **state) {
    (void)state;
    fingerprint fingerprint = even_fingerprint(11, (const double[3]){5, 0.7, 0.7}, (const int[3]){24, 300, 280});
    fingerprint.cases[3].spacing[0] = 2;
    fingerprint.cases[7].spacing[0] = 3;
    const plan_request request = {.dataset = "x", .channel_names = MRI, .labels = plain(2), .memory = INFINITY};
    plan plan;
    assert_int_equal(plan_make(&plan, &request, &fingerprint, NULL), STATUS_OK);
    assert_near(plan.spacing[0], 3, 1e-12);
    assert_near(plan.spacing[1], 0.7, 1e-12);
    assert_near(plan.median_size[0], 40, 1e-12);
    for (size_t k = 0; k < 4; k++) fingerprint.cases[k].spacing[0] = 0.1;
    assert_int_equal(plan_make(&plan, &request, &fingerprint, NULL), STATUS_OK);
    assert_near(plan.spacing[0], 0.7 + 1e-5, 1e-12);
    fingerprint_close(&fingerprint);
}

static void much_cropping_means_masked_zscores(void **state) {
    (void)state;
    fingerprint fingerprint = even_fingerprint(3, (const double[3]){1, 1, 1}, (const int[3]){40, 40, 40});
    const plan_request request = {.dataset = "x", .channel_names = MRI, .labels = plain(2), .memory = INFINITY};
    plan plan;
    assert_int_equal(plan_make(&plan, &request, &fingerprint, NULL), STATUS_OK);
    assert_false(plan.channel[0].rule.masked);
    fingerprint.cases[0].kept = fingerprint.cases[2].kept = 0.7;
    assert_int_equal(plan_make(&plan, &request, &fingerprint, NULL), STATUS_OK);
    assert_true(plan.channel[0].rule.masked);
    fingerprint_close(&fingerprint);
}

static void little_memory_makes_the_patch_smaller_or_is_refused(void **state) {
    (void)state;
    fingerprint fingerprint = even_fingerprint(131, (const double[3]){1, 1, 1}, (const int[3]){432, 512, 512});
    plan_request request = {.dataset = "x", .channel_names = MRI, .labels = plain(3), .memory = 2e9};
    plan plan;
    assert_int_equal(plan_make(&plan, &request, &fingerprint, NULL), STATUS_OK);
    assert_true(plan_memory(&plan, 1, 0) <= 2e9);
    assert_true(plan.patch[0] < 128 && plan.patch[0] >= 48);
    request.memory = 1e5;
    failure failure;
    assert_int_equal(plan_make(&plan, &request, &fingerprint, &failure), STATUS_OUT_OF_MEMORY);
    assert_non_null(strstr(failure.message, "available"));
    fingerprint_close(&fingerprint);
}

static void what_is_planned_within_the_memory_can_be_trained_in_it(void **state) {
    (void)state;
    fingerprint fingerprint = even_fingerprint(131, (const double[3]){1, 1, 1}, (const int[3]){432, 512, 512});
    plan plan;
    failure failure;
    for (double available = 1e9; available < 2e10; available *= 1.3) {
        const plan_request request = {
            .dataset = "x", .channel_names = MRI, .labels = plain(3), .memory = MEMORY_SHARE_PLANNED * available};
        assert_int_equal(plan_make(&plan, &request, &fingerprint, NULL), STATUS_OK);
        assert_int_equal(plan_fits(&plan, 0, available, NULL), STATUS_OK);
    }
    const double needed = plan_memory(&plan, 1, 0);
    assert_int_equal(plan_fits(&plan, 0, 0.9 * needed, &failure), STATUS_OUT_OF_MEMORY);
    assert_non_null(strstr(failure.message, "--precision bf16"));
    assert_int_equal(plan_fits(&plan, 1, 0.9 * needed, NULL), STATUS_OK);
    assert_int_equal(plan_fits(&plan, 1, 0.1 * needed, &failure), STATUS_OUT_OF_MEMORY);
    assert_null(strstr(failure.message, "--precision"));
    fingerprint_close(&fingerprint);
}

static void this_machine_has_memory(void **state) {
    (void)state;
    assert_true(memory_available() > 1e6);
}

/* ---- fingerprints ----------------------------------------------------------------------------------------------- */

static void a_fingerprint_sees_crops_and_foreground(void **state) {
    (void)state;
    const volume_grid grid = volume_grid_plain((const int[3]){6, 5, 4}, (const double[3]){1, 2, 3});
    volume image;
    label_map labels;
    assert_int_equal(volume_open(&image, &grid, 2, NULL), STATUS_OK);
    assert_int_equal(label_map_open(&labels, &grid, NULL), STATUS_OK);
    memset(image.voxels, 0, 240 * sizeof *image.voxels);
    for (int k = 0; k < 120; k++) {
        const int x = k % 6;
        labels.labels[k] = x == 2 ? 1 : x == 3 ? 2 : 0;
        if (x > 0 && x < 5) image.voxels[k] = x == 2 ? 10 : x == 3 ? 20 : 1, image.voxels[120 + k] = -5;
    }
    fingerprint fingerprint;
    assert_int_equal(fingerprint_open(&fingerprint, 2, 2, NULL), STATUS_OK);
    assert_int_equal(fingerprint_add(&fingerprint, 1, &image, &labels, NULL), STATUS_OK);
    memset(labels.labels, 0, 240);
    assert_int_equal(fingerprint_add(&fingerprint, 0, &image, &labels, NULL), STATUS_OK);
    fingerprint_finish(&fingerprint);
    assert_three(fingerprint.cases[1].size, 4, 5, 4);
    assert_near(fingerprint.cases[1].spacing[0], 3, 0);
    assert_near(fingerprint.cases[1].kept, 4.0 / 6, 1e-12);
    assert_near(fingerprint.intensities[0].mean, 15, 0.3);
    assert_near(fingerprint.intensities[0].deviation, 5, 0.05);
    assert_near(fingerprint.intensities[0].low, 10, 0);
    assert_near(fingerprint.intensities[0].high, 20, 0);
    assert_near(fingerprint.intensities[1].mean, -5, 1e-9);
    fingerprint_close(&fingerprint);
    volume_close(&image);
    label_map_close(&labels);
}

static void percentiles_are_numpys(void **state) {
    (void)state;
    const double sorted[4] = {1, 2, 4, 8};
    assert_near(quantile_of_sorted(sorted, 4, 50 / 100.0), 3, 1e-12);
    assert_near(quantile_of_sorted(sorted, 4, 10 / 100.0), 1.3, 1e-12);
    assert_near(quantile_of_sorted(sorted, 4, 100 / 100.0), 8, 0);
    assert_near(quantile_of_sorted(sorted, 1, 10 / 100.0), 1, 0);
}

/* ---- plans.json ------------------------------------------------------------------------------------------------- */

static plan some_plan(void) {
    plan plan = planned(32, (const double[3]){3.6, 0.62, 0.62}, (const int[3]){20, 320, 319}, 3);
    plan.channels = 2;
    strcpy(plan.dataset, "with \"quotes\" and \xc3\xa4");
    strcpy(plan.channel[1].name, "CT");
    plan.channel[1].rule =
        (channel_rule){.kind = NORMALISE_CT, .mean = 0.1, .deviation = 1 / 3.0, .low = -7, .high = 1e3};
    return plan;
}

static void plans_come_back_from_their_file(void **state) {
    (void)state;
    const plan written = some_plan();
    char path[] = "/tmp/hws_plan_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    failure failure;
    plan read;
    assert_int_equal(plan_write(&written, path, &failure), STATUS_OK);
    assert_int_equal(plan_read(&read, path, &failure), STATUS_OK);
    assert_memory_equal(&read, &written, sizeof read);
    assert_true(plan_preprocessing_checksum(&read) == plan_preprocessing_checksum(&written));
    read.batch++;
    assert_true(plan_preprocessing_checksum(&read) == plan_preprocessing_checksum(&written));
    read.channel[1].rule.high++;
    assert_true(plan_preprocessing_checksum(&read) != plan_preprocessing_checksum(&written));
    const plan residual =
        planned_for("resenc-l-2d", 32, (const double[3]){3.6, 0.62, 0.62}, (const int[3]){20, 320, 319}, 3);
    assert_int_equal(plan_write(&residual, path, &failure), STATUS_OK);
    assert_int_equal(plan_read(&read, path, &failure), STATUS_OK);
    assert_memory_equal(&read, &residual, sizeof read);
    unlink(path);
}

static const char GOOD[] =
    "{\"hws_plan\": 1, \"dataset\": \"d\", \"classes\": 2, \"spacing\": [1, 1, 1], \"median_size\": [9, 9, 9.5],"
    "\"patch\": [8, 8, 8], \"batch\": 2, \"channels\": [{\"name\": \"T2\", \"normalisation\": \"z-score\","
    "\"masked\": false, \"mean\": 0, \"deviation\": 1, \"low\": 0, \"high\": 1}], \"stages\": ["
    "{\"features\": 8, \"kernel\": [3, 3, 3], \"stride\": [1, 1, 1]},"
    "{\"features\": 16, \"kernel\": [3, 3, 3], \"stride\": [2, 2, 2]}]}";

/* GOOD with one piece of text exchanged. */
static void expect_refused(const char *piece, const char *instead, const char *message) {
    char text[2048];
    const char *at = strstr(GOOD, piece);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - GOOD), GOOD, instead, at + strlen(piece));
    plan plan;
    failure failure;
    assert_int_equal(plan_parse(&plan, "p.json", text, strlen(text), &failure), STATUS_CORRUPT);
    if (!strstr(failure.message, message)) fail_msg("'%s' is not in: %s", message, failure.message);
}

static void plans_that_cannot_be_are_refused(void **state) {
    (void)state;
    plan plan;
    assert_int_equal(plan_parse(&plan, "p.json", GOOD, strlen(GOOD), NULL), STATUS_OK);
    expect_refused("\"hws_plan\": 1", "\"hws_plan\": 2", "hws_plan");
    expect_refused("\"hws_plan\": 1, ", "", "not a plan");
    expect_refused("\"batch\": 2", "\"batch\": 2, \"bach\": 3", "bach");
    expect_refused("\"batch\": 2", "\"batch\": 2, \"batch\": 3", "line 1");
    expect_refused("\"batch\": 2, ", "", "batch");
    expect_refused("\"batch\": 2", "\"batch\": 0", "batch");
    expect_refused("\"batch\": 2", "\"batch\": 2.5", "batch");
    expect_refused("\"patch\": [8, 8, 8]", "\"patch\": [8, 8]", "patch");
    expect_refused("\"patch\": [8, 8, 8]", "\"patch\": [8, 8, 9]", "multiple of 2 x 2 x 2");
    expect_refused("\"patch\": [8, 8, 8]", "\"patch\": [4096, 4096, 4096]", "1e9");
    expect_refused("\"spacing\": [1, 1, 1]", "\"spacing\": [1, -1, 1]", "spacing");
    expect_refused("\"spacing\": [1, 1, 1]", "\"spacing\": {\"x\": 1}", "spacing");
    expect_refused("\"classes\": 2", "\"classes\": \"2\"", "classes");
    expect_refused("z-score", "score", "\"rescale\", \"rgb\" or \"none\"");
    expect_refused("\"masked\": false", "\"masked\": 0", "masked");
    expect_refused("\"low\": 0", "\"low\": 5", "low");
    expect_refused("\"dataset\": \"d\"", "\"dataset\": 7", "dataset");
    expect_refused("[2, 2, 2]", "[2, 2, 3]", "stride");
    expect_refused("\"kernel\": [3, 3, 3]", "\"kernel\": [3, 2, 3]", "kernel");
    expect_refused("\"stride\": [1, 1, 1]", "\"stride\": [1, 1, 2]", "stride");
    expect_refused("\"features\": 8", "\"features\": 8, \"x\": 1", "unknown");
    expect_refused("\"features\": 8", "\"features\": 8, \"blocks\": 1", "blocks");
    expect_refused("\"dataset\": \"d\"", "\"dataset\": \"d\", \"model\": \"resenc-m\"", "blocks");
    expect_refused("\"dataset\": \"d\"", "\"dataset\": \"d\", \"model\": \"resnet\"", "resenc-m");
    expect_refused("\"dataset\": \"d\"", "\"dataset\": \"d\", \"model\": \"unet-2d\"", "slices");
    expect_refused("}]}", "}]", "line");
    assert_int_equal(plan_parse(&plan, "p", "[]", 2, NULL), STATUS_CORRUPT);
    assert_int_equal(plan_parse(&plan, "p", "", 0, NULL), STATUS_CORRUPT);
}

#define TUMOUR                                                                                                         \
    "\"classes\": 4, \"labels\": [0, 1, 2, 4], \"regions\": [{\"name\": \"whole\", \"values\": [1, 2, 4], "            \
    "\"writes\": 2}, {\"name\": \"core\", \"values\": [1, 4], \"writes\": 4}]"

static plan parsed(const char *labels) {
    char text[2048];
    const char *at = strstr(GOOD, "\"classes\": 2");
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - GOOD), GOOD, labels, at + strlen("\"classes\": 2"));
    plan plan;
    failure failure;
    if (plan_parse(&plan, "p.json", text, strlen(text), &failure) != STATUS_OK) fail_msg("%s", failure.message);
    return plan;
}

static void label_values_and_regions_come_back_from_their_file(void **state) {
    (void)state;
    const plan written = parsed(TUMOUR);
    assert_int_equal(written.classes, 2); /* outputs of the network */
    assert_int_equal(written.labels.classes, 4);
    assert_memory_equal(written.labels.values, ((const int16_t[]){0, 1, 2, 4}), 4 * sizeof(int16_t));
    assert_memory_equal(written.labels.inside, ((const uint16_t[]){0, 3, 1, 3}), 4 * sizeof(uint16_t));
    assert_int_equal(written.labels.region[1].writes, 3);
    char path[64];
    snprintf(path, sizeof path, "regions_%ld.json", (long)getpid());
    plan read;
    failure failure;
    assert_int_equal(plan_write(&written, path, &failure), STATUS_OK);
    assert_int_equal(plan_read(&read, path, &failure), STATUS_OK);
    assert_memory_equal(&read, &written, sizeof read);
    const plan plain = parsed("\"classes\": 2");
    assert_false(plan_agrees(&plain, &read));
    unlink(path);
}

/* A run goes on although its dataset calls a channel otherwise now; networks that get the same
   images must call it the same. */
static void ensembles_have_the_same_channels(void **state) {
    (void)state;
    const plan one = parsed("\"classes\": 2");
    plan other = one;
    failure failure;
    const plan *const both[2] = {&one, &other};
    const char *const names[2] = {"runs/a", "runs/b"};
    assert_int_equal(plan_check_ensemble(both, names, "leave it", &failure), STATUS_OK);
    snprintf(other.channel[0].name, sizeof other.channel[0].name, "other");
    assert_true(plan_agrees(&one, &other));
    assert_int_equal(plan_check_ensemble(both, names, "leave it", &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "channel 0 of runs/a is "));
    assert_non_null(strstr(failure.message, ", that of runs/b is other: leave it"));
    other = one;
    other.patch[0] *= 2;
    assert_int_equal(plan_check_ensemble(both, names, "leave it", &failure), STATUS_BAD_INPUT);
    assert_string_equal(failure.message, "runs/a and runs/b were planned differently: leave it");
}

static void labels_that_cannot_be_are_refused(void **state) {
    (void)state;
    const char *classes = "\"classes\": 2";
    expect_refused(classes, "\"classes\": 3, \"labels\": [0, 1]", "labels");
    expect_refused(classes, "\"classes\": 3, \"labels\": [1, 2, 3]", "ascend from 0");
    expect_refused(classes, "\"classes\": 3, \"labels\": [0, 2, 2]", "ascend from 0");
    expect_refused(classes, "\"classes\": 3, \"labels\": [0, 1, 40000]", "labels");
    expect_refused(classes, "\"classes\": 3, \"regions\": []", "regions");
    expect_refused(classes, "\"classes\": 3, \"regions\": [{\"name\": \"a\", \"values\": [3], \"writes\": 1}]",
                   "values");
    expect_refused(classes, "\"classes\": 3, \"regions\": [{\"name\": \"a\", \"values\": [0], \"writes\": 1}]",
                   "values");
    expect_refused(classes, "\"classes\": 3, \"regions\": [{\"name\": \"a\", \"values\": [1], \"writes\": 7}]",
                   "writes");
    expect_refused(classes, "\"classes\": 3, \"regions\": [{\"name\": \"a\", \"values\": [1]}]", "writes");
    expect_refused(classes, "\"classes\": 3, \"regions\": [{\"name\": \"a\", \"x\": 1}]", "unknown");
}

/* Any byte of a plan exchanged for another: no crash, no absurd plan. */
static void damaged_plans_do_no_harm(void **state) {
    (void)state;
    uint64_t seed = 5;
    for (int trial = 0; trial < 20000; trial++) {
        char text[sizeof GOOD];
        memcpy(text, GOOD, sizeof GOOD);
        for (int k = 0; k < 1 + trial % 3; k++)
            text[test_random(&seed) % (sizeof GOOD - 1)] = (char)(32 + test_random(&seed) % 95);
        plan plan;
        failure failure;
        if (plan_parse(&plan, "p", text, sizeof text - 1, &failure) != STATUS_OK) continue;
        assert_true(plan.batch >= 1 && plan.channels == 1 && plan.topology.count == 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hippocampus_gets_the_known_plan),
        cmocka_unit_test(larger_sets_get_the_known_patches),
        cmocka_unit_test(thick_slices_are_halved_later_and_get_flat_kernels),
        cmocka_unit_test(the_coarse_axis_may_be_the_last),
        cmocka_unit_test(residual_encoders_get_the_plans_of_nnunets_presets),
        cmocka_unit_test(slices_lie_across_the_coarsest_axis),
        cmocka_unit_test(models_have_names),
        cmocka_unit_test(tiny_cases_are_padded_to_something_that_can_be_halved),
        cmocka_unit_test(patches_of_odd_cases_can_be_used),
        cmocka_unit_test(spacings_are_medians_and_sizes_follow),
        cmocka_unit_test(an_anisotropic_set_uses_the_tenth_percentile),
        cmocka_unit_test(much_cropping_means_masked_zscores),
        cmocka_unit_test(little_memory_makes_the_patch_smaller_or_is_refused),
        cmocka_unit_test(what_is_planned_within_the_memory_can_be_trained_in_it),
        cmocka_unit_test(this_machine_has_memory),
        cmocka_unit_test(a_fingerprint_sees_crops_and_foreground),
        cmocka_unit_test(percentiles_are_numpys),
        cmocka_unit_test(plans_come_back_from_their_file),
        cmocka_unit_test(plans_that_cannot_be_are_refused),
        cmocka_unit_test(label_values_and_regions_come_back_from_their_file),
        cmocka_unit_test(ensembles_have_the_same_channels),
        cmocka_unit_test(labels_that_cannot_be_are_refused),
        cmocka_unit_test(damaged_plans_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
