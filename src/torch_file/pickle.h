/*
 * Python's pickles, read without executing anything.
 *
 * A pickle is a program for a stack machine that may name and call any function of Python: loading one from a stranger
 * is running his program. This reader runs the opcodes that build values (protocols 2 to 5) and keeps calls as what
 * they are, a name with arguments; and only names that a checkpoint has a use for are let through at all. Whatever else
 * is in it is refused by its name or number.
 *
 * Memory is at most a constant times the pickle's size. Values may refer to each other in circles: do not
 * walk them without a limit.
 */
#ifndef HWS_TORCH_FILE_PICKLE_H
#define HWS_TORCH_FILE_PICKLE_H

#include "core/failure.h"

#include <stddef.h>
#include <stdint.h>

typedef enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_WHOLE,
    PICKLE_NUMBER,
    PICKLE_STRING, /* str or bytes */
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_DICT,      /* or an OrderedDict */
    PICKLE_GLOBAL,    /* a name: "torch FloatStorage" */
    PICKLE_CALL,      /* of a name, with arguments */
    PICKLE_PERSISTENT /* something that lies outside of the pickle */
} pickle_kind;

typedef struct pickle_value pickle_value;
struct pickle_value {
    pickle_kind kind;
    int64_t whole;             /* a bool or whole number */
    double number;             /* a number, whole ones included */
    const char *string;        /* a string or name, with a zero behind it */
    size_t length;             /* of the string */
    const pickle_value **item; /* a dict has keys and values by turns; a call its name and the tuple of arguments;
                                  what is persistent its one description */
    size_t count, capacity;    /* of items */
    pickle_value *before;      /* made before it: how all of them are freed */
};

typedef struct pickle pickle;

/* The bytes need not stay: values are copies. `what` stands for the file in messages. */
status_code pickle_open(pickle **opened, const void *bytes, size_t size, const char *what, failure *failure);
void pickle_close(pickle **opened);

/* What the program left on its stack. */
const pickle_value *pickle_root(const pickle *pickle);

/* The value of a key of a dict; NULL if there is none, or if it is no dict. The last of equal keys counts. */
const pickle_value *pickle_get(const pickle_value *dict, const char *key);

/* Whether it is this string, or this name. */
int pickle_is_string(const pickle_value *value, const char *string);
int pickle_is_name(const pickle_value *value, const char *name);

#endif
