#define _POSIX_C_SOURCE 200809L
/* Training as one call: requests that are carried out and refused, and the listener. */
#include "train/train.h"

#include "core/whole_file.h"
#include "folders.h"
#include "run/run_folder.h"

#include <jansson.h>

static const train_option SMALL[] = {{"model", "mlp-1-16"}, {"batch", "16"},      {"epochs", "2"}, {"threads", "1"},
                                     {"keep", "3=0.5"},     {"objective", "dro"}, {"beta", "0.01"}};
enum { SMALL_COUNT = sizeof SMALL / sizeof *SMALL };

typedef struct heard {
    int begun, reports, rows, notices, stop_after;
    char notice[1024];
} heard;

static void hear_begin(void *context, const trainer *trainer) {
    ((heard *)context)->begun++;
    assert_non_null(trainer->learner);
}

static void hear_report(void *context, const trainer *trainer, double loss, const double *row) {
    heard *h = context;
    (void)trainer;
    assert_true(isfinite(loss));
    h->reports++;
    h->rows += row != NULL;
}

static void hear_notice(void *context, const char *message) {
    heard *h = context;
    if (!h->notices++) snprintf(h->notice, sizeof h->notice, "%s", message);
}

static int is_enough(void *context) {
    const heard *h = context;
    return h->stop_after && h->reports >= h->stop_after;
}

static train_listener listener_of(heard *h) {
    return (train_listener){
        .work = {.context = h, .notice = hear_notice, .stop = is_enough}, .begin = hear_begin, .report = hear_report};
}

static status_code train(const char *where, const char *data, const train_option *options, size_t count, heard *h,
                         failure *why) {
    const train_request request = {.folder = where, .data = data, .options = options, .option_count = count};
    const train_listener listener = listener_of(h);
    train_outcome outcome = {0};
    return train_run(&request, &listener, &outcome, why);
}

static status_code resume(const char *where, const train_option *options, size_t count, heard *h, failure *why) {
    const train_request request = {.folder = where, .resume = 1, .options = options, .option_count = count};
    const train_listener listener = listener_of(h);
    train_outcome outcome = {0};
    return train_run(&request, &listener, &outcome, why);
}

static void a_run_that_is_stopped_and_resumed_is_the_same_run(void **state) {
    (void)state;
    heard whole = {0}, first = {.stop_after = 5}, second = {0};
    failure why = {0};
    if (train(folder("whole"), "digits:100,40", SMALL, SMALL_COUNT, &whole, &why) != STATUS_OK)
        fail_msg("%s", why.message);
    assert_true(whole.begun == 1 && whole.rows == 2 && whole.reports > 5 && whole.notices == 0);
    assert_int_equal(train(folder("parts"), "digits:100,40", SMALL, SMALL_COUNT, &first, &why), STATUS_STOPPED);
    assert_non_null(strstr(why.message, "--resume"));
    assert_int_equal(first.reports, 5);
    assert_int_equal(resume(folder("parts"), NULL, 0, &second, &why), STATUS_OK);
    assert_int_equal(second.reports, whole.reports - 5);
    assert_same_file(folder("whole"), folder("parts"), "latest.safetensors");
    assert_same_file(folder("whole"), folder("parts"), "config.json");
    assert_same_file(folder("whole"), folder("parts"), "losses.csv");
}

