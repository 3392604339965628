/* What control groups leave a process of processor time and of memory: those of a container, a
   job of SLURM, a service. */
#ifndef HWS_CORE_CGROUP_H
#define HWS_CORE_CGROUP_H

/*
 * Processors' worth of time, the least that this process' group and those above it are allowed; infinite if nothing
 * limits them. Version 2 (cpu.max) and version 1 (cpu.cfs_quota_us), also both side by side. `root` stands before /proc
 * and /sys: "" for this machine's.
 */
double cgroup_processors(const char *root);

/*
 * Bytes that this process can still have, the least of its group and those above it: the limit without what is in
 * use, unless that can be taken back. Version 2 (memory.max, memory.current) and version 1
 * (memory.limit_in_bytes, memory.usage_in_bytes).
 */
double cgroup_memory(const char *root);

#endif
