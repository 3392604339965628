/* How the length of a run follows the clock, with a clock of the test's own. */
#include "train/pace.h"

#include "testing.h"

enum { EPOCH = 50, PLANNED = 1000 };

/* What the machine really takes, by the number of the iteration. */
typedef struct machine {
    double step, validation, end;
    int64_t slow_from;
    double slower; /* by this factor from there on */
    int64_t stalls_at, stalls;
    double stall;        /* seconds that so many iterations from there on take longer */
    double recording;    /* seconds that it takes to record a change */
    int slow_validation; /* this one, from 1 on, takes so many times longer */
    double times;
} machine;

/* One that never stands still. */
#define STEADY(step_, validation_, end_, slow_from_, slower_)                                                          \
    { .step = (step_), .validation = (validation_), .end = (end_), .slow_from = (slow_from_), .slower = (slower_) }

static double factor(const machine *m, int64_t done) { return done >= m->slow_from ? m->slower : 1; }

static double step_of(const machine *m, int64_t done) {
    const int stalls = done >= m->stalls_at && done < m->stalls_at + m->stalls;
    return m->step * factor(m, done) + (stalls ? m->stall : 0);
}

typedef struct course {
    double finish;
    int64_t made;
    double least_fall, last_position; /* of the position */
} course;

/* What was measured before the run. */
typedef struct costs {
    double step, validation, end;
    int64_t epoch;
} costs;

/* A whole run: the clock when all is over. Pictures are drawn at the end while there is time. */
static course run_with(pace *p, const machine *m, double deadline, const costs *measured) {
    course c = {.least_fall = 1e300};
    double now = 0, position = -1;
    int64_t done = 0;
    int validations = 0;
    pace_watch(p, deadline, measured->step, measured->validation, measured->end, now);
    while (done < pace_length(p, done)) {
        const double at = pace_position(p, done);
        c.least_fall = fmin(c.least_fall, at - position);
        position = at;
        now += step_of(m, done);
        done++;
        pace_measure_step(p, now);
        const int decided = pace_decide(p, &(pace_moment){done, measured->epoch, 0, now});
        assert_true(decided >= 0);
        if (decided) now += m->recording;
        if (decided) pace_skip(p, now);
        if (done % measured->epoch && done != pace_length(p, done)) continue;
        now += m->validation * factor(m, done) * (++validations == m->slow_validation ? m->times : 1);
        pace_measure_validation(p, now);
    }
    c.finish = now + fmin(m->end * factor(m, done), fmax(0, deadline - now));
    c.made = done;
    c.last_position = pace_position(p, done);
    return c;
}

static course run_from(pace *p, const machine *m, double deadline, double step) {
    return run_with(p, m, deadline, &(costs){step, 4, 6, EPOCH});
}

static course run(pace *p, const machine *m, double deadline) { return run_from(p, m, deadline, 1); }

static course run_of(const machine *m, double deadline, pace *p) {
    assert_int_equal(pace_open(p, PLANNED, "", NULL), STATUS_OK);
    return run(p, m, deadline);
}

/* 1000 steps of 1 s, 20 validations of 4 s and 6 s at the end are 1086 s. */
static void a_machine_as_it_was_measured_changes_nothing(void **state) {
    (void)state;
    pace p;
    const course c = run_of(&(machine)STEADY(1, 4, 6, 0, 1), 1140, &p);
    assert_true(c.made == PLANNED && p.count == 0 && c.finish <= 1140);
    for (int64_t k = 0; k <= PLANNED; k += 37) assert_true(pace_position(&p, k) == (double)k);
    pace_close(&p);
}