/* The time decides the settings; these alone decide the bits when the run is repeated. */
static void a_budget_chooses_settings_that_the_run_keeps(void **state) {
    (void)state;
    static const train_option TIMED[] = {
        {"model", "mlp-1-16"}, {"batch", "16"}, {"threads", "1"}, {"objective", "erm"}, {"budget", "10h"}};
    heard timed = {.stop_after = 5}, repeated = {.stop_after = 5};
    failure why = {0};
    char config[PATH_SIZE];
    train_settings chosen = settings_default();
    train_outcome outcome = {0};
    assert_int_equal(train(folder("timed"), "digits:100,40", TIMED, 5, &timed, &why), STATUS_STOPPED);
    assert_non_null(strstr(timed.notice, "budget 10h: an iteration of 16 takes "));
    assert_int_equal(run_path(config, folder("timed"), RUN_CONFIG, NULL), STATUS_OK);
    assert_int_equal(run_config_read_settings(&chosen, config, NULL), STATUS_OK);
    assert_true(chosen.iterations > 100 && chosen.epoch_length > 1 && chosen.schedule == SCHEDULE_POLY);
    assert_string_equal(chosen.budget, "10h");
    settings_close(&chosen);
    const train_listener listener = listener_of(&repeated);
    const train_request again = {.folder = folder("untimed"), .config = config};
    assert_int_equal(train_run(&again, &listener, &outcome, &why), STATUS_STOPPED);
    assert_same_file(folder("timed"), folder("untimed"), "config.json");
    assert_same_file(folder("timed"), folder("untimed"), "latest.safetensors");
    assert_same_file(folder("timed"), folder("untimed"), "losses.csv");
}

static void jtt_trains_twice_within_a_budget(void **state) {
    (void)state;
    static const train_option TIMED[] = {{"model", "mlp-1-16"}, {"batch", "16"},   {"threads", "1"},
                                         {"objective", "jtt"},  {"budget", "10h"}, {"jtt_epochs", "9"}};
    failure why = {0};
    for (size_t count = 5; count <= 6; count++) { /* 9 are more than an untimed run has */
        heard h = {.stop_after = 2};
        assert_int_equal(train(folder(count == 5 ? "twice" : "twice-9"), "digits:100,40", TIMED, count, &h, &why),
                         STATUS_STOPPED);
        assert_int_equal(h.reports, 2);
    }
}

static train_settings settings_of(const char *where) {
    char path[PATH_SIZE];
    train_settings s = settings_default();
    assert_int_equal(run_path(path, where, RUN_CONFIG, NULL), STATUS_OK);
    assert_int_equal(run_config_read_settings(&s, path, NULL), STATUS_OK);
    return s;
}

/* Of lengths as settings.h records them. Whole entries count, since the clock may well set 41234567
   iterations at the third. */
static int has_length(const char *lengths, const char *entry) {
    char all[1024], one[64];
    assert_true(snprintf(all, sizeof all, ",%s,", lengths) < (int)sizeof all);
    assert_true(snprintf(one, sizeof one, ",%s,", entry) < (int)sizeof one);
    return strstr(all, one) != NULL;
}

/* The config of a run whose clock changed its length; an option that says how long to train replaces all of it. */
static void an_old_budget_does_not_decide_a_new_length(void **state) {
    (void)state;
    static const char CONFIG[] = "{\"settings\": {\"data\": \"digits:100,40\", \"model\": \"mlp-1-16\", \"batch\": 16, "
                                 "\"threads\": 1, \"objective\": \"erm\", \"iterations\": 20, \"budget\": \"10h\", "
                                 "\"budget_costs\": \"1 1 1\", \"budget_lengths\": \"3:4\"}, "
                                 "\"facts\": {\"task\": \"classification\"}}";
    static const struct {
        train_option option;
        long long reports;
    } LENGTHS[] = {{{"iterations", "7"}, 7}, {{"epochs", "2"}, 12}, {{"lr", "0.1"}, 4}, {{"budget", "10h"}, 9}};
    failure why = {0};
    char config[PATH_SIZE];
    file_write(folders_root, "old-budget.json", CONFIG, sizeof CONFIG - 1);
    snprintf(config, sizeof config, "%s/old-budget.json", folders_root);
    for (int k = 0; k < 4; k++) {
        heard h = {.stop_after = 9 + 10 * (k < 3)}; /* the budget's is long */
        char name[32];
        snprintf(name, sizeof name, "old-budget-%d", k);
        const train_listener listener = listener_of(&h);
        const train_request request = {
            .folder = folder(name), .config = config, .options = &LENGTHS[k].option, .option_count = 1};
        train_outcome outcome = {0};
        const status_code status = train_run(&request, &listener, &outcome, &why);
        assert_int_equal(status, k < 3 ? STATUS_OK : STATUS_STOPPED);
        assert_int_equal(h.reports, LENGTHS[k].reports);
        train_settings s = settings_of(folder(name));
        assert_string_equal(s.budget, k < 2 ? "" : "10h");
        assert_int_equal(has_length(s.budget_lengths, "3:4"), k == 2);
        settings_close(&s);
    }
}

