/* Memory that runs out when a test asks for it: the linker sends memory_open here (tests/CMakeLists.txt). */
#ifndef HWS_TESTS_FAILING_MEMORY_H
#define HWS_TESTS_FAILING_MEMORY_H

/* The allocation after `successes` more ones fails, once; -1: none fails. Returns how many were made since the last
   call. */
long memory_fail_after(long successes);

#endif
