#define _XOPEN_SOURCE 700
/* libhws_predict as others see it: memory and files, grids, probabilities, cancelling, and what is refused. */
#include "hws_predict.h"

#include "failing_memory.h"
#include "nifti/nifti.h"
#include "plan/plan.h"
#include "waves.h"

#include <jansson.h>
#include <limits.h>

/* ---- models and images ------------------------------------------------------------------------------------------- */

static int make_models(void **state) {
    (void)state;
    if (open_root() != 0) return -1;
    make_run("one", 0);
    make_run("above", 0.5);
    make_run("below", -0.5);
    make_run("diverged", 8e37); /* sums of so large products are infinite */
    planned.channels = 2;
    planned.channel[1] = planned.channel[0];
    strcpy(planned.channel[1].name, "T1");
    make_run("two", 0);
    planned.channels = 1;
    return 0;
}

static hws_predict_image image_of(const volume *v) {
    hws_predict_image image = {.voxels = v->voxels, .channels = v->channels};
    memcpy(image.size, v->grid.size, sizeof image.size);
    memcpy(image.spacing, v->grid.spacing, sizeof image.spacing);
    memcpy(image.affine, v->grid.affine, sizeof v->grid.affine);
    image.affine[15] = 1;
    return image;
}

static hws_predict_options quick(void) {
    hws_predict_options options = hws_predict_options_default();
    options.mirror = 0;
    options.threads = 1;
    return options;
}

static hws_predictor *opened(const char *model, const hws_predict_options *options) {
    const char *folder = run_of(model);
    hws_predictor *predictor = NULL;
    hws_predict_error error;
    if (hws_predict_open(&predictor, &folder, 1, options, &error) != HWS_PREDICT_OK) fail_msg("%s", error.message);
    assert_int_equal(error.status, HWS_PREDICT_OK);
    assert_string_equal(error.message, "");
    return predictor;
}

static int16_t *labels_of(hws_predictor *predictor, const hws_predict_image *image) {
    hws_predict_error error;
    int16_t *labels = malloc((size_t)(image->size[0] * image->size[1] * image->size[2]) * sizeof *labels);
    assert_non_null(labels);
    if (hws_predict_labels(predictor, image, labels, &error) != HWS_PREDICT_OK) fail_msg("%s", error.message);
    return labels;
}

