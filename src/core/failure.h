/*
 * How the parts of the program report what went wrong.
 *
 * A function that can fail returns a status_code and takes a `failure *` as its last argument, which it fills with one
 * sentence that says what, where and what to do. Only the program prints it.
 */
#ifndef HWS_CORE_FAILURE_H
#define HWS_CORE_FAILURE_H

#include "core/printf_like.h"

/* What became of a call. The code alone decides what callers do next and which exit code the program ends with. */
typedef enum status_code {
    STATUS_OK = 0,
    STATUS_BAD_INPUT,    /* what was asked for is not possible: an option, a name, data that do not fit together */
    STATUS_CORRUPT,      /* a file's contents are not what they should be */
    STATUS_CANNOT_READ,  /* a file or folder is missing or cannot be read */
    STATUS_CANNOT_WRITE, /* a file or folder cannot be made or written */
    STATUS_OUT_OF_MEMORY,
    STATUS_NOT_FINITE, /* a number became NaN or infinite */
    STATUS_STOPPED,    /* the caller's listener asked to stop */
    STATUS_FAILED      /* anything else that went wrong while working */
} status_code;

typedef struct failure {
    status_code status;
    char message[1024];
} failure;

/* Fills `failure` (which may be NULL) and returns the status, so that it can end a function: return fail(...). */
status_code fail(failure *failure, status_code status, const char *format, ...) PRINTF_LIKE(3, 4);

/* Inline, so that compilers and analysers see in every file that it is never STATUS_OK. */
static inline status_code fail_memory(failure *failure, const char *what) {
    (void)fail(failure, STATUS_OUT_OF_MEMORY, "out of memory for %s", what);
    return STATUS_OUT_OF_MEMORY;
}

/* A file or folder cannot be read; `error` is the errno that tells why: STATUS_CANNOT_READ, or STATUS_OUT_OF_MEMORY. */
status_code fail_unreadable(failure *failure, const char *path, int error);

#endif
