#define _POSIX_C_SOURCE 200809L
/* The tail, first visits, wrong labels, warm starts and first losses; runs that older versions have begun. */
#include "core/csv.h"
#include "folders.h"
#include "points.h"
#include "run/run_folder.h"
#include "safetensors/safetensors.h"
#include "train/train.h"

#include <jansson.h>
#include <math.h>

typedef struct heard {
    int stop_after; /* iterations; 0: never */
    int notices;
    char notice[1024];
    double farthest; /* of KL from ln(1 / tail), relatively, from the second epoch on */
} heard;

static void hear_notice(void *context, const char *message) {
    heard *h = context;
    h->notices++;
    snprintf(h->notice, sizeof h->notice, "%s", message);
}

static int is_enough(void *context) {
    heard *h = context;
    return h->stop_after && --h->stop_after == 0;
}

static void watch_divergence(void *context, const trainer *t, double loss, const double *row) {
    heard *h = context;
    hws_statistics s;
    (void)loss, (void)row;
    if (isnan(t->settings.tail) || t->iteration < t->epoch_iterations) return;
    assert_int_equal(hws_sampler_statistics(t->history, &s), HWS_OK);
    const double off = fabs(s.kl_to_uniform / -log(t->settings.tail) - 1);
    if (off > h->farthest) h->farthest = off;
}

static train_listener listener_of(heard *h) {
    return (train_listener){.work = {.context = h, .notice = hear_notice, .stop = is_enough},
                            .report = watch_divergence};
}

enum { MOST_OPTIONS = 16 };

/* hws train digits:200,40 with the options, "KEY=VALUE" each, up to NULL. */
static status_code train(const char *where, const char *const *options, heard *h, failure *why) {
    static char keys[MOST_OPTIONS][32];
    train_option given[MOST_OPTIONS] = {{"model", "mlp-1-16"}, {"batch", "16"}, {"epochs", "2"}, {"threads", "1"}};
    size_t count = 4;
    for (; *options; options++, count++) {
        const size_t length = strcspn(*options, "=");
        snprintf(keys[count], sizeof keys[count], "%.*s", (int)length, *options);
        given[count] = (train_option){keys[count], *options + length + 1};
    }
    const train_request request = {.folder = where, .data = "digits:200,40", .options = given, .option_count = count};
    const train_listener listener = listener_of(h);
    train_outcome outcome = {0};
    return train_run(&request, &listener, &outcome, why);
}

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static heard train_well(const char *where, const char *const *options) {
    heard h = {0};
    failure why = {0};
    if (train(where, options, &h, &why) != STATUS_OK) fail_msg("%s", why.message);
    return h;
}

static void assert_refused(const char *const *options, const char *words) {
    heard h = {0};
    failure why = {0};
    assert_int_not_equal(train(folder("refused"), options, &h, &why), STATUS_OK);
    if (!strstr(why.message, words)) fail_msg("'%s' lacks '%s'", why.message, words);
    assert_false(run_exists(folder("refused")));
}

static csv table(const char *run, run_file file) {
    csv found;
    char path[PATH_SIZE];
    assert_int_equal(run_path(path, run, file, NULL), STATUS_OK);
    assert_int_equal(csv_read(&found, path, CSV_STRICT, NULL), STATUS_OK);
    return found;
}

static double cell(const csv *t, size_t row, const char *column) {
    assert_true(csv_column(t, column) >= 0);
    return csv_number(t, row, (size_t)csv_column(t, column));
}

/* ---- the tail and first visits ----------------------------------------------------------------------------------- */

static void bad_combinations_are_refused(void **state) {
    (void)state;
    assert_refused(OPTIONS("beta=3", "tail=0.1"), "--beta and --tail cannot be used together");
    assert_refused(OPTIONS("tail=0.1", "target_ess=20"), "--tail and --target-ess cannot be used together");
    assert_refused(OPTIONS("tail=0"), "--tail 0 is not a number");
    assert_refused(OPTIONS("tail=2"), "--tail 2 is not a number");
    assert_refused(OPTIONS("tail=0.1", "divergence=reverse-kl"), "tail is 0.1");
    assert_refused(OPTIONS("importance=normalised", "divergence=chi2"), "are for KL");
}

