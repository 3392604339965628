#define _GNU_SOURCE /* memmem */
/* Whole runs: the same bits, whatever interrupts them and however many threads work; damaged
   and foreign checkpoints. */
#include "core/clock.h"
#include "core/csv.h"
#include "folders.h"
#include "images/digits.h"
#include "points.h"
#include "predict/classifier.h"
#include "run/run_folder.h"
#include "safetensors/safetensors.h"
#include "task/classification.h"

#include <omp.h>

/* ---- running ----------------------------------------------------------------------------------------------------- */

static int stop_after; /* iterations */

static int is_enough(void *context) {
    const trainer *const *t = context;
    return (*t)->iteration >= stop_after;
}

/* Runs, or goes on, until `stop_after` iterations are done; returns how it ended. */
static trainer_end run(const train_settings *s, const task *task, const char *where, int resume) {
    trainer *t;
    trainer_end end = TRAINER_FINISHED;
    failure why = {0};
    folder_make(where, NULL);
    status_code status = trainer_open(&t, s, task, where, &why);
    if (status == STATUS_OK) status = resume ? trainer_resume(t, &why) : trainer_begin(t, &why);
    const train_listener listener = {.work = {.context = &t, .stop = is_enough}};
    if (status == STATUS_OK) status = trainer_run(t, &listener, &end, &why);
    if (status != STATUS_OK) fail_msg("%s", why.message);
    trainer_close(&t);
    return end;
}

static void run_whole(const train_settings *s, const task *task, const char *where) {
    stop_after = 1 << 30;
    assert_int_equal(run(s, task, where, 0), TRAINER_FINISHED);
}

/* Equal rows but for the seconds. */
static void assert_same_history(const char *a, const char *b) {
    csv x, y;
    char path[300];
    snprintf(path, sizeof path, "%s/history.csv", a);
    assert_int_equal(csv_read(&x, path, CSV_STRICT, NULL), STATUS_OK);
    snprintf(path, sizeof path, "%s/history.csv", b);
    assert_int_equal(csv_read(&y, path, CSV_STRICT, NULL), STATUS_OK);
    assert_int_equal(x.rows, y.rows);
    assert_int_equal(x.columns, y.columns);
    for (size_t row = 0; row < x.rows; row++)
        for (size_t k = 0; k < x.columns; k++)
            if (strcmp(csv_name(&x, k), "seconds") != 0)
                assert_string_equal(csv_cell(&x, row, k), csv_cell(&y, row, k));
            else assert_true(csv_number(&y, row, k) >= 0);
    csv_close(&x);
    csv_close(&y);
}

static void assert_same_run(const char *a, const char *b) {
    static const char *const FILES[] = {"latest.safetensors", "best.safetensors", "distribution.csv",
                                        "losses.csv",         "hardest.csv",      "triage.csv"};
    for (size_t k = 0; k < sizeof FILES / sizeof *FILES; k++) assert_same_file(a, b, FILES[k]);
    assert_same_history(a, b);
}

/* ---- the same bits ----------------------------------------------------------------------------------------------- */

static void a_run_that_is_stopped_and_resumed_ends_with_the_same_bytes(void **state) {
    (void)state;
    static const objective_kind OBJECTIVES[] = {
        OBJECTIVE_DRO,       OBJECTIVE_ERM, OBJECTIVE_REWEIGHT,   OBJECTIVE_OHEM, OBJECTIVE_DRO, OBJECTIVE_DRO,
        OBJECTIVE_GROUP_DRO, OBJECTIVE_JTT, OBJECTIVE_CVAR_BATCH, OBJECTIVE_DRO,  OBJECTIVE_DRO};
    points p;
    const task task = points_task(&p);
    char name[40], whole[40];
    p.noise = 0.1;
    for (int kind = 0; kind < 11; kind++) {
        train_settings s = points_settings();
        s.objective = OBJECTIVES[kind];
        if (kind == 8) assert_int_equal(settings_set(&s, "tail", "0.3", NULL), STATUS_OK);
        s.epochs = 4; /* of 6 iterations */
        s.look_ahead = kind % 3;
        s.importance = 1;
        s.optimizer = kind % 2 ? OPTIMIZER_ADAM : OPTIMIZER_MOMENTUM;
        s.schedule = SCHEDULE_POLY;
        if (kind == 4) s.divergence.kind = HWS_HELLINGER;
        if (kind == 4) s.target_ess = 20;
        if (kind == 5) s.history = HISTORY_EXACT, s.look_ahead = 0, s.stop_grad_norm = 0;
        if (kind >= 9) s.doubt = 1, s.trim = 0.1, s.uniform_mix = 0.1, s.warm_up = 0.3;
        if (kind == 9) assert_int_equal(settings_set(&s, "tail", "0.3", NULL), STATUS_OK);
        snprintf(whole, sizeof whole, "whole-%d", kind);
        run_whole(&s, &task, folder(whole));
        for (int step = kind ? 5 : 1; step < 24; step += 8) {
            snprintf(name, sizeof name, "stopped-%d-%d", kind, step);
            stop_after = step;
            assert_int_equal(run(&s, &task, folder(name), 0), TRAINER_INTERRUPTED);
            while (stop_after += step, run(&s, &task, folder(name), 1) == TRAINER_INTERRUPTED) continue;
            assert_same_run(folder(whole), folder(name));
        }
    }
}