static void assert_several(const int16_t *labels, size_t voxels) {
    size_t counts[CLASSES] = {0};
    int seen = 0;
    for (size_t k = 0; k < voxels; k++) counts[labels[k]]++;
    for (int c = 0; c < CLASSES; c++) seen += counts[c] > voxels / 20;
    assert_true(seen >= 2);
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

/* Writes each channel into a file of its own. */
static void write_channels(const volume *image, const char **files) {
    for (int c = 0; c < image->channels; c++) {
        const volume one = {image->grid, 1, image->voxels + (size_t)c * volume_grid_voxels(&image->grid)};
        assert_int_equal(nifti_write_volume(files[c], &one, NULL), STATUS_OK);
    }
}

static void compare_with_files(hws_predictor *predictor, const volume *v) {
    hws_predict_image image = image_of(v);
    hws_predict_error error;
    const char *files[2] = {run_of("i_0000.nii.gz"), run_of("i_0001.nii.gz")}, *target = run_of("labels.nii.gz");
    int16_t *labels = labels_of(predictor, &image);
    const size_t voxels = volume_grid_voxels(&v->grid);
    assert_several(labels, voxels);
    write_channels(v, files);
    if (hws_predict_file(predictor, files, v->channels, target, &error) != HWS_PREDICT_OK)
        fail_msg("%s", error.message);
    label_map written;
    assert_int_equal(nifti_read_labels(target, &written, NULL), STATUS_OK);
    assert_memory_equal(written.labels, labels, voxels * sizeof *labels);
    assert_int_equal(volume_grid_check_same(&written.grid, &v->grid, "labels", NULL), STATUS_OK);
    assert_int_equal(written.grid.sform_code, 2);
    label_map_close(&written);
    /* From memory the file has the same labels at the same place. */
    assert_int_equal(hws_predict_write_labels(&image, labels, run_of("own.nii"), NULL), HWS_PREDICT_OK);
    assert_int_equal(nifti_read_labels(run_of("own.nii"), &written, NULL), STATUS_OK);
    assert_memory_equal(written.labels, labels, voxels * sizeof *labels);
    assert_int_equal(volume_grid_check_same(&written.grid, &v->grid, "labels", NULL), STATUS_OK);
    label_map_close(&written);
    free(labels);
}

static void memory_and_files_give_the_same_labels(void **state) {
    (void)state;
    const hws_predict_options options = quick();
    hws_predictor *one = opened("one", &options), *two = opened("two", &options);
    volume grids[] = {waves((const int[3]){40, 34, 24}, (const double[3]){1.5, 1.7, 2}, 1),
                      waves((const int[3]){18, 13, 12}, (const double[3]){3.5, 4, 5}, 1),
                      waves((const int[3]){20, 21, 22}, (const double[3]){2.5, 2, 3}, 1)};
    for (int k = 0; k < 3; k++) {
        compare_with_files(one, &grids[k]);
        volume_close(&grids[k]);
    }
    volume both = waves((const int[3]){30, 24, 20}, (const double[3]){1.5, 1.7, 2}, 2);
    compare_with_files(two, &both);
    volume_close(&both);
    hws_predict_close(&one);
    hws_predict_close(&two);
    assert_null(two);
}

/* The affine alone says how far voxels are apart; without one they lie along the axes. */
static void spacing_and_affine_stand_for_each_other(void **state) {
    (void)state;
    const hws_predict_options options = quick();
    hws_predictor *predictor = opened("one", &options);
    volume v = finer_waves();
    hws_predict_image image = image_of(&v), turned = image, plain = image, wrong = image;
    memset(turned.spacing, 0, sizeof turned.spacing);
    memset(plain.affine, 0, sizeof plain.affine);
    int16_t *expected = labels_of(predictor, &image), *a = labels_of(predictor, &turned),
            *b = labels_of(predictor, &plain);
    assert_memory_equal(a, expected, volume_grid_voxels(&v.grid) * sizeof *a);
    assert_memory_equal(b, expected, volume_grid_voxels(&v.grid) * sizeof *b);
    wrong.spacing[1] = 5;
    hws_predict_error error;
    assert_int_equal(hws_predict_labels(predictor, &wrong, a, &error), HWS_PREDICT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "along y is 5, but the affine says 1.7"));
    free(expected), free(a), free(b);
    volume_close(&v);
    hws_predict_close(&predictor);
}

static void several_models_are_averaged(void **state) {
    (void)state;
    const hws_predict_options options = quick();
    hws_predictor *middle = opened("one", &options), *both = NULL;
    const char *models[2] = {run_of("above"), run_of("below")};
    assert_int_equal(hws_predict_open(&both, models, 2, &options, NULL), HWS_PREDICT_OK);
    volume v = finer_waves();
    const hws_predict_image image = image_of(&v);
    int16_t *a = labels_of(middle, &image), *b = labels_of(both, &image);
    size_t equal = 0;
    for (size_t k = 0; k < volume_grid_voxels(&v.grid); k++) equal += a[k] == b[k];
    assert_true((double)equal > 0.999 * (double)volume_grid_voxels(&v.grid));
    free(a), free(b);
    volume_close(&v);
    hws_predict_close(&middle);
    hws_predict_close(&both);
}

/* ---- probabilities ----------------------------------------------------------------------------------------------- */

static void check_probabilities(hws_predictor *predictor, const volume *v) {
    const hws_predict_image image = image_of(v);
    const size_t voxels = volume_grid_voxels(&v->grid);
    float *p = malloc(CLASSES * voxels * sizeof *p);
    int16_t *labels = malloc(voxels * sizeof *labels), *alone = labels_of(predictor, &image);
    hws_predict_error error;
    if (hws_predict_probabilities(predictor, &image, p, labels, &error) != HWS_PREDICT_OK)
        fail_msg("%s", error.message);
    assert_memory_equal(labels, alone, voxels * sizeof *labels);
    for (size_t k = 0; k < voxels; k++) {
        double sum = 0;
        for (size_t c = 0; c < CLASSES; c++) {
            assert_true(p[c * voxels + k] >= 0 && p[c * voxels + k] <= p[(size_t)labels[k] * voxels + k]);
            sum += (double)p[c * voxels + k];
        }
        assert_near(sum, 1, 1e-6);
    }
    assert_int_equal(hws_predict_write_probabilities(&image, CLASSES, p, run_of("p.nii.gz"), NULL), HWS_PREDICT_OK);
    volume written;
    assert_int_equal(nifti_read_volume(run_of("p.nii.gz"), NIFTI_ALL_CHANNELS, &written, NULL), STATUS_OK);
    assert_int_equal(written.channels, CLASSES);
    assert_memory_equal(written.voxels, p, CLASSES * voxels * sizeof *p);
    volume_close(&written);
    free(p), free(labels), free(alone);
}