static void a_tail_of_1_draws_as_beta_0_does(void **state) {
    (void)state;
    train_well(folder("tail1"), OPTIONS("tail=1"));
    train_well(folder("beta0"), OPTIONS("beta=0"));
    assert_same_file(folder("tail1"), folder("beta0"), "losses.csv");
    assert_same_file(folder("tail1"), folder("beta0"), "distribution.csv");
}

static void the_tail_holds_the_divergence(void **state) {
    (void)state;
    const train_option options[] = {{"model", "mlp-1-32"}, {"batch", "16"}, {"epochs", "6"},      {"threads", "1"},
                                    {"tail", "0.05"},      {"lr", "0.01"},  {"importance", "off"}};
    heard h = {0};
    failure why = {0};
    train_outcome outcome = {0};
    const train_listener listener = listener_of(&h);
    const train_request request = {
        .folder = folder("kl"), .data = "digits:1600,40", .options = options, .option_count = 7};
    if (train_run(&request, &listener, &outcome, &why) != STATUS_OK) fail_msg("%s", why.message);
    if (!(h.farthest < 0.05)) fail_msg("KL is %g %% from ln 20", 100 * h.farthest);
    csv history = table(folder("kl"), RUN_HISTORY);
    assert_true(cell(&history, 0, "beta") > 0 && cell(&history, 5, "beta") != cell(&history, 1, "beta"));
    csv_close(&history);
}

/* 200 examples, batches of 16, 12 of them in an epoch; look-ahead 0. */
static void all_are_seen_before_any_is_seen_twice(void **state) {
    (void)state;
    static const char *const MOST[] = {"tail=0.1", "beta=1000", "importance=normalised"};
    for (int k = 0; k < 3; k++) {
        const heard h = train_well(folder(MOST[k]), OPTIONS(MOST[k], "look_ahead=0", "epochs=1", "lr=0.001"));
        csv losses = table(folder(MOST[k]), RUN_LOSSES), history = table(folder(MOST[k]), RUN_HISTORY);
        int unseen = 0;
        for (size_t row = 0; row < losses.rows; row++) {
            const double draws = cell(&losses, row, "draws");
            assert_true(draws == 0 || draws == 1);
            assert_int_equal(isnan(cell(&losses, row, "stale_loss")), draws == 0);
            unseen += draws == 0;
        }
        assert_int_equal(unseen, 200 - 12 * 16);
        assert_near(cell(&history, 0, "unseen"), 0.04, 1e-12);
        assert_true(cell(&history, 0, "weight_mean") == 1);
        if (h.notices) assert_null(strstr(h.notice, "trained on"));
        csv_close(&losses);
        csv_close(&history);
    }
}

static void few_and_missed_examples_are_told(void **state) {
    (void)state;
    heard h = train_well(folder("spike"), OPTIONS("beta=1000"));
    assert_true(h.notices == 1 && strstr(h.notice, "fewer than a batch of 16"));
    h = train_well(folder("missed"), OPTIONS("beta=0.001", "loss_init=-1000"));
    assert_true(h.notices == 1 && strstr(h.notice, "examples have not been trained on; --loss-init none"));
    h = train_well(folder("short"), OPTIONS("beta=0.001", "epochs=2", "epoch_length=3"));
    assert_true(h.notices == 1 && strstr(h.notice, "examples have not been trained on; train for more iterations"));
    h = train_well(folder("short-epochs"), OPTIONS("beta=0.001", "epochs=5", "epoch_length=3"));
    assert_int_equal(h.notices, 0);
    h = train_well(folder("fine"), OPTIONS("beta=0.001"));
    assert_int_equal(h.notices, 0);
    h = train_well(folder("fine-erm"), OPTIONS("objective=erm"));
    assert_int_equal(h.notices, 0);
}

