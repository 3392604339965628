/* libhws_predict's classifiers: pixels in memory and files get the scores of hws predict, to the
   bit, and what is refused. */
#include "hws_predict.h"

#include "core/csv.h"
#include "picture/png.h"
#include "picture/raster.h"
#include "predict/predict.h"
#include "small_classifier.h"
#include "work_folder.h"

#include <sys/wait.h>
#include <unistd.h>

enum { SIDE = 10, CLASSES = 3 };

static const char *const NAMES[CLASSES] = {"cat", "dog", "other, \"rare\""};

/* ---- runs and pictures ------------------------------------------------------------------------------------------- */

static void must(status_code status, const failure *failure) {
    if (status != STATUS_OK) fail_msg("%s", failure->message);
}

/* A run with random weights. */
static void make_model(const char *name, const char *model, int channels, int classes, double pixel_std) {
    const run_facts facts = {.version = "0",
                             .task = TASK_CLASSIFICATION,
                             .examples = 1,
                             .test_examples = 1,
                             .class_count = classes,
                             .class_names = NAMES,
                             .height = SIDE,
                             .width = SIDE,
                             .channels = channels,
                             .pixel_mean = 0.4,
                             .pixel_std = pixel_std};
    static uint64_t seed;
    small_classifier_write(work_path(name), model, &facts, ++seed);
}

static void make_run(const char *name, int channels, int classes) {
    make_model(name, "mlp-1-16", channels, classes, 0.2);
}

/* Noise on a slope. */
static void draw(uint8_t *pixels, const int size[3], uint64_t seed) {
    for (int k = 0; k < size[0] * size[1] * size[2]; k++)
        pixels[k] = (uint8_t)(60.0 + 120.0 * k / (size[0] * size[1] * size[2]) + 40 * test_unit(&seed));
}

static const int SIZES[][3] = {{SIDE, SIDE, 1}, {31, 17, 1}, {SIDE, SIDE, 3}, {12, 40, 3}, {3, 4, 3}};
enum { PICTURES = sizeof SIZES / sizeof *SIZES, PIXELS_MAX = 2000 };

static int make_all(void **state) {
    char name[32];
    uint8_t pixels[PIXELS_MAX];
    if (work_folder_open(state) != 0) return -1;
    make_run("grey", 1, CLASSES);
    make_run("grey-too", 1, CLASSES);
    make_run("colour", 3, CLASSES);
    make_run("two-classes", 1, 2);
    make_model("residual", "wrn-10-1", 1, CLASSES, 0.2);
    make_model("wide", "wrn-10-4", 3, CLASSES, 0.2);
    make_model("diverged", "mlp-1-16", 1, CLASSES, 1e-39); /* it sees infinite numbers */
    assert_int_equal(folder_make(work_path("pictures"), NULL), STATUS_OK);
    for (int k = 0; k < PICTURES; k++) {
        draw(pixels, SIZES[k], (uint64_t)k + 1);
        snprintf(name, sizeof name, "pictures/%d.png", k);
        assert_int_equal(png_save(work_path(name), pixels, (size_t)SIZES[k][1], (size_t)SIZES[k][0],
                                  SIZES[k][2] == 1 ? PNG_GREY : PNG_RGB, NULL),
                         STATUS_OK);
    }
    return 0;
}

static hws_predict_classifier *opened(const char *const *runs, int count, int threads) {
    hws_predict_classifier *classifier = NULL;
    hws_predict_error error;
    if (hws_predict_classifier_open(&classifier, runs, count, threads, &error) != HWS_PREDICT_OK)
        fail_msg("%s", error.message);
    return classifier;
}

/* ---- the same scores --------------------------------------------------------------------------------------------- */

/* What hws predict says of the pictures. */
static csv table_of(const char *const *runs, int count) {
    csv table;
    failure failure = {0};
    predict_outcome outcome;
    const predict_request request = {.runs = runs,
                                     .run_count = count,
                                     .input = work_path("pictures"),
                                     .output = work_path("scores.csv"),
                                     .weights = RUN_WEIGHTS_BEST,
                                     .threads = 1};
    must(predict(&request, NULL, &outcome, &failure), &failure);
    assert_int_equal(outcome.done, PICTURES);
    must(csv_read(&table, request.output, CSV_STRICT, &failure), &failure);
    return table;
}

/* Tables have nine digits, from which a float comes back as it was. */
static void assert_row(const csv *table, size_t row, const float *p) {
    char digits[32];
    float sum = 0;
    for (int c = 0; c < CLASSES; c++) {
        snprintf(digits, sizeof digits, "%.9g", (double)p[c]);
        assert_string_equal(csv_cell(table, row, 2 + (size_t)c), digits);
        sum += p[c];
    }
    assert_float_equal(sum, 1, 1e-5);
}

