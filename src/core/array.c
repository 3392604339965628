#include "core/array.h"

#include <stdint.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };

void *array_grow(void *array, size_t used, size_t *capacity, size_t size) {
    if (used < *capacity) return array;
    const size_t larger = *capacity ? *capacity * 2 : FIRST_CAPACITY;
    void *grown = larger <= SIZE_MAX / 2 / size ? realloc(array, larger * size) : NULL;
    if (grown) *capacity = larger;
    return grown;
}