static void a_slower_machine_still_ends_in_time_and_at_the_end_of_the_schedule(void **state) {
    (void)state;
    static const machine SLOW[] = {STEADY(2, 8, 12, 0, 1),   STEADY(1, 4, 6, 500, 3),   STEADY(1, 4, 6, 300, 10),
                                   STEADY(1, 4, 6, 900, 2),  STEADY(1, 40, 6, 0, 1),    STEADY(1.1, 4, 6, 0, 1),
                                   STEADY(1, 4, 6, 40, 1.3), STEADY(30, 120, 180, 0, 1)};
    for (size_t k = 0; k < sizeof SLOW / sizeof *SLOW; k++) {
        pace p;
        const course c = run_of(&SLOW[k], 1140, &p);
        if (c.finish > 1140) fail_msg("machine %zu ended after %g s with %lld", k, c.finish, (long long)c.made);
        assert_true(c.made < PLANNED && p.count >= 1);
        assert_true(c.least_fall > 0); /* the rate only falls */
        assert_true(c.last_position > 0.9 * PLANNED && c.last_position < PLANNED + 1e-6);
        pace_close(&p);
    }
}

/* 1000 steps of 1 s; one validation takes 80 s instead of 4, and costs its time, but not that of all that follow. */
static void one_slow_validation_costs_no_more_than_itself(void **state) {
    (void)state;
    for (int slow = 1; slow < 20; slow++) {
        pace p;
        machine m = STEADY(1, 4, 6, 0, 1);
        m.slow_validation = slow;
        m.times = 20;
        const course c = run_of(&m, 1140, &p);
        if (c.finish > 1140 || c.made < 900 || p.count > 8)
            fail_msg("validation %d: %lld iterations, %g s, %zu changes", slow, (long long)c.made, c.finish, p.count);
        pace_close(&p);
    }
}

static void time_that_is_left_is_used(void **state) {
    (void)state;
    pace p;
    /* 14 iterations that were thought to take 13 s each take 7. */
    assert_int_equal(pace_open(&p, 14, "", NULL), STATUS_OK);
    const course few = run_from(&p, &(machine)STEADY(7, 4, 6, 0, 1), 210, 13);
    assert_true(few.finish <= 210 && few.made >= 20);
    pace_close(&p);
    /* 5 that were thought to take 30 s each take 2: the way of the rate is not over with two thirds of so few. */
    assert_int_equal(pace_open(&p, 5, "", NULL), STATUS_OK);
    const course fewer = run_with(&p, &(machine)STEADY(2, 4, 6, 0, 1), 210, &(costs){30, 4, 6, 1});
    if (fewer.finish > 210 || fewer.made < 20) fail_msg("%lld iterations in %g s", (long long)fewer.made, fewer.finish);
    pace_close(&p);
    const course c = run_of(&(machine)STEADY(0.5, 2, 3, 0, 1), 1140, &p);
    assert_true(c.finish <= 1140 && c.finish > 0.85 * 1140 && (double)c.made > 1.7 * PLANNED);
    assert_float_equal(c.last_position, PLANNED, 1e-6);
    pace_close(&p);
}

/* 15 ms steps for an hour; for 5 s each the machine stands still in two of them, wherever that is. */
static void a_machine_that_stands_still_for_a_moment_is_not_a_slow_one(void **state) {
    (void)state;
    static const int64_t WHERE[] = {0, 1, 3, 50, 1000, 100000, 200000};
    enum { LENGTH = 220000 };
    for (size_t k = 0; k < sizeof WHERE / sizeof *WHERE; k++) {
        pace p;
        const machine m = {
            .step = 0.015, .validation = 4, .end = 6, .slower = 1, .stalls_at = WHERE[k], .stalls = 2, .stall = 5};
        assert_int_equal(pace_open(&p, LENGTH, "", NULL), STATUS_OK);
        const course c = run_with(&p, &m, 3600, &(costs){0.015, 4, 6, LENGTH / 20});
        if (c.made < LENGTH * 8 / 10) fail_msg("it ended after %lld of %d", (long long)c.made, LENGTH);
        assert_true(c.finish <= 3600);
        pace_close(&p);
    }
}

/* Steps of 0.13 ms beside files that take 20 ms to write: one change of the length must not be
   the reason for the next. */