static void compare(const char *const *runs, int count, int threads) {
    csv table = table_of(runs, count);
    hws_predict_classifier *classifier = opened(runs, count, threads);
    for (size_t k = 0; k < PICTURES; k++) {
        char name[32];
        raster picture;
        float of_file[CLASSES], of_pixels[CLASSES];
        snprintf(name, sizeof name, "pictures/%zu.png", k);
        assert_string_equal(csv_cell(&table, k, 0), name + 9);
        const char *path = work_path(name);
        assert_int_equal(hws_predict_classify_file(classifier, path, of_file, NULL), HWS_PREDICT_OK);
        assert_int_equal(raster_read_greys(&picture, path, (raster_greys){0}, NULL, NULL), STATUS_OK);
        const int size[3] = {picture.height, picture.width, picture.channels};
        assert_memory_equal(size, SIZES[k], sizeof size);
        assert_int_equal(hws_predict_classify_pixels(classifier, picture.pixels, size, of_pixels, NULL),
                         HWS_PREDICT_OK);
        assert_memory_equal(of_pixels, of_file, sizeof of_file);
        assert_row(&table, k, of_pixels);
        raster_close(&picture);
    }
    hws_predict_classifier_close(&classifier);
    csv_close(&table);
}

static void pixels_and_files_get_the_scores_of_hws_predict(void **state) {
    (void)state;
    const char *grey[2] = {work_path("grey"), work_path("grey-too")}, *colour = work_path("colour");
    compare(grey, 1, 1);
    compare(grey, 2, 1);
    compare(&colour, 1, 2);
    /* hws predict works on 64 at once, and by algorithms that pay for so many. */
    const char *residual = work_path("residual"), *wide = work_path("wide");
    compare(&residual, 1, 1);
    compare(&wide, 1, 2);
}

/* Pixels that are given are left as they are, and the next picture is not touched by the last one. */
static void pixels_are_only_read(void **state) {
    (void)state;
    const char *run = work_path("grey");
    hws_predict_classifier *classifier = opened(&run, 1, 1);
    uint8_t pixels[PIXELS_MAX], before[PIXELS_MAX];
    float first[CLASSES], other[CLASSES], again[CLASSES];
    draw(pixels, SIZES[3], 9);
    memcpy(before, pixels, sizeof before);
    assert_int_equal(hws_predict_classify_pixels(classifier, pixels, SIZES[3], first, NULL), HWS_PREDICT_OK);
    assert_memory_equal(pixels, before, sizeof before);
    assert_int_equal(hws_predict_classify_pixels(classifier, pixels, SIZES[0], other, NULL), HWS_PREDICT_OK);
    assert_int_equal(hws_predict_classify_pixels(classifier, pixels, SIZES[3], again, NULL), HWS_PREDICT_OK);
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, other, sizeof first);
    hws_predict_classifier_close(&classifier);
}

static void classes_have_names(void **state) {
    (void)state;
    const char *run = work_path("grey");
    hws_predict_classifier *classifier = opened(&run, 1, 0);
    assert_int_equal(hws_predict_classifier_classes(classifier), CLASSES);
    for (int c = 0; c < CLASSES; c++) assert_string_equal(hws_predict_classifier_class_name(classifier, c), NAMES[c]);
    assert_null(hws_predict_classifier_class_name(classifier, -1));
    assert_null(hws_predict_classifier_class_name(classifier, CLASSES));
    assert_null(hws_predict_classifier_class_name(NULL, 0));
    assert_int_equal(hws_predict_classifier_classes(NULL), 0);
    hws_predict_classifier_close(&classifier);
    assert_null(classifier);
    hws_predict_classifier_close(&classifier);
    hws_predict_classifier_close(NULL);
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static void refuse_open(const char *const *runs, int count, int threads, hws_predict_status expected,
                        const char *words) {
    hws_predict_classifier *classifier = (hws_predict_classifier *)&threads;
    hws_predict_error error;
    assert_int_equal(hws_predict_classifier_open(&classifier, runs, count, threads, &error), expected);
    assert_int_equal(error.status, expected);
    if (!strstr(error.message, words)) fail_msg("'%s' lacks '%s'", error.message, words);
    assert_null(classifier);
}

static void models_that_cannot_be_are_refused(void **state) {
    (void)state;
    const char *nowhere = work_path("nowhere"), *empty = work_path("pictures"), *hole = NULL;
    const char *unlike[2] = {work_path("grey"), work_path("two-classes")};
    refuse_open(NULL, 1, 1, HWS_PREDICT_ERROR_ARGUMENT, "no model is named");
    refuse_open(&nowhere, 0, 1, HWS_PREDICT_ERROR_ARGUMENT, "no model is named");
    refuse_open(&hole, 1, 1, HWS_PREDICT_ERROR_ARGUMENT, "model 0 is NULL");
    refuse_open(&nowhere, 1, 1, HWS_PREDICT_ERROR_READ, "nowhere is not a folder");
    refuse_open(&empty, 1, 1, HWS_PREDICT_ERROR_ARGUMENT, "is not a run's folder");
    refuse_open(unlike, 1, -1, HWS_PREDICT_ERROR_ARGUMENT, "threads is -1");
    refuse_open(unlike, 1, 4097, HWS_PREDICT_ERROR_ARGUMENT, "threads is 4097");
    refuse_open(unlike, 2, 1, HWS_PREDICT_ERROR_ARGUMENT, "different classes");
    unlike[1] = work_path("colour");
    refuse_open(unlike, 2, 1, HWS_PREDICT_ERROR_ARGUMENT, "only networks for one size can be averaged");
    assert_int_equal(hws_predict_classifier_open(NULL, unlike, 1, 1, NULL), HWS_PREDICT_ERROR_ARGUMENT);
}

static void pixels_that_cannot_be_are_refused(void **state) {
    (void)state;
    const char *run = work_path("grey");
    hws_predict_classifier *classifier = opened(&run, 1, 1);
    const uint8_t pixel[3] = {0};
    const int wrong[][3] = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {1, 1, 2}, {1, 1, 4}, {-1, -1, 1}, {1 << 20, 1 << 20, 1}};
    const int right[3] = {1, 1, 1};
    float p[CLASSES];
    hws_predict_error error;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(hws_predict_classify_pixels(classifier, pixel, wrong[k], p, &error),
                         HWS_PREDICT_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, "1 or 3 channels"));
    }
    assert_int_equal(hws_predict_classify_pixels(NULL, pixel, right, p, NULL), HWS_PREDICT_ERROR_ARGUMENT);
    assert_int_equal(hws_predict_classify_pixels(classifier, NULL, right, p, NULL), HWS_PREDICT_ERROR_ARGUMENT);
    assert_int_equal(hws_predict_classify_pixels(classifier, pixel, NULL, p, NULL), HWS_PREDICT_ERROR_ARGUMENT);
    assert_int_equal(hws_predict_classify_pixels(classifier, pixel, right, NULL, &error), HWS_PREDICT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "no place"));
    assert_int_equal(hws_predict_classify_pixels(classifier, pixel, right, p, &error), HWS_PREDICT_OK);
    assert_string_equal(error.message, "");
    assert_int_equal(hws_predict_classify_file(classifier, work_path("none.png"), p, &error), HWS_PREDICT_ERROR_READ);
    assert_int_equal(hws_predict_classify_file(classifier, NULL, p, &error), HWS_PREDICT_ERROR_ARGUMENT);
    hws_predict_classifier_close(&classifier);
}

