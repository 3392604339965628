#include "nn/kernels.h"

#include <stdlib.h>
#include <string.h>

#define TABLES(set) extern const kernels kernels_##set##_f32, kernels_##set##_bf16;
TABLES(generic)
#ifdef HWS_HAVE_X86_KERNELS
TABLES(avx2)
TABLES(avx512)
#endif

typedef struct kernel_set {
    const char *name;
    const kernels *f32, *bf16;
} kernel_set;

static kernel_set best_set(void) {
#ifdef HWS_HAVE_X86_KERNELS
    const char *asked = getenv("HWS_KERNELS");
    __builtin_cpu_init();
    const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const int avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    if (avx512 && (!asked || strcmp(asked, "avx512") == 0))
        return (kernel_set){"avx512", &kernels_avx512_f32, &kernels_avx512_bf16};
    if (avx2 && (!asked || strcmp(asked, "generic") != 0))
        return (kernel_set){"avx2", &kernels_avx2_f32, &kernels_avx2_bf16};
#endif
    return (kernel_set){"generic", &kernels_generic_f32, &kernels_generic_bf16};
}

/* Asked for from many threads: found before the first of them starts. */
static kernel_set chosen;
__attribute__((constructor)) static void choose(void) { chosen = best_set(); }

const kernels *kernels_for(precision precision) { return precision == PRECISION_F32 ? chosen.f32 : chosen.bf16; }
const char *kernels_name(void) { return chosen.name; }