/* What the help promises of options holds for a config, too; what neither names is chosen. */
static void a_budget_keeps_what_a_config_by_hand_names(void **state) {
    (void)state;
    static const char CONFIG[] = "{\"model\": \"mlp-1-16\", \"batch\": 16, \"threads\": 1, \"objective\": \"erm\", "
                                 "\"schedule\": \"cosine\", \"epoch_length\": 5}";
    static const train_option TIMED = {"budget", "10h"};
    heard h = {.stop_after = 2};
    failure why = {0};
    char config[PATH_SIZE];
    train_outcome outcome = {0};
    file_write(folders_root, "by-hand.json", CONFIG, sizeof CONFIG - 1);
    snprintf(config, sizeof config, "%s/by-hand.json", folders_root);
    const train_listener listener = listener_of(&h);
    const train_request request = {
        .folder = folder("by-hand"), .data = "digits:100,40", .config = config, .options = &TIMED, .option_count = 1};
    assert_int_equal(train_run(&request, &listener, &outcome, &why), STATUS_STOPPED);
    train_settings s = settings_of(folder("by-hand"));
    assert_true(s.schedule == SCHEDULE_COSINE && s.epoch_length == 5 && s.iterations > 100);
    settings_close(&s);
}

/* One object, as older versions wrote it. */
static void make_old(const char *where) {
    json_t *entries;
    char path[PATH_SIZE];
    assert_int_equal(run_config_entries(where, &entries, NULL), STATUS_OK);
    assert_int_equal(run_path(path, where, RUN_CONFIG, NULL), STATUS_OK);
    assert_int_equal(json_dump_file(entries, path, JSON_INDENT(4)), 0);
    assert_null(json_object_get(entries, "settings"));
    json_decref(entries);
}

static void a_run_of_an_older_version_is_resumed_and_repeated(void **state) {
    (void)state;
    heard h = {0}, stopped = {.stop_after = 5};
    failure why = {0};
    char config[PATH_SIZE];
    assert_int_equal(train(folder("today"), "digits:100,40", SMALL, SMALL_COUNT, &h, &why), STATUS_OK);
    assert_int_equal(train(folder("old"), "digits:100,40", SMALL, SMALL_COUNT, &stopped, &why), STATUS_STOPPED);
    make_old(folder("old"));
    assert_int_equal(run_path(config, folder("old"), RUN_CONFIG, NULL), STATUS_OK);
    const train_request again = {.folder = folder("again"), .config = config};
    train_outcome outcome = {0};
    if (train_run(&again, NULL, &outcome, &why) != STATUS_OK) fail_msg("%s", why.message);
    if (resume(folder("old"), NULL, 0, &h, &why) != STATUS_OK) fail_msg("%s", why.message);
    assert_same_file(folder("today"), folder("old"), "latest.safetensors");
    assert_same_file(folder("today"), folder("old"), "config.json");
    assert_same_file(folder("today"), folder("again"), "latest.safetensors");
}

static void assert_refused(const train_request *request, status_code expected, const char *words) {
    train_outcome outcome = {0};
    failure why = {0};
    assert_int_equal(train_run(request, NULL, &outcome, &why), expected);
    if (!strstr(why.message, words)) fail_msg("'%s' lacks '%s'", why.message, words);
}