/* Neither the library nor the program gives out NaN. */
static void diverged_networks_are_refused(void **state) {
    (void)state;
    const char *run = work_path("diverged");
    hws_predict_classifier *classifier = opened(&run, 1, 1);
    hws_predict_error error;
    uint8_t pixels[PIXELS_MAX];
    float p[CLASSES];
    draw(pixels, SIZES[0], 3);
    assert_int_equal(hws_predict_classify_pixels(classifier, pixels, SIZES[0], p, &error), HWS_PREDICT_ERROR_FAILED);
    assert_non_null(strstr(error.message, "diverged"));
    hws_predict_classifier_close(&classifier);
    failure failure = {0};
    predict_outcome outcome;
    const predict_request request = {.runs = &run,
                                     .run_count = 1,
                                     .input = work_path("pictures"),
                                     .output = work_path("none.csv"),
                                     .weights = RUN_WEIGHTS_BEST,
                                     .threads = 1};
    assert_int_equal(predict(&request, NULL, &outcome, &failure), STATUS_FAILED);
    assert_false(path_exists(request.output));
}

/* Threads that a parent has started are not there in its child, which would wait for them for ever. */
static void a_child_is_told_that_threads_are_gone(void **state) {
    (void)state;
    const char *run = work_path("grey");
    uint8_t pixels[PIXELS_MAX];
    float p[CLASSES];
    draw(pixels, SIZES[0], 3);
    for (int threads = 1; threads <= 2; threads++) {
        hws_predict_classifier *classifier = opened(&run, 1, threads);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) _exit((int)hws_predict_classify_pixels(classifier, pixels, SIZES[0], p, NULL));
        int outcome = -1;
        assert_int_equal(waitpid(child, &outcome, 0), child);
        assert_true(WIFEXITED(outcome));
        assert_int_equal(WEXITSTATUS(outcome), threads == 1 ? HWS_PREDICT_OK : HWS_PREDICT_ERROR_ARGUMENT);
        assert_int_equal(hws_predict_classify_pixels(classifier, pixels, SIZES[0], p, NULL), HWS_PREDICT_OK);
        hws_predict_classifier_close(&classifier);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_and_files_get_the_scores_of_hws_predict),
        cmocka_unit_test(pixels_are_only_read),
        cmocka_unit_test(classes_have_names),
        cmocka_unit_test(models_that_cannot_be_are_refused),
        cmocka_unit_test(pixels_that_cannot_be_are_refused),
        cmocka_unit_test(diverged_networks_are_refused),
        cmocka_unit_test(a_child_is_told_that_threads_are_gone),
    };
    return cmocka_run_group_tests(tests, make_all, work_folder_close);
}
