/*
 * Memory that notices writes beside it: a painted border before and behind, which AddressSanitizer refuses to touch
 * where it is there. The block is aligned to 64 bytes and to no more.
 */
#ifndef HWS_TESTS_GUARDED_H
#define HWS_TESTS_GUARDED_H

#include "testing.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GUARDED_ASAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(GUARDED_ASAN)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

enum { GUARDED_BORDER = 192, GUARDED_ALIGNMENT = 64, GUARDED_PAINT = 0xA5 };

typedef struct guarded {
    unsigned char *memory;
    void *data;
    size_t size;
} guarded;

static inline size_t guarded_before(const guarded *g) { return (size_t)((unsigned char *)g->data - g->memory); }

/* `size` bytes, all 0xff: NaN as f32 and as bf16. */
static inline guarded guarded_open(size_t size) {
    guarded g = {malloc(size + 2 * GUARDED_BORDER + 2 * GUARDED_ALIGNMENT), 0, size};
    assert_non_null(g.memory);
    uintptr_t at = ((uintptr_t)g.memory + GUARDED_BORDER) / GUARDED_ALIGNMENT * GUARDED_ALIGNMENT + GUARDED_ALIGNMENT;
    if (at % (2 * GUARDED_ALIGNMENT) == 0) at -= GUARDED_ALIGNMENT;
    g.data = g.memory + (at - (uintptr_t)g.memory);
    memset(g.memory, GUARDED_PAINT, guarded_before(&g));
    memset(g.data, 0xff, size);
    memset((unsigned char *)g.data + size, GUARDED_PAINT, GUARDED_BORDER);
    ASAN_POISON_MEMORY_REGION(g.memory, guarded_before(&g));
    ASAN_POISON_MEMORY_REGION((unsigned char *)g.data + size, GUARDED_BORDER);
    return g;
}

static inline void guarded_paint(guarded *g) { memset(g->data, 0xff, g->size); }

/* Fails if a byte of the borders changed. */
static inline void guarded_check(const guarded *g, const char *what) {
    const unsigned char *end = (unsigned char *)g->data + g->size;
    ASAN_UNPOISON_MEMORY_REGION(g->memory, guarded_before(g));
    ASAN_UNPOISON_MEMORY_REGION(end, GUARDED_BORDER);
    for (const unsigned char *p = g->memory; p < (unsigned char *)g->data; p++)
        if (*p != GUARDED_PAINT) fail_msg("%s: the byte %td before it was written", what, (unsigned char *)g->data - p);
    for (const unsigned char *p = end; p < end + GUARDED_BORDER; p++)
        if (*p != GUARDED_PAINT) fail_msg("%s: the byte %td behind it was written", what, p - end);
    ASAN_POISON_MEMORY_REGION(g->memory, guarded_before(g));
    ASAN_POISON_MEMORY_REGION(end, GUARDED_BORDER);
}

static inline void guarded_close(guarded *g, const char *what) {
    if (!g->memory) return;
    guarded_check(g, what);
    ASAN_UNPOISON_MEMORY_REGION(g->memory, guarded_before(g));
    ASAN_UNPOISON_MEMORY_REGION((unsigned char *)g->data + g->size, GUARDED_BORDER);
    free(g->memory);
    *g = (guarded){0};
}

#endif