static void the_worst_losses_are_recorded(void **state) {
    (void)state;
    train_well(folder("records"), OPTIONS("beta=2", "importance=paper,0.5,2", "epochs=4"));
    csv history = table(folder("records"), RUN_HISTORY), losses = table(folder("records"), RUN_LOSSES);
    double sorted[200], worst = 0, mean = 0;
    for (size_t i = 0; i < 200; i++) sorted[i] = cell(&losses, i, "stale_loss");
    for (int i = 0; i < 200; i++)
        for (int k = i + 1; k < 200; k++)
            if (sorted[k] > sorted[i]) {
                const double other = sorted[i];
                sorted[i] = sorted[k], sorted[k] = other;
            }
    for (int i = 0; i < 10; i++) worst += sorted[i] / 10;
    for (int i = 0; i < 200; i++) mean += exp(2 * (sorted[i] - sorted[0])) / 200;
    assert_near(cell(&history, 3, "cvar_5"), worst, 1e-5);
    assert_near(cell(&history, 3, "loss_p95"), sorted[10], 1e-5);
    assert_near(cell(&history, 3, "loss_p95_bound"), sorted[0] + log(mean / 0.05) / 2, 1e-4);
    assert_true(cell(&history, 3, "weight_mean") > 0 && cell(&history, 3, "weight_mean") != 1);
    assert_true(cell(&history, 3, "unseen") == 0);
    csv_close(&history);
    csv_close(&losses);
}

/* ---- wrong labels ------------------------------------------------------------------------------------------------ */

enum { DIGITS = 2000, RARE = 3 };
typedef enum kind_of_label { LABEL_RIGHT, LABEL_RARE, LABEL_WRONG } kind_of_label;

/* What is true of each example of the run, by its number; the rare ones are those that are called so and are. */
static void read_kinds(const char *run, kind_of_label kinds[DIGITS]) {
    csv losses = table(run, RUN_LOSSES), wrong = table(run, RUN_MISLABELLED);
    memset(kinds, 0, DIGITS * sizeof *kinds);
    for (size_t row = 0; row < losses.rows; row++)
        if (cell(&losses, row, "label") == RARE) kinds[(int)cell(&losses, row, "example")] = LABEL_RARE;
    for (size_t row = 0; row < wrong.rows; row++) kinds[(int)cell(&wrong, row, "example")] = LABEL_WRONG;
    csv_close(&losses);
    csv_close(&wrong);
}

/* The chance that triage's list names a wrong label before one of the others (of the rare ones alone). */
static double triage_auroc(const char *run, int rare_alone) {
    kind_of_label kinds[DIGITS];
    double wrong = 0, others = 0, area = 0;
    read_kinds(run, kinds);
    csv list = table(run, RUN_TRIAGE);
    for (size_t row = 0; row < list.rows; row++) {
        assert_true(cell(&list, row, "rank") == (double)(row + 1));
        const kind_of_label kind = kinds[(int)cell(&list, row, "example")];
        if (kind == LABEL_WRONG) wrong++;
        else if (!rare_alone || kind == LABEL_RARE) others++, area += wrong;
    }
    csv_close(&list);
    assert_true(wrong > 50 && others > 5);
    return area / (wrong * others);
}

/* A tenth of a class and 5 % of wrong labels; the list begins with what is wrong, whatever draws the examples. */
static void triage_tells_wrong_labels_from_rare_ones(void **state) {
    (void)state;
    static const train_option METHODS[] = {{"objective", "erm"}, {"objective", "dro"}, {"doubt", "on"}};
    for (size_t k = 0; k < sizeof METHODS / sizeof *METHODS; k++) {
        const train_option options[] = {{"model", "mlp-1-64"}, {"batch", "64"}, {"epochs", "8"},
                                        {"threads", "1"},      {"lr", "0.05"},  {"keep", "3=0.1"},
                                        {"mislabel", "0.05"},  {"seed", "1"},   METHODS[k]};
        const train_request request = {.folder = folder(METHODS[k].value),
                                       .data = "digits:2000,200",
                                       .options = options,
                                       .option_count = sizeof options / sizeof *options};
        failure why = {0};
        train_outcome outcome = {0};
        if (train_run(&request, NULL, &outcome, &why) != STATUS_OK) fail_msg("%s", why.message);
        const double all = triage_auroc(request.folder, 0), rare = triage_auroc(request.folder, 1);
        if (!(all > 0.85 && rare > 0.85))
            fail_msg("%s %s: %g against all, %g against rare", METHODS[k].key, METHODS[k].value, all, rare);
    }
}

/* ---- warm starts ------------------------------------------------------------------------------------------------- */

