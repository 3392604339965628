#define _XOPEN_SOURCE 700
/* hws predict as a library call: folders of volumes, what is left alone, stopping and going on. */
#include "predict/predict.h"

#include "core/whole_file.h"
#include "nifti/nifti.h"
#include "plan/plan.h"
#include "predict/probability_file.h"
#include "waves.h"
#include "zip/zip_archive.h"

#include <unistd.h>

enum { CASES = 3 };

/* Exported models (no config.json), and a folder of images. */
static int make_images(void **state) {
    (void)state;
    if (open_root() != 0) return -1;
    make_run("middle", 0);
    make_run("above", 0.5);
    make_run("below", -0.5);
    assert_int_equal(folder_make(run_of("images"), NULL), STATUS_OK);
    for (int k = 0; k < CASES; k++) {
        char name[64];
        volume image = waves((const int[3]){20 + k, 18, 17}, (const double[3]){2, 2.5, 3}, 1);
        snprintf(name, sizeof name, "images/case%d_0000.nii%s", k, k ? ".gz" : "");
        assert_int_equal(nifti_write_volume(run_of(name), &image, NULL), STATUS_OK);
        volume_close(&image);
    }
    return 0;
}

static predict_request asked(const char *const *runs, int count, const char *output) {
    return (predict_request){
        .runs = runs, .run_count = count, .input = run_of("images"), .output = output, .threads = 1, .step = 0.5};
}

static predict_outcome outcome_of(const predict_request *request) {
    failure why;
    predict_outcome outcome;
    if (predict(request, NULL, &outcome, &why) != STATUS_OK) fail_msg("%s", why.message);
    assert_true(outcome.volumes);
    return outcome;
}

static size_t must_predict(const predict_request *request) { return outcome_of(request).done; }

static label_map labels_at(const char *path) {
    label_map labels;
    if (nifti_read_labels(path, &labels, NULL) != STATUS_OK) fail_msg("%s cannot be read", path);
    return labels;
}

static double agreement(const char *a, const char *b) {
    label_map one = labels_at(a), other = labels_at(b);
    const size_t voxels = volume_grid_voxels(&one.grid);
    size_t equal = 0;
    assert_int_equal(voxels, volume_grid_voxels(&other.grid));
    for (size_t k = 0; k < voxels; k++) equal += one.labels[k] == other.labels[k];
    label_map_close(&one);
    label_map_close(&other);
    return (double)equal / (double)voxels;
}

static void every_case_gets_a_label_map(void **state) {
    (void)state;
    const char *middle[1] = {run_of("middle")}, *both[2] = {run_of("above"), run_of("below")};
    predict_request one = asked(middle, 1, run_of("one")), two = asked(both, 2, run_of("deep/er"));
    assert_int_equal(must_predict(&one), CASES);
    assert_int_equal(must_predict(&two), CASES);
    assert_true(agreement(run_of("one/case0.nii"), run_of("deep/er/case0.nii")) > 0.999);
    assert_true(agreement(run_of("one/case2.nii.gz"), run_of("deep/er/case2.nii.gz")) > 0.999);
}

/* Against the definition: 1 bit of sign, 5 of exponent, 10 of fraction; the nearest one, the even one of two. */
static void probabilities_become_the_nearest_half_precision_numbers(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (int trial = 0; trial < 20000; trial++) {
        const double p = trial < 4 ? (double[]){0, 1, 0.5, 0x1p-14}[trial] : ldexp(test_unit(&seed), -(trial % 30));
        const uint16_t half = half_of_probability((float)p);
        const double value = half >> 10 ? ldexp(1024 + (half & 1023), (half >> 10) - 25) : ldexp(half, -24);
        const int exponent = half >> 10 ? (half >> 10) - 25 : -24;
        assert_true(half <= 15 << 10);
        assert_true(fabs(value - (double)(float)p) <= ldexp(0.5, exponent));
    }
}

