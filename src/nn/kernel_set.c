#include "nn/kernel_set.h"

#include <stdlib.h>
#include <string.h>

#define TABLES(set) extern const kernels kernels_##set##_f32, kernels_##set##_bf16;
TABLES(generic)
extern const loss_kernels loss_kernels_generic;
#ifdef HWS_HAVE_X86_KERNELS
TABLES(avx2)
TABLES(avx512)
extern const loss_kernels loss_kernels_avx2;
#endif

/* The best one last. */
static const kernel_set SETS[] = {
    {"generic", &kernels_generic_f32, &kernels_generic_bf16, &loss_kernels_generic},
#ifdef HWS_HAVE_X86_KERNELS
    {"avx2", &kernels_avx2_f32, &kernels_avx2_bf16, &loss_kernels_avx2},
    {"avx512", &kernels_avx512_f32, &kernels_avx512_bf16, &loss_kernels_avx2},
#endif
};

/* How many of the sets this machine can run. */
static int sets_here(void) {
#ifdef HWS_HAVE_X86_KERNELS
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 1;
    const int avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    return avx512 ? 3 : 2;
#else
    return 1;
#endif
}

status_code kernel_set_find(const char *name, const kernel_set **set, failure *failure) {
    const int count = sets_here();
    *set = &SETS[count - 1];
    if (!name) return STATUS_OK;
    for (int k = 0; k < count; k++) {
        if (strcmp(SETS[k].name, name) != 0) continue;
        *set = &SETS[k];
        return STATUS_OK;
    }
    static const char *const CHOICES[] = {"generic", "generic or avx2", "generic, avx2 or avx512"};
    return fail(failure, STATUS_BAD_INPUT, "there are no kernels '%.40s' for this machine: HWS_KERNELS may be %s", name,
                CHOICES[count - 1]);
}

/* Asked for from many threads: found before the first of them starts. */
static const kernel_set *chosen;
__attribute__((constructor)) static void choose(void) { kernel_set_find(getenv("HWS_KERNELS"), &chosen, NULL); }

const kernel_set *kernel_set_chosen(void) { return chosen; }

status_code kernel_set_check(failure *failure) {
    const kernel_set *set;
    return kernel_set_find(getenv("HWS_KERNELS"), &set, failure);
}

const kernels *kernels_for(precision precision) { return precision == PRECISION_F32 ? chosen->f32 : chosen->bf16; }
const char *kernels_name(void) { return chosen->name; }
const loss_kernels *loss_kernels_chosen(void) { return chosen->losses; }
