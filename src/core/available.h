/* How much memory there is to work with. */
#ifndef HWS_CORE_AVAILABLE_H
#define HWS_CORE_AVAILABLE_H

/* Bytes that this process can have without swapping: MemAvailable of /proc/meminfo, or less where its control groups
   allow less (cgroup.h). Infinite where neither is known. */
double memory_available(void);

#endif
