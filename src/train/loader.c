#define _POSIX_C_SOURCE 200809L
#include "train/loader.h"

#include "core/clock.h"
#include "core/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct slot {
    loaded batch;
    int64_t begun, done; /* examples whose filling has begun, and is done */
    status_code status;  /* the first failure */
    failure failure;
} slot;

struct loader {
    loader_options options;
    slot *slots; /* a ring */
    int64_t first, count;
    double waited; /* seconds */
    pthread_t *threads;
    int thread_count, closing;
    int has_mutex, has_work, has_filled;
    pthread_mutex_t mutex; /* guards begun, done, status, first, count, closing */
    pthread_cond_t work, filled;
};

static slot *slot_at(const loader *l, int64_t index) { return &l->slots[(l->first + index) % l->options.capacity]; }

/* The oldest batch with an example that nobody has begun with. */
static slot *next_work(const loader *l) {
    for (int64_t k = 0; k < l->count; k++)
        if (slot_at(l, k)->begun < l->options.end) return slot_at(l, k);
    return 0;
}

/* Fills the slot's next example. Called, and left, with the mutex held. */
static void fill_next(loader *l, slot *s) {
    const int64_t k = s->begun++;
    failure why = {0};
    pthread_mutex_unlock(&l->mutex);
    const task_request request = {.example = s->batch.examples[k],
                                  .iteration = (uint64_t)s->batch.iteration,
                                  .slot = (uint32_t)k,
                                  .input = s->batch.input + (size_t)k * l->options.input_floats,
                                  .labels = s->batch.labels + (size_t)k * l->options.label_count};
    const status_code status = l->options.task->fill(l->options.task->context, &request, &why);
    pthread_mutex_lock(&l->mutex);
    if (status != STATUS_OK && s->status == STATUS_OK) {
        s->status = status;
        s->failure = why;
    }
    if (++s->done == l->options.end) pthread_cond_broadcast(&l->filled);
}

static void *work(void *argument) {
    loader *l = argument;
    pthread_mutex_lock(&l->mutex);
    while (!l->closing) {
        slot *s = next_work(l);
        if (s) fill_next(l, s);
        else pthread_cond_wait(&l->work, &l->mutex);
    }
    pthread_mutex_unlock(&l->mutex);
    return 0;
}

static int open_slots(loader *l) {
    l->slots = calloc((size_t)l->options.capacity, sizeof *l->slots);
    for (int64_t k = 0; l->slots && k < l->options.capacity; k++) {
        loaded *b = &l->slots[k].batch;
        b->examples = memory_open((size_t)l->options.size * sizeof *b->examples);
        b->input = memory_open((size_t)l->options.size * l->options.input_floats * sizeof *b->input);
        b->labels = memory_open((size_t)l->options.size * l->options.label_count * sizeof *b->labels);
        if (!b->examples || !b->input || !b->labels) return 0;
    }
    return l->slots != 0;
}

static int open_threads(loader *l) {
    l->has_mutex = pthread_mutex_init(&l->mutex, 0) == 0;
    l->has_work = pthread_cond_init(&l->work, 0) == 0;
    l->has_filled = pthread_cond_init(&l->filled, 0) == 0;
    l->threads = calloc((size_t)l->options.threads + 1, sizeof *l->threads);
    if (!l->has_mutex || !l->has_work || !l->has_filled || !l->threads) return 0;
    for (; l->thread_count < l->options.threads; l->thread_count++)
        if (pthread_create(&l->threads[l->thread_count], 0, work, l) != 0) return 0;
    return 1;
}

status_code loader_open(loader **opened, const loader_options *options, failure *failure) {
    loader *l = *opened = calloc(1, sizeof *l);
    if (!l) return fail_memory(failure, "the loader");
    l->options = *options;
    if (open_slots(l) && open_threads(l)) return STATUS_OK;
    loader_close(opened);
    return fail_memory(failure, "the loader's batches or threads");
}

static void stop_threads(loader *l) {
    if (!l->thread_count) return;
    pthread_mutex_lock(&l->mutex);
    l->closing = 1;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->mutex);
    for (int k = 0; k < l->thread_count; k++) pthread_join(l->threads[k], 0);
}

void loader_close(loader **opened) {
    if (!opened || !*opened) return;
    loader *l = *opened;
    stop_threads(l);
    for (int64_t k = 0; l->slots && k < l->options.capacity; k++) {
        memory_close(l->slots[k].batch.examples);
        memory_close(l->slots[k].batch.input);
        memory_close(l->slots[k].batch.labels);
    }
    if (l->has_mutex) pthread_mutex_destroy(&l->mutex);
    if (l->has_work) pthread_cond_destroy(&l->work);
    if (l->has_filled) pthread_cond_destroy(&l->filled);
    free(l->threads);
    free(l->slots);
    free(l);
    *opened = 0;
}

/* Only the main thread changes first and count, so that it may read them as they are. */
int64_t loader_count(const loader *l) { return l->count; }
const int64_t *loader_examples(const loader *l, int64_t index) { return slot_at(l, index)->batch.examples; }

void loader_add(loader *l, int64_t iteration, const int64_t *examples) {
    slot *s = slot_at(l, l->count);
    pthread_mutex_lock(&l->mutex);
    memcpy(s->batch.examples, examples, (size_t)l->options.size * sizeof *examples);
    s->batch.iteration = iteration;
    s->begun = s->done = l->options.first;
    s->status = STATUS_OK;
    l->count++;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->mutex);
}

status_code loader_take(loader *l, const loaded **batch, failure *failure) {
    slot *s = slot_at(l, 0);
    const double began = clock_seconds();
    pthread_mutex_lock(&l->mutex);
    while (!l->thread_count && s->begun < l->options.end) fill_next(l, s);
    while (s->done < l->options.end) pthread_cond_wait(&l->filled, &l->mutex);
    pthread_mutex_unlock(&l->mutex);
    l->waited += clock_seconds() - began;
    *batch = &s->batch;
    if (s->status != STATUS_OK && failure) *failure = s->failure;
    return s->status;
}

double loader_waited(const loader *l) { return l->waited; }

void loader_release(loader *l) {
    pthread_mutex_lock(&l->mutex);
    l->first = (l->first + 1) % l->options.capacity;
    l->count--;
    pthread_mutex_unlock(&l->mutex);
}
