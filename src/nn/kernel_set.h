/*
 * The instruction sets that the hot loops are compiled for, and the one choice among them for the whole engine:
 * operations, convolutions and losses alike.
 *
 * The best set that this machine can run serves, unless HWS_KERNELS in the environment names another: generic, avx2,
 * avx512, avx512-bf16 or amx. The choice is made once, when the program starts. The last two are avx512 with products
 * of bf16 (kernels_bf16.h); avx512-bf16 serves only where it is asked for.
 */
#ifndef HWS_NN_KERNEL_SET_H
#define HWS_NN_KERNEL_SET_H

#include "core/failure.h"
#include "nn/kernels.h"
#include "nn/kernels_bf16.h"
#include "nn/loss_kernels.h"

typedef struct kernel_set {
    const char *name;
    const kernels *f32, *bf16;
    const loss_kernels *losses;   /* the avx512 sets have those of avx2 */
    const bf16_kernels *products; /* or NULL */
} kernel_set;

/* The set of this name, or the best one where `name` is NULL. STATUS_BAD_INPUT if there is no such set, or none that
   this machine can run: then `set` is the best one. */
status_code kernel_set_find(const char *name, const kernel_set **set, failure *failure);

/* The names of all sets; NULL behind the last. */
const char *kernel_set_name(int index);

/* The set that serves. */
const kernel_set *kernel_set_chosen(void);

/* Whether the set has products of bf16 that may be used. For tiles, this asks Linux for their state, for all threads
   and for as long as the process lives: signal stacks must then be larger (sigaltstack), and where one of 8 KB is in
   use, Linux refuses. So only who needs products asks, when a convolution is planned. */
int kernel_set_begin_products(const kernel_set *set);

/* STATUS_BAD_INPUT if HWS_KERNELS names a set that cannot serve here; graph_plan asks. */
status_code kernel_set_check(failure *failure);

#endif
