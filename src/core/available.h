/* How much memory there is to work with. */
#ifndef HWS_CORE_AVAILABLE_H
#define HWS_CORE_AVAILABLE_H

/* Of what is available, the share that a plan is made for: the system needs memory, too, and plan_memory only estimates. */
#define MEMORY_SHARE_PLANNED 0.85

/* Bytes that can be had on this machine without swapping: MemAvailable where there is /proc/meminfo; else infinite. */
double memory_available(void);

#endif
