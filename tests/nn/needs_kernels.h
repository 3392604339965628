/* For tests that are repeated with another set of kernels: where the machine cannot run it, they are left out. */
#ifndef HWS_TESTS_NN_NEEDS_KERNELS_H
#define HWS_TESTS_NN_NEEDS_KERNELS_H

#include "nn/kernel_set.h"

#include <stdio.h>
#include <stdlib.h>

enum { TEST_LEFT_OUT = 77 }; /* as CTest is told */

static inline void leave_out_without_kernels(void) {
    failure failure;
    if (kernel_set_check(&failure) == STATUS_OK) return;
    printf("left out: %s\n", failure.message);
    exit(TEST_LEFT_OUT);
}

#endif
