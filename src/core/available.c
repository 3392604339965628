#include "core/available.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double memory_available(void) {
    FILE *file = fopen("/proc/meminfo", "r");
    if (!file) return INFINITY;
    char line[256];
    double kilobytes = INFINITY;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "MemAvailable:", 13) == 0) kilobytes = strtod(line + 13, NULL);
    fclose(file);
    return kilobytes * 1024;
}