static void what_cannot_be_trained_is_refused_before_anything_is_written(void **state) {
    (void)state;
    const char *where = folder("refused");
    const train_option wrong = {"beta", "three"}, unknown = {"betta", "3"},
                       timed[] = {{"budget", "60m"}, {"epochs", "3"}}, soon = {"budget", "soon"},
                       exact[] = {{"history", "exact"}, {"look_ahead", "2"}};
    assert_refused(&(train_request){.folder = where}, STATUS_BAD_INPUT, "on what");
    assert_refused(&(train_request){.folder = where, .data = "digits", .options = timed, .option_count = 2},
                   STATUS_BAD_INPUT, "leave out --epochs");
    assert_refused(&(train_request){.folder = where, .data = "digits", .options = &soon, .option_count = 1},
                   STATUS_BAD_INPUT, "not a time");
    assert_refused(&(train_request){.folder = where, .data = "potatoes"}, STATUS_BAD_INPUT, "cannot be trained on");
    assert_refused(&(train_request){.folder = where, .resume = 1}, STATUS_BAD_INPUT, "holds no run");
    assert_refused(&(train_request){.folder = where, .resume = 1, .config = "x"}, STATUS_BAD_INPUT, "together");
    assert_refused(&(train_request){.folder = where, .data = "digits", .config = "/no/such"}, STATUS_CANNOT_READ,
                   "/no/such");
    assert_refused(&(train_request){.folder = where, .data = "digits", .options = &wrong, .option_count = 1},
                   STATUS_BAD_INPUT, "not a number");
    assert_refused(&(train_request){.folder = where, .data = "digits", .options = &unknown, .option_count = 1},
                   STATUS_BAD_INPUT, "no setting 'betta'");
    assert_refused(&(train_request){.folder = where, .data = "digits", .options = exact, .option_count = 2},
                   STATUS_BAD_INPUT, "--look-ahead 0");
    assert_false(path_exists(where));
}

static void write_text(const char *path, const char *words) {
    assert_int_equal(whole_file_write(path, words, strlen(words), NULL), STATUS_OK);
}

/* Known only once the data are there, and still before the run has a file. */
static void what_does_not_fit_the_data_is_refused_before_anything_is_written(void **state) {
    (void)state;
    const char *where = folder("unfit"), *table = folder("sites.csv");
    const train_option large[] = {{"target_ess", "95"}, {"trim", "0.1"}, {"objective", "dro"}},
                       grouped[] = {{"objective", "group-dro"}, {"group", "site"}, {"model", "mlp-1-4"}};
    assert_refused(&(train_request){.folder = where, .data = "digits:100,40", .options = large, .option_count = 3},
                   STATUS_BAD_INPUT, "--target-ess 95 is more than the 90 examples");
    write_text(table, "id,x,site,label,split\np1,1,a,0,train\np2,2,,1,train\np3,3,b,0,test\np4,4,a,1,test\n");
    assert_refused(&(train_request){.folder = where, .data = table, .options = grouped, .option_count = 3},
                   STATUS_BAD_INPUT, "the column 'site' is empty for");
    assert_false(path_exists(where));
}

/* In the first epochs fewer examples than that may have a loss. */
static void an_effective_size_that_cannot_be_yet_does_not_end_the_run(void **state) {
    (void)state;
    heard h = {0};
    failure why = {0};
    const train_option options[] = {{"model", "mlp-1-16"}, {"batch", "16"},       {"epochs", "2"},
                                    {"threads", "1"},      {"epoch_length", "1"}, {"target_ess", "60"}};
    if (train(folder("ess"), "digits:100,40", options, 6, &h, &why) != STATUS_OK) fail_msg("%s", why.message);
}

/* What a config says about mixing stays, and so does what a run began with. */
static void trim_mixes_only_where_nothing_was_chosen(void **state) {
    (void)state;
    heard h = {0};
    failure why = {0};
    const train_option options[] = {{"model", "mlp-1-16"}, {"batch", "16"},  {"epochs", "1"},
                                    {"threads", "1"},      {"trim", "0.02"}, {"uniform_mix", "0.3"}};
    if (train(folder("mixed"), "digits:100,40", options, 6, &h, &why) != STATUS_OK) fail_msg("%s", why.message);
    if (resume(folder("mixed"), &options[4], 1, &h, &why) != STATUS_OK) fail_msg("%s", why.message);
}