static double rate_in_last_row(const char *where, double *iterations) {
    csv history;
    char path[300];
    size_t lr = 0, iteration = 0;
    snprintf(path, sizeof path, "%s/history.csv", where);
    assert_int_equal(csv_read(&history, path, CSV_STRICT, NULL), STATUS_OK);
    while (strcmp(csv_name(&history, lr), "lr") != 0) lr++;
    while (strcmp(csv_name(&history, iteration), "iteration") != 0) iteration++;
    const double rate = csv_number(&history, history.rows - 1, lr);
    *iterations = csv_number(&history, history.rows - 1, iteration);
    csv_close(&history);
    return rate;
}

/* Of 24 iterations 8 were to be left, then 15: the last has the rate of the last of equal steps
   to the schedule's end. */
static void a_run_whose_length_the_clock_changed_is_repeated_and_resumed_to_the_same_bytes(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    char name[40], whole[40];
    for (int kind = 0; kind < 3; kind++) {
        double iterations;
        train_settings s = points_settings();
        s.objective = kind ? OBJECTIVE_DRO : OBJECTIVE_ERM;
        s.warm_up = kind ? 0.4 : 0;
        s.look_ahead = kind;
        s.epochs = 4; /* of 6 iterations */
        s.schedule = SCHEDULE_POLY;
        s.budget = "1s";
        s.budget_lengths = "4:8,7:15";
        snprintf(whole, sizeof whole, "changed-%d", kind);
        run_whole(&s, &task, folder(whole));
        const double at_7 = 4 + 20.0 * 3 / 4, left = (24 - at_7) / (15 - 7);
        const double rate = rate_in_last_row(folder(whole), &iterations);
        assert_true(fabs(rate - s.lr * pow(left / 24, 0.9)) < 1e-9);
        assert_true(iterations == 15);
        for (int step = 1; step < 15; step += 3) {
            snprintf(name, sizeof name, "changed-%d-%d", kind, step);
            stop_after = step;
            assert_int_equal(run(&s, &task, folder(name), 0), TRAINER_INTERRUPTED);
            while (stop_after += step, run(&s, &task, folder(name), 1) == TRAINER_INTERRUPTED) continue;
            assert_same_run(folder(whole), folder(name));
        }
    }
}

static status_code stop_if_told(void *context, learner *learner, const listener *listener, double *values,
                                failure *failure) {
    (void)context, (void)learner;
    values[0] = 1;
    return listener_stops(listener) ? fail(failure, STATUS_STOPPED, "stopped") : STATUS_OK;
}

/* The time is over in the first iteration: the run ends there, with weights, and its validation
   can still be made up for. */
static void a_run_ends_when_its_time_is_over(void **state) {
    (void)state;
    points p;
    task task = points_task(&p);
    train_settings s = points_settings();
    const char *where = folder("late");
    trainer *t;
    trainer_end end;
    double iterations;
    stop_after = 1 << 30;
    task.evaluate = stop_if_told;
    folder_make(where, NULL);
    assert_int_equal(trainer_open(&t, &s, &task, where, NULL), STATUS_OK);
    assert_int_equal(trainer_begin(t, NULL), STATUS_OK);
    trainer_watch(t, &(trainer_time){nextafter(t->started, HUGE_VAL), 1, 1, 1});
    assert_int_equal(trainer_run(t, NULL, &end, NULL), STATUS_OK);
    assert_int_equal(end, TRAINER_LATE);
    assert_int_equal(t->iteration, 1);
    assert_string_equal(t->settings.budget_lengths, "1:1");
    trainer_close(&t);
    assert_true(run_has(where, RUN_BEST) && run_has(where, RUN_HARDEST) && !run_has(where, RUN_HISTORY));
    s.budget_lengths = "1:1"; /* as config.json has it */
    assert_int_equal(run(&s, &task, where, 1), TRAINER_FINISHED);
    rate_in_last_row(where, &iterations);
    assert_true(iterations == 1);
}

static double described, saved_after, mark; /* the clock after a config was written; the pace's after an iteration */

static void describe_and_look(void *context, run_facts *facts) {
    points_describe(context, facts);
    described = clock_seconds();
}

static void look(void *context, const trainer *t, double loss, const double *row) {
    (void)context, (void)loss, (void)row;
    const double measured = mark + t->pace.last[(t->pace.measured - 1) % PACE_LAST];
    if (t->iteration == 2) saved_after = t->pace.mark - measured;
    mark = t->pace.mark;
}