static void a_run_can_begin_with_the_weights_of_another(void **state) {
    (void)state;
    char best[PATH_SIZE], option[PATH_SIZE + 8];
    train_well(folder("first"), OPTIONS("objective=erm", "epochs=3"));
    assert_int_equal(run_path(best, folder("first"), RUN_BEST, NULL), STATUS_OK);
    snprintf(option, sizeof option, "from=%s", folder("first"));
    train_well(folder("warm"), OPTIONS(option, "lr=0"));
    snprintf(option, sizeof option, "from=%s", best);
    train_well(folder("warm-file"), OPTIONS(option, "lr=0"));
    train_well(folder("cold"), OPTIONS("lr=0"));
    csv first = table(folder("first"), RUN_HISTORY), warm = table(folder("warm"), RUN_HISTORY),
        file = table(folder("warm-file"), RUN_HISTORY), cold = table(folder("cold"), RUN_HISTORY);
    const double last = cell(&first, 2, "test_accuracy");
    assert_true(cell(&warm, 1, "test_accuracy") == last && cell(&file, 1, "test_accuracy") == last);
    assert_true(cell(&cold, 1, "test_loss") != cell(&warm, 1, "test_loss"));
    csv_close(&first), csv_close(&warm), csv_close(&file), csv_close(&cold);
}

/* Without a validation part nothing chooses, unless the test part was asked to. */
static void the_best_weights_are_the_last_without_a_validation_part(void **state) {
    (void)state;
    static const char *const BY_TEST[] = {"best_by_test=off", "best_by_test=on"};
    for (int k = 0; k < 2; k++) {
        char option[PATH_SIZE + 8];
        const char *run = folder(k ? "by-test" : "by-none"), *warm = folder(k ? "by-test-warm" : "by-none-warm");
        /* A rate at which the accuracy goes up and down. */
        train_well(run, OPTIONS("objective=erm", "epochs=5", "lr=0.5", BY_TEST[k]));
        snprintf(option, sizeof option, "from=%s", run);
        train_well(warm, OPTIONS(option, "lr=0"));
        csv rows = table(run, RUN_HISTORY), kept = table(warm, RUN_HISTORY);
        double most = 0;
        for (size_t row = 0; row < 5; row++) most = fmax(most, cell(&rows, row, "test_accuracy"));
        assert_true(most > cell(&rows, 4, "test_accuracy")); /* else nothing is tested here */
        assert_true(cell(&kept, 1, "test_accuracy") == (k ? most : cell(&rows, 4, "test_accuracy")));
        csv_close(&rows), csv_close(&kept);
    }
}

static void weights_that_do_not_fit_are_refused(void **state) {
    (void)state;
    char option[PATH_SIZE + 8];
    train_well(folder("other"), OPTIONS("model=mlp-2-8"));
    snprintf(option, sizeof option, "from=%s", folder("other"));
    assert_refused(OPTIONS(option), "'");
    snprintf(option, sizeof option, "from=%s", folders_root);
    assert_refused(OPTIONS(option), "not a run's folder");
    assert_refused(OPTIONS("from=/no/such.safetensors"), "/no/such.safetensors");
}

/* ---- first losses ------------------------------------------------------------------------------------------------ */

static void losses_of_another_run_are_taken_by_name(void **state) {
    (void)state;
    char option[PATH_SIZE + 16], name[32];
    const csv *found;
    train_well(folder("given"), OPTIONS("objective=erm", "keep=3=0.5", "epochs=30"));
    snprintf(option, sizeof option, "loss_init=%s/losses.csv", folder("given"));
    heard h = {.stop_after = 1};
    failure why = {0};
    assert_int_equal(train(folder("taken"), OPTIONS(option, "beta=0.001"), &h, &why), STATUS_STOPPED);
    assert_true(h.notices == 1 && strstr(h.notice, "examples have no loss there") && strstr(h.notice, "drawn first"));
    csv given = table(folder("given"), RUN_LOSSES), taken = table(folder("taken"), RUN_LOSSES);
    found = &given;
    size_t same = 0, next = 0;
    for (size_t row = 0; row < taken.rows; row++) {
        snprintf(name, sizeof name, "%s", csv_cell(&taken, row, 0));
        const int there = next < found->rows && strcmp(csv_cell(found, next, 0), name) == 0;
        if (there && cell(&taken, row, "draws") == 0) {
            assert_string_equal(csv_cell(&taken, row, 1), csv_cell(found, next, 1));
            same++;
        }
        next += (size_t)there;
    }
    assert_int_equal(next, given.rows); /* both in the data's order */
    assert_true(same > 150);
    csv_close(&given);
    csv_close(&taken);
}

