/* Aligned memory. */
#ifndef HWS_CORE_MEMORY_H
#define HWS_CORE_MEMORY_H

#include <stddef.h>

/* Memory aligned to 64 bytes, or NULL. Large blocks ask for huge pages, which spare random access most TLB misses. */
void *memory_open(size_t size);
void memory_close(void *block);

#endif
