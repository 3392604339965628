/*
 * How the parts of the trainer report what went wrong.
 *
 * A function that can fail returns an hws_status and takes a `failure *` as its last argument, which it fills with one
 * sentence that says what, where and what to do. Only the program prints it.
 */
#ifndef HWS_BASE_FAILURE_H
#define HWS_BASE_FAILURE_H

#include "hws.h"

typedef struct failure {
    hws_status status;
    char message[1024];
} failure;

#if defined(__GNUC__) || defined(__clang__)
#define FAILURE_FORMAT __attribute__((format(printf, 3, 4)))
#else
#define FAILURE_FORMAT
#endif

/* Fills `failure` (which may be NULL) and returns the status, so that it can end a function: return fail(...). */
hws_status fail(failure *failure, hws_status status, const char *format, ...) FAILURE_FORMAT;

hws_status fail_memory(failure *failure, const char *what);

#endif