/* Files that are written between two iterations belong to neither. */
static void writing_files_is_no_part_of_an_iteration(void **state) {
    (void)state;
    points p;
    task task = points_task(&p);
    train_settings s = points_settings();
    const train_listener listener = {.report = look};
    trainer *t;
    trainer_end end;
    s.epochs = 1; /* of 6 iterations */
    s.checkpoint_every = 2;
    task.describe = describe_and_look;
    folder_make(folder("apart"), NULL);
    assert_int_equal(trainer_open(&t, &s, &task, folder("apart"), NULL), STATUS_OK);
    assert_int_equal(trainer_begin(t, NULL), STATUS_OK);
    described = 0;
    trainer_watch(t, &(trainer_time){t->started + 3600, 1e-9, 1e-9, 1e-9}); /* there is time for more: a change */
    assert_int_equal(trainer_step(t, &(double){0}, NULL), STATUS_OK);
    t->iteration = 3; /* the first at which a length may grow */
    assert_int_equal(trainer_keep_time(t, NULL), STATUS_OK);
    assert_true(t->pace.count == 1 && described > 0 && t->pace.mark >= described);
    trainer_close(&t);
    assert_int_equal(trainer_open(&t, &s, &task, folder("apart"), NULL), STATUS_OK);
    assert_int_equal(trainer_begin(t, NULL), STATUS_OK);
    assert_int_equal(trainer_run(t, &listener, &end, NULL), STATUS_OK);
    assert_true(saved_after > 1e-6);
    trainer_close(&t);
}

static int any_doubt(const char *where) {
    csv list;
    char path[300];
    int any = 0;
    snprintf(path, sizeof path, "%s/triage.csv", where);
    assert_int_equal(csv_read(&list, path, CSV_STRICT, NULL), STATUS_OK);
    for (size_t row = 0; row < list.rows; row++) any |= csv_number(&list, row, (size_t)csv_column(&list, "doubt")) > 0;
    csv_close(&list);
    return any;
}

static void tail_weights_and_first_visits_survive_interruptions(void **state) {
    (void)state;
    static const struct {
        importance_kind importance;
        int look_ahead;
        const char *divergence;
        int judges; /* doubts, and leaves the hardest out */
    } KINDS[] = {{IMPORTANCE_NORMALISED, 0, "kl", 0}, {IMPORTANCE_NORMALISED, 1, "kl", 0},
                 {IMPORTANCE_NORMALISED, 3, "kl", 0}, {IMPORTANCE_EXACT, 1, "chi2", 0},
                 {IMPORTANCE_OFF, 3, "cvar:0.3", 0},  {IMPORTANCE_NORMALISED, 0, "kl", 1},
                 {IMPORTANCE_NORMALISED, 2, "kl", 1}};
    points p;
    const task task = points_task(&p);
    char name[40], whole[40];
    p.noise = 0.1;
    for (size_t kind = 0; kind < sizeof KINDS / sizeof *KINDS; kind++) {
        train_settings s = points_settings();
        s.epochs = 4;
        if (KINDS[kind].judges) s.doubt = 1, s.trim = 0.1;
        s.look_ahead = KINDS[kind].look_ahead;
        s.importance = KINDS[kind].importance;
        s.loss_init = (double)NAN;
        s.uniform_mix = 0.2; /* chi-square leaves few examples to draw from */
        s.optimizer = OPTIMIZER_MOMENTUM;
        assert_int_equal(settings_set(&s, "tail", "0.3", NULL), STATUS_OK);
        assert_int_equal(settings_set(&s, "divergence", KINDS[kind].divergence, NULL), STATUS_OK);
        snprintf(whole, sizeof whole, "tail-%zu", kind);
        run_whole(&s, &task, folder(whole));
        if (KINDS[kind].judges) assert_true(any_doubt(folder(whole)));
        for (int step = 1; step < 24; step += 5) { /* also among the first visits, and with batches that wait */
            snprintf(name, sizeof name, "tail-stopped-%zu-%d", kind, step);
            stop_after = step;
            assert_int_equal(run(&s, &task, folder(name), 0), TRAINER_INTERRUPTED);
            while (stop_after += step, run(&s, &task, folder(name), 1) == TRAINER_INTERRUPTED) continue;
            assert_same_run(folder(whole), folder(name));
        }
    }
}

static void loader_threads_do_not_change_a_bit(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    train_settings s = points_settings();
    p.noise = 0.2;
    s.look_ahead = 2;
    s.epochs = 5;
    s.loaders = 0;
    run_whole(&s, &task, folder("loaders-0"));
    s.loaders = 1;
    run_whole(&s, &task, folder("loaders-1"));
    s.loaders = 4;
    run_whole(&s, &task, folder("loaders-4"));
    assert_same_run(folder("loaders-0"), folder("loaders-1"));
    assert_same_run(folder("loaders-0"), folder("loaders-4"));
}

