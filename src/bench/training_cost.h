/*
 * What a training step costs: forward, a loss per example, backward and the optimiser, on random data.
 *
 *     training_task task = {.model = "unet", .channels = 1, .graph = {.threads = 2}};
 *     status = training_task_complete(&task, &failure);
 *     learner_open(&task.learner, &learner, &failure);
 *     status = training_cost_measure(&task, learner, seconds, &cost, &failure);
 */
#ifndef HWS_BENCH_TRAINING_COST_H
#define HWS_BENCH_TRAINING_COST_H

#include "bench/timings.h"
#include "model/learner.h"

typedef struct training_task {
    const char *model;            /* as model_parse reads it */
    int batch, classes, patch[3]; /* 0: 64, 10 and 1x28x28; 2, 3 and 40x56x40 for a U-Net */
    int channels;                 /* of the input; at least 1 */
    int levels, base, max_pool;   /* of a U-Net; see model.h */
    graph_options graph;          /* precision, threads, algorithm */
    learner_options learner;      /* set by training_task_complete */
} training_task;

/* Puts in what is 0 and sets `learner`: SGD and cross entropy; nnU-Net's loss and optimiser for a U-Net. */
status_code training_task_complete(training_task *task, failure *failure);

typedef struct training_cost {
    timing step;           /* of the runs that fit into the time */
    double gflops;         /* of direct convolution, per second, by the median */
    double peak_gflops;    /* what the threads can multiply and add in f32, measured */
    double peak_megabytes; /* the largest memory that the process ever had */
    double gather_seconds; /* to tell all ranks the losses of a batch and what follows from them; 0 for one alone */
} training_cost;

/* Steps of a learner that was opened with `task->learner`, whose weights it initialises, for about so many seconds. */
status_code training_cost_measure(const training_task *task, learner *learner, double seconds, training_cost *cost,
                                  failure *failure);

#endif
