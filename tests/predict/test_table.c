/* Tables that are classified: the scores are those of the numbers that their cells become, by hand. */
#include "core/csv.h"
#include "core/whole_file.h"
#include "predict/classifier.h"
#include "predict/predict.h"
#include "small_classifier.h"
#include "work_folder.h"

enum { CLASSES = 2, WIDTH = 3, ROWS = 4 };

static const char *const NAMES[CLASSES] = {"no", "yes"};
static const char FEATURES[] = "column,word,mean,std\nage,,40,10\njob,cook,,\njob,\"nurse, ward\",,\n";
static const char TABLE[] = "job,more,age\ncook,x,50\n\"nurse, ward\",y,35\npilot,z,40\ncook,,\n";
/* (age - 40) / 10, whether a cook, whether a nurse; what is missing or unknown is 0. */
static float encoded[ROWS * WIDTH] = {1, 1, 0, -0.5f, 0, 1, 0, 0, 0, 0, 1, 0};

static void write_file(const char *name, const char *words) {
    failure failure = {0};
    small_classifier_must(whole_file_write(work_path(name), words, strlen(words), &failure), &failure);
}

static void write_run(const char *name, const char *features, uint64_t seed) {
    const run_facts facts = {.version = "0",
                             .task = TASK_CLASSIFICATION,
                             .examples = 1,
                             .test_examples = 1,
                             .class_count = CLASSES,
                             .class_names = NAMES,
                             .height = 1,
                             .width = 1,
                             .channels = WIDTH,
                             .pixel_std = 1};
    char path[64];
    small_classifier_write(work_path(name), "mlp-1-8", &facts, seed);
    snprintf(path, sizeof path, "%s/features.csv", name);
    if (features) write_file(path, features);
}

static int make_all(void **state) {
    if (work_folder_open(state) != 0) return -1;
    write_run("one", FEATURES, 1);
    write_run("two", FEATURES, 2);
    write_run("older", "column,word,mean,std\nage,,41,10\njob,cook,,\njob,\"nurse, ward\",,\n", 3);
    write_run("bare", NULL, 4);
    write_file("table.csv", TABLE);
    return 0;
}

static status_code predict_with(const char *const *names, int count, const char *input, const char *output,
                                failure *failure) {
    const char *runs[4];
    for (int k = 0; k < count; k++) runs[k] = work_path(names[k]);
    const predict_request request = {.runs = runs,
                                     .run_count = count,
                                     .input = work_path(input),
                                     .output = work_path(output),
                                     .weights = RUN_WEIGHTS_BEST,
                                     .threads = 1};
    predict_outcome outcome = {0};
    const status_code status = predict(&request, NULL, &outcome, failure);
    if (status == STATUS_OK) assert_int_equal(outcome.done, ROWS);
    return status;
}

/* What a run says of the numbers. */
static void add_expected(const char *name, float share, float *p) {
    const labelled_images set = {
        .count = ROWS, .height = 1, .width = 1, .channels = WIDTH, .classes = CLASSES, .values = encoded};
    float own[ROWS * CLASSES];
    classifier model;
    failure failure = {0};
    small_classifier_must(
        classifier_open(&model, work_path(name), &(classifier_options){RUN_WEIGHTS_BEST, 1, 0}, &failure), &failure);
    small_classifier_must(classifier_run(&model, &set, NULL, own, &failure), &failure);
    for (int k = 0; k < ROWS * CLASSES; k++) p[k] += share * own[k];
    classifier_close(&model);
}

static void scores_are(const char *file, const char *heading, const char *const *rows, const float *p) {
    csv table;
    failure failure = {0};
    small_classifier_must(csv_read(&table, work_path(file), CSV_STRICT, &failure), &failure);
    assert_int_equal(table.rows, ROWS);
    assert_string_equal(csv_name(&table, 0), heading);
    assert_string_equal(csv_name(&table, 3), "p_yes");
    for (size_t row = 0; row < ROWS; row++) {
        assert_string_equal(csv_cell(&table, row, 0), rows[row]);
        assert_string_equal(csv_cell(&table, row, 1), NAMES[p[2 * row + 1] > p[2 * row]]);
        for (size_t c = 0; c < CLASSES; c++)
            assert_near(csv_number(&table, row, 2 + c), (double)p[row * CLASSES + c], 1e-6);
    }
    csv_close(&table);
}