typedef struct digits {
    classification_data data;
    classification context;
    task task;
} digits;

static void digits_task(digits *d, int train, int test) {
    const train_settings s = settings_default();
    d->data = (classification_data){0};
    assert_int_equal(digits_open(&d->data.train, 1, DIGITS_TRAIN, train, NULL), STATUS_OK);
    assert_int_equal(digits_open(&d->data.test, 1, DIGITS_TEST, test, NULL), STATUS_OK);
    assert_int_equal(task_classification(&d->task, &d->context, &d->data, &s, NULL), STATUS_OK);
}

static void digits_close(digits *d) { classification_data_close(&d->data); }

/* All sets go through the same network. */
static void validation_images_of_another_size_are_refused(void **state) {
    (void)state;
    const train_settings s = settings_default();
    digits d;
    failure why = {0};
    digits_task(&d, 20, 20);
    assert_int_equal(digits_open(&d.data.validation, 1, DIGITS_TEST, 10, NULL), STATUS_OK);
    assert_int_equal(task_classification(&d.task, &d.context, &d.data, &s, &why), STATUS_OK);
    d.data.validation.height--;
    assert_int_equal(task_classification(&d.task, &d.context, &d.data, &s, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "training and validation images differ in size"));
    digits_close(&d);
}

static train_settings digits_settings(void) {
    train_settings s = settings_default();
    s.data = "digits:100,40";
    s.model = "wrn-10-1";
    s.batch = 16;
    s.epochs = 2;
    s.threads = 1;
    return s;
}

/* Also between the two halves of one run. */
static void threads_do_not_change_a_bit(void **state) {
    (void)state;
    digits d;
    digits_task(&d, 100, 40);
    for (int bf16 = 0; bf16 < 2; bf16++) {
        train_settings s = digits_settings();
        s.precision = bf16 ? PRECISION_BF16 : PRECISION_F32;
        s.dropout = 0.2;
        s.label_smoothing = 0.1;
        omp_set_num_threads(1);
        run_whole(&s, &d.task, folder(bf16 ? "threads-1b" : "threads-1"));
        stop_after = 7;
        assert_int_equal(run(&s, &d.task, folder(bf16 ? "threads-12b" : "threads-12"), 0), TRAINER_INTERRUPTED);
        s.threads = 2;
        omp_set_num_threads(2);
        stop_after = 1 << 30;
        assert_int_equal(run(&s, &d.task, folder(bf16 ? "threads-12b" : "threads-12"), 1), TRAINER_FINISHED);
        assert_same_run(folder(bf16 ? "threads-1b" : "threads-1"), folder(bf16 ? "threads-12b" : "threads-12"));
    }
    digits_close(&d);
}

static void a_config_repeats_its_run(void **state) {
    (void)state;
    digits d;
    char path[PATH_SIZE];
    digits_task(&d, 100, 40);
    train_settings s = digits_settings(), again = settings_default();
    s.model = "mlp-1-16";
    s.importance = 1;
    s.seed = 5;
    s.beta = 1.0 / 3, s.tail = (double)NAN;
    run_whole(&s, &d.task, folder("config-1"));
    assert_int_equal(run_path(path, folder("config-1"), RUN_CONFIG, 0), STATUS_OK);
    assert_int_equal(run_config_read_settings(&again, path, NULL), STATUS_OK);
    run_whole(&again, &d.task, folder("config-2"));
    assert_same_run(folder("config-1"), folder("config-2"));
    assert_same_file(folder("config-1"), folder("config-2"), "config.json");
    settings_close(&again);
    digits_close(&d);
}

/* What shows a run to others, and how fast it is, is not in its checkpoints. */
static void settings_that_decide_no_bit_do_not_change_a_byte(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    train_settings s = points_settings();
    run_whole(&s, &task, folder("plain"));
    s.tensorboard = 1;
    s.cache = "elsewhere";
    s.picture_memory = 7;
    s.loaders = 0;
    run_whole(&s, &task, folder("free"));
    assert_same_run(folder("plain"), folder("free"));
}

static void a_finished_run_can_be_continued(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    train_settings s = points_settings();
    s.epochs = 5;
    run_whole(&s, &task, folder("five"));
    s.epochs = 2;
    run_whole(&s, &task, folder("two-and-three"));
    s.epochs = 5;
    assert_int_equal(run(&s, &task, folder("two-and-three"), 1), TRAINER_FINISHED);
    assert_same_file(folder("five"), folder("two-and-three"), "latest.safetensors");
    assert_same_file(folder("five"), folder("two-and-three"), "config.json");
    assert_same_history(folder("five"), folder("two-and-three"));
}

/* ---- what is recorded -------------------------------------------------------------------------------------------- */

