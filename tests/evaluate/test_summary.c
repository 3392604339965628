#define _POSIX_C_SOURCE 200809L
#include "evaluate/summary.h"

#include "core/whole_file.h"
#include "example_scores.h"

#include <unistd.h>

static const char *scratch(void) {
    static char path[64];
    snprintf(path, sizeof path, "summary_test_%ld.json", (long)getpid());
    return path;
}

static void what_was_written_is_read_back(void **state) {
    (void)state;
    const double dice[] = {0.1, 1.0 / 3, NAN, 0.7, 0, 1};
    scores written, read;
    failure failure;
    open_scores(&written, 3, dice);
    assert_int_equal(summary_write(scratch(), &written, &failure), STATUS_OK);
    assert_int_equal(summary_read(scratch(), &read, &failure), STATUS_OK);
    assert_int_equal(read.cases, 3);
    assert_int_equal(read.regions.count, 2);
    assert_string_equal(read.regions.regions[1].name, "both");
    assert_memory_equal(read.measured, written.measured, sizeof read.measured);
    for (size_t k = 0; k < 3; k++) {
        assert_string_equal(read.list[k].name, written.list[k].name);
        assert_string_equal(read.list[k].prediction, written.list[k].prediction);
        for (size_t region = 0; region < 2; region++)
            for (int metric = 0; metric < METRICS; metric++) {
                const double a = scores_at(&written, k, region)[metric], b = scores_at(&read, k, region)[metric];
                assert_true(a == b || (isnan(a) && isnan(b)));
            }
    }
    char *bytes;
    size_t size;
    assert_int_equal(whole_file_read(scratch(), 1 << 20, &bytes, &size, NULL), STATUS_OK);
    assert_non_null(strstr(bytes, "\"Dice\": NaN"));
    assert_non_null(strstr(bytes, "\"(1, 2)\""));
    /* mean of 0.1 and 0 without the NaN is 0.05; the mean over both regions is that of 0.05 and 0.6777... */
    double foreground = 0;
    assert_int_equal(sscanf(strstr(bytes, "\"Dice\": ") + 8, "%lf", &foreground), 1);
    assert_close(foreground, (0.05 + (1.0 / 3 + 0.7 + 1) / 3) / 2, 1e-14);
    free(bytes);
    remove(scratch());
    scores_close(&written);
    scores_close(&read);
}

/* In the manner of nnU-Net v2, sorted keys and all. */
static const char NNUNET[] =
    "{\"foreground_mean\": {\"Dice\": 0.5, \"IoU\": 0.4},\n"
    " \"mean\": {\"1\": {\"Dice\": NaN}},\n"
    " \"metric_per_case\": [\n"
    "  {\"metrics\": {\"(1, 2)\": {\"Dice\": 0.5, \"FN\": 3, \"IoU\": 0.4, \"Mine\": 3}, \"1\": {\"Dice\": NaN}},\n"
    "   \"prediction_file\": \"/a/NaN \\\\\\\" NaN/case_1.nii.gz\", \"reference_file\": \"/b/case_1.nii.gz\"},\n"
    "  {\"metrics\": {\"1\": {\"Dice\": null}, \"(1, 2)\": {\"Dice\": 1}},\n"
    "   \"prediction_file\": \"case.2.nrrd\", \"reference_file\": null}]}\n";

static void files_of_nnunet_are_read(void **state) {
    (void)state;
    scores read;
    failure failure;
    assert_int_equal(summary_parse("x", NNUNET, sizeof NNUNET - 1, &read, &failure), STATUS_OK);
    assert_int_equal(read.cases, 2);
    assert_string_equal(read.regions.regions[0].name, "(1, 2)");
    assert_string_equal(read.list[0].name, "case_1");
    assert_string_equal(read.list[0].prediction, "/a/NaN \\\" NaN/case_1.nii.gz");
    assert_string_equal(read.list[1].name, "case.2");
    assert_true(scores_at(&read, 0, 0)[METRIC_DICE] == 0.5 && scores_at(&read, 0, 0)[METRIC_FN] == 3);
    assert_true(isnan(scores_at(&read, 0, 1)[METRIC_DICE]) && isnan(scores_at(&read, 1, 1)[METRIC_DICE]));
    assert_true(scores_at(&read, 1, 0)[METRIC_DICE] == 1);
    assert_true(read.measured[METRIC_IOU] && !read.measured[METRIC_HD95]);
    scores_close(&read);
}

