/*
 * How many threads work together on an operation when other programs use the processors, too.
 *
 * Threads wait for each other at the end of each operation, and while they wait they spin. On a machine with nothing
 * else to do that is the fastest way. Where others have taken a processor away from one thread, all others spin until
 * it comes back, and a small network gets slower by a factor of twenty. Results do not depend on the number of threads,
 * so it may change from step to step: when a step had to wait for processors, half as many threads are tried, and kept
 * if they are faster; later twice as many again. As long as no step waits, all threads work.
 */
#ifndef HWS_NN_TEAM_H
#define HWS_NN_TEAM_H

/* What is known about the pace of steps; zeros at first. */
typedef struct team_policy {
    int limit;              /* 0: all threads may work */
    double pace;            /* seconds of a step with the threads before the trial; 0: nothing is tried */
    int before;             /* the limit before the trial */
    double seconds, waited; /* of the steps since the last decision */
    int steps;
    double hold, until; /* after a trial, none is made for so long */
} team_policy;

/* Tells the policy of a step that took this long and waited so long for a processor; `now` is any clock that rises. All
   threads are so many. */
void team_policy_step(team_policy *policy, int all, double seconds, double waited, double now);

/* The number of threads for an operation that is planned for so many. */
int team_size(int planned);

/* 0 and 1 by turns: which way the next pass over the activations goes. */
int team_turn(void);

/* So many threads may work from now on, all of them until something else is observed. */
void team_open(int threads);

/* Around each training step, whose work is always about the same: observes this process' steps. */
void team_step_begin(void);
void team_step_end(void);

#endif