static void the_network_of_a_run_gives_the_accuracy_of_its_history(void **state) {
    (void)state;
    digits d;
    csv history;
    char path[PATH_SIZE];
    classifier model;
    failure why = {0};
    digits_task(&d, 200, 100);
    train_settings s = digits_settings();
    run_whole(&s, &d.task, folder("model"));
    float probabilities[100 * 10];
    double losses[100], loss = 0;
    if (classifier_open(&model, folder("model"), &(classifier_options){RUN_WEIGHTS_LATEST, 1, 0}, &why) != STATUS_OK)
        fail_msg("%s", why.message);
    assert_int_equal(classifier_run(&model, &d.data.test, losses, probabilities, &why), STATUS_OK);
    int right = 0;
    for (int i = 0; i < 100; i++) {
        int best = 0;
        double sum = 0;
        for (int k = 0; k < 10; k++) {
            if (probabilities[i * 10 + k] > probabilities[i * 10 + best]) best = k;
            sum += (double)probabilities[i * 10 + k];
        }
        assert_near(sum, 1, 1e-5);
        assert_near(-log((double)probabilities[i * 10 + d.data.test.labels[i]]), losses[i], 1e-4);
        right += best == d.data.test.labels[i];
        loss += losses[i] / 100;
    }
    assert_int_equal(run_path(path, folder("model"), RUN_HISTORY, 0), STATUS_OK);
    assert_int_equal(csv_read(&history, path, CSV_STRICT, NULL), STATUS_OK);
    assert_int_equal(history.rows, 2);
    assert_close(csv_number(&history, 1, (size_t)csv_column(&history, "test_accuracy")), right / 100.0, 1e-6);
    assert_close(csv_number(&history, 1, (size_t)csv_column(&history, "test_loss")), loss, 1e-6);
    csv_close(&history);
    classifier_close(&model);
    digits_close(&d);
}

static void draws_and_losses_add_up(void **state) {
    (void)state;
    points p;
    csv losses;
    char path[PATH_SIZE];
    const task task = points_task(&p);
    train_settings s = points_settings();
    s.objective = OBJECTIVE_ERM;
    s.epochs = 3;
    run_whole(&s, &task, folder("sums"));
    assert_int_equal(run_path(path, folder("sums"), RUN_LOSSES, 0), STATUS_OK);
    assert_int_equal(csv_read(&losses, path, CSV_STRICT, NULL), STATUS_OK);
    assert_int_equal(losses.rows, POINTS);
    double draws = 0;
    for (size_t k = 0; k < losses.rows; k++) {
        const double one = csv_number(&losses, k, (size_t)csv_column(&losses, "draws"));
        assert_true(one >= 0 && one <= 3);
        draws += one;
    }
    assert_true(draws == 3 * 48);
    csv_close(&losses);
}

static void name_with_a_comma(void *context, int index, text *name) {
    (void)context, (void)index;
    text_add(name, "accuracy_left, \"upper\"");
}

/* Each scalar of an event file is a tag, which is its name, and a number. */
static void scalars_have_their_whole_names(void **state) {
    (void)state;
    points p;
    task task = points_task(&p);
    train_settings s = points_settings();
    char command[300];
    size_t size;
    task.metric = name_with_a_comma;
    s.epochs = 1;
    s.tensorboard = 1;
    run_whole(&s, &task, folder("comma"));
    snprintf(command, sizeof command, "cp '%s'/tensorboard/events* '%s/comma/events'", folder("comma"), folders_root);
    assert_int_equal(system(command), 0);
    char *bytes = file_bytes(folder("comma"), "events", &size);
    static const unsigned char TAG[] = "\x0a\x16"
                                       "accuracy_left, \"upper\""
                                       "\x15";
    const float half = 0.5f;
    const char *at = memmem(bytes, size, TAG, sizeof TAG - 1);
    assert_non_null(at);
    assert_memory_equal(at + sizeof TAG - 1, &half, sizeof half);
    free(bytes);
}

static int shown, shown_after_first_epoch;

static status_code show_and_count(void *context, learner *learner, const task_exhibit *exhibits, int count,
                                  failure *failure) {
    status_code status = STATUS_OK;
    (void)context;
    assert_true(count <= learner_micro_batch(learner));
    for (int k = 0; k < count && status == STATUS_OK; k++) {
        shown++;
        snprintf(exhibits[k].verdict->label, sizeof exhibits[k].verdict->label, "seen");
        status = whole_file_write(exhibits[k].path, "picture", 7, failure);
    }
    return status;
}

