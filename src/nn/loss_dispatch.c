#include "nn/loss_kernels.h"

extern const loss_kernels hws_loss_kernels_generic;
#ifdef HWS_HAVE_X86_KERNELS
extern const loss_kernels hws_loss_kernels_avx2;
#endif

const loss_kernels *loss_kernels_best(void) {
#ifdef HWS_HAVE_X86_KERNELS
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &hws_loss_kernels_avx2;
#endif
    return &hws_loss_kernels_generic;
}