static void probabilities_sum_to_one_and_agree_with_the_labels(void **state) {
    (void)state;
    const hws_predict_options options = quick();
    hws_predictor *predictor = opened("one", &options);
    volume grids[] = {finer_waves(), waves((const int[3]){20, 21, 22}, (const double[3]){2.5, 2, 3}, 1)};
    for (int k = 0; k < 2; k++) check_probabilities(predictor, &grids[k]);
    /* Around what is not empty the background is certain. */
    const size_t plane = (size_t)(20 * 21), voxels = plane * 22;
    memset(grids[1].voxels, 0, 3 * plane * sizeof(float));
    check_probabilities(predictor, &grids[1]);
    float *p = malloc(CLASSES * voxels * sizeof *p);
    const hws_predict_image image = image_of(&grids[1]);
    assert_int_equal(hws_predict_probabilities(predictor, &image, p, NULL, NULL), HWS_PREDICT_OK);
    for (size_t k = 0; k < 3 * plane; k++) assert_true(p[k] == 1 && p[voxels + k] == 0 && p[2 * voxels + k] == 0);
    free(p);
    for (int k = 0; k < 2; k++) volume_close(&grids[k]);
    hws_predict_close(&predictor);
}

/* ---- callbacks --------------------------------------------------------------------------------------------------- */

typedef struct watcher {
    size_t done, total, stop_after;
} watcher;

static void watch(void *context, size_t done, size_t total) {
    watcher *w = context;
    assert_int_equal(done, w->done + 1);
    w->done = done;
    w->total = total;
}

static int cancels(void *context) {
    const watcher *w = context;
    return w->stop_after && w->done >= w->stop_after;
}

