/*
 * The instruction sets that the hot loops are compiled for, and the one choice among them for the whole engine:
 * operations, convolutions and losses alike.
 *
 * The best set that this machine can run serves, unless HWS_KERNELS in the environment names another: generic, avx2 or
 * avx512. The choice is made once, when the program starts.
 */
#ifndef HWS_NN_KERNEL_SET_H
#define HWS_NN_KERNEL_SET_H

#include "core/failure.h"
#include "nn/kernels.h"
#include "nn/loss_kernels.h"

typedef struct kernel_set {
    const char *name;
    const kernels *f32, *bf16;
    const loss_kernels *losses; /* the avx512 set has those of avx2 */
} kernel_set;

/* The set of this name, or the best one where `name` is NULL. STATUS_BAD_INPUT if there is no such set, or none that
   this machine can run: then `set` is the best one. */
status_code kernel_set_find(const char *name, const kernel_set **set, failure *failure);

/* The set that serves. */
const kernel_set *kernel_set_chosen(void);

/* STATUS_BAD_INPUT if HWS_KERNELS names a set that cannot serve here; graph_plan asks. */
status_code kernel_set_check(failure *failure);

#endif