static void rows_get_the_scores_of_their_numbers(void **state) {
    (void)state;
    static const char *const RUNS[] = {"one", "two"}, *const ROW[] = {"0", "1", "2", "3"};
    float alone[ROWS * CLASSES] = {0}, both[ROWS * CLASSES] = {0};
    failure failure = {0};
    add_expected("one", 1, alone);
    small_classifier_must(predict_with(RUNS, 1, "table.csv", "alone.csv", &failure), &failure);
    scores_are("alone.csv", "row", ROW, alone);
    add_expected("one", 0.5f, both);
    add_expected("two", 0.5f, both);
    small_classifier_must(predict_with(RUNS, 2, "table.csv", "both.csv", &failure), &failure);
    scores_are("both.csv", "row", ROW, both);
}

static void rows_are_called_by_their_id(void **state) {
    (void)state;
    static const char *const RUN[] = {"one"}, *const ROW[] = {"a", "b, c", "", "a"};
    float expected[ROWS * CLASSES] = {0};
    failure failure = {0};
    write_file("named.csv", "age,id,job\n50,a,cook\n35,\"b, c\",\"nurse, ward\"\n40,,pilot\n?,a,cook\n");
    small_classifier_must(predict_with(RUN, 1, "named.csv", "named-scores.csv", &failure), &failure);
    add_expected("one", 1, expected);
    scores_are("named-scores.csv", "id", ROW, expected);
}

/* Labels that lie beside the pictures, say; scores of before give way. */
static void only_scores_give_way_to_scores(void **state) {
    (void)state;
    static const char *const RUN[] = {"one"};
    static const char LABELS[] = "file,label,prediction,p_yes\na.png,yes,no,0.3\n";
    failure failure = {0};
    char *bytes;
    size_t size;
    write_file("labels.csv", LABELS);
    assert_int_equal(predict_with(RUN, 1, "table.csv", "labels.csv", &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "is there already and holds no scores by hws"));
    small_classifier_must(whole_file_read(work_path("labels.csv"), 1000, &bytes, &size, &failure), &failure);
    assert_string_equal(bytes, LABELS);
    free(bytes);
    write_file("again.csv", "");
    for (int k = 0; k < 2; k++)
        small_classifier_must(predict_with(RUN, 1, "table.csv", "again.csv", &failure), &failure);
}

static void refused(const char *const *runs, int count, const char *input, const char *says) {
    failure failure = {0};
    assert_int_equal(predict_with(runs, count, input, "never.csv", &failure), STATUS_BAD_INPUT);
    if (!strstr(failure.message, says)) fail_msg("'%s' does not say '%s'", failure.message, says);
    assert_false(path_exists(work_path("never.csv")));
}

static void what_cannot_be_classified_is_refused(void **state) {
    (void)state;
    write_file("empty.csv", "job,age\n");
    write_file("words.csv", "job,age\ncook,50\ncook,\"12,5\"\n");
    write_file("infinite.csv", "job,age\ncook,inf\n");
    write_file("far.csv", "job,age\ncook,1e300\n");
    write_file("narrow.csv", "age\n50\n");
    refused((const char *[]){"one", "older"}, 2, "table.csv", "were trained on tables that become other numbers");
    refused((const char *[]){"one", "bare"}, 2, "table.csv", "cannot classify a table");
    refused((const char *[]){"bare"}, 1, "table.csv", "cannot classify a table");
    refused((const char *[]){"one"}, 1, "empty.csv", "has no rows");
    refused((const char *[]){"one"}, 1, "words.csv", "line 3: age is '12,5', but was a number");
    refused((const char *[]){"one"}, 1, "infinite.csv", "line 2: age is 'inf', but was a number");
    refused((const char *[]){"one"}, 1, "far.csv", "too far from the mean 40");
    refused((const char *[]){"one"}, 1, "narrow.csv", "lacks the column 'job'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_get_the_scores_of_their_numbers),
        cmocka_unit_test(rows_are_called_by_their_id),
        cmocka_unit_test(only_scores_give_way_to_scores),
        cmocka_unit_test(what_cannot_be_classified_is_refused),
    };
    return cmocka_run_group_tests(tests, make_all, work_folder_close);
}