static void probabilities_are_saved_beside_the_labels(void **state) {
    (void)state;
    const char *runs[1] = {run_of("middle")};
    predict_request request = asked(runs, 1, run_of("saved"));
    request.save_probabilities = 1;
    assert_int_equal(must_predict(&request), CASES);
    char *bytes = NULL;
    size_t size = 0;
    zip_archive *archive = NULL;
    failure why;
    assert_int_equal(whole_file_read(run_of("saved/case1.npz"), 1 << 24, &bytes, &size, &why), STATUS_OK);
    if (zip_open(&archive, bytes, size, "case1.npz", &why) != STATUS_OK) fail_msg("%s", why.message);
    const zip_entry *array = zip_find(archive, "probabilities.npy");
    assert_non_null(array);
    assert_int_equal(zip_verify(archive, array, NULL), STATUS_OK);
    assert_int_equal(array->size, 128 + 2 * CLASSES * 21 * 18 * 17);
    zip_close(&archive);
    free(bytes);
    assert_int_equal(unlink(run_of("saved/case1.npz")), 0);
    assert_int_equal(must_predict(&request), CASES); /* what is missing is made again */
    assert_true(path_exists(run_of("saved/case1.npz")));
}

static void a_single_file_is_a_case(void **state) {
    (void)state;
    const char *runs[1] = {run_of("middle")};
    predict_request request = asked(runs, 1, run_of("single"));
    request.input = run_of("images/case1_0000.nii.gz");
    assert_int_equal(must_predict(&request), 1);
    assert_true(path_exists(run_of("single/case1.nii.gz")));
    assert_false(path_exists(run_of("single/case0.nii")));
    request.input = run_of("images/none.nii.gz");
    predict_outcome outcome;
    failure why;
    assert_int_equal(predict(&request, NULL, &outcome, &why), STATUS_CANNOT_READ);
    assert_non_null(strstr(why.message, "none.nii.gz"));
    request.input = run_of("images/case1_0000.nii.gz");
    request.output = run_of("images");
    assert_int_equal(predict(&request, NULL, &outcome, &why), STATUS_BAD_INPUT);
}

static void what_is_there_is_left_alone_unless_it_is_to_be_overwritten(void **state) {
    (void)state;
    const char *runs[1] = {run_of("middle")};
    predict_request request = asked(runs, 1, run_of("kept"));
    assert_int_equal(must_predict(&request), CASES);
    label_map mine = labels_at(run_of("kept/case1.nii.gz")), read;
    for (size_t k = 0; k < volume_grid_voxels(&mine.grid); k++) mine.labels[k] = 7;
    assert_int_equal(nifti_write_labels(run_of("kept/case1.nii.gz"), &mine, NULL), STATUS_OK);
    assert_int_equal(unlink(run_of("kept/case0.nii")), 0);
    predict_outcome outcome = outcome_of(&request);
    assert_int_equal(outcome.done, CASES);
    assert_int_equal(outcome.found, CASES - 1);
    read = labels_at(run_of("kept/case1.nii.gz"));
    assert_memory_equal(read.labels, mine.labels, volume_grid_voxels(&mine.grid) * sizeof *mine.labels);
    label_map_close(&read);
    request.overwrite = 1;
    outcome = outcome_of(&request);
    assert_int_equal(outcome.done, CASES);
    assert_int_equal(outcome.found, 0);
    read = labels_at(run_of("kept/case1.nii.gz"));
    assert_int_not_equal(read.labels[0], 7);
    label_map_close(&read);
    label_map_close(&mine);
}

typedef struct patience {
    size_t told, total;
    size_t until; /* of a thousand steps per case; 0: for ever */
} patience;

static void listen(void *context, const char *what, size_t done, size_t total) {
    patience *p = context;
    assert_string_equal(what, "predicting");
    assert_true(done >= p->told && done <= total);
    p->told = done;
    p->total = total;
}

static int lose_patience(void *context) {
    const patience *p = context;
    return p->until && p->told >= p->until;
}

