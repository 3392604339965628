/* How much memory there is to work with. */
#ifndef HWS_CORE_AVAILABLE_H
#define HWS_CORE_AVAILABLE_H

/* Of what is available, the share that a plan is made for: the system needs memory, too, and plan_memory only estimates. */
#define MEMORY_SHARE_PLANNED 0.85

/* Bytes that this process can have without swapping: MemAvailable of /proc/meminfo, or less where its control groups allow less
   (cgroup.h). Infinite where neither is known. */
double memory_available(void);

#endif
