#include "evaluate/method_names.h"

#include <stdio.h>
#include <string.h>

static int is_taken(method_name *names, size_t count, size_t which) {
    for (size_t m = 0; m < count; m++)
        if (m != which && strcmp(names[m], names[which]) == 0) return 1;
    return !*names[which];
}

void method_names_make_different(method_name *names, size_t count) {
    int different = 1;
    for (size_t m = 0; m < count; m++) different = different && !is_taken(names, count, m);
    for (size_t m = 0; m < count && !different; m++)
        snprintf(names[m], COMPARED_NAME_BYTES, "%c%.0zu", (char)('A' + m % 26), m / 26);
}

status_code method_names_choose(method_name *names, size_t count, const char *list, failure *failure) {
    const char *at = list;
    for (size_t m = 0; m < count && at; m++) {
        const size_t length = strcspn(at, ",");
        if (length == 0 || length >= COMPARED_NAME_BYTES) break;
        snprintf(names[m], COMPARED_NAME_BYTES, "%.*s", (int)length, at);
        if (m + 1 == count && !at[length]) at = NULL;
        else at = at[length] ? at + length + 1 : list;
    }
    int wrong = at != NULL;
    for (size_t m = 0; m < count; m++) wrong = wrong || is_taken(names, count, m);
    if (!wrong) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "--names %.200s is not %zu different names such as ERM,DRO", list, count);
}