/* In the middle of a run the folder has what it has told of so far. */
static void look_at_pictures(void *context, const trainer *t, double loss, const double *row) {
    csv hardest;
    char path[PATH_SIZE];
    (void)context, (void)loss;
    if (!row || t->rows.count != 1) return;
    shown_after_first_epoch = shown;
    assert_int_equal(run_path(path, t->folder, RUN_HARDEST, 0), STATUS_OK);
    assert_int_equal(csv_read(&hardest, path, CSV_STRICT, NULL), STATUS_OK);
    assert_int_equal(hardest.rows, 12);
    for (size_t k = 0; k < hardest.rows; k++) {
        assert_string_equal(csv_cell(&hardest, k, (size_t)csv_column(&hardest, "label")), "seen");
        assert_int_equal(run_picture_path(path, t->folder, RUN_HARDEST_PICTURES,
                                          csv_cell(&hardest, k, (size_t)csv_column(&hardest, "example")), NULL),
                         STATUS_OK);
        assert_true(path_exists(path));
    }
    csv_close(&hardest);
}

static void there_are_pictures_while_a_run_trains(void **state) {
    (void)state;
    points p;
    task task = points_task(&p);
    train_settings s = points_settings();
    const train_listener listener = {.report = look_at_pictures};
    trainer *t;
    trainer_end end;
    task.show = show_and_count;
    s.epoch_length = 100; /* a pass for each 50, up to twelve pictures */
    s.iterations = 150;
    folder_make(folder("pictures"), NULL);
    assert_int_equal(trainer_open(&t, &s, &task, folder("pictures"), NULL), STATUS_OK);
    assert_int_equal(trainer_begin(t, NULL), STATUS_OK);
    assert_int_equal(trainer_run(t, &listener, &end, NULL), STATUS_OK);
    trainer_close(&t);
    assert_int_equal(shown_after_first_epoch, 12);
}

static void training_stops_when_the_gradient_of_r_is_small(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    train_settings s = points_settings();
    s.stop_grad_norm = 1e6;
    stop_after = 1 << 30;
    folder_make(folder("converged"), NULL);
    assert_int_equal(run(&s, &task, folder("converged"), 0), TRAINER_CONVERGED);
    assert_int_equal(run(&s, &task, folder("converged"), 1), TRAINER_CONVERGED);
}

/* ---- what goes wrong --------------------------------------------------------------------------------------------- */

static void a_loss_that_is_not_finite_names_the_example_and_keeps_the_checkpoint(void **state) {
    (void)state;
    points p;
    trainer *t;
    trainer_end end;
    failure why = {0};
    const task task = points_task(&p);
    train_settings s = points_settings();
    s.objective = OBJECTIVE_ERM;
    s.epochs = 3;
    s.checkpoint_every = 1;
    folder_make(folder("nan"), NULL);
    assert_int_equal(trainer_open(&t, &s, &task, folder("nan"), &why), STATUS_OK);
    assert_int_equal(trainer_begin(t, &why), STATUS_OK);
    p.x[33][2] = (float)NAN;
    assert_int_equal(trainer_run(t, NULL, &end, &why), STATUS_NOT_FINITE);
    assert_non_null(strstr(why.message, "example 33 (point-33)"));
    assert_non_null(strstr(why.message, "--lr"));
    const int64_t iteration = t->iteration;
    trainer_close(&t);
    p.x[33][2] = 0;
    assert_int_equal(trainer_open(&t, &s, &task, folder("nan"), &why), STATUS_OK);
    assert_int_equal(trainer_resume(t, &why), STATUS_OK);
    assert_int_equal(t->iteration, iteration);
    trainer_close(&t);
}

static status_code resume(const train_settings *s, const task *task, const char *where, failure *why, char *notice) {
    trainer *t;
    status_code status = trainer_open(&t, s, task, where, why);
    if (status != STATUS_OK) return status;
    status = trainer_resume(t, why);
    if (notice) strcpy(notice, t->notices);
    trainer_close(&t);
    return status;
}

static void other_data_and_other_settings_are_refused(void **state) {
    (void)state;
    points p;
    task task = points_task(&p);
    train_settings s = points_settings();
    failure why = {0};
    run_whole(&s, &task, folder("foreign"));
    s.lr = 0.2;
    assert_int_equal(resume(&s, &task, folder("foreign"), &why, NULL), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "'lr'"));
    s = points_settings();
    s.model = "mlp-0-7";
    assert_int_equal(resume(&s, &task, folder("foreign"), &why, NULL), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "'model'"));
    s = points_settings();
    task.fingerprint++;
    assert_int_equal(resume(&s, &task, folder("foreign"), &why, NULL), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "other data"));
    task.former_fingerprint = task.fingerprint - 1; /* as an older version made it */
    assert_int_equal(resume(&s, &task, folder("foreign"), &why, NULL), STATUS_OK);
}

