#include "failing_memory.h"

#include <stdatomic.h>
#include <stddef.h>

/* Names that the linker's --wrap asks for. */
void *__real_memory_open(size_t size);
void *__wrap_memory_open(size_t size);

static atomic_long allocations, failing = -1;

long memory_fail_after(long successes) {
    failing = successes;
    return atomic_exchange(&allocations, 0);
}

void *__wrap_memory_open(size_t size) {
    return atomic_fetch_add(&allocations, 1) == failing ? NULL : __real_memory_open(size);
}
