/*
 * What a training loop needs to know about what is learnt: the interface between the loop and a task.
 *
 * Functions get the task's `context`. `fill` is called from several threads at once and must give the same numbers
 * whenever it is called with the same arguments: whatever is random in it is keyed by (seed, iteration, slot).
 * The others are called by one thread.
 */
#ifndef HWS_TASK_TASK_H
#define HWS_TASK_TASK_H

#include "core/text.h"
#include "model/learner.h"
#include "run/settings.h"

/* Instead of an iteration: the example as it is, without augmentation. */
#define TASK_PLAIN UINT64_MAX

enum { TASK_NAME = 128 };

/* What the gallery of hard examples says about one: two class numbers, or no label and words about the prediction. */
typedef struct task_verdict {
    char label[TASK_NAME], prediction[TASK_NAME];
} task_verdict;

typedef struct task {
    void *context;
    const char *kind;     /* "classification" or "segmentation", as config.json has it */
    int64_t examples;     /* to train on */
    uint64_t fingerprint; /* of the data: a resumed run must find the same */
    int metrics;          /* how many numbers an evaluation gives */
    int best;             /* the metric whose largest value marks the best weights */

    /* The network, its loss and the part of a batch that is worked on at once; the optimiser is set already. */
    status_code (*network)(void *context, const train_settings *settings, learner_options *options, failure *failure);

    /* Example `example` as slot `slot` of the batch of an iteration: one example of learner_input and learner_labels. */
    status_code (*fill)(void *context, int64_t example, uint64_t iteration, uint32_t slot, float *input,
                        int16_t *labels, failure *failure);

    /* How people call it: a file's or a case's name, or its number; without commas, quotes and slashes. */
    void (*name)(void *context, int64_t example, char name[TASK_NAME]);

    /* The class or stratum of an example, from 0 on; -1 if there is none. For --objective reweight. May be NULL. */
    int (*group)(void *context, int64_t example);

    /* The column of history.csv of a metric, and all of them for the network as it is now. */
    void (*metric)(void *context, int index, char name[TASK_NAME]);
    status_code (*evaluate)(void *context, learner *learner, double *values, failure *failure);

    /* Label and prediction of an example, and a picture of it at `path` (.png). */
    status_code (*show)(void *context, learner *learner, int64_t example, const char *path, task_verdict *verdict,
                        failure *failure);

    /* Facts for config.json: lines "    \"key\": value,\n". */
    void (*describe)(void *context, text *json);
} task;

#endif