static void a_damaged_checkpoint_is_refused_and_the_one_before_used(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    const train_settings s = points_settings();
    const char *where = folder("damaged");
    failure why = {0};
    char notice[1024];
    size_t size;
    uint64_t seed = 3;
    run_whole(&s, &task, where);
    char *bytes = file_bytes(where, "latest.safetensors", &size), *other = malloc(size);
    for (int k = 0; k < test_size(60, 20000); k++) {
        memcpy(other, bytes, size);
        size_t left = size;
        if (k % 2) left = test_random(&seed) % size;
        else other[test_random(&seed) % size] ^= (char)(1 << test_random(&seed) % 8);
        file_write(where, "latest.safetensors", other, left);
        if (resume(&s, &task, where, &why, notice) != STATUS_OK) fail_msg("%s", why.message);
        assert_non_null(strstr(notice, "previous.safetensors instead"));
    }
    size_t previous_size;
    char *previous = file_bytes(where, "previous.safetensors", &previous_size);
    file_write(where, "previous.safetensors", previous, previous_size / 2);
    assert_int_equal(resume(&s, &task, where, &why, notice), STATUS_CORRUPT);
    assert_non_null(strstr(why.message, "latest.safetensors"));
    file_write(where, "latest.safetensors", bytes, size);
    assert_int_equal(resume(&s, &task, where, &why, notice), STATUS_OK);
    assert_string_equal(notice, "");
    free(bytes);
    free(other);
    free(previous);
}

/* What cannot be written must not cost the only good checkpoint. */
static void a_damaged_checkpoint_does_not_replace_the_one_before(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    const train_settings s = points_settings();
    const char *where = folder("replaced"), *good = folder("replaced-good");
    trainer *t;
    failure why = {0};
    size_t size, previous_size;
    run_whole(&s, &task, where);
    folder_make(good, NULL);
    char *previous = file_bytes(where, "previous.safetensors", &previous_size),
         *bytes = file_bytes(where, "latest.safetensors", &size);
    file_write(good, "previous.safetensors", previous, previous_size);
    file_write(where, "latest.safetensors", bytes, size / 2);
    assert_int_equal(trainer_open(&t, &s, &task, where, NULL), STATUS_OK);
    assert_int_equal(trainer_resume(t, &why), STATUS_OK);
    assert_int_equal(checkpoint_write(t, NULL), STATUS_OK);
    assert_same_file(where, good, "previous.safetensors");
    free(bytes);
    bytes = file_bytes(where, "latest.safetensors", &size); /* whole again: the next one keeps it */
    file_write(good, "previous.safetensors", bytes, size);
    assert_int_equal(checkpoint_write(t, NULL), STATUS_OK);
    assert_same_file(where, good, "previous.safetensors");
    trainer_close(&t);
    free(previous);
    free(bytes);
}

/* The checkpoint with another number in hws.counters, and right checksums. */
static void forge_counter(const char *run, int which, int64_t value) {
    static const char *const NAMES[] = {"latest.safetensors", "previous.safetensors"};
    static const char *const KEYS[] = {"hws_checkpoint", "hws_data", "hws_settings"};
    char path[300];
    int64_t counters[5];
    safetensors *file;
    safetensors_writer *w;
    snprintf(path, sizeof path, "%s/%s", run, NAMES[0]);
    assert_int_equal(safetensors_open(&file, path, NULL), STATUS_OK);
    assert_int_equal(safetensors_writer_open(&w, NULL), STATUS_OK);
    for (size_t k = 0; k < safetensors_count(file); k++) {
        const safetensor *t = safetensors_at(file, k);
        const int here = strcmp(t->name, "hws.counters") == 0;
        if (here) memcpy(counters, t->data, sizeof counters);
        counters[which] = value;
        const safetensors_entry entry = {t->name, t->dtype, t->rank, t->shape};
        assert_int_equal(safetensors_add(w, &entry, here ? (const void *)counters : t->data, NULL), STATUS_OK);
    }
    for (size_t k = 0; k < sizeof KEYS / sizeof *KEYS; k++)
        assert_int_equal(safetensors_add_metadata(w, KEYS[k], safetensors_metadata(file, KEYS[k]), NULL), STATUS_OK);
    for (int k = 0; k < 2; k++) {
        snprintf(path, sizeof path, "%s/%s", run, NAMES[k]);
        assert_int_equal(safetensors_write(w, path, NULL), STATUS_OK);
    }
    safetensors_writer_close(&w);
    safetensors_close(&file);
}

static void counters_that_no_run_has_are_refused(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    train_settings s = points_settings();
    failure why = {0};
    s.look_ahead = 2;
    for (int which = 0; which < 5; which++) {
        char name[32];
        snprintf(name, sizeof name, "counter-%d", which);
        run_whole(&s, &task, folder(name));
        forge_counter(folder(name), which, INT64_MAX);
        assert_int_equal(resume(&s, &task, folder(name), &why, NULL), STATUS_CORRUPT);
        assert_non_null(strstr(why.message, "a counter is impossible"));
        forge_counter(folder(name), which, -1);
        assert_int_equal(resume(&s, &task, folder(name), &why, NULL), STATUS_CORRUPT);
    }
}