static void names_that_nobody_has_are_told(void **state) {
    (void)state;
    char option[PATH_SIZE + 16];
    static const char SOME[] = "example,stale_loss\n3,1.5\n7,\nnobody,2\n";
    folder_make(folder("tables"), NULL);
    file_write(folder("tables"), "some.csv", SOME, strlen(SOME));
    snprintf(option, sizeof option, "loss_init=%s/some.csv", folder("tables"));
    const heard h = train_well(folder("some"), OPTIONS(option, "beta=0.001"));
    assert_non_null(strstr(h.notice, "199 of 200 examples have no loss there, such as 0,"));
    assert_non_null(strstr(h.notice, "1 of its examples are none of this data, such as nobody"));
}

static void tables_without_losses_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } CASES[] = {{"example,stale_loss\nnobody,2\n", "has no loss of any example"},
                 {"example,stale_loss\n3,1\n3,2\n", "stands there twice"},
                 {"example,stale_loss\n3,much\n", "much"},
                 {"example,stale_loss\n3,1e300\n", "too large"},
                 {"example,loss\n3,1\n", "is it a losses.csv?"},
                 {"", "bad.csv"}};
    char option[PATH_SIZE + 16];
    folder_make(folder("tables"), NULL);
    snprintf(option, sizeof option, "loss_init=%s/bad.csv", folder("tables"));
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        file_write(folder("tables"), "bad.csv", CASES[k].text, strlen(CASES[k].text));
        assert_refused(OPTIONS(option), CASES[k].words);
    }
    assert_refused(OPTIONS("loss_init=/no/such.csv"), "/no/such.csv");
}

/* ---- runs of older versions -------------------------------------------------------------------------------------- */

/* One more that an older version did not know. */
static const char *unknown_then = "from";

static void drop_new_settings(json_t *settings) {
    json_object_del(settings, unknown_then);
    json_object_del(settings, "tail");
    json_object_del(settings, "from");
}

/* The checkpoint without what newer versions have added. */
static void make_checkpoint_old(const char *run) {
    safetensors *file;
    safetensors_writer *writer;
    char path[PATH_SIZE];
    assert_int_equal(run_path(path, run, RUN_LATEST, NULL), STATUS_OK);
    assert_int_equal(safetensors_open(&file, path, NULL), STATUS_OK);
    assert_int_equal(safetensors_writer_open(&writer, NULL), STATUS_OK);
    double *rows = NULL;
    for (size_t k = 0; k < safetensors_count(file); k++) {
        const safetensor *t = safetensors_at(file, k);
        size_t shape[SAFETENSORS_RANK];
        const void *data = t->data;
        memcpy(shape, t->shape, sizeof shape);
        if (strcmp(t->name, "hws.weight_sum") == 0) continue;
        if (strcmp(t->name, "hws.rows") == 0) {
            const size_t width = shape[1];
            shape[1] -= ROW_LATER;
            rows = calloc(shape[0] * shape[1] + 1, sizeof *rows);
            for (size_t row = 0; row < shape[0]; row++)
                memcpy(rows + row * shape[1], (const double *)t->data + row * width, shape[1] * sizeof *rows);
            data = rows;
        }
        assert_int_equal(safetensors_add(writer, &(safetensors_entry){t->name, t->dtype, t->rank, shape}, data, NULL),
                         STATUS_OK);
    }
    json_t *settings = json_loads(safetensors_metadata(file, "hws_settings"), 0, NULL);
    drop_new_settings(settings);
    json_object_set_new(settings, "loaders", json_integer(0)); /* what decides no bit, as it was written once */
    json_object_set_new(settings, "tensorboard", json_true());
    char *text = json_dumps(settings, 0);
    safetensors_add_metadata(writer, "hws_checkpoint", safetensors_metadata(file, "hws_checkpoint"), NULL);
    safetensors_add_metadata(writer, "hws_data", safetensors_metadata(file, "hws_data"), NULL);
    safetensors_add_metadata(writer, "hws_settings", text, NULL);
    assert_int_equal(safetensors_write(writer, path, NULL), STATUS_OK);
    free(text);
    free(rows);
    json_decref(settings);
    safetensors_writer_close(&writer);
    safetensors_close(&file);
}