#define CASE(metrics, file) "{\"metrics\": " metrics ", \"prediction_file\": \"" file "\"}"
#define SUMMARY(cases) "{\"metric_per_case\": [" cases "]}"

static void wrong_files_are_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "",
        "{",
        "[]",
        "3",
        "NaN",
        "{}",
        "{\"metric_per_case\": {}}",
        "{\"metric_per_case\": []}",
        "{\"metric_per_case\": [3]}",
        "{\"metric_per_case\": [{}]}",
        "{\"metric_per_case\": [], \"metric_per_case\": []}",
        SUMMARY(CASE("{}", "a")),
        SUMMARY(CASE("[]", "a")),
        SUMMARY(CASE("{\"x\": {\"Dice\": 1}}", "a")),
        SUMMARY(CASE("{\"1\": 3}", "a")),
        SUMMARY(CASE("{\"1\": {\"Dice\": \"1\"}}", "a")),
        SUMMARY(CASE("{\"1\": {\"Dice\": 1.5}}", "a")),
        SUMMARY(CASE("{\"1\": {\"Dice\": -0.1}}", "a")),
        SUMMARY(CASE("{\"1\": {\"HD95\": Infinity}}", "a")),
        SUMMARY(CASE("{\"1\": {\"HD95\": 1e999}}", "a")),
        SUMMARY(CASE("{\"1\": {\"Dice\": 1}, \"(1,)\": {\"Dice\": 1}}", "a")),
        SUMMARY(CASE("{\"1\": {\"Dice\": 1}}", "a") "," CASE("{\"1\": {\"Dice\": 1}}", "a")),
        SUMMARY(CASE("{\"1\": {\"Dice\": 1}}", "a") "," CASE("{\"2\": {\"Dice\": 1}}", "b")),
        SUMMARY(CASE("{\"1\": {\"Dice\": 1}}", "a") "," CASE("{\"1\": {}, \"2\": {\"Dice\": 1}}", "b")),
        SUMMARY("{\"metrics\": {\"1\": {\"Dice\": 1}}}"),
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        scores read;
        failure failure = {0};
        if (summary_parse("x.json", wrong[k], strlen(wrong[k]), &read, &failure) == STATUS_OK)
            fail_msg("accepted: %s", wrong[k]);
        assert_true(strlen(failure.message) > 0);
        scores_close(&read);
    }
    scores read;
    failure failure;
    assert_int_equal(summary_read("no such file", &read, &failure), STATUS_CANNOT_READ);
    scores_close(&read);
    /* deep nesting must not overflow the stack */
    char *deep = malloc(200000);
    memset(deep, '[', 200000);
    assert_int_not_equal(summary_parse("x", deep, 200000, &read, &failure), STATUS_OK);
    scores_close(&read);
    free(deep);
}

static void every_shortened_file_is_refused(void **state) {
    (void)state;
    for (size_t size = 0; size < sizeof NNUNET - 3; size++) {
        char *copy = malloc(size + 1); /* without a zero behind it, for the sanitizer to watch */
        memcpy(copy, NNUNET, size);
        scores read;
        assert_int_not_equal(summary_parse("x", copy, size, &read, NULL), STATUS_OK);
        scores_close(&read);
        free(copy);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read_back),
        cmocka_unit_test(files_of_nnunet_are_read),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(every_shortened_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
