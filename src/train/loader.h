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

/* Room for `room` batches of `size` examples, each with so many floats and labels. The task must outlive the loader. */
status_code loader_open(loader **loader, const task *task, int64_t size, size_t input_floats, size_t label_count,
                        int64_t room, int threads, failure *failure);
/* Waits for the threads, which leave what they have not begun. */
void loader_close(loader **loader);

/* How many batches were added and not taken away; there must be less than `room` when one is added. */
int64_t loader_count(const loader *loader);
void loader_add(loader *loader, int64_t iteration, const int64_t *examples);

/* The batch added as the index-th of those that are there: what a checkpoint keeps. */
const int64_t *loader_examples(const loader *loader, int64_t index);

/* The oldest batch, filled: waits until it is. It stays as it is until loader_release. */
status_code loader_take(loader *loader, const loaded **batch, failure *failure);
void loader_release(loader *loader);

#endif