static void a_run_keeps_its_settings(void **state) {
    (void)state;
    heard h = {0};
    failure why = {0};
    const train_option lr = {"lr", "3"}, keep = {"keep", "3=0.5"}, threads = {"threads", "2"},
                       other = {"keep", "3=0.25"};
    assert_int_equal(train(folder("keeps"), "digits:100,40", SMALL, SMALL_COUNT, &h, &why), STATUS_OK);
    assert_int_equal(train(folder("keeps"), "digits:100,40", SMALL, SMALL_COUNT, &h, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "holds a run already"));
    assert_int_equal(resume(folder("keeps"), &lr, 1, &h, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "another 'lr'"));
    assert_int_equal(resume(folder("keeps"), &other, 1, &h, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "another 'keep'"));
    assert_int_equal(resume(folder("keeps"), &keep, 1, &h, &why), STATUS_OK);
    assert_int_equal(resume(folder("keeps"), &threads, 1, &h, &why), STATUS_OK);
}

static void a_resumed_run_keeps_its_list_of_wrong_labels(void **state) {
    (void)state;
    static const train_option WRONG[] = {
        {"model", "mlp-1-16"}, {"batch", "16"}, {"epochs", "2"}, {"threads", "1"}, {"mislabel", "0.1"}};
    const train_request request = {
        .folder = folder("wrong"), .data = "digits:100,40", .resume_or_start = 1, .options = WRONG, .option_count = 5};
    heard stopped = {.stop_after = 5};
    const train_listener listener = listener_of(&stopped);
    train_outcome outcome = {0};
    size_t size;
    assert_int_equal(train_run(&request, &listener, &outcome, &(failure){0}), STATUS_STOPPED);
    file_write(folder("wrong"), "mislabelled.csv", "mine\n", 5);
    assert_int_equal(train_run(&request, NULL, &outcome, &(failure){0}), STATUS_OK);
    char *bytes = file_bytes(folder("wrong"), "mislabelled.csv", &size);
    assert_true(size == 5 && memcmp(bytes, "mine\n", 5) == 0);
    free(bytes);
}

static void a_damaged_checkpoint_is_told(void **state) {
    (void)state;
    heard h = {0};
    failure why = {0};
    assert_int_equal(train(folder("told"), "digits:100,40", SMALL, SMALL_COUNT, &h, &why), STATUS_OK);
    file_write(folder("told"), "latest.safetensors", "x", 1);
    assert_int_equal(resume(folder("told"), NULL, 0, &h, &why), STATUS_OK);
    assert_int_equal(h.notices, 1);
    assert_non_null(strstr(h.notice, "previous.safetensors instead"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_is_stopped_and_resumed_is_the_same_run),
        cmocka_unit_test(a_budget_chooses_settings_that_the_run_keeps),
        cmocka_unit_test(jtt_trains_twice_within_a_budget),
        cmocka_unit_test(an_old_budget_does_not_decide_a_new_length),
        cmocka_unit_test(a_budget_keeps_what_a_config_by_hand_names),
        cmocka_unit_test(a_run_of_an_older_version_is_resumed_and_repeated),
        cmocka_unit_test(what_cannot_be_trained_is_refused_before_anything_is_written),
        cmocka_unit_test(a_run_keeps_its_settings),
        cmocka_unit_test(what_does_not_fit_the_data_is_refused_before_anything_is_written),
        cmocka_unit_test(an_effective_size_that_cannot_be_yet_does_not_end_the_run),
        cmocka_unit_test(trim_mixes_only_where_nothing_was_chosen),
        cmocka_unit_test(a_resumed_run_keeps_its_list_of_wrong_labels),
        cmocka_unit_test(a_damaged_checkpoint_is_told),
    };
    return cmocka_run_group_tests(tests, folders_setup, folders_teardown);
}
