/* How many threads work when other programs use the processors, too: the policy on steps that are made up. */
#include "nn/team.h"
#include "testing.h"

enum { ALL = 16 };

/* A machine: the seconds of a step and the share of them that is waited for processors, with so many threads. */
typedef struct machine {
    double now;
    int free; /* processors that nobody else wants */
} machine;

/* Threads that have no processor of their own hold the others up, whatever their number. */
static void step(machine *machine, team_policy *policy) {
    const int working = policy->limit ? policy->limit : ALL, crowded = working > machine->free;
    const double seconds = 0.2 / working + (crowded ? 2 : 0), waited = crowded ? 0.4 * seconds : 0;
    machine->now += seconds;
    team_policy_step(policy, ALL, seconds, waited, machine->now);
}

static void run_for(machine *machine, team_policy *policy, double seconds) {
    const double end = machine->now + seconds;
    while (machine->now < end) step(machine, policy);
}

static void all_threads_work_while_nobody_else_does(void **state) {
    (void)state;
    team_policy policy = {0};
    machine machine = {0, ALL};
    for (int k = 0; k < 1000; k++) {
        step(&machine, &policy);
        assert_int_equal(policy.limit, 0);
    }
}

static void fewer_work_while_others_do_and_all_again_later(void **state) {
    (void)state;
    for (int free = 1; free < ALL; free *= 2) {
        team_policy policy = {0};
        machine machine = {0, free};
        run_for(&machine, &policy, 30);
        long steps = 0, right = 0;
        for (const double end = machine.now + 60; machine.now < end; steps++) {
            step(&machine, &policy);
            right += policy.limit == free;
        }
        assert_true(right > steps * 9 / 10); /* the rest are trials */
        machine.free = ALL;
        run_for(&machine, &policy, 300);
        assert_int_equal(policy.limit, 0);
    }
}

/* Where fewer threads would be slower, all go on; trials become rare. */
static void what_is_slower_is_not_kept(void **state) {
    (void)state;
    team_policy policy = {0};
    long fewer = 0, steps = 2000;
    double now = 0;
    for (long k = 0; k < steps; k++) {
        const double seconds = 1.6 / (policy.limit ? policy.limit : ALL);
        fewer += policy.limit != 0;
        now += seconds;
        team_policy_step(&policy, ALL, seconds, 0.2 * seconds, now);
    }
    assert_true(fewer > 0 && fewer < steps / 50);
}

/* Others may be so many that one thread alone waits, too: then two or more have no time to win. */
static void a_thread_that_waits_alone_calls_no_others(void **state) {
    (void)state;
    team_policy policy = {0};
    double now = 0;
    for (int k = 0; k < 2000; k++) {
        const int working = policy.limit ? policy.limit : ALL;
        const double seconds = working > 1 ? 6 : 0.5;
        if (k > 20) assert_int_equal(working, 1);
        now += seconds;
        team_policy_step(&policy, ALL, seconds, 0.3 * seconds, now);
    }
}

static void a_team_is_never_larger_than_planned(void **state) {
    (void)state;
    team_open(4);
    assert_int_equal(team_size(4), 4);
    assert_int_equal(team_size(2), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_threads_work_while_nobody_else_does),
        cmocka_unit_test(fewer_work_while_others_do_and_all_again_later),
        cmocka_unit_test(what_is_slower_is_not_kept),
        cmocka_unit_test(a_thread_that_waits_alone_calls_no_others),
        cmocka_unit_test(a_team_is_never_larger_than_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
