#include "core/available.h"

#include "core/cgroup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the machine. */
static double memory_of_machine(void) {
    FILE *file = fopen("/proc/meminfo", "r");
    if (!file) return INFINITY;
    char line[256];
    double kilobytes = INFINITY;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "MemAvailable:", 13) == 0) kilobytes = strtod(line + 13, NULL);
    fclose(file);
    return kilobytes * 1024;
}

double memory_available(void) { return fmin(memory_of_machine(), cgroup_memory("")); }
