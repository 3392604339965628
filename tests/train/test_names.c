#define _POSIX_C_SOURCE 200809L
/* Names of examples, whatever they are, stay what they are in the records, and each has a picture of its own. */
#include "core/csv.h"
#include "folders.h"
#include "points.h"
#include "run/run_folder.h"

static char long_name[300], other_long_name[300];

static const char *name_of(int64_t example) {
    static const char *const NAMES[] = {"a,b", "say \"ah\"", "Sch\xC3\xA4lung 7", "a b", "line\nend", "a/b",
                                        "..",  "50%"};
    static char numbers[POINTS][24];
    if (example < 8) return NAMES[example];
    if (example == 8) return long_name;
    if (example == 9) return other_long_name;
    snprintf(numbers[example], sizeof numbers[example], "%lld", (long long)example);
    return numbers[example];
}

static void add_name(void *context, int64_t example, text *name) {
    (void)context;
    text_add(name, name_of(example));
}

static void add_metric(void *context, int index, text *name) {
    (void)context, (void)index;
    text_add(name, "val_dice_left, \"or\" right");
}

/* The picture is the example's name. */
static status_code show_name(void *context, learner *learner, const task_exhibit *exhibits, int count,
                             failure *failure) {
    status_code status = STATUS_OK;
    (void)context, (void)learner;
    for (int k = 0; k < count && status == STATUS_OK; k++) {
        const char *name = name_of(exhibits[k].example);
        task_verdict *verdict = exhibits[k].verdict;
        snprintf(verdict->prediction, sizeof verdict->prediction, "Dice 0.5, in \"this\" plane");
        assert_false(path_exists(exhibits[k].path));
        status = whole_file_write(exhibits[k].path, name, strlen(name), failure);
    }
    return status;
}

static csv read_table(const char *where, run_file file) {
    char path[PATH_SIZE];
    csv table;
    failure why = {0};
    assert_int_equal(run_path(path, where, file, NULL), STATUS_OK);
    if (csv_read(&table, path, CSV_STRICT, &why) != STATUS_OK) fail_msg("%s", why.message);
    return table;
}

static void train_once(const char *where) {
    points p;
    trainer *t;
    trainer_end end;
    failure why = {0};
    task task = points_task(&p);
    train_settings s = points_settings();
    task.name = add_name;
    task.metric = add_metric;
    task.show = show_name;
    s.epochs = 1;
    assert_int_equal(folder_make(where, NULL), STATUS_OK);
    status_code status = trainer_open(&t, &s, &task, where, &why);
    if (status == STATUS_OK) status = trainer_begin(t, &why);
    if (status == STATUS_OK) status = trainer_run(t, NULL, &end, &why);
    if (status != STATUS_OK) fail_msg("%s", why.message);
    trainer_close(&t);
}

static void names_stay_what_they_are(void **state) {
    (void)state;
    const char *where = folder("names");
    memset(long_name, 'n', 250);
    memset(other_long_name, 'n', 249);
    other_long_name[249] = 'm';
    train_once(where);
    csv losses = read_table(where, RUN_LOSSES), hardest = read_table(where, RUN_HARDEST),
        history = read_table(where, RUN_HISTORY);
    assert_int_equal(losses.rows, POINTS);
    for (size_t k = 0; k < losses.rows; k++)
        assert_string_equal(csv_cell(&losses, k, (size_t)csv_column(&losses, "example")), name_of((int64_t)k));
    assert_true(csv_column(&history, "val_dice_left, \"or\" right") >= 0);
    assert_int_equal(hardest.rows, POINTS);
    for (size_t k = 0; k < hardest.rows; k++) {
        const char *example = csv_cell(&hardest, k, (size_t)csv_column(&hardest, "example"));
        char path[PATH_SIZE], *bytes;
        size_t size;
        assert_int_equal(run_picture_path(path, where, RUN_HARDEST_PICTURES, example, NULL), STATUS_OK);
        assert_int_equal(whole_file_read(path, 1000, &bytes, &size, NULL), STATUS_OK);
        assert_int_equal(size, strlen(example));
        assert_memory_equal(bytes, example, size); /* its own picture, not another's */
        free(bytes);
        assert_string_equal(csv_cell(&hardest, k, (size_t)csv_column(&hardest, "prediction")),
                            "Dice 0.5, in \"this\" plane");
    }
    csv_close(&losses);
    csv_close(&hardest);
    csv_close(&history);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stay_what_they_are),
    };
    return cmocka_run_group_tests(tests, folders_setup, folders_teardown);
}
