/* The share of processor time that control groups leave a process: of a container, a job of SLURM, a service. */
#ifndef HWS_CORE_CGROUP_H
#define HWS_CORE_CGROUP_H

/*
 * Processors' worth of time, the least that this process' group and those above it are allowed; infinite if nothing limits them.
 * Version 2 (cpu.max) and version 1 (cpu.cfs_quota_us), also both side by side. `root` stands before /proc and /sys: "" for
 * this machine's.
 */
double cgroup_processors(const char *root);

#endif
