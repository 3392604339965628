/* Arrays that grow. */
#ifndef HWS_CORE_ARRAY_H
#define HWS_CORE_ARRAY_H

#include <stddef.h>

/*
 * The array, from malloc or NULL, with a place for one more element of `size` bytes behind the `used` ones: itself
 * where `capacity` has one, else moved into twice the memory. NULL if there is none, and then nothing has changed.
 */
void *array_grow(void *array, size_t used, size_t *capacity, size_t size);

#endif