static void stopped_work_goes_on(void **state) {
    (void)state;
    patience p = {.until = 1001};
    const listener listener = {.context = &p, .progress = listen, .stop = lose_patience};
    const char *runs[1] = {run_of("middle")};
    const predict_request request = asked(runs, 1, run_of("stopped"));
    failure why;
    predict_outcome outcome;
    assert_int_equal(predict(&request, &listener, &outcome, &why), STATUS_STOPPED);
    assert_int_equal(why.status, STATUS_STOPPED);
    assert_non_null(strstr(why.message, "goes on with the others"));
    assert_int_equal(outcome.done, 1);
    assert_true(path_exists(run_of("stopped/case0.nii")));
    assert_false(path_exists(run_of("stopped/case1.nii.gz")));
    p = (patience){0};
    assert_int_equal(predict(&request, &listener, &outcome, &why), STATUS_OK);
    assert_int_equal(outcome.done, CASES);
    assert_int_equal(p.total, CASES * 1000);
    assert_int_equal(p.told, p.total);
    assert_true(path_exists(run_of("stopped/case1.nii.gz")));

    p = (patience){.until = 1001};
    predict_request again = request;
    again.overwrite = 1;
    assert_int_equal(predict(&again, &listener, &outcome, &why), STATUS_STOPPED);
    assert_non_null(strstr(why.message, "the same command predicts all again, without --overwrite"));
}

static void assert_refused(const predict_request *request, status_code expected, const char *words) {
    failure why;
    predict_outcome outcome;
    assert_int_equal(predict(request, NULL, &outcome, &why), expected);
    if (!strstr(why.message, words)) fail_msg("'%s' does not say '%s'", why.message, words);
    assert_int_equal(outcome.done, 0);
}

static void what_cannot_be_is_refused_before_anything_is_written(void **state) {
    (void)state;
    const char *runs[1] = {run_of("middle")}, *nowhere[1] = {run_of("nowhere")};
    predict_request request = asked(runs, 1, run_of("images"));
    assert_refused(&request, STATUS_BAD_INPUT, "holds the images");
    assert_int_equal(folder_make(run_of("dataset/labelsTr"), NULL), STATUS_OK);
    assert_int_equal(whole_file_write(run_of("dataset/dataset.json"), "{}", 2, NULL), STATUS_OK);
    request = asked(runs, 1, run_of("dataset/labelsTr/"));
    assert_refused(&request, STATUS_BAD_INPUT, "is the labelsTr of a dataset");
    request = asked(nowhere, 1, run_of("not"));
    assert_refused(&request, STATUS_BAD_INPUT, "nowhere");
    request = asked(runs, 1, run_of("not"));
    request.input = run_of("nothing");
    assert_refused(&request, STATUS_CANNOT_READ, "nothing");
    request.input = run_of("middle");
    assert_refused(&request, STATUS_BAD_INPUT, "holds no image");
    assert_false(path_exists(run_of("not")));
}

static void put_image(const char *name, int channels) {
    volume image = waves((const int[3]){20, 18, 17}, (const double[3]){2, 2.5, 3}, channels);
    assert_int_equal(nifti_write_volume(run_of(name), &image, NULL), STATUS_OK);
    volume_close(&image);
}

static void cut(const char *name, size_t size) {
    char *bytes;
    size_t all;
    assert_int_equal(whole_file_read(run_of(name), 1 << 24, &bytes, &all, NULL), STATUS_OK);
    assert_true(all > size);
    assert_int_equal(whole_file_write(run_of(name), bytes, size, NULL), STATUS_OK);
    free(bytes);
}

