/*
 * Long work reports its progress to a listener and asks it whether to go on.
 *
 * Each function may be NULL; so may the listener itself. They may be called from any thread, but never two at once for
 * one piece of work. Work that is told to stop ends soon, in good order, with STATUS_STOPPED.
 */
#ifndef HWS_CORE_LISTENER_H
#define HWS_CORE_LISTENER_H

#include <stddef.h>

typedef struct listener {
    void *context;
    /* `what` is being done, e.g. "predicting"; `done` of `total` steps of about the same length are over. */
    void (*progress)(void *context, const char *what, size_t done, size_t total);
    /* Something that the user should know and that is no failure; one sentence. */
    void (*notice)(void *context, const char *message);
    /* 1: stop. Cheap, asked often. */
    int (*stop)(void *context);
} listener;

static inline void listener_progress(const listener *listener, const char *what, size_t done, size_t total) {
    if (listener && listener->progress) listener->progress(listener->context, what, done, total);
}

static inline void listener_notice(const listener *listener, const char *message) {
    if (listener && listener->notice) listener->notice(listener->context, message);
}

static inline int listener_stops(const listener *listener) {
    return listener && listener->stop && listener->stop(listener->context);
}

/* For a piece of work inside another that has its own progress to tell: hears nothing, but says when to stop. */
static inline listener listener_stop_only(const listener *whole) {
    return whole ? (listener){.context = whole->context, .stop = whole->stop} : (listener){0};
}

#endif
