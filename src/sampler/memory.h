/* Aligned memory, counted and, in tests, made to fail. */
#ifndef HWS_SAMPLER_MEMORY_H
#define HWS_SAMPLER_MEMORY_H

#include <stddef.h>

/* Memory aligned to 64 bytes, or NULL. Large blocks ask for huge pages, which spare random access most TLB misses. */
void *memory_open(size_t size);
void memory_close(void *block);

#ifdef HWS_TEST_HOOKS
/* The allocation after `successes` more ones fails, once; -1: none fails. Returns how many were made since the last
 * call. */
long memory_fail_after(long successes);
#endif

#endif
