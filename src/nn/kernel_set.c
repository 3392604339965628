#define _DEFAULT_SOURCE
#include "nn/kernel_set.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef HWS_HAVE_X86_KERNELS
#include <cpuid.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

#define TABLES(set) extern const kernels kernels_##set##_f32, kernels_##set##_bf16;
TABLES(generic)
extern const loss_kernels loss_kernels_generic;
#ifdef HWS_HAVE_X86_KERNELS
TABLES(avx2)
TABLES(avx512)
extern const loss_kernels loss_kernels_avx2;
extern const kernels kernels_avx512bf16_bf16;
extern const bf16_kernels bf16_kernels_avx512, bf16_kernels_amx;
#endif

enum { GENERIC, AVX2, AVX512, AVX512_BF16, AMX };

static const kernel_set SETS[] = {
    {"generic", &kernels_generic_f32, &kernels_generic_bf16, &loss_kernels_generic, NULL},
#ifdef HWS_HAVE_X86_KERNELS
    {"avx2", &kernels_avx2_f32, &kernels_avx2_bf16, &loss_kernels_avx2, NULL},
    {"avx512", &kernels_avx512_f32, &kernels_avx512_bf16, &loss_kernels_avx2, NULL},
    {"avx512-bf16", &kernels_avx512_f32, &kernels_avx512bf16_bf16, &loss_kernels_avx2, &bf16_kernels_avx512},
    {"amx", &kernels_avx512_f32, &kernels_avx512bf16_bf16, &loss_kernels_avx2, &bf16_kernels_amx},
#endif
};

#ifdef HWS_HAVE_X86_KERNELS
static int has_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

/* AVX512_BF16: not all compilers have a name for it. */
static int has_bf16_pairs(void) {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 5 & 1;
}

#ifdef __linux__
enum { SUPPORTED_STATES = 0x1021, ASK_FOR_STATE = 0x1023, TILE_STATE = 18 };
#endif

/* AMX-BF16 and AMX-TILE, of which Linux knows. */
static int has_bf16_tiles(void) {
#ifdef __linux__
    unsigned a, b, c, d;
    uint64_t states = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 22 & 1 && d >> 24 & 1 &&
           syscall(SYS_arch_prctl, SUPPORTED_STATES, &states) == 0 && states >> TILE_STATE & 1;
#else
    return 0;
#endif
}
#endif

/* How many of the sets this machine can run. */
static int count_sets(void) {
#ifdef HWS_HAVE_X86_KERNELS
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return GENERIC + 1;
    if (!has_avx512()) return AVX2 + 1;
    if (!has_bf16_pairs()) return AVX512 + 1;
    return (has_bf16_tiles() ? AMX : AVX512_BF16) + 1;
#else
    return GENERIC + 1;
#endif
}

/* Asked for from many threads: found before the first of them starts. */
static int sets_here;
static const kernel_set *chosen;

/* Pairs of bf16 serve those who ask for them: on Sapphire Rapids, where alone they were measured, they take three times
   as long as Winograd in f32. */
static const kernel_set *best_set(void) {
#ifdef HWS_HAVE_X86_KERNELS
    if (sets_here == AVX512_BF16 + 1) return &SETS[AVX512];
#endif
    return &SETS[sets_here - 1];
}

const char *kernel_set_name(int index) { return index < (int)(sizeof SETS / sizeof *SETS) ? SETS[index].name : NULL; }

status_code kernel_set_find(const char *name, const kernel_set **set, failure *failure) {
    *set = best_set();
    if (!name) return STATUS_OK;
    for (int k = 0; k < sets_here; k++) {
        if (strcmp(SETS[k].name, name) != 0) continue;
        *set = &SETS[k];
        return STATUS_OK;
    }
    static const char *const CHOICES[] = {"generic", "generic or avx2", "generic, avx2 or avx512",
                                          "generic, avx2, avx512 or avx512-bf16",
                                          "generic, avx2, avx512, avx512-bf16 or amx"};
    return fail(failure, STATUS_BAD_INPUT, "there are no kernels '%.40s' for this machine: HWS_KERNELS may be %s", name,
                CHOICES[sets_here - 1]);
}

__attribute__((constructor)) static void choose(void) {
    sets_here = count_sets();
    kernel_set_find(getenv("HWS_KERNELS"), &chosen, NULL);
}

const kernel_set *kernel_set_chosen(void) { return chosen; }

int kernel_set_begin_products(const kernel_set *set) {
#if defined HWS_HAVE_X86_KERNELS && defined __linux__
    if (set->products == &bf16_kernels_amx) return syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_STATE) == 0;
#endif
    return set->products != NULL;
}

status_code kernel_set_check(failure *failure) {
    const kernel_set *set;
    return kernel_set_find(getenv("HWS_KERNELS"), &set, failure);
}

const kernels *kernels_for(precision precision) { return precision == PRECISION_F32 ? chosen->f32 : chosen->bf16; }
const char *kernels_name(void) { return chosen->name; }
const loss_kernels *loss_kernels_chosen(void) { return chosen->losses; }
const bf16_kernels *bf16_kernels_chosen(void) { return chosen->products; }
