#include "dataset/value_numbers.h"

#include <stdlib.h>
#include <string.h>

typedef struct entry {
    const char *value;
    size_t index;
} entry;

static int by_value(const void *a, const void *b) {
    return strcmp(((const entry *)a)->value, ((const entry *)b)->value);
}

status_code value_numbers(const char *const *values, size_t count, size_t *numbers, size_t *different,
                          failure *failure) {
    entry *list = malloc((count + 1) * sizeof *list);
    if (!list) return fail_memory(failure, "the values of a column");
    for (size_t k = 0; k < count; k++) list[k] = (entry){values[k], k};
    qsort(list, count, sizeof *list, by_value);
    *different = 0;
    for (size_t k = 0; k < count; k++) {
        *different += k == 0 || by_value(&list[k], &list[k - 1]) != 0;
        numbers[list[k].index] = *different - 1;
    }
    free(list);
    return STATUS_OK;
}
