/*
 * What a training loop needs to know about what is learnt: the interface between the loop and a task.
 *
 * To add a task, fill in a `task` as classification.c and segmentation.c do, name it in run/config.h's task_kind, and
 * open it in train/train.c for the data that it is for.
 *
 * Functions get the task's `context`. `fill` is called from several threads at once and must give the same numbers
 * whenever it is called with the same arguments: whatever is random in it is keyed by (seed, iteration, slot).
 * The others are called by one thread.
 */
#ifndef HWS_TASK_TASK_H
#define HWS_TASK_TASK_H

#include "core/listener.h"
#include "core/text.h"
#include "model/learner.h"
#include "run/config.h"

/* Instead of an iteration: the example as it is, without augmentation. */
#define TASK_PLAIN UINT64_MAX

/* An example that is wanted, and where: as slot `slot` of the batch of an iteration. */
typedef struct task_request {
    int64_t example;
    uint64_t iteration; /* or TASK_PLAIN */
    uint32_t slot;
    float *input;    /* one example of learner_input */
    int16_t *labels; /* and of learner_labels */
} task_request;

/* What the gallery of hard examples says about one: two class numbers, or no label and words about the prediction. */
typedef struct task_verdict {
    char label[128], prediction[128];
    double margin; /* the label's score minus the largest of the others'; NaN, if left alone: unknown */
} task_verdict;

/* An example that is to be shown: a picture of it at `path` (.png), and what is said about it. */
typedef struct task_exhibit {
    int64_t example;
    char *path;
    task_verdict *verdict;
} task_exhibit;

typedef struct task {
    void *context;
    task_kind kind;
    int64_t examples;            /* to train on */
    uint64_t fingerprint;        /* of the data: a resumed run must find the same */
    uint64_t former_fingerprint; /* one that serves as well; 0: none */
    int metrics;                 /* how many numbers an evaluation gives */
    int best;                    /* the metric whose largest value marks the best weights */
    int best_is_least;           /* 1: its least value does */
    int keeps_last;              /* 1: nothing may choose, so that the weights of the last epoch count as the best */
    int shown;                   /* the metric that the program shows while it trains */

    /* The network, its loss and the micro-batch; the optimiser is set already. */
    status_code (*network)(void *context, const train_settings *settings, learner_options *options, failure *failure);

    status_code (*fill)(void *context, const task_request *request, failure *failure);

    /* Adds the name of an example: a case's name, unchanged, or a number. No two are equal. */
    void (*name)(void *context, int64_t example, text *name);

    /* The class of an example, for losses.csv. May be NULL. */
    int (*label)(void *context, int64_t example);

    /* The group of an example, from 0 on; -1 if there is none. For --objective reweight and group-dro: its class, or
       what a column of groups says. May be NULL. */
    int (*group)(void *context, int64_t example);

    /* Adds what the group is called, nothing if there is none, for losses.csv and triage.csv.
       NULL: groups have no names. */
    void (*group_name)(void *context, int64_t example, text *name);

    /* After learner_evaluate: whether the network is wrong about the example in this slot. NULL: being among the
       hardest --tail of all examples takes its place. For --objective jtt. */
    int (*is_wrong)(void *context, learner *learner, int slot);

    /* Adds the name of a metric's column in history.csv. All of them for the network as it is now: the
       listener, who may be NULL, is asked often whether to stop, which is STATUS_STOPPED. */
    void (*metric)(void *context, int index, text *name);
    status_code (*evaluate)(void *context, learner *learner, const listener *listener, double *values,
                            failure *failure);

    /* What the network says about so many examples, at most a micro-batch, which it sees
       together, and a picture of each. */
    status_code (*show)(void *context, learner *learner, const task_exhibit *exhibits, int count, failure *failure);

    /* Adds a line about what the data hold, for who begins to train. May be NULL. */
    void (*tell)(void *context, text *line);

    /* Fills in the facts that only the task knows: its classes, and what is said of it alone. Names stay the task's. */
    void (*describe)(void *context, run_facts *facts);
} task;

#endif
