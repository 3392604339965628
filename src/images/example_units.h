/*
 * A random choice of examples of each class, in which the examples of a patient stay together.
 *
 * Examples with the same value in a column are a unit, which is chosen as a whole or not at all; without a column, and
 * where an example has no value in it, each is a unit of its own. A unit is of the class of its first example.
 */
#ifndef HWS_IMAGES_EXAMPLE_UNITS_H
#define HWS_IMAGES_EXAMPLE_UNITS_H

#include "images/example_column.h"

typedef struct unit_choice {
    size_t count;          /* examples */
    const int32_t *labels; /* [count] */
    int classes;
    const example_column *together; /* NULL: each is a unit of its own */
    double share;                   /* of the examples of each class, the nearest whole number of them at most */
    int at_least_one; /* 1: of a class with two units one is chosen even if it is larger than that share */
    uint64_t seed;
    uint32_t purpose; /* of random numbers (core/random.h) */
} unit_choice;

/* Sets chosen[count] to 1 for the examples that are chosen and 0 for the others. Never all of a class's units are. */
status_code example_units_choose(const unit_choice *choice, uint8_t *chosen, failure *failure);

#endif
