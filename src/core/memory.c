#define _DEFAULT_SOURCE /* madvise */
#include "core/memory.h"

#include <stdint.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

static const size_t LINE = 64, HUGE_PAGE = (size_t)2 << 20;

/* Whole huge pages, where they take at most a quarter more. */
static int wants_huge_pages(size_t size) {
    return size >= HUGE_PAGE && (HUGE_PAGE - size % HUGE_PAGE) % HUGE_PAGE <= size / 4;
}

void *memory_open(size_t size) {
    const size_t alignment = wants_huge_pages(size) ? HUGE_PAGE : LINE;
    if (size > SIZE_MAX - alignment) return NULL;
    const size_t rounded = (size + alignment - 1) / alignment * alignment;
    void *block = aligned_alloc(alignment, rounded ? rounded : alignment);
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (block && alignment == HUGE_PAGE) (void)madvise(block, rounded, MADV_HUGEPAGE);
#endif
    return block;
}

void memory_close(void *block) { free(block); }
