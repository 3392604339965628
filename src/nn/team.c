#define _POSIX_C_SOURCE 200809L
#include "nn/team.h"

#include "core/clock.h"

#include <fcntl.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* A decision takes this many seconds of steps, or one step; it looks for others when so much of the time was waited. */
static const double WINDOW = 0.1, SHARED = 0.1, FASTER = 0.95, SLOWER = 1.5, FIRST_HOLD = 1, LONGEST_HOLD = 60;

static void try_limit(team_policy *policy, int limit, double pace) {
    policy->before = policy->limit;
    policy->pace = pace;
    policy->limit = limit;
}

/* Keeps what was tried if it is faster. The next trial is made after a while, which doubles
   with each one that fails. */
static void end_trial(team_policy *policy, double pace, double now) {
    if (pace < FASTER * policy->pace) {
        policy->hold = FIRST_HOLD;
    } else {
        policy->limit = policy->before;
        policy->hold = policy->hold > 0 ? 2 * policy->hold : FIRST_HOLD;
        if (policy->hold > LONGEST_HOLD) policy->hold = LONGEST_HOLD;
    }
    policy->until = now + policy->hold;
    policy->pace = 0;
}

/* Half as many as are too many may still be too many, and no faster: that is no reason to give up. */
static int goes_on(const team_policy *policy, int working, double pace, double share) {
    const int fewer = !policy->before || policy->limit < policy->before;
    return fewer && policy->limit && working > 1 && share > SHARED && pace < SLOWER * policy->pace;
}

static void decide(team_policy *policy, int all, double pace, double share, double now) {
    const int working = policy->limit ? policy->limit : all;
    if (policy->pace > 0) {
        if (goes_on(policy, working, pace, share)) policy->limit = working / 2;
        else end_trial(policy, pace, now);
    } else if (policy->until > now) {
        return;
    } else if (share > SHARED) { /* also one thread alone may wait: more of them would wait longer */
        if (working > 1) try_limit(policy, working / 2, pace);
    } else if (policy->limit) {
        try_limit(policy, 2 * working < all ? 2 * working : 0, pace);
    }
}

void team_policy_step(team_policy *policy, int all, double seconds, double waited, double now) {
    policy->seconds += seconds;
    policy->waited += waited;
    policy->steps++;
    if (policy->seconds < WINDOW) return;
    decide(policy, all, policy->seconds / policy->steps, policy->waited / policy->seconds, now);
    policy->seconds = policy->waited = 0;
    policy->steps = 0;
}

/* ---- this process ---------------------------------------------------------------------------------------------- */

static atomic_int limit;

int team_size(int planned) {
    const int most = atomic_load_explicit(&limit, memory_order_relaxed);
    return most > 0 && most < planned ? most : planned;
}

static atomic_int turns;

int team_turn(void) { return atomic_fetch_xor_explicit(&turns, 1, memory_order_relaxed); }

/* Where the system tells how long the main thread has waited for a processor; it stays open, since a step of
   a small network takes less than a hundred microseconds. -1: it does not tell, or one thread works alone
   and nobody waits for it. */
static int waits = -1;

/* Seconds that the main thread could have run and had no processor. A step allocates nothing, so this is
   not read through a FILE. */
static double seconds_waited(void) {
    char text[128] = {0};
    unsigned long long waited = 0;
    if (waits < 0 || pread(waits, text, sizeof text - 1, 0) <= 0) return 0;
    return sscanf(text, "%*u %llu", &waited) == 1 ? (double)waited * 1e-9 : 0;
}

static team_policy policy;
static int all = 1;
static double began, waited_before;

/* Operations that name no number of threads have the same: teams of another size would be made anew each time. */
static void set_limit(int most) {
    atomic_store_explicit(&limit, most, memory_order_relaxed);
    omp_set_num_threads(team_size(all));
}

void team_open(int threads) {
    policy = (team_policy){0};
    all = threads;
    set_limit(0);
    if (waits >= 0) close(waits);
    waits = all > 1 ? open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC) : -1;
}

void team_step_begin(void) {
    if (waits < 0) return;
    waited_before = seconds_waited();
    began = clock_seconds();
}

void team_step_end(void) {
    if (waits < 0) return;
    const double now = clock_seconds();
    const int before = policy.limit;
    team_policy_step(&policy, all, now - began, seconds_waited() - waited_before, now);
    if (policy.limit != before) set_limit(policy.limit);
}