static void recording_a_change_does_not_change_the_length_again(void **state) {
    (void)state;
    enum { LENGTH = 40000 };
    pace p;
    const machine m = {.step = 0.00016,
                       .validation = 0.02,
                       .end = 0.8,
                       .slower = 1,
                       .stalls_at = 436,
                       .stalls = 1,
                       .stall = 0.02,
                       .recording = 0.02};
    assert_int_equal(pace_open(&p, LENGTH, "", NULL), STATUS_OK);
    const course c = run_with(&p, &m, 8, &(costs){0.00013, 0.02, 0.8, LENGTH / 20});
    if (c.made < LENGTH * 8 / 10) fail_msg("it ended after %lld of %d", (long long)c.made, LENGTH);
    assert_true(c.finish <= 8 && c.finish > 0.85 * 8);
    pace_close(&p);
}

/* The pictures of the end take what is left: of a machine whose steps are slow there are fewer, not fewer steps. */
static void the_end_does_not_grow_with_the_steps(void **state) {
    (void)state;
    pace p;
    const machine m = {.step = 2, .validation = 4, .end = 60, .slower = 1};
    assert_int_equal(pace_open(&p, 500, "", NULL), STATUS_OK);
    const course c = run_with(&p, &m, 640, &(costs){1, 4, 60, 500});
    assert_true(c.made > 260 && c.finish <= 640);
    pace_close(&p);
}

/* Without a clock, and for who asks at any iteration, also one before a change. */
static void who_follows_the_record_goes_the_same_way(void **state) {
    (void)state;
    pace p, again;
    text words = {0};
    const course c = run_of(&(machine)STEADY(1, 4, 6, 300, 4), 1140, &p);
    pace_record(&p, &words);
    assert_int_equal(pace_open(&again, PLANNED, text_string(&words), NULL), STATUS_OK);
    for (int64_t k = 0; k <= c.made; k++) {
        assert_int_equal(pace_length(&again, k), pace_length(&p, k));
        assert_true(pace_position(&again, k) == pace_position(&p, k));
        assert_int_equal(pace_decide(&again, &(pace_moment){k + 1, EPOCH, 0, 1e9}), 0);
    }
    pace_close(&again);
    pace_close(&p);
    text_close(&words);
}

static void a_position_is_the_plain_sum_of_equal_shares(void **state) {
    (void)state;
    pace p;
    assert_int_equal(pace_open(&p, 100, "40:70,55:60,59:80", NULL), STATUS_OK);
    double position = 0;
    for (int64_t k = 0; k < 80; k++) {
        assert_float_equal(pace_position(&p, k), position, 1e-9);
        position += (100 - position) / (double)(pace_length(&p, k) - k);
    }
    assert_float_equal(pace_position(&p, 80), 100, 1e-9);
    pace_close(&p);
}

static void what_was_never_recorded_is_refused(void **state) {
    (void)state;
    static const char *const WRONG[] = {"x", "5", "5:", "5:9,", "5:4", "0:9", "9:20,9:30", "9:20,8:30", "5:9;", ","};
    for (size_t k = 0; k < sizeof WRONG / sizeof *WRONG; k++) {
        pace p;
        assert_int_equal(pace_open(&p, 100, WRONG[k], NULL), STATUS_BAD_INPUT);
        pace_close(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_as_it_was_measured_changes_nothing),
        cmocka_unit_test(a_slower_machine_still_ends_in_time_and_at_the_end_of_the_schedule),
        cmocka_unit_test(one_slow_validation_costs_no_more_than_itself),
        cmocka_unit_test(time_that_is_left_is_used),
        cmocka_unit_test(a_machine_that_stands_still_for_a_moment_is_not_a_slow_one),
        cmocka_unit_test(recording_a_change_does_not_change_the_length_again),
        cmocka_unit_test(the_end_does_not_grow_with_the_steps),
        cmocka_unit_test(who_follows_the_record_goes_the_same_way),
        cmocka_unit_test(a_position_is_the_plain_sum_of_equal_shares),
        cmocka_unit_test(what_was_never_recorded_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
