/* hws info: what this machine and this program have. */
#include "cli.h"
#include "options.h"

#include "core/available.h"
#include "core/parallel.h"
#include "hws.h"
#include "nn/kernel_set.h"
#include "ranks/ranks_mpi.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char USAGE[] =
    "usage: hws info\n"
    "\n"
    "Prints the processor, the kernels that are used on it, the number of threads, the available memory, and how this\n"
    "program was built: what belongs in a bug report.\n"
    "\n";

/* As the system calls it; empty if it does not say. */
static void processor(char *name, size_t size) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    *name = 0;
    while (file && !*name && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            snprintf(name, size, "%s", strchr(line, ':') + 2);
            name[strcspn(name, "\n")] = 0;
        }
    if (file) fclose(file);
}

static void tell_kernels(void) {
    const char *asked = getenv("HWS_KERNELS");
    printf("kernels    %s", kernel_set_chosen()->name);
    for (int k = 0; kernel_set_name(k); k++) {
        const kernel_set *set;
        if (kernel_set_find(kernel_set_name(k), &set, NULL) == STATUS_OK)
            printf("%s%s", k ? ", " : " (there are ", kernel_set_name(k));
    }
    printf("%s)\n", asked && *asked ? "; HWS_KERNELS chooses" : "; HWS_KERNELS can choose");
}

int verb_info(int count, char **arguments) {
    char name[256];
    const cli_verb verb = {"info", USAGE, NULL, 0, NULL, NULL, 0};
    const int code = cli_read(&verb, count, arguments, NULL);
    if (code != CLI_GO_ON) return code;
    processor(name, sizeof name);
    printf("hws        %s\n", hws_version());
    printf("processor  %s\n", *name ? name : "unknown");
    tell_kernels();
    printf("threads    %d (OMP_NUM_THREADS and --threads choose)\n", parallel_processors());
    if (isfinite(memory_available())) printf("memory     %.1f GB available\n", memory_available() / 1e9);
#ifdef __clang__
    printf("compiler   clang %s\n", __clang_version__);
#else
    printf("compiler   gcc %s\n", __VERSION__);
#endif
    printf("MPI        %s\n", ranks_mpi_built_in() ? "built in" : "not built in (make MPI=1)");
    return EXIT_DONE;
}