static void work_can_be_watched_and_cancelled(void **state) {
    (void)state;
    watcher w = {.stop_after = 2};
    hws_predict_options options = quick();
    options.progress = watch;
    options.cancel = cancels;
    options.context = &w;
    hws_predictor *predictor = opened("one", &options);
    volume v = finer_waves();
    const hws_predict_image image = image_of(&v);
    int16_t *labels = malloc(volume_grid_voxels(&v.grid) * sizeof *labels);
    hws_predict_error error;
    assert_int_equal(hws_predict_labels(predictor, &image, labels, &error), HWS_PREDICT_CANCELLED);
    assert_int_equal(error.status, HWS_PREDICT_CANCELLED);
    assert_int_equal(w.done, 2);
    /* A file is not written, and the predictor goes on. */
    const char *file = run_of("c_0000.nii"), *target = run_of("cancelled.nii");
    write_channels(&v, &file);
    w = (watcher){.stop_after = 1};
    assert_int_equal(hws_predict_file(predictor, &file, 1, target, &error), HWS_PREDICT_CANCELLED);
    assert_int_equal(nifti_inspect(target, &(nifti_info){0}, NULL), STATUS_CANNOT_READ);
    w = (watcher){0};
    assert_int_equal(hws_predict_labels(predictor, &image, labels, &error), HWS_PREDICT_OK);
    assert_int_equal(w.done, w.total);
    assert_true(w.total > 2);
    free(labels);
    volume_close(&v);
    hws_predict_close(&predictor);
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static void put_text(const char *path, const char *content) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static void a_model_tells_its_names(void **state) {
    (void)state;
    hws_predictor *predictor = opened("two", NULL);
    assert_int_equal(hws_predict_channels(predictor), 2);
    assert_int_equal(hws_predict_classes(predictor), CLASSES);
    assert_string_equal(hws_predict_channel_name(predictor, 1), "T1");
    assert_null(hws_predict_channel_name(predictor, 2));
    assert_string_equal(hws_predict_class_name(predictor, 2), "2");
    assert_null(hws_predict_class_name(predictor, -1));
    hws_predict_close(&predictor);
    make_run("named", 0);
    /* As older versions wrote it, and as it is written now. */
    const char *configs[] = {"{\"classes\": [\"background\", \"liver\"]}",
                             "{\"settings\": {}, \"facts\": {\"classes\": [\"background\", \"liver\"]}}"};
    for (int k = 0; k < 2; k++) {
        put_text(run_of("named/config.json"), configs[k]);
        predictor = opened("named", NULL);
        assert_string_equal(hws_predict_class_name(predictor, 1), "liver");
        assert_string_equal(hws_predict_class_name(predictor, 2), "2");
        hws_predict_close(&predictor);
    }
}

static void assert_not_opened(const char *model, hws_predict_status expected, const char *words) {
    const char *folder = run_of(model);
    hws_predictor *predictor = (hws_predictor *)&folder;
    hws_predict_error error;
    assert_int_equal(hws_predict_open(&predictor, &folder, 1, NULL, &error), expected);
    assert_int_equal(error.status, expected);
    if (!strstr(error.message, words)) fail_msg("'%s' does not say '%s'", error.message, words);
    assert_null(predictor);
}

static void an_exported_model_needs_a_plan_and_one_file_of_weights(void **state) {
    (void)state;
    make_run("exported", 0);
    assert_int_equal(rename(run_of("exported/best.safetensors"), run_of("exported/liver.safetensors")), 0);
    hws_predictor *predictor = opened("exported", NULL);
    hws_predict_close(&predictor);
    put_text(run_of("exported/second.safetensors"), "");
    assert_not_opened("exported", HWS_PREDICT_ERROR_ARGUMENT, "2 files of weights");
    remove(run_of("exported/second.safetensors"));
    remove(run_of("exported/liver.safetensors"));
    assert_not_opened("exported", HWS_PREDICT_ERROR_ARGUMENT, "0 files of weights");
    put_text(run_of("exported/best.safetensors"), "not weights");
    assert_not_opened("exported", HWS_PREDICT_ERROR_CORRUPT, "best.safetensors");
    put_text(run_of("exported/plans.json"), "{");
    assert_not_opened("exported", HWS_PREDICT_ERROR_CORRUPT, "plans.json");
    remove(run_of("exported/plans.json"));
    assert_not_opened("exported", HWS_PREDICT_ERROR_ARGUMENT, "plans.json");
    assert_not_opened("nowhere", HWS_PREDICT_ERROR_READ, "nowhere");
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static void assert_option_refused(const hws_predict_options *options, const char *words) {
    const char *folder = run_of("one");
    hws_predictor *predictor = NULL;
    hws_predict_error error;
    assert_int_equal(hws_predict_open(&predictor, &folder, 1, options, &error), HWS_PREDICT_ERROR_ARGUMENT);
    if (!strstr(error.message, words)) fail_msg("'%s' does not say '%s'", error.message, words);
}

static void options_that_cannot_be_are_refused(void **state) {
    (void)state;
    const hws_predict_options usual = hws_predict_options_default();
    assert_int_equal(usual.size, sizeof usual);
    assert_true(usual.mirror == 1 && usual.step == 0.5 && usual.threads == 0 && !usual.bf16 && !usual.latest);
    hws_predict_options o = usual;
    o.threads = -1;
    assert_option_refused(&o, "threads");
    o = usual, o.step = 0;
    assert_option_refused(&o, "step");
    o = usual, o.step = NAN;
    assert_option_refused(&o, "step");
    o = usual, o.mirror = 2;
    assert_option_refused(&o, "mirror");
    o = usual, o.latest = 1;
    assert_option_refused(&o, "only their best weights");
    o = usual, o.size = 0;
    assert_option_refused(&o, "hws_predict_options_default");
}

/* Programs that were built for an older library, or a newer one. */
static void options_of_other_sizes_are_understood(void **state) {
    (void)state;
    const char *folder = run_of("one");
    hws_predictor *predictor = NULL;
    struct {
        hws_predict_options known;
        long more;
    } newer;
    hws_predict_options_init(&newer.known, sizeof newer);
    assert_int_equal(newer.known.size, sizeof newer);
    assert_int_equal(newer.more, 0);
    assert_int_equal(hws_predict_open(&predictor, &folder, 1, &newer.known, NULL), HWS_PREDICT_OK);
    hws_predict_close(&predictor);
    newer.more = 1;
    assert_option_refused(&newer.known, "newer");
    hws_predict_options older = hws_predict_options_default();
    older.size = offsetof(hws_predict_options, step);
    older.step = -1; /* not there yet in that program */
    assert_int_equal(hws_predict_open(&predictor, &folder, 1, &older, NULL), HWS_PREDICT_OK);
    hws_predict_close(&predictor);
}

static void assert_image_refused(hws_predictor *predictor, const hws_predict_image *image, hws_predict_status expected,
                                 const char *words) {
    int16_t label = 77;
    hws_predict_error error;
    assert_int_equal(hws_predict_labels(predictor, image, &label, &error), expected);
    if (!strstr(error.message, words)) fail_msg("'%s' does not say '%s'", error.message, words);
    assert_int_equal(label, 77);
}

static void images_that_cannot_be_are_refused(void **state) {
    (void)state;
    hws_predictor *predictor = opened("one", NULL);
    float voxels[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const hws_predict_image good = {.voxels = voxels, .channels = 1, .size = {2, 2, 2}, .spacing = {2, 2, 2}};
    hws_predict_image image = good;
    assert_image_refused(predictor, NULL, HWS_PREDICT_ERROR_ARGUMENT, "no image");
    assert_image_refused(NULL, &good, HWS_PREDICT_ERROR_ARGUMENT, "no predictor");
    image.voxels = NULL;
    assert_image_refused(predictor, &image, HWS_PREDICT_ERROR_ARGUMENT, "no voxels");
    image = good, image.channels = 2;
    image.size[2] = 1;
    assert_image_refused(predictor, &image, HWS_PREDICT_ERROR_ARGUMENT, "2 channels, but the network needs 1");
    image = good, image.size[0] = 0;
    assert_image_refused(predictor, &image, HWS_PREDICT_ERROR_ARGUMENT, "0 x 2 x 2");
    image = good, image.size[0] = image.size[1] = image.size[2] = INT_MAX;
    assert_image_refused(predictor, &image, HWS_PREDICT_ERROR_ARGUMENT, "2147483647");
    hws_predict_close(&predictor);
}

static void diverged_networks_are_refused(void **state) {
    (void)state;
    const hws_predict_options options = quick();
    hws_predictor *predictor = opened("diverged", &options);
    volume v = finer_waves();
    const hws_predict_image image = image_of(&v);
    float *probabilities = malloc(volume_grid_voxels(&v.grid) * CLASSES * sizeof *probabilities);
    hws_predict_error error;
    assert_non_null(probabilities);
    assert_int_equal(hws_predict_probabilities(predictor, &image, probabilities, NULL, &error),
                     HWS_PREDICT_ERROR_FAILED);
    assert_non_null(strstr(error.message, "diverged"));
    free(probabilities);
    volume_close(&v);
    hws_predict_close(&predictor);
}

static void grids_and_voxels_that_cannot_be_are_refused(void **state) {
    (void)state;
    hws_predictor *predictor = opened("one", NULL);
    float voxels[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const hws_predict_image good = {.voxels = voxels, .channels = 1, .size = {2, 2, 2}, .spacing = {2, 2, 2}};
    hws_predict_image image = good;
    image.spacing[2] = -1;
    assert_image_refused(predictor, &image, HWS_PREDICT_ERROR_ARGUMENT, "along z is -1");
    image = good, image.spacing[0] = NAN;
    assert_image_refused(predictor, &image, HWS_PREDICT_ERROR_ARGUMENT, "along x");
    image = good, image.spacing[0] = 1e12;
    assert_image_refused(predictor, &image, HWS_PREDICT_ERROR_ARGUMENT, "1e+12");
    image = good, image.affine[0] = image.affine[5] = image.affine[10] = 2;
    assert_image_refused(predictor, &image, HWS_PREDICT_ERROR_ARGUMENT, "last row");
    image.affine[15] = 1, image.affine[3] = INFINITY;
    assert_image_refused(predictor, &image, HWS_PREDICT_ERROR_ARGUMENT, "row 0, column 3");
    image = good, image.reserved[3] = 1;
    assert_image_refused(predictor, &image, HWS_PREDICT_ERROR_ARGUMENT, "reserved");
    voxels[5] = NAN;
    assert_image_refused(predictor, &good, HWS_PREDICT_ERROR_NOT_FINITE, "voxel (1, 0, 1) of channel 0 is NaN");
    voxels[5] = 0;
    int16_t labels[8];
    assert_int_equal(hws_predict_labels(predictor, &good, labels, NULL), HWS_PREDICT_OK);
    hws_predict_close(&predictor);
}

static void files_that_cannot_be_are_refused(void **state) {
    (void)state;
    hws_predictor *predictor = opened("one", NULL);
    const char *missing = run_of("missing.nii"), *file = run_of("f_0000.nii"), *none = NULL;
    const char *two[2] = {file, file};
    volume v = waves((const int[3]){8, 8, 8}, (const double[3]){2, 2, 2}, 1);
    write_channels(&v, &file);
    hws_predict_error error;
    const char *target = run_of("t.nii");
    assert_int_equal(hws_predict_file(predictor, &missing, 1, target, &error), HWS_PREDICT_ERROR_READ);
    assert_non_null(strstr(error.message, "missing.nii"));
    assert_int_equal(hws_predict_file(predictor, two, 2, target, &error), HWS_PREDICT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "2 channels"));
    assert_int_equal(hws_predict_file(predictor, &file, 1, file, &error), HWS_PREDICT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "is the image"));
    assert_int_equal(hws_predict_file(predictor, &file, 1, run_of("t.png"), &error), HWS_PREDICT_ERROR_ARGUMENT);
    assert_int_equal(hws_predict_file(predictor, &file, 1, run_of("no/t.nii"), &error), HWS_PREDICT_ERROR_WRITE);
    assert_int_equal(hws_predict_file(predictor, &none, 1, target, &error), HWS_PREDICT_ERROR_ARGUMENT);
    assert_int_equal(hws_predict_file(predictor, NULL, 0, target, NULL), HWS_PREDICT_ERROR_ARGUMENT);
    assert_int_equal(hws_predict_file(predictor, &file, 1, NULL, &error), HWS_PREDICT_ERROR_ARGUMENT);
    assert_int_equal(hws_predict_file(NULL, &file, 1, target, &error), HWS_PREDICT_ERROR_ARGUMENT);
    put_text(missing, "no NIfTI file");
    assert_int_equal(hws_predict_file(predictor, &missing, 1, target, &error), HWS_PREDICT_ERROR_CORRUPT);
    volume_close(&v);
    hws_predict_close(&predictor);
}

/* Every allocation of the parts fails once: the call says so, and the predictor can be used again. */
static void memory_that_runs_out_is_told(void **state) {
    (void)state;
    const hws_predict_options options = quick();
    const char *folder = run_of("one");
    hws_predictor *predictor = NULL;
    hws_predict_status status = HWS_PREDICT_ERROR_MEMORY;
    for (long k = 0; status == HWS_PREDICT_ERROR_MEMORY; k++) {
        memory_fail_after(k);
        status = hws_predict_open(&predictor, &folder, 1, &options, NULL);
        assert_true(status == HWS_PREDICT_OK || (status == HWS_PREDICT_ERROR_MEMORY && !predictor));
        assert_true(k < 1000);
    }
    assert_true(memory_fail_after(-1) > 2);
    volume v = waves((const int[3]){9, 10, 11}, (const double[3]){3, 3, 3}, 1);
    const hws_predict_image image = image_of(&v);
    const size_t voxels = volume_grid_voxels(&v.grid);
    float *p = malloc(CLASSES * voxels * sizeof *p);
    int16_t *labels = malloc(voxels * sizeof *labels);
    status = HWS_PREDICT_ERROR_MEMORY;
    for (long k = 0; status == HWS_PREDICT_ERROR_MEMORY; k++) {
        memory_fail_after(k);
        status = hws_predict_probabilities(predictor, &image, p, labels, NULL);
        assert_true(status == HWS_PREDICT_OK || status == HWS_PREDICT_ERROR_MEMORY);
        assert_true(k < 1000);
    }
    assert_true(memory_fail_after(-1) > 10);
    free(p), free(labels);
    volume_close(&v);
    hws_predict_close(&predictor);
}

static void nothing_is_refused_too(void **state) {
    (void)state;
    hws_predict_error error;
    hws_predictor *predictor = NULL;
    const char *none = NULL;
    assert_int_equal(hws_predict_open(NULL, &none, 1, NULL, &error), HWS_PREDICT_ERROR_ARGUMENT);
    assert_int_equal(hws_predict_open(&predictor, NULL, 1, NULL, NULL), HWS_PREDICT_ERROR_ARGUMENT);
    assert_int_equal(hws_predict_open(&predictor, &none, 1, NULL, &error), HWS_PREDICT_ERROR_ARGUMENT);
    assert_int_equal(hws_predict_labels(NULL, NULL, NULL, NULL), HWS_PREDICT_ERROR_ARGUMENT);
    assert_int_equal(hws_predict_probabilities(NULL, NULL, NULL, NULL, &error), HWS_PREDICT_ERROR_ARGUMENT);
    assert_int_equal(hws_predict_read(NULL, NULL, 0, &error), HWS_PREDICT_ERROR_ARGUMENT);
    assert_int_equal(hws_predict_write_labels(NULL, NULL, NULL, &error), HWS_PREDICT_ERROR_ARGUMENT);
    assert_int_equal(hws_predict_write_probabilities(NULL, 0, NULL, "p.nii", &error), HWS_PREDICT_ERROR_ARGUMENT);
    assert_int_equal(hws_predict_channels(NULL), 0);
    assert_null(hws_predict_class_name(NULL, 0));
    hws_predict_close(NULL);
    hws_predict_close(&predictor);
    hws_predict_free(NULL);
    hws_predict_free(&(hws_predict_image){0});
    hws_predict_options_init(NULL, 100);
    assert_string_equal(hws_predict_status_text(HWS_PREDICT_CANCELLED), "cancelled by the caller");
    assert_non_null(hws_predict_status_text((hws_predict_status)99));
}

/* ---- the host's own ---------------------------------------------------------------------------------------------- */

static void *own_malloc(size_t size) { return malloc(size); }
static void own_free(void *block) { free(block); }

/* libjansson is there once in a process: a host that has chosen its allocator keeps it. */
static void the_allocator_of_jansson_is_left_alone(void **state) {
    (void)state;
    json_malloc_t before, after;
    json_free_t before_free, after_free;
    json_get_alloc_funcs(&before, &before_free);
    json_set_alloc_funcs(own_malloc, own_free);
    hws_predict_options options = quick();
    hws_predictor *predictor = opened("one", &options);
    json_get_alloc_funcs(&after, &after_free);
    json_set_alloc_funcs(before, before_free);
    hws_predict_close(&predictor);
    assert_true(after == own_malloc && after_free == own_free);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_and_files_give_the_same_labels),
        cmocka_unit_test(spacing_and_affine_stand_for_each_other),
        cmocka_unit_test(several_models_are_averaged),
        cmocka_unit_test(probabilities_sum_to_one_and_agree_with_the_labels),
        cmocka_unit_test(work_can_be_watched_and_cancelled),
        cmocka_unit_test(a_model_tells_its_names),
        cmocka_unit_test(an_exported_model_needs_a_plan_and_one_file_of_weights),
        cmocka_unit_test(options_that_cannot_be_are_refused),
        cmocka_unit_test(options_of_other_sizes_are_understood),
        cmocka_unit_test(images_that_cannot_be_are_refused),
        cmocka_unit_test(diverged_networks_are_refused),
        cmocka_unit_test(grids_and_voxels_that_cannot_be_are_refused),
        cmocka_unit_test(files_that_cannot_be_are_refused),
        cmocka_unit_test(memory_that_runs_out_is_told),
        cmocka_unit_test(nothing_is_refused_too),
        cmocka_unit_test(the_allocator_of_jansson_is_left_alone),
    };
    return cmocka_run_group_tests(tests, make_models, close_root);
}