static void make_config_old(const char *run) {
    char path[PATH_SIZE];
    assert_int_equal(run_path(path, run, RUN_CONFIG, NULL), STATUS_OK);
    json_t *config = json_load_file(path, 0, NULL);
    drop_new_settings(json_object_get(config, "settings"));
    assert_int_equal(json_dump_file(config, path, JSON_INDENT(4)), 0);
    json_decref(config);
}

static void a_run_that_an_older_version_began_goes_on(void **state) {
    (void)state;
    const char *const *options = OPTIONS("beta=0.5", "loss_init=10", "importance=0.2,5", "epochs=3");
    heard h = {.stop_after = 20}; /* in the second epoch of 12 iterations */
    failure why = {0};
    train_outcome outcome = {0};
    train_well(folder("new"), options);
    assert_int_equal(train(folder("old"), options, &h, &why), STATUS_STOPPED);
    make_checkpoint_old(folder("old"));
    make_config_old(folder("old"));
    if (train_run(&(train_request){.folder = folder("old"), .resume = 1}, NULL, &outcome, &why) != STATUS_OK)
        fail_msg("%s", why.message);
    assert_same_file(folder("new"), folder("old"), "losses.csv");
    assert_same_file(folder("new"), folder("old"), "distribution.csv");
    assert_same_file(folder("new"), folder("old"), "config.json");
    csv fresh = table(folder("new"), RUN_HISTORY), old = table(folder("old"), RUN_HISTORY);
    for (size_t row = 0; row < 3; row++) assert_true(cell(&fresh, row, "beta") == cell(&old, row, "beta"));
    assert_true(isnan(cell(&old, 0, "cvar_5")) && cell(&old, 1, "cvar_5") == cell(&fresh, 1, "cvar_5"));
    assert_true(isnan(cell(&old, 1, "weight_mean")));
    assert_true(cell(&old, 2, "weight_mean") == cell(&fresh, 2, "weight_mean"));
    csv_close(&fresh);
    csv_close(&old);
}

/* What the older version did not write has the default for volumes there: 12, where it is 0 for images. */
static void a_segmentation_that_an_older_version_began_goes_on(void **state) {
    (void)state;
    points p;
    task t = points_task(&p);
    t.kind = TASK_SEGMENTATION;
    train_settings s = settings_before(1);
    s.data = "points", s.model = "mlp-0-6", s.batch = 8, s.threads = 1;
    trainer *trainer;
    failure why = {0};
    folder_make(folder("volumes"), NULL);
    assert_int_equal(trainer_open(&trainer, &s, &t, folder("volumes"), &why), STATUS_OK);
    assert_int_equal(trainer_begin(trainer, &why), STATUS_OK);
    trainer_close(&trainer);
    unknown_then = "clip_norm";
    make_checkpoint_old(folder("volumes"));
    unknown_then = "from";
    assert_int_equal(trainer_open(&trainer, &s, &t, folder("volumes"), &why), STATUS_OK);
    if (trainer_resume(trainer, &why) != STATUS_OK) fail_msg("%s", why.message);
    trainer_close(&trainer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_segmentation_that_an_older_version_began_goes_on),
        cmocka_unit_test(bad_combinations_are_refused),
        cmocka_unit_test(a_tail_of_1_draws_as_beta_0_does),
        cmocka_unit_test(the_tail_holds_the_divergence),
        cmocka_unit_test(all_are_seen_before_any_is_seen_twice),
        cmocka_unit_test(few_and_missed_examples_are_told),
        cmocka_unit_test(the_worst_losses_are_recorded),
        cmocka_unit_test(triage_tells_wrong_labels_from_rare_ones),
        cmocka_unit_test(a_run_can_begin_with_the_weights_of_another),
        cmocka_unit_test(the_best_weights_are_the_last_without_a_validation_part),
        cmocka_unit_test(weights_that_do_not_fit_are_refused),
        cmocka_unit_test(losses_of_another_run_are_taken_by_name),
        cmocka_unit_test(names_that_nobody_has_are_told),
        cmocka_unit_test(tables_without_losses_are_refused),
        cmocka_unit_test(a_run_that_an_older_version_began_goes_on),
    };
    return cmocka_run_group_tests(tests, folders_setup, folders_teardown);
}
