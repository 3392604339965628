/*
 * Batches prepared ahead of time, by threads.
 *
 * The main thread draws batches and adds them in the order of their iterations; threads only fill buffers with what the
 * task gives for (example, iteration, slot). So the results depend neither on the number of threads nor on their pace.
 * Without threads, loader_take fills the batch itself.
 */
#ifndef HWS_TRAIN_LOADER_H
#define HWS_TRAIN_LOADER_H

#include "task/task.h"

typedef struct loaded {
    int64_t iteration;
    int64_t *examples; /* the batch's size of them */
    float *input;      /* [slot][input_floats] */
    int16_t *labels;   /* [slot][label_count] */
} loaded;

typedef struct loader loader;

typedef struct loader_options {
    const task *task;                 /* must outlive the loader */
    int64_t size;                     /* examples of a batch */
    int64_t first, end;               /* those of them that are filled; the others are the business of other ranks */
    int64_t capacity;                 /* batches that can be there at once */
    size_t input_floats, label_count; /* of an example */
    int threads;
} loader_options;

status_code loader_open(loader **loader, const loader_options *options, failure *failure);
/* Waits for the threads, which leave what they have not begun. */
void loader_close(loader **loader);

/* How many batches were added and not taken away; there must be less than the capacity when one is added. */
int64_t loader_count(const loader *loader);
void loader_add(loader *loader, int64_t iteration, const int64_t *examples);

/* The batch added as the index-th of those that are there: what a checkpoint keeps. */
const int64_t *loader_examples(const loader *loader, int64_t index);

/* The oldest batch, filled: waits until it is. It stays as it is until loader_release. */
status_code loader_take(loader *loader, const loaded **batch, failure *failure);

/* How many seconds loader_take has waited or filled so far. */
double loader_waited(const loader *loader);
void loader_release(loader *loader);

#endif