static void broken_images_do_not_keep_others_from_being_predicted(void **state) {
    (void)state;
    const char *runs[1] = {run_of("middle")};
    predict_request request = asked(runs, 1, run_of("some"));
    predict_outcome outcome;
    failure why;
    assert_int_equal(folder_make(run_of("broken"), NULL), STATUS_OK);
    put_image("broken/a_0000.nii", 1);
    put_image("broken/b_0000.nii.gz", 1);
    put_image("broken/c_0000.nii", 1);
    put_image("broken/d_0000.nii", 1);
    cut("broken/b_0000.nii.gz", 9000); /* its header is whole */
    cut("broken/c_0000.nii", 100);
    request.input = run_of("broken");
    for (int again = 0; again < 2; again++) {
        assert_int_equal(predict(&request, NULL, &outcome, &why), STATUS_FAILED);
        assert_non_null(strstr(why.message, "2 of 4 cases could not be predicted, the others are in "));
        const char *b = strstr(why.message, "b_0000.nii.gz is cut off"), *c = strstr(why.message, "; ");
        assert_true(b && c && b < c && strstr(c, "c_0000.nii "));
        assert_int_equal(outcome.done, 2);
        assert_int_equal(outcome.found, again ? 2 : 0);
        assert_true(path_exists(run_of("some/a.nii")) && path_exists(run_of("some/d.nii")));
        assert_false(path_exists(run_of("some/b.nii.gz")) || path_exists(run_of("some/c.nii")));
    }
    request.input = run_of("broken/b_0000.nii.gz"); /* alone, it is what was asked for */
    assert_int_equal(predict(&request, NULL, &outcome, &why), STATUS_CORRUPT);
    assert_null(strstr(why.message, "others"));
}

static void hear(void *context, const char *message) { snprintf(context, 1000, "%s", message); }

static void a_doubtful_spacing_is_told(void **state) {
    (void)state;
    const char *runs[1] = {run_of("middle")};
    predict_request request = asked(runs, 1, run_of("doubted"));
    predict_outcome outcome;
    char heard[1000] = "";
    const listener listener = {.context = heard, .notice = hear};
    volume image = waves((const int[3]){20, 18, 17}, (const double[3]){2, 2.5, 3}, 1);
    assert_int_equal(folder_make(run_of("doubtful"), NULL), STATUS_OK);
    for (int k = 0; k < 3; k++) image.grid.sform[k][2] *= 2;
    assert_int_equal(nifti_write_volume(run_of("doubtful/a_0000.nii"), &image, NULL), STATUS_OK);
    volume_close(&image);
    request.input = run_of("doubtful");
    assert_int_equal(predict(&request, &listener, &outcome, NULL), STATUS_OK);
    assert_non_null(
        strstr(heard, "a: the sform puts voxels 2 x 2.5 x 6 mm apart, the spacing (pixdim) is 2 x 2.5 x 3"));
}

static void wrong_channels_are_told_before_any_case_is_predicted(void **state) {
    (void)state;
    const char *runs[1] = {run_of("middle")};
    predict_request request = asked(runs, 1, run_of("none"));
    assert_int_equal(folder_make(run_of("channels"), NULL), STATUS_OK);
    put_image("channels/a_0000.nii", 1);
    put_image("channels/b_0000.nii", 2);
    request.input = run_of("channels");
    assert_refused(&request, STATUS_BAD_INPUT, "b_0000.nii holds 2 channels, but the network needs 1");
    assert_false(path_exists(run_of("none")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_gets_a_label_map),
        cmocka_unit_test(probabilities_become_the_nearest_half_precision_numbers),
        cmocka_unit_test(probabilities_are_saved_beside_the_labels),
        cmocka_unit_test(a_single_file_is_a_case),
        cmocka_unit_test(what_is_there_is_left_alone_unless_it_is_to_be_overwritten),
        cmocka_unit_test(stopped_work_goes_on),
        cmocka_unit_test(broken_images_do_not_keep_others_from_being_predicted),
        cmocka_unit_test(a_doubtful_spacing_is_told),
        cmocka_unit_test(wrong_channels_are_told_before_any_case_is_predicted),
        cmocka_unit_test(what_cannot_be_is_refused_before_anything_is_written),
    };
    return cmocka_run_group_tests(tests, make_images, close_root);
}