static void weights_without_the_rest_are_no_checkpoint(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    const train_settings s = points_settings();
    failure why = {0};
    size_t size;
    run_whole(&s, &task, folder("half"));
    char *bytes = file_bytes(folder("half"), "best.safetensors", &size);
    file_write(folder("half"), "latest.safetensors", bytes, size);
    file_write(folder("half"), "previous.safetensors", bytes, size);
    assert_int_equal(resume(&s, &task, folder("half"), &why, NULL), STATUS_CORRUPT);
    assert_non_null(strstr(why.message, "not a checkpoint"));
    free(bytes);
}

static int stopped_evaluations;

/* Long work: asks whether to stop, and in its end says something that depends on the network. */
static status_code ask(void *context, learner *learner, const listener *listener, double *values, failure *failure) {
    (void)context;
    if (listener_stops(listener)) {
        stopped_evaluations++;
        return fail(failure, STATUS_STOPPED, "stopped");
    }
    values[0] = (double)graph_values(learner_graph(learner))[0];
    return STATUS_OK;
}

static void a_run_that_is_stopped_while_it_is_validated_ends_with_the_same_bytes(void **state) {
    (void)state;
    points p;
    task task = points_task(&p);
    train_settings s = points_settings();
    s.epochs = 3;
    s.look_ahead = 1;
    task.evaluate = ask;
    run_whole(&s, &task, folder("validated"));
    stop_after = 1;
    stopped_evaluations = 0;
    assert_int_equal(run(&s, &task, folder("stopped"), 0), TRAINER_INTERRUPTED);
    while (stop_after++, run(&s, &task, folder("stopped"), 1) == TRAINER_INTERRUPTED) continue;
    assert_int_equal(stopped_evaluations, 3); /* each epoch's, the last one's included */
    assert_same_run(folder("validated"), folder("stopped"));
}

static const double *said; /* what the metric is at the end of each epoch */

static status_code say(void *context, learner *learner, const listener *listener, double *values, failure *failure) {
    (void)context, (void)learner, (void)listener, (void)failure;
    values[0] = *said++;
    return STATUS_OK;
}

static void run_with_metric(const double *values, const char *where) {
    points p;
    task task = points_task(&p);
    train_settings s = points_settings();
    s.epochs = 3;
    assert_int_equal(task.metrics, 1);
    task.evaluate = say;
    said = values;
    run_whole(&s, &task, where);
    assert_ptr_equal(said, values + 3);
}

static void there_are_best_weights_even_if_the_metric_is_never_a_number(void **state) {
    (void)state;
    run_with_metric((const double[]){NAN, NAN, NAN}, folder("never"));
    run_with_metric((const double[]){1, 2, 3}, folder("third"));
    assert_same_file(folder("never"), folder("third"), "best.safetensors");
    run_with_metric((const double[]){NAN, 0.5, NAN}, folder("once"));
    run_with_metric((const double[]){1, 2, 1}, folder("second"));
    assert_same_file(folder("once"), folder("second"), "best.safetensors");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(validation_images_of_another_size_are_refused),
        cmocka_unit_test(a_run_that_is_stopped_while_it_is_validated_ends_with_the_same_bytes),
        cmocka_unit_test(a_run_that_is_stopped_and_resumed_ends_with_the_same_bytes),
        cmocka_unit_test(a_run_whose_length_the_clock_changed_is_repeated_and_resumed_to_the_same_bytes),
        cmocka_unit_test(a_run_ends_when_its_time_is_over),
        cmocka_unit_test(writing_files_is_no_part_of_an_iteration),
        cmocka_unit_test(tail_weights_and_first_visits_survive_interruptions),
        cmocka_unit_test(loader_threads_do_not_change_a_bit),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(a_config_repeats_its_run),
        cmocka_unit_test(settings_that_decide_no_bit_do_not_change_a_byte),
        cmocka_unit_test(a_finished_run_can_be_continued),
        cmocka_unit_test(the_network_of_a_run_gives_the_accuracy_of_its_history),
        cmocka_unit_test(draws_and_losses_add_up),
        cmocka_unit_test(scalars_have_their_whole_names),
        cmocka_unit_test(there_are_pictures_while_a_run_trains),
        cmocka_unit_test(training_stops_when_the_gradient_of_r_is_small),
        cmocka_unit_test(a_loss_that_is_not_finite_names_the_example_and_keeps_the_checkpoint),
        cmocka_unit_test(other_data_and_other_settings_are_refused),
        cmocka_unit_test(a_damaged_checkpoint_is_refused_and_the_one_before_used),
        cmocka_unit_test(a_damaged_checkpoint_does_not_replace_the_one_before),
        cmocka_unit_test(counters_that_no_run_has_are_refused),
        cmocka_unit_test(weights_without_the_rest_are_no_checkpoint),
        cmocka_unit_test(there_are_best_weights_even_if_the_metric_is_never_a_number),
    };
    return cmocka_run_group_tests(tests, folders_setup, folders_teardown);
}
